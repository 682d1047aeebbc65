// forager for one instance, written from envs/forager/spec.md: plain ifs and loops, one rule after the other.
"use strict";

(function (A) {
  const rules = A.rules.forager;
  const { GRID, N_BERRIES, N_KINDS, SLIP_P, MAX_STEPS } = rules.constants;
  const { AGENT_X, AGENT_Y, BERRY_X, BERRY_Y, BERRY_KIND, SLIP } = rules.slots;
  const f32 = Math.fround;
  const GAINS = rules.constants.GAINS.map(f32);
  const [START_ENERGY, STEP_COST, REWARD_SCALE, REWARD_COST] = [
    "START_ENERGY",
    "STEP_COST",
    "REWARD_SCALE",
    "REWARD_COST",
  ].map((name) => f32(rules.constants[name]));
  const MOVES = [
    [0, 1],
    [1, 0],
    [0, -1],
    [-1, 0],
  ]; // north, east, south, west

  const berries = (value) => Array.from({ length: N_BERRIES }, (_, i) => value(i));
  const clamped = (value) => Math.min(Math.max(value, 0), GRID - 1);

  const scalar = {
    cap: MAX_STEPS,

    initial(draw) {
      return {
        x: draw.randint(AGENT_X, GRID),
        y: draw.randint(AGENT_Y, GRID),
        energy: START_ENERGY,
        berry_x: berries((i) => draw.randint(BERRY_X, GRID, i)),
        berry_y: berries((i) => draw.randint(BERRY_Y, GRID, i)),
        berry_kind: berries((i) => draw.randint(BERRY_KIND, N_KINDS, i)),
        berry_live: berries(() => 1),
      };
    },

    transition(state, action, draw) {
      const slipped = draw.bernoulli(SLIP, SLIP_P);
      const [dx, dy] = this.turned(MOVES[action], slipped);
      const x = clamped(state.x + dx);
      const y = clamped(state.y + dy);
      const { berry_x, berry_y, berry_kind } = state;
      const berry_live = state.berry_live.slice();
      let gained = 0;
      for (let i = 0; i < N_BERRIES; i++) {
        const here = berry_x[i] === x && berry_y[i] === y;
        if (berry_live[i] && here) {
          berry_live[i] = 0;
          gained = f32(gained + GAINS[berry_kind[i]]);
        }
      }
      const energy = f32(f32(state.energy - STEP_COST) + gained);
      const scaled = f32(REWARD_SCALE * gained);
      const reward = f32(scaled - REWARD_COST);
      const cleared = !berry_live.includes(1);
      const terminated = cleared || this.exhausted(energy);
      const next = { ...state, x, y, energy, berry_live };
      return [next, reward, terminated];
    },

    turned([dx, dy], slipped) {
      return slipped ? [dy, -dx] : [dx, dy]; // a quarter turn clockwise
    },

    exhausted(energy) {
      return energy <= 0;
    },

    observation({ x, y, energy, berry_live, t }) {
      const live = berry_live.filter((one) => one).length;
      return [f32(x / (GRID - 1)), f32(y / (GRID - 1)), energy, f32(live / N_BERRIES), f32(t / MAX_STEPS)];
    },
  };

  A.forager = {
    name: "forager",
    scalar,
    actions: 4,
    fields: {
      x: 1,
      y: 1,
      energy: 1,
      berry_x: N_BERRIES,
      berry_y: N_BERRIES,
      berry_kind: N_BERRIES,
      berry_live: N_BERRIES,
      t: 1,
    },
    types: {
      x: Int32Array,
      y: Int32Array,
      energy: Float32Array,
      berry_x: Int32Array,
      berry_y: Int32Array,
      berry_kind: Int32Array,
      berry_live: Uint8Array,
      t: Int32Array,
    },
    seen: 5,
  };
})((globalThis.Article = globalThis.Article || {}));
