// What a broken environment costs: returns with and without a fault, and a search that learns from one.
"use strict";

(function (A) {
  const { el, svg, button, field, select, place, slices } = A.dom;
  const CHOICES = ["no-index", "any", "stale-t", "survivors", "one-berry", "swapped", "short-seed", "aliased"];
  const [ROWS, EPISODES] = [250, 4];
  const SEARCH = { rounds: 600, n: 4, seed: 1, judge: 300, every: 20 };
  const BINS = { low: -6, high: 18, width: 1 };

  function returns(holder) {
    const fault = select(
      CHOICES.map((id) => [id, A.faults.find(id).title]),
      measure,
    );
    const says = el("p", { class: "says", role: "status" });
    const chart = el("div", { class: "chart" });
    const known = new Map();
    let run = 0,
      again = () => {};

    async function of(id, mine, update) {
      if (known.has(id)) return known.get(id);
      const work = A.cost.play(id ? A.faults.find(id) : {}, ROWS, EPISODES, A.cost.greedy, 10);
      const got = await slices(work, { onvalue: update, stopped: () => run !== mine });
      if (got) known.set(id, [...got]);
      return got;
    }

    async function measure() {
      const mine = (run += 1),
        id = fault.value;
      says.textContent = "Playing.";
      const good = await of("", mine, (values) => draw(values, []));
      const bad = good && (await of(id, mine, (values) => draw(good, values)));
      if (!bad || run !== mine) return;
      again = () => draw(good, bad);
      again();
      const [a, b] = [A.cost.summary(good), A.cost.summary(bad)];
      const off = Math.abs(a.mean - b.mean) / Math.hypot(a.error, b.error);
      says.textContent =
        `Mean return ${text(a)} without the fault, ${text(b)} with it: ` +
        (off < 2
          ? "nothing that a learning curve would show."
          : `a difference of ${off.toFixed(0)} standard errors.`) +
        ` ${a.n.toLocaleString("en")} and ${b.n.toLocaleString("en")} episodes.`;
    }

    const text = ({ mean, error }) => `${mean.toFixed(2)} ± ${error.toFixed(2)}`;

    function draw(good, bad) {
      const count = (BINS.high - BINS.low) / BINS.width,
        step = (chart.clientWidth || 600) / count,
        high = 150;
      const bins = (values) => {
        const counts = new Array(count).fill(0);
        for (const value of values)
          counts[Math.min(Math.max(Math.floor((value - BINS.low) / BINS.width), 0), count - 1)] += 1 / values.length;
        return counts;
      };
      const [one, two] = [bins(good), bins(bad)];
      const scale = high / Math.max(...one, ...two, 0.1);
      const bars = (counts, name, shift) =>
        counts.map((share, i) =>
          svg("rect", {
            class: name,
            x: (i + shift) * step,
            y: 10 + high - share * scale,
            width: step * 0.4,
            height: share * scale,
          }),
        );
      const labels = one.map((_, i) =>
        i % 3 ? null : svg("text", { x: (i + 0.5) * step, y: high + 32 }, String(BINS.low + i * BINS.width)),
      );
      chart.replaceChildren(
        svg(
          "svg",
          {
            viewBox: `0 0 ${count * step} ${high + 40}`,
            role: "img",
            "aria-label": "Histogram of the episodes' returns",
          },
          ...bars(one, "right", 0.08),
          ...bars(two, "wrong", 0.5),
          ...labels.filter(Boolean),
        ),
      );
    }

    holder.append(
      el("h3", {}, "A fixed policy, and its returns"),
      el("div", { class: "row" }, field("Fault", fault)),
      says,
      chart,
      el(
        "p",
        { class: "key" },
        el("i", { class: "mark right" }),
        " without the fault ",
        el("i", { class: "mark wrong" }),
        " with it. Share of episodes by return.",
      ),
    );
    window.addEventListener("resize", () => again());
    return measure;
  }

  function search(holder) {
    const says = el("p", { class: "says", role: "status" }, "Nothing has run yet.");
    const chart = el("div", { class: "chart" });
    const start = button("Learn in both", learn, { class: "main" });
    const lines = { "": [], "stale-episode": [] };

    async function learn() {
      start.disabled = true;
      for (const id of Object.keys(lines)) {
        lines[id] = [];
        says.textContent = id ? "Learning in the broken environment." : "Learning in the right environment.";
        const fault = id ? A.faults.find(id) : {};
        await slices(A.cost.search({ fault, ...SEARCH }), {
          onvalue: (point) => {
            lines[id].push(point);
            draw();
          },
        });
      }
      start.disabled = false;
      const last = lines["stale-episode"].at(-1),
        right = lines[""].at(-1);
      says.textContent =
        `The broken environment says ${last.seen.toFixed(1)} in the end. The plan that it taught earns ${last.truth.toFixed(1)} in the right one. ` +
        `In the right environment no plan gets far: ${right.truth.toFixed(1)}, since the berries lie elsewhere each time.`;
    }

    function draw() {
      const [wide, high, low, top] = [chart.clientWidth || 600, 200, -6, 8];
      const x = (round) => 34 + (round / SEARCH.rounds) * (wide - 44);
      const y = (value) => 10 + ((top - Math.min(Math.max(value, low), top)) / (top - low)) * (high - 20);
      const path = (points, get, name) =>
        points.length
          ? svg("path", {
              class: name,
              d: "M" + points.map((point) => `${x(point.round).toFixed(1)},${y(get(point)).toFixed(1)}`).join("L"),
            })
          : null;
      const grid = [-4, 0, 4, 8].flatMap((value) => [
        svg("line", { class: "grid", x1: 34, x2: wide - 10, y1: y(value), y2: y(value) }),
        svg("text", { class: "left", x: 0, y: y(value) + 5 }, String(value)),
      ]);
      chart.replaceChildren(
        svg(
          "svg",
          { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": "Learning curves: mean return by round" },
          ...grid,
          ...[
            path(lines[""], (p) => p.seen, "line right"),
            path(lines["stale-episode"], (p) => p.seen, "line wrong"),
            path(lines["stale-episode"], (p) => p.truth, "line truth"),
          ].filter(Boolean),
        ),
      );
    }

    holder.append(
      el("h3", {}, "A search, and its curve"),
      el("div", { class: "row" }, start),
      says,
      chart,
      el(
        "p",
        { class: "key" },
        el("i", { class: "mark wrong" }),
        " the curve in the broken environment ",
        el("i", { class: "mark truth" }),
        " the same plans in the right one ",
        el("i", { class: "mark right" }),
        " learning in the right one. Mean return by round.",
      ),
    );
    window.addEventListener("resize", draw);
    draw();
  }

  function mount() {
    const holder = place("cost");
    const one = el("div", {}),
      two = el("div", {});
    holder.append(el("div", { class: "halves" }, one, two));
    const measure = returns(one);
    search(two);
    A.whenSeen(holder, measure);
  }

  A.mounts.push(mount);
})((globalThis.Article = globalThis.Article || {}));
