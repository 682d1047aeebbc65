// Those checks of the battery in small that hold a batch beside scalar instances.
// Each check is a generator that yields now and then, so that a page stays alive, and returns {finding, steps}: the first
// difference it saw, or null, and how many transitions it looked at.
"use strict";

(function (A) {
  const { Pair } = A.pair;
  const { stream, whole, mixed } = A.policies;
  const world = A.forager;
  const { GRID, N_BERRIES, N_KINDS, MAX_STEPS } = A.rules.forager.constants;
  const ONCE_AROUND = MAX_STEPS + 5;

  const count = (n, from = 0) => Array.from({ length: n }, (_, i) => BigInt(from + i));

  /** Steps a pair until something differs. */
  function* walk(pair, steps, act) {
    for (let step = 0; step < steps; step++) {
      const finding = pair.step(act(pair));
      if (finding) return finding;
      if (step % 20 === 0) yield;
    }
    return null;
  }

  function* alone(fault) {
    const pair = new Pair(world, fault, 1);
    const random = stream(1);
    const finding = pair.reset([0n]) || (yield* walk(pair, 1000, () => [whole(random, world.actions)]));
    return { finding, steps: pair.steps };
  }

  function* lockstep(fault) {
    let steps = 0;
    for (const n of [2, 7, 65, 513]) {
      const rows = [...Array(n).keys()].filter((row) => n <= 65 || row % 16 === 0 || row === n - 1);
      const pair = new Pair(world, fault, n, rows);
      const finding = pair.reset(count(n, 100)) || (yield* walk(pair, ONCE_AROUND + 15, mixed(n)));
      steps += pair.steps;
      if (finding) return { finding: { ...finding, step: steps }, steps };
    }
    return { finding: null, steps };
  }

  /** A state near what matters: the edges, the cap, the last of the energy, berries on or beside the agent. */
  function nearby(random) {
    const one = (...choices) => choices[whole(random, choices.length)];
    const cell = () => one(0, GRID - 1, whole(random, GRID), whole(random, GRID));
    const [x, y] = [cell(), cell()];
    const near = (value) => Math.min(Math.max(value + one(-1, 0, 0, 1), 0), GRID - 1);
    const [close, live] = [random() < 0.5, random() < 0.5];
    const berries = (make) => Array.from({ length: N_BERRIES }, make);
    const energy = one(0.02, 0.020000001, 0.01, 0.04, 1, 1.9, 2.4, random() * 2);
    return {
      x,
      y,
      energy: Math.fround(energy),
      berry_x: berries(() => (close ? near(x) : cell())),
      berry_y: berries(() => (close ? near(y) : cell())),
      berry_kind: berries(() => whole(random, N_KINDS)),
      berry_live: berries(() => Number(live || random() < 0.3)),
      t: one(MAX_STEPS - 1, MAX_STEPS - 2, whole(random, MAX_STEPS)),
    };
  }

  function* injected(fault) {
    const random = stream(5);
    let steps = 0;
    for (let round = 0; round < 60; round++) {
      const pair = new Pair(world, fault, 64);
      const states = Array.from({ length: 64 }, () => nearby(random));
      pair.put(
        states,
        count(64, 1 + round * 64),
        states.map(() => whole(random, 10)),
      );
      const finding = pair.step(states.map(() => whole(random, world.actions)));
      steps += pair.steps;
      if (finding) return { finding: { ...finding, step: steps, from: states[finding.row] }, steps };
      yield;
    }
    return { finding: null, steps };
  }

  function* masks(fault) {
    const n = 9;
    const pair = new Pair(world, fault, n);
    const rows = [...Array(n).keys()];
    const chosen = [() => 0, (row) => Number(row === 4), (row) => row % 2, () => 1];
    let finding = pair.reset(count(n, 7));
    for (const choose of [...chosen, ...chosen]) {
      finding =
        finding ||
        (yield* walk(pair, 10, mixed(3))) ||
        pair.resetRows(rows.map(choose)) ||
        pair.resetRows(rows.map(choose));
    }
    finding = finding || (yield* walk(pair, ONCE_AROUND, mixed(4)));
    return { finding, steps: pair.steps };
  }

  function* episodes(fault) {
    const pair = new Pair(world, fault, 3);
    const finding = pair.reset(count(3, 30)) || (yield* walk(pair, 1500, mixed(6)));
    return { finding, steps: pair.steps };
  }

  function* seeds(fault) {
    const edges = [0n, 1n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 32n + 1n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n];
    const pair = new Pair(world, fault, edges.length);
    const finding = pair.reset(edges) || (yield* walk(pair, 20, mixed(8)));
    return { finding, steps: pair.steps };
  }

  A.pairChecks = { alone, lockstep, injected, masks, episodes, seeds };
})((globalThis.Article = globalThis.Article || {}));
