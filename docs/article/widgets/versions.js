// The two programs beside each other, and both at work.
"use strict";

(function (A) {
  const { el, button, field, select, place, count, slices } = A.dom;
  const ROWS = 6;
  const RULES = {
    toywalk: [["transition"], ["transition"]],
    forager: [
      ["transition", "turned", "exhausted"],
      ["transition", "turned", "found", "gained", "energy", "ends"],
    ],
  };

  function mount() {
    let pair,
      actions,
      found,
      running = false;
    const panes = el("div", { class: "panes" });
    const table = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The rows, both ways" });
    const says = el("p", { class: "says", role: "status" });
    const world = select(
      [
        ["toywalk", "toywalk, a walk on a line"],
        ["forager", "forager"],
      ],
      begin,
    );
    const row = select(
      [...Array(ROWS).keys()].map((i) => [i, `row ${i}`]),
      show,
    );

    function begin() {
      const { name } = A[world.value];
      pair = new A.pair.Pair(A[name], {}, ROWS);
      found = pair.reset(Array.from({ length: ROWS }, (_, i) => BigInt(i)));
      actions = A.policies.mixed(1);
      const [one, many] = RULES[name];
      const text = (side, names) => names.map((rule) => A.source.dedent(String(A[name][side][rule]))).join("\n\n");
      panes.replaceChildren(
        pane("One instance", "plain ifs and loops", text("scalar", one)),
        pane("N instances", "whole columns at a time", text("batched", many)),
      );
      show();
    }

    function pane(title, how, text) {
      return el("div", {}, el("h3", {}, title, el("small", {}, how)), A.source.block(`${title}: source`, text));
    }

    function* walk(steps) {
      for (let step = 0; step < steps && !found; step++) {
        found = pair.step(actions(pair));
        yield;
      }
    }

    async function go(steps) {
      if (running) return;
      running = true;
      await slices(walk(steps));
      running = false;
      show();
    }

    function show() {
      const at = Number(row.value),
        state = pair.scalars[at].state;
      const lines = Object.entries(pair.world.fields).map(([name, items]) => [
        name,
        [state[name]].flat(),
        [...pair.batch.state[name].subarray(at * items, (at + 1) * items)],
      ]);
      table.replaceChildren(
        el(
          "table",
          { class: "plain" },
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              ["field", "one instance", "column", "bits"].map((text) => el("th", { scope: "col" }, text)),
            ),
          ),
          el(
            "tbody",
            {},
            lines.map(([name, one, other]) =>
              el(
                "tr",
                {},
                el("th", { scope: "row" }, name),
                el("td", {}, shown(name, one)),
                el("td", {}, shown(name, other)),
                el("td", { class: same(one, other) ? "same" : "differs" }, same(one, other) ? "equal" : "differ"),
              ),
            ),
          ),
        ),
      );
      says.textContent = `${count(pair.steps, "transition")} compared, every field, reward, flag and observation of each; ${found ? "they differ" : "not one bit differs"}.`;
    }

    const same = (one, other) => one.length === other.length && one.every((value, i) => Object.is(value, other[i]));
    const text = (name, value) => (name === "energy" ? `${value.toFixed(6)} ${A.pair.bits(value)}` : String(value));
    const shown = (name, values) => values.map((value) => text(name, value)).join(" ");

    place("versions").append(
      el("div", { class: "row" }, field("World", world)),
      panes,
      el(
        "div",
        { class: "row" },
        button("One step", () => go(1)),
        button("A thousand steps", () => go(1000)),
        field("Show", row),
      ),
      says,
      table,
    );
    begin();
  }

  A.mounts.push(mount);
})((globalThis.Article = globalThis.Article || {}));
