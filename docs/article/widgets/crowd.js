// The bug that only exists in a crowd: the same fault at every batch size.
"use strict";

(function (A) {
  const { el, svg, button, field, select, place, slices, color, count } = A.dom;
  const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
  const STEPS = 100;
  const CHOICES = ["large", "pair", "one-slip", "row-in-key", "any", "wrong-turn"];

  function mount() {
    const seen = new Map();
    let run = 0;
    const fault = select(
      CHOICES.map((id) => [id, A.faults.find(id).title]),
      () => {
        seen.clear();
        run += 1;
        show();
        measure();
      },
    );
    const size = el("input", {
      type: "range",
      min: "0",
      max: String(SIZES.length - 1),
      step: "1",
      value: "0",
      oninput: () => {
        show();
        measure();
      },
    });
    const says = el("p", { class: "says", role: "status" });
    const canvas = el("canvas", { class: "dots", role: "img" });
    const chart = el("div", { class: "chart" });
    const n = () => SIZES[Number(size.value)];

    function* rows(count) {
      const pair = new A.pair.Pair(A.forager, A.faults.find(fault.value), count);
      yield* pair.disagreement(
        Array.from({ length: count }, (_, row) => BigInt(row)),
        STEPS,
        A.policies.mixed(1),
      );
      return pair.wrong;
    }

    async function measure(at = n()) {
      const mine = run,
        id = fault.value;
      if (seen.has(at)) return true;
      const wrong = await slices(rows(at), { stopped: () => run !== mine || fault.value !== id });
      if (!wrong) return false;
      seen.set(at, wrong);
      show();
      return true;
    }

    async function every() {
      const mine = (run += 1);
      for (const at of SIZES) {
        if (run !== mine) return;
        size.value = String(SIZES.indexOf(at));
        show();
        if (!(await measure(at))) return;
      }
    }

    function show() {
      const wrong = seen.get(n());
      size.setAttribute("aria-valuetext", `${n()} rows`);
      says.textContent = !wrong
        ? `${n()} rows: running.`
        : `${count(n(), "row")}, ${STEPS} steps: ${wrong.size === 0 ? "every row is what it should be" : `${wrong.size} of them ${wrong.size === 1 ? "is" : "are"} wrong`}.`;
      dots(wrong);
      bars();
    }

    function dots(wrong) {
      const width = canvas.clientWidth || 300,
        across = Math.max(32, Math.floor(width / 13));
      const cell = width / across,
        height = Math.ceil(1024 / across) * cell;
      canvas.style.height = `${height}px`;
      const context = A.board.prepare(canvas, width, height);
      canvas.setAttribute(
        "aria-label",
        `${n()} rows, ${wrong ? wrong.size : "not yet known how many"} of them wrong`,
      );
      for (let row = 0; row < n(); row++) {
        const bad = wrong && wrong.has(row);
        context.fillStyle = color(bad ? "bad" : "dot");
        context.beginPath();
        context.arc(
          ((row % across) + 0.5) * cell,
          (Math.floor(row / across) + 0.5) * cell,
          cell * (bad ? 0.4 : 0.24),
          0,
          2 * Math.PI,
        );
        context.fill();
      }
    }

    function bars() {
      const step = (chart.clientWidth || 600) / SIZES.length,
        high = 90,
        gap = step / 7;
      const share = (at) => (seen.has(at) ? seen.get(at).size / at : 0);
      const parts = SIZES.flatMap((at, i) => {
        const tall = share(at) * high,
          x = i * step;
        const label = !seen.has(at) ? "" : seen.get(at).size ? String(seen.get(at).size) : "0";
        return [
          svg("rect", {
            x: x + gap,
            y: 20 + high - tall,
            width: step - 2 * gap,
            height: Math.max(tall, seen.has(at) ? 1.5 : 0),
            class: tall ? "wrong" : "right",
          }),
          svg("text", { x: x + step / 2, y: 14 + high - tall, class: "value" }, label),
          svg(
            "text",
            { x: x + step / 2, y: 20 + high + 20, class: `${at === n() ? "here" : ""}${step < 40 ? " small" : ""}` },
            String(at),
          ),
        ];
      });
      const told = SIZES.filter((at) => seen.has(at))
        .map((at) => `${seen.get(at).size} of ${at}`)
        .join(", ");
      chart.replaceChildren(
        svg(
          "svg",
          {
            viewBox: `0 0 ${step * SIZES.length} 136`,
            role: "img",
            "aria-label": `Wrong rows by batch size: ${told || "none run yet"}`,
          },
          ...parts,
        ),
      );
    }

    place("crowd").append(
      el("div", { class: "row" }, field("Fault", fault), field("Batch size", size), button("Try every size", every)),
      says,
      chart,
      el("p", { class: "key" }, "How many rows are wrong at each batch size. Below, the rows of the chosen one."),
      canvas,
    );
    A.redraw.push(show);
    window.addEventListener("resize", show);
    show();
    measure();
  }

  A.mounts.push(mount);
})((globalThis.Article = globalThis.Article || {}));
