// toywalk twice, written from envs/toywalk/spec.md: one instance with plain ifs, and N rows as columns.
"use strict";

(function (A) {
  const { L, MAX_STEPS, SLIP_P, START_RANGE, GOAL_REWARD, STEP_REWARD } = A.rules.toywalk.constants;
  const { INIT_POSITION, SLIP } = A.rules.toywalk.slots;
  const { add, negate, where, clamp, equal, gather, ratio, stack, full } = A.columns;
  const f32 = Math.fround;

  const scalar = {
    cap: MAX_STEPS,

    initial(draw) {
      return { position: draw.randint(INIT_POSITION, 2 * START_RANGE + 1) - START_RANGE };
    },

    transition(state, action, draw) {
      let step = action === 1 ? 1 : -1;
      if (draw.bernoulli(SLIP, SLIP_P)) step = -step;
      let position = state.position + step;
      if (position < -L) position = -L;
      if (position > L) position = L;
      const goal = position === L;
      const reward = goal ? GOAL_REWARD : STEP_REWARD;
      return [{ position }, f32(reward), goal];
    },

    observation({ position, t }) {
      return [f32(position / L), f32(t / MAX_STEPS)];
    },
  };

  const STEPS = Int32Array.of(-1, 1);

  const batched = {
    cap: MAX_STEPS,

    initial(draw) {
      return { position: add(draw.randint(INIT_POSITION, 2 * START_RANGE + 1), -START_RANGE) };
    },

    transition(state, action, draw) {
      const step = gather(STEPS, action);
      const slipped = draw.bernoulli(SLIP, SLIP_P);
      const move = where(slipped, negate(step), step);
      const position = clamp(add(state.position, move), -L, L);
      const goal = equal(position, L);
      const best = full(Float32Array, draw.n, GOAL_REWARD);
      const reward = where(goal, best, STEP_REWARD);
      return [{ position }, reward, goal];
    },

    observation({ position, t }) {
      return stack([ratio(position, L), ratio(t, MAX_STEPS)]);
    },
  };

  A.toywalk = {
    name: "toywalk",
    scalar,
    batched,
    actions: 2,
    fields: { position: 1, t: 1 }, // elements a row
    types: { position: Int32Array, t: Int32Array },
    seen: 2, // elements of an observation
  };
})((globalThis.Article = globalThis.Article || {}));
