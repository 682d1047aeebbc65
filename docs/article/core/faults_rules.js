// Known faults in the rules and the numbers of forager's columns; each replaces one small function of the world.
"use strict";

(function (A) {
  const { N_BERRIES, MAX_STEPS, GRID } = A.rules.forager.constants;
  const { add, subtract, multiply, ratio, equal, atMost, below, either, not, where, gather, sum } = A.columns;
  const { negate, stack } = A.columns;
  const f32 = Math.fround;
  const STEP_COST = f32(A.rules.forager.constants.STEP_COST);
  const GAINS = Float32Array.from(A.rules.forager.constants.GAINS);
  const usual = A.forager.batched;

  const rules = [
    {
      id: "cap-late",
      title: "The step cap is one step late",
      note: "An episode that nothing ends has 81 steps.",
      clock: {
        capped(t) {
          return not(atMost(t, MAX_STEPS));
        },
      },
    },
    {
      id: "cap-early",
      title: "The step cap is one step early",
      note: "An episode that nothing ends has 79 steps.",
      clock: {
        capped(t) {
          return not(atMost(t, MAX_STEPS - 2));
        },
      },
    },
    {
      id: "no-exhausted",
      title: "A termination cause is dropped",
      note: "The agent walks on with its energy spent.",
      world: {
        ends(live) {
          return equal(sum(live, N_BERRIES), 0);
        },
      },
    },
    {
      id: "below-zero",
      title: "< for <=",
      note: "Energy of exactly 0 no longer ends the episode.",
      world: {
        ends(live, energy) {
          return either(equal(sum(live, N_BERRIES), 0), below(energy, 0));
        },
      },
    },
    {
      id: "late-end",
      title: "The end is seen one step late",
      note: "Termination is asked of the state before the step.",
      world: {
        ends(live, energy, before) {
          return usual.ends(before.berry_live, before.energy);
        },
      },
    },
    {
      id: "wrong-turn",
      title: "The slip turns the other way",
      note: "Counterclockwise, in the batch alone.",
      world: {
        turned(dx, dy, slipped) {
          return [where(slipped, negate(dy), dx), where(slipped, dx, dy)];
        },
      },
    },
    {
      id: "one-berry",
      title: "Two berries on a cell count once",
      note: "The best of those found is gained, the others vanish.",
      world: {
        gained(found, kind) {
          const gain = where(found, gather(GAINS, kind), 0);
          return Float32Array.from({ length: gain.length / N_BERRIES }, (_, row) =>
            Math.max(...gain.subarray(row * N_BERRIES, (row + 1) * N_BERRIES)),
          );
        },
      },
    },
    {
      id: "saturated",
      title: "A saturation that is rarely reached",
      note: "Energy stops at 2.",
      world: {
        energy(before, gained) {
          return A.columns.clamp(usual.energy(before, gained), -1, 2);
        },
      },
    },
  ];

  const numbers = [
    {
      id: "swapped",
      title: "Gain first, cost second",
      note: "The same sum on paper; other bits in float32.",
      world: {
        energy(before, gained) {
          return subtract(add(before, gained), STEP_COST);
        },
      },
    },
    {
      id: "double",
      title: "Energy is kept in float64",
      note: "Rounded to float32 only where it is shown.",
      world: {
        energy(before, gained) {
          return Float64Array.from(before, (value, row) => value - 0.02 + gained[row]);
        },
      },
    },
    {
      id: "last-first",
      title: "A sum in the other order",
      note: "The gains of one cell, added from the last berry.",
      world: {
        gained(found, kind) {
          const gain = where(found, gather(GAINS, kind), 0);
          return sum(gain.slice().reverse(), N_BERRIES).reverse();
        },
      },
    },
    {
      id: "reciprocal",
      title: "A division becomes a multiplication",
      note: "x * (1 / 7) is not always x / 7.",
      world: {
        observation({ x, y, energy, berry_live, t }) {
          const seventh = f32(1 / (GRID - 1));
          const part = (column) => multiply(Float32Array.from(column), seventh);
          const live = ratio(sum(berry_live, N_BERRIES), N_BERRIES);
          return stack([part(x), part(y), energy, live, ratio(t, MAX_STEPS)]);
        },
      },
    },
  ];

  const shared = [
    {
      id: "both-turn",
      title: "Both sides: the slip turns the other way",
      note: "One misreading, made twice. The two agree.",
      world: { turned: rules.find(({ id }) => id === "wrong-turn").world.turned },
      scalar: {
        turned([dx, dy], slipped) {
          return slipped ? [-dy, dx] : [dx, dy];
        },
      },
    },
    {
      id: "both-below",
      title: "Both sides: < for <=",
      note: "Both let energy of exactly 0 go on.",
      world: { ends: rules.find(({ id }) => id === "below-zero").world.ends },
      scalar: {
        exhausted(energy) {
          return energy < 0;
        },
      },
    },
  ];

  A.faultsOf = { ...A.faultsOf, rules, numbers, shared };
})((globalThis.Article = globalThis.Article || {}));
