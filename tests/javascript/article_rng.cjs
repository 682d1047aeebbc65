// Answers questions about the article's generator: JSON [[name, arguments...], ...] on stdin, JSON answers on stdout.
// 64-bit numbers travel as decimal strings.
"use strict";

const { load } = require("./load.cjs");
const { rng } = load();

const draw =
  (name) =>
  (seed, episode, t, slot, index, ...more) => {
    const made = rng.Draw.at(BigInt(seed), episode, t);
    return more.length ? made[name](slot, ...more, index) : made[name](slot, index);
  };
const QUESTIONS = {
  block: (k0, k1, c0, c1) => rng.threefry(k0, k1, c0, c1),
  seedKey: (seed) => rng.seedKey(BigInt(seed)),
  episodeKey: (seed, episode) => rng.episodeKey(BigInt(seed), episode),
  instanceSeed: (seed, instance) => rng.instanceSeed(BigInt(seed), instance),
  thresholds: rng.thresholds,
};

const questions = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const answers = questions.map(([name, ...args]) => (QUESTIONS[name] || draw(name))(...args));
console.log(JSON.stringify(answers, (_, value) => (typeof value === "bigint" ? String(value) : value)));
