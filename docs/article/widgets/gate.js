// The gate: a package that the reader edits, its digest, its report.
"use strict";

(function (A) {
  const { el, button, field, place, slices, count } = A.dom;

  function mount() {
    const original = A.gate.original();
    let report = null,
      running = false;
    const text = el("textarea", { rows: "12", spellcheck: "false", autocapitalize: "off", oninput: show });
    text.value = original;
    const digest = el("output", { class: "digest" });
    const told = el("output", { class: "digest" });
    const verdict = el("p", { class: "verdict", role: "status" });
    const start = button("Run the battery", validate, { class: "main" });

    async function validate() {
      if (running) return;
      [running, start.disabled] = [true, true];
      verdict.textContent = "The battery runs.";
      report = await slices(A.gate.validate(text.value));
      [running, start.disabled] = [false, false];
      show();
    }

    function show() {
      const { open, why } = A.gate.admits(text.value, report);
      digest.textContent = A.sha256(text.value);
      told.textContent = report ? report.digest : "no report yet";
      const same = Boolean(report) && report.digest === digest.textContent;
      told.dataset.same = String(same);
      if (running) return;
      verdict.dataset.open = String(open);
      verdict.replaceChildren(
        el("strong", {}, open ? "It loads:" : "It does not load:"),
        ` ${why}.`,
        same && report.steps > 0 ? ` The battery compared ${count(report.steps, "transition")}.` : "",
      );
    }

    const set = (change) => () => {
      text.value = change(text.value);
      show();
    };
    place("gate").append(
      el(
        "div",
        { class: "split even" },
        field("The package", text),
        el(
          "div",
          { class: "side" },
          el("div", { class: "row" }, start),
          el(
            "div",
            { class: "row" },
            button(
              "Add a comment",
              set((value) => `${value}# a comment\n`),
            ),
            button(
              "STEP_COST = 0.03",
              set((value) => value.replace(/STEP_COST = .*/, "STEP_COST = 0.03")),
            ),
            button(
              "As it was",
              set(() => original),
            ),
          ),
          el("h3", {}, "Digest of the package"),
          digest,
          el("h3", {}, "Digest in the report"),
          told,
          verdict,
        ),
      ),
    );
    show();
    validate();
  }

  A.mounts.push(() => A.whenSeen(document.querySelector("#gate"), mount));
})((globalThis.Article = globalThis.Article || {}));
