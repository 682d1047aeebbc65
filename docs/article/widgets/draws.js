// Draws as functions of where they are, beside a stream.
"use strict";

(function (A) {
  const { el, button, field, input, place, judgement } = A.dom;
  const LIMITS = {
    seed: 2n ** 64n - 1n,
    episode: 2n ** 32n - 1n,
    step: 2n ** 32n - 1n,
    slot: 239n,
    index: 2n ** 24n - 1n,
  };
  const NONE = "–"; // in place of what cannot be drawn
  const hex = (word) => word.toString(16).padStart(8, "0");
  const NAMES = ["AGENT_X", "AGENT_Y", "BERRY_X", "BERRY_Y", "BERRY_KIND", "SLIP"];

  function mount() {
    const first = { seed: "42", episode: "3", step: "17", slot: "5", index: "0" };
    const controls = Object.fromEntries(
      Object.keys(first).map((name) => [name, input(first[name], show, { size: name === "seed" ? 20 : 9 })]),
    );
    const n = input("8", show, { size: 9 });
    const p = input("0.15", show, { size: 9, inputmode: "decimal" });
    const out = el("dl", { class: "answers", "aria-live": "polite" });
    const table = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Six draws, both ways" });
    const says = el("p", { class: "says", role: "status" });
    const { line: error, judge, whole } = judgement();
    let order = [0, 1, 2, 3, 4, 5],
      left = new Set();

    function asked() {
      const values = Object.entries(controls).map(([name, control]) => whole(control, 0, LIMITS[name]));
      return values.includes(null) ? null : values;
    }

    function probability() {
      const chance = Number(p.value);
      const possible = p.value.trim() !== "" && (chance === 0 || (chance >= 2 ** -32 && chance <= 1));
      return judge(p, possible, "0, or a number from 2**-32 to 1") ? chance : null;
    }

    function show() {
      const values = asked(),
        limit = whole(n, 1, 2n ** 31n),
        chance = probability();
      const names = ["key of the seed", "key of the episode", "the block: x0 x1", "uniform"];
      names.push(`randint(${limit ?? "n"})`, `bernoulli(${chance ?? "p"})`);
      const answers = values ? drawn(values, limit, chance) : names.map(() => NONE);
      out.replaceChildren(
        ...names.map((name, i) => el("div", {}, el("dt", {}, name), el("dd", {}, answers[i]))),
      );
      compare();
    }

    function drawn([seed, ...rest], limit, chance) {
      const [episode, t, slot, index] = rest.map(Number);
      const draw = A.rng.Draw.at(seed, episode, t);
      const words = draw.words(slot, index);
      return [
        A.rng.seedKey(seed).map(hex).join(" "),
        A.rng.episodeKey(seed, episode).map(hex).join(" "),
        words.map(hex).join(" "),
        String(A.rng.uniform(words)),
        limit === null ? NONE : String(A.rng.randint(words, Number(limit))),
        chance === null ? NONE : String(draw.bernoulli(slot, chance, index)),
      ];
    }

    /** The six slots at this seed, episode and step, in the order that was chosen, some left out. */
    function compare() {
      const values = asked();
      if (!values) return nothing();
      const draw = A.rng.Draw.at(values[0], Number(values[1]), Number(values[2]));
      const pure = (slot) => draw.randint(slot, 100, 0);
      const stream = (slots) => {
        const random = A.policies.stream(Number(values[0] & 0xffffffffn));
        return Object.fromEntries(slots.map((slot) => [slot, Math.floor(random() * 100)]));
      };
      const usual = stream([0, 1, 2, 3, 4, 5]),
        now = stream(order.filter((slot) => !left.has(slot)));
      const changed = Object.keys(now).filter((slot) => now[slot] !== usual[slot]).length;
      tell(order.map((slot) => line(slot, left.has(slot), pure(slot), now[slot], usual[slot])));
      says.textContent = changed
        ? `The function: none of the draws changed. The stream: ${changed} of ${Object.keys(now).length} changed.`
        : "In this order both give what they always give.";
    }

    function nothing() {
      tell(order.map((slot) => line(slot, false, NONE, NONE, NONE)));
      says.textContent = "Nothing is drawn: that is no place.";
    }

    function tell(lines) {
      const heads = ["drawn", "a function of its place", "from a stream"].map((text) => el("th", { scope: "col" }, text));
      table.replaceChildren(
        el("table", { class: "plain draws" }, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, lines)),
      );
    }

    function line(slot, skipped, pure, now, usual) {
      const cell = (value, differs) =>
        el(
          "td",
          { class: skipped ? "" : differs ? "differs" : "same" },
          skipped ? "not drawn" : String(value),
          skipped || !differs ? "" : el("small", {}, ` was ${usual}`),
        );
      return el("tr", {}, el("th", { scope: "row" }, NAMES[slot]), cell(pure, false), cell(now, now !== usual));
    }

    function shuffle() {
      const before = order.join();
      while (order.join() === before)
        order = order
          .map((slot) => [Math.random(), slot])
          .sort(([a], [b]) => a - b)
          .map(([, slot]) => slot);
      compare();
    }

    function leave() {
      left = new Set([order.find((slot) => !left.has(slot)) ?? order[0]].concat([...left]));
      if (left.size === order.length) left = new Set();
      compare();
    }

    place("draws").append(
      el(
        "div",
        { class: "row" },
        Object.entries(controls).map(([name, control]) => field(name, control)),
        field("n of randint", n),
        field("p of bernoulli", p),
      ),
      error,
      out,
      el("h3", {}, "Six draws of one step, 0 to 99"),
      el(
        "div",
        { class: "row" },
        button("Draw in another order", shuffle),
        button("Leave one out", leave),
        button("As it was", () => {
          order = [0, 1, 2, 3, 4, 5];
          left = new Set();
          compare();
        }),
      ),
      says,
      table,
    );
    show();
  }

  A.mounts.push(mount);
})((globalThis.Article = globalThis.Article || {}));
