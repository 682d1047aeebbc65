// Known faults, each put into forager's columns by replacing one small function. What a fault replaces is what the page
// shows, word for word. The faults are in faults_rules.js and faults_batch.js.
"use strict";

(function (A) {
  const { rules, numbers, randomness, resets, system, shared } = A.faultsOf;
  const clock = A.clock.Batch.prototype;
  const { Draws } = A.clock;
  const usual = A.forager.batched;

  const groups = [
    ["Rules", rules],
    ["Numbers", numbers],
    ["Randomness", randomness],
    ["Masks and resets", resets],
    ["System", system],
    ["Both sides", shared],
  ];

  /** The source of a fault beside what it replaces: [where, name, as it should be, as it is]. */
  function source(fault) {
    const usualOf = { world: usual, clock, draws: Draws.prototype, scalar: A.forager.scalar };
    return ["world", "clock", "draws", "scalar"].flatMap((part) =>
      Object.entries(fault[part] || {}).map(([name, changed]) => [
        part,
        name,
        String(usualOf[part][name]),
        String(changed),
      ]),
    );
  }

  A.faults = {
    groups,
    all: groups.flatMap(([, faults]) => faults),
    source,
    find: (id) => A.faults.all.find((one) => one.id === id),
  };
})((globalThis.Article = globalThis.Article || {}));
