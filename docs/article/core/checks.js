// The battery in small: worked examples, what a batch shows beside itself, stated returns; and the list of all checks.
// Each is a generator, as those in checks_pair.js are.
"use strict";

(function (A) {
  const { Pair, difference } = A.pair;
  const { Batch } = A.clock;
  const { stream, whole } = A.policies;
  const { alone, lockstep, injected, masks, episodes, seeds } = A.pairChecks;
  const world = A.forager;
  const rules = A.rules.forager;
  const { MAX_STEPS } = rules.constants;
  const ONCE_AROUND = MAX_STEPS + 5;

  const count = (n, from = 0) => Array.from({ length: n }, (_, i) => BigInt(from + i));

  // ---- worked examples: the next state, reward and flags stand in the spec

  function seedThatSlips(slips, t) {
    for (let seed = 0n; ; seed++) {
      if (Number(A.rng.Draw.at(seed, 0, t).bernoulli(rules.slots.SLIP, rules.constants.SLIP_P)) === slips)
        return seed;
    }
  }

  function exampleDifference(example, got) {
    for (const name of ["terminated", "truncated", "reward", "observation"]) {
      const found = difference(name, [example[name]].flat(), got[name]);
      if (found) return found;
    }
    for (const field of Object.keys(world.fields)) {
      const found = difference(field, [example.next_state[field]].flat(), got.state[field]);
      if (found) return found;
    }
    return null;
  }

  function given(draws) {
    const bySlot = Object.fromEntries(
      Object.entries(draws).map(([name, value]) => [rules.slots[name], [value].flat()]),
    );
    return { n: 1, randint: (slot) => Int32Array.from(bySlot[slot]) };
  }

  function* examples(fault) {
    for (const [number, example] of rules.examples.entries()) {
      const pair = new Pair(world, fault, 1, []);
      const seed = seedThatSlips(example.draws.SLIP, example.state.t);
      pair.put([example.state], [seed], [0]);
      const got = pair.batch.step(Int32Array.of(example.action));
      const found = exampleDifference(example, got);
      const where = { row: 0, n: 1, seed, episode: 0, t: example.state.t, action: example.action };
      if (found)
        return { finding: { ...found, ...where, step: number + 1, example: example.name }, steps: number + 1 };
    }
    for (const first of rules.resets) {
      const batch = new Batch(world.batched, 1, fault);
      const state = { ...batch.world.initial(given(first.draws)), t: new Int32Array(1) };
      const found = difference("observation", first.observation, batch.world.observation(state));
      if (found)
        return { finding: { ...found, row: 0, n: 1, episode: 0, t: 0, step: 0, example: first.name }, steps: 0 };
    }
    yield;
    return { finding: null, steps: rules.examples.length };
  }

  // ---- beside itself

  function* held(fault) {
    const n = 4;
    const batch = new Batch(world.batched, n, fault);
    const random = stream(9);
    batch.reset(count(n));
    const kept = [];
    for (let step = 1; step <= 100; step++) {
      const got = batch.step(Int32Array.from({ length: n }, () => whole(random, world.actions)));
      for (const [name, old, copy, row] of kept) {
        const found = difference(name, copy, old);
        if (found) {
          return {
            finding: { ...found, n, row: (found.item ?? 0) % n, step, held: row, item: null },
            steps: step * n,
          };
        }
      }
      for (const name of ["reward", "observation", "terminated", "truncated", "first"]) {
        kept.push([name, got[name], got[name].slice(), step]);
      }
      if (step % 20 === 0) yield;
    }
    return { finding: null, steps: 100 * n };
  }

  function* crowd(fault) {
    const n = 600,
      all = count(n, 100),
      rows = [0, 1, 63, 64, 299, 511, 512, 599];
    const batch = new Batch(world.batched, n, fault);
    const singles = rows.map(() => new Batch(world.batched, 1, fault));
    batch.reset(all);
    singles.forEach((single, i) => single.reset([all[rows[i]]]));
    const random = stream(11);
    for (let step = 1; step <= ONCE_AROUND; step++) {
      const action = Int32Array.from({ length: n }, () => whole(random, world.actions));
      const [t, episode] = [batch.state.t, batch.episode];
      const got = batch.step(action);
      for (const [i, row] of rows.entries()) {
        const single = singles[i].step(action.subarray(row, row + 1));
        const where = {
          row,
          n,
          seed: all[row],
          episode: episode[row],
          t: t[row],
          action: action[row],
          step: step * rows.length,
        };
        for (const name of ["terminated", "truncated", "reward", "observation", "first"]) {
          const items = got[name].length / n;
          const found = difference(name, [...single[name]], got[name], row * items, items);
          if (found)
            return { finding: { ...found, ...where, beside: "the same row alone" }, steps: step * rows.length };
        }
      }
      if (step % 5 === 0) yield;
    }
    return { finding: null, steps: ONCE_AROUND * rows.length };
  }

  // ---- beside the return that the spec states

  function* returns(fault) {
    const { expected_return: mean, standard_deviation: deviation } = rules.policies.always_north;
    const n = 1000,
      batch = new Batch(world.batched, n, fault);
    batch.reset(count(n, 5000));
    const total = new Float64Array(n),
      open = new Uint8Array(n).fill(1);
    for (let step = 0; step < 2 * MAX_STEPS && open.includes(1); step++) {
      const got = batch.step(new Int32Array(n));
      for (let row = 0; row < n; row++) {
        if (open[row]) total[row] += got.reward[row];
        if (got.terminated[row] || got.truncated[row]) open[row] = 0;
      }
      if (step % 5 === 0) yield;
    }
    const got = total.reduce((sum, value) => sum + value, 0) / n;
    const error = deviation / Math.sqrt(n);
    const off = Math.abs(got - mean) / error;
    const finding =
      off <= 6
        ? null
        : {
            field: "mean return",
            expected: `${mean}, as the spec states`,
            n,
            step: n,
            got: `${got.toFixed(4)}, ${off.toFixed(1)} standard errors away`,
            item: null,
          };
    return { finding, steps: n };
  }

  A.checks = [
    {
      id: "alone",
      name: "rollouts of one",
      what: "One instance, 1,000 random actions, beside the scalar side.",
      run: alone,
    },
    {
      id: "examples",
      name: "worked examples",
      what: `The ${rules.examples.length} transitions and ${rules.resets.length} first states that the spec works out.`,
      run: examples,
    },
    {
      id: "lockstep",
      name: "lockstep",
      what: "2, 7, 65 and 513 rows; random, held and greedy actions.",
      run: lockstep,
    },
    { id: "injected", name: "states put in", what: "3,840 states near what matters, one step each.", run: injected },
    {
      id: "masks",
      name: "resets by mask",
      what: "None, one, some and all rows, twice over; the hidden state of every row.",
      run: masks,
    },
    {
      id: "episodes",
      name: "many episodes",
      what: "Three rows for 1,500 steps, some thirty episodes each and more.",
      run: episodes,
    },
    { id: "seeds", name: "edge seeds", what: "Seeds around 32, 53 and 64 bits.", run: seeds },
    { id: "held", name: "hold and compare", what: "Outputs are kept, and compared with a copy later.", run: held },
    {
      id: "crowd",
      name: "alone and in a crowd",
      what: "Rows of 600 beside the same rows as batches of one.",
      run: crowd,
    },
    {
      id: "returns",
      name: "stated returns",
      what: "A scripted policy's mean return over 1,000 episodes beside the spec's.",
      run: returns,
    },
  ];
})((globalThis.Article = globalThis.Article || {}));

/** Numbers that the text names. */
globalThis.Article.counts = () => ({
  faults: String(globalThis.Article.faults.all.length),
  checks: String(globalThis.Article.checks.length),
  examples: String(globalThis.Article.rules.forager.examples.length),
});
