// A package in small, its report and the gate: what loads is what was validated, byte for byte.
"use strict";

(function (A) {
  const { constants } = A.rules.forager;
  const LARGEST = 1000;
  const NOT_VALIDATED =
    "the package is not what was validated last, and the report is about that alone; run the battery again";

  /** The package's text: the constants of the batched side. */
  function original() {
    const lines = Object.entries(constants).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
    return ["# fast: the constants of the batched side", ...lines].join("\n") + "\n";
  }

  /** The constants in a text. Throws an Error that says which line is wrong. */
  function parse(text) {
    const found = {};
    text.split("\n").forEach((line, number) => {
      const bare = line.replace(/#.*/, "").trim();
      if (!bare) return;
      const [, name, value] = /^(\w+)\s*=\s*(.+)$/.exec(bare) || [];
      if (!(name in constants)) throw new Error(`line ${number + 1}: expected NAME = value, got "${line.trim()}"`);
      found[name] = numbers(value, Array.isArray(constants[name]), number + 1);
    });
    const missing = Object.keys(constants).filter((name) => !(name in found));
    if (missing.length) throw new Error(`no ${missing[0]}`);
    return found;
  }

  function numbers(text, many, line) {
    let value;
    try {
      value = JSON.parse(text);
    } catch {
      throw new Error(`line ${line}: "${text}" is no number`);
    }
    const all = many && Array.isArray(value) ? value : [value];
    if (!all.every((one) => typeof one === "number" && one >= 0 && one <= LARGEST)) {
      throw new Error(`line ${line}: expected ${many ? "numbers" : "a number"} from 0 to ${LARGEST}`);
    }
    return value;
  }

  /** Runs the battery in small on the package's text. A generator; returns a report. */
  function* validate(text) {
    const digest = A.sha256(text);
    const report = (outcome, why, steps) => ({ digest, outcome, why, steps });
    let steps = 0;
    try {
      const world = A.forager.withConstants(parse(text));
      for (const check of A.checks) {
        const result = yield* check.run({ world, clock: {} });
        steps += result.steps;
        if (result.finding) return report("failed", finding(check, result.finding), steps);
      }
    } catch (error) {
      return report("failed", error.message, steps);
    }
    return report("passed", "", steps);
  }

  function finding(check, { field, expected, got }) {
    return `${check.name}: ${field} is ${got}, expected ${expected}`;
  }

  /** Whether the gate opens, and why. */
  function admits(text, report) {
    const digest = A.sha256(text);
    if (!report) return { open: false, why: "there is no report" };
    if (report.digest !== digest) return { open: false, why: NOT_VALIDATED };
    if (report.outcome !== "passed") return { open: false, why: `the report says failed: ${report.why}` };
    return { open: true, why: "a passing report of exactly these bytes" };
  }

  A.gate = { original, parse, validate, admits };
})((globalThis.Article = globalThis.Article || {}));
