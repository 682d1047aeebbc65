// Facts about the article's smaller parts: digests of the texts given as JSON on stdin, what the gate says of edited
// packages, the returns that the text speaks of.
"use strict";

const { load } = require("./load.cjs");
const { sha256, gate, cost, faults, forager, pair, policies, rules } = load();

const texts = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const original = gate.original();
const judged = (text) => {
  const report = cost.drain(gate.validate(text));
  return [report.outcome, gate.admits(text, report).open, gate.admits(`${text} `, report).open, report.why];
};
const mean = (fault) => cost.summary(cost.drain(cost.play(fault, 500, 4, cost.greedy)));
const search = (fault) => [...cost.search({ fault, rounds: 600, n: 4, seed: 1, judge: 300, every: 100 })].at(-1);
const wrong = (id, n) => {
  const both = new pair.Pair(forager, faults.find(id), n);
  cost.drain(
    both.disagreement(
      Array.from({ length: n }, (_, row) => BigInt(row)),
      100,
      policies.mixed(1),
    ),
  );
  return both.wrong.size;
};
console.log(
  JSON.stringify({
    digests: texts.map(sha256),
    original: judged(original),
    comment: judged(`${original}# a comment\n`),
    cost: judged(original.replace("0.02", "0.03")),
    cap: judged(original.replace("= 80", "= 79")),
    broken: judged(original.replace("GRID = 8", "GRID = eight")),
    noReport: gate.admits(original, null).open,
    greedy: mean({}),
    stated: rules.forager.policies.greedy_nearest,
    dearer: Object.fromEntries(
      ["no-index", "any", "swapped", "aliased"].map((id) => [id, mean(faults.find(id)).mean]),
    ),
    right: search({}),
    stale: search(faults.find("stale-episode")),
    crowd: Object.fromEntries(
      ["large", "pair", "one-slip", "row-in-key", "any", "wrong-turn"].map((id) => [
        id,
        [1, 16, 512, 1024].map((n) => wrong(id, n)),
      ]),
    ),
  }),
);
