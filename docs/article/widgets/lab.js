// The break-it lab: every fault against every check, a matrix that fills as it runs.
"use strict";

(function (A) {
  const { el, button, place, slices, count } = A.dom;

  function mount() {
    const results = new Map(),
      cells = new Map();
    let run = 0;
    const says = el("p", { class: "says", role: "status" }, "Nothing has run yet.");
    const detail = el("div", { class: "detail", role: "region", "aria-label": "What was found", tabindex: "-1" });
    const start = button("Run everything", everything, { class: "main" });
    const stop = button("Stop", () => (run += 1), { disabled: true });

    const key = (fault, check) => `${fault.id} ${check.id}`;

    async function one(fault, mine) {
      for (const check of A.checks) {
        const cell = cells.get(key(fault, check));
        cell.dataset.outcome = "running";
        const result = await slices(check.run(fault), { stopped: () => run !== mine });
        if (!result) {
          paint(fault, check);
          return false;
        }
        results.set(key(fault, check), result);
        paint(fault, check);
      }
      return true;
    }

    function paint(fault, check) {
      const result = results.get(key(fault, check)),
        cell = cells.get(key(fault, check));
      const outcome = !result ? "open" : result.finding ? "caught" : "missed";
      cell.dataset.outcome = outcome;
      const after = outcome === "caught" ? short(result.finding.step) : "";
      cell.textContent = { open: "·", caught: after, missed: "–" }[outcome];
      const words = { open: "not run", missed: "let it through", caught: `caught it after ${after} transitions` };
      cell.setAttribute("aria-label", `${fault.title}, ${check.name}: ${words[outcome]}`);
    }

    const short = (n) => (n < 1000 ? String(n) : `${Math.round(n / 1000)}k`);

    async function everything() {
      const mine = (run += 1);
      [start.disabled, stop.disabled] = [true, false];
      for (const fault of A.faults.all) {
        says.textContent = `Running: ${fault.title}.`;
        if (!(await one(fault, mine))) break;
      }
      [start.disabled, stop.disabled] = [false, true];
      summary();
    }

    function summary() {
      const done = A.faults.all.filter((fault) => A.checks.every((check) => results.has(key(fault, check))));
      const caught = (fault) => A.checks.filter((check) => results.get(key(fault, check)).finding);
      const found = done.filter((fault) => caught(fault).length),
        single = done.filter((fault) => caught(fault).length === 1);
      const alone = done.filter((fault) => results.get(key(fault, A.checks[0])).finding);
      says.textContent =
        `${count(done.length, "fault")} put in. Rollouts of one instance find ${alone.length}; all checks together find ${found.length}. ` +
        `Of these, ${single.length} are found by one check alone.`;
    }

    async function cellClicked(fault, check) {
      if (!results.has(key(fault, check))) {
        results.set(key(fault, check), await slices(check.run(fault)));
        paint(fault, check);
      }
      tell(fault, check, results.get(key(fault, check)));
    }

    function tell(fault, check, { finding, steps }) {
      const lines = finding
        ? findingLines(finding)
        : [
            ["looked at", count(steps, "transition")],
            ["found", "no difference"],
          ];
      detail.replaceChildren(
        el("h3", {}, `${fault.title} – ${check.name}`, el("small", {}, finding ? "caught" : "let through")),
        el("p", {}, check.what),
        el(
          "dl",
          { class: "answers" },
          lines.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
        ),
        sources(fault),
      );
      detail.focus({ preventScroll: false });
    }

    function findingLines(f) {
      const where = [
        f.example && `example ${f.example}`,
        `N = ${f.n}`,
        f.row !== undefined && `row ${f.row}`,
        f.seed !== undefined && `seed ${f.seed}`,
        f.episode !== undefined && `episode ${f.episode}`,
        f.t !== undefined && `step ${f.t}`,
      ];
      return [
        ["at", where.filter(Boolean).join(", ")],
        ["after", `${count(f.step, "transition")} of this check`],
        f.action !== undefined && ["action", String(f.action)],
        f.held && ["held since", `step ${f.held}`],
        ["field", f.item === null || f.item === undefined ? f.field : `${f.field}[${f.item}]`],
        [f.beside || "expected", f.expected],
        ["the batch", f.got],
      ].filter(Boolean);
    }

    function sources(fault) {
      return el(
        "div",
        { class: "panes" },
        A.faults
          .source(fault)
          .flatMap(([part, name, was, is]) => [
            el(
              "div",
              {},
              el("h3", {}, `${name}, as it should be`),
              A.source.block(`${name} of the ${part}, as it should be`, was),
            ),
            el("div", {}, el("h3", {}, `${name}, as it is`), A.source.block(`${name} of the ${part}, as it is`, is)),
          ]),
      );
    }

    function row(fault) {
      const name = button(fault.title, () => showFault(fault), { class: "fault" });
      const tds = A.checks.map((check) => {
        const cell = button("·", () => cellClicked(fault, check), { class: "cell" });
        cells.set(key(fault, check), cell);
        return el("td", { role: "cell" }, cell);
      });
      return el("tr", { role: "row" }, el("th", { scope: "row", role: "rowheader" }, name), tds);
    }

    function showFault(fault) {
      detail.replaceChildren(el("h3", {}, fault.title), el("p", {}, fault.note), sources(fault));
      detail.focus();
    }

    const legend = el(
      "ol",
      { class: "checks" },
      A.checks.map(({ name, what }) => el("li", {}, el("b", {}, name), " ", what)),
    );
    const head = el(
      "tr",
      { role: "row" },
      el("th", { scope: "col", role: "columnheader" }, "fault"),
      A.checks.map(({ name }, i) =>
        el("th", { scope: "col", role: "columnheader" }, el("abbr", { title: name }, String(i + 1))),
      ),
    );
    const bodies = A.faults.groups.map(([name, faults]) =>
      el(
        "tbody",
        { role: "rowgroup" },
        el(
          "tr",
          { role: "row", class: "group" },
          el("th", { role: "rowheader", scope: "rowgroup", colspan: A.checks.length + 1 }, name),
        ),
        faults.map(row),
      ),
    );
    place("lab").append(
      el("div", { class: "row" }, start, stop),
      says,
      el(
        "div",
        { class: "labs" },
        el(
          "div",
          {},
          el(
            "table",
            { class: "matrix", role: "table", "aria-label": "Faults and checks" },
            el("thead", { role: "rowgroup" }, head),
            bodies,
          ),
          el(
            "p",
            { class: "key" },
            "A number: caught, after so many transitions. A dash: let through. A dot: not run; press it to run it alone.",
          ),
        ),
        el("div", {}, el("h3", {}, "The checks"), legend),
      ),
      detail,
    );
    for (const fault of A.faults.all) for (const check of A.checks) paint(fault, check);
    showNothing(detail);
  }

  function showNothing(detail) {
    detail.append(
      el(
        "p",
        { class: "key" },
        "Press a fault to see its source beside what it replaces; press a cell to see the first difference.",
      ),
    );
  }

  A.mounts.push(mount);
})((globalThis.Article = globalThis.Article || {}));
