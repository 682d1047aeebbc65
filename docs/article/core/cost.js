// What a fault costs: returns of a fixed policy, and a small search that learns from a broken environment.
"use strict";

(function (A) {
  const { Batch } = A.clock;
  const { stream, whole, greedyNearest, rowOf } = A.policies;
  const world = A.forager;

  /** Plays rows until each has ended `episodes` of them; yields the returns so far, and returns them. */
  function* play(fault, n, episodes, act, firstSeed = 0) {
    const batch = new Batch(world.batched, n, fault);
    batch.reset(Array.from({ length: n }, (_, row) => BigInt(firstSeed + row)));
    const total = new Float64Array(n),
      ended = new Uint32Array(n),
      returns = [];
    // A fault may keep a row from ever ending, so there is a limit: no episode has more than `cap` steps.
    for (let step = 0; step <= world.batched.cap * episodes && returns.length < n * episodes; step++) {
      const got = batch.step(act(batch));
      for (let row = 0; row < n; row++) {
        total[row] += got.reward[row];
        if (!(got.terminated[row] || got.truncated[row])) continue;
        if (ended[row]++ < episodes) returns.push(total[row]);
        total[row] = 0;
      }
      yield returns;
    }
    return returns;
  }

  const greedy = (batch) =>
    Int32Array.from({ length: batch.n }, (_, row) => greedyNearest(rowOf(world, batch.state, row)));

  function summary(values) {
    const n = values.length;
    const mean = values.reduce((sum, value) => sum + value, 0) / n;
    const spread = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1);
    return { n, mean, error: Math.sqrt(spread / n) };
  }

  /** A plan: an action for each step of the episode, whatever is seen. */
  const follow = (plan) => (batch) => Int32Array.from(batch.state.t, (t) => plan[Math.min(t, plan.length - 1)]);

  function drain(work) {
    for (;;) {
      const { value, done } = work.next();
      if (done) return value;
    }
  }

  /**
   * Learns a plan: some of its actions are changed, and the change is kept if it earns no less in `n` episodes. The
   * environment goes on from evaluation to evaluation, as that of a training run does. Yields what the plan earned there,
   * and what it earns in an environment without a fault.
   */
  function* search({ fault, rounds, n, seed, judge, every }) {
    const random = stream(seed);
    const batch = new Batch(world.batched, n, fault);
    batch.reset(Array.from({ length: n }, (_, row) => BigInt(row)));
    let best = Array.from({ length: world.batched.cap }, () => whole(random, world.actions));
    for (let round = 0; round <= rounds; round++) {
      const tried = best.map((action) => (random() < 0.06 ? whole(random, world.actions) : action));
      const [seen, got] = [best, tried].map((plan) => summary(once(batch, follow(plan))).mean);
      if (round % every === 0) {
        yield { round, seen, truth: summary(drain(play({}, judge, 1, follow(best), 1e6))).mean };
      }
      if (got >= seen) best = tried;
    }
  }

  /** The returns of one episode of each row, from where the batch is: all rows begin their next episode together. */
  function once(batch, act) {
    batch.resetRows(new Uint8Array(batch.n).fill(1));
    const total = new Float64Array(batch.n),
      open = new Uint8Array(batch.n).fill(1);
    for (let step = 0; step < 2 * world.batched.cap && open.includes(1); step++) {
      const got = batch.step(act(batch));
      for (let row = 0; row < batch.n; row++) {
        if (open[row]) total[row] += got.reward[row];
        if (got.terminated[row] || got.truncated[row]) open[row] = 0;
      }
    }
    return [...total];
  }

  A.cost = { play, greedy, summary, search, follow, drain };
})((globalThis.Article = globalThis.Article || {}));
