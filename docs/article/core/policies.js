// Who acts: generators of actions for the checks, and the spec's scripted policies of forager. These may be random as
// they like; the environments never draw from here.
"use strict";

(function (A) {
  const { GRID } = A.rules.forager.constants;

  /** mulberry32, a small sequential generator: each number depends on how many were drawn before it. */
  function stream(seed) {
    let a = seed >>> 0;
    return () => {
      a = (a + 0x6d2b79f5) | 0;
      let t = Math.imul(a ^ (a >>> 15), 1 | a);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }

  const whole = (random, n) => Math.floor(random() * n);

  /** Toward the nearest live berry, ties to the lowest index, x before y; north on its own cell. */
  function greedyNearest(state) {
    let target = -1,
      least = 2 * GRID;
    for (let i = 0; i < state.berry_x.length; i++) {
      if (!state.berry_live[i]) continue;
      const distance = Math.abs(state.berry_x[i] - state.x) + Math.abs(state.berry_y[i] - state.y);
      if (distance < least) [target, least] = [i, distance];
    }
    if (target < 0) return 0;
    const dx = state.berry_x[target] - state.x;
    if (dx !== 0) return dx > 0 ? 1 : 3;
    return state.berry_y[target] < state.y ? 2 : 0;
  }

  /** One row of a batch's columns as a state. */
  function rowOf(world, columns, row) {
    return Object.fromEntries(
      Object.entries(world.fields).map(([field, items]) => [
        field,
        items > 1 ? columns[field].subarray(row * items, (row + 1) * items) : columns[field][row],
      ]),
    );
  }

  /** Actions for a pair: by row at random, held for a while, or greedy (by the scalar side's state). */
  function mixed(seed) {
    const random = stream(seed);
    let held = [];
    return ({ n, world, scalars, compared }) => {
      held = Array.from({ length: n }, (_, row) =>
        random() < 0.15 || held[row] === undefined ? whole(random, world.actions) : held[row],
      );
      const action = held.map((one, row) => (row % 3 === 0 ? whole(random, world.actions) : one));
      compared.forEach((row, i) => {
        if (row % 3 === 2 && world.name === "forager") action[row] = greedyNearest(scalars[i].state);
      });
      return action;
    };
  }

  A.policies = { stream, whole, greedyNearest, rowOf, mixed };
})((globalThis.Article = globalThis.Article || {}));
