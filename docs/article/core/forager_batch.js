// forager for N rows at once, written from envs/forager/spec.md: each line is one operation on whole columns.
// [N] columns belong to the agent, [N, 6] columns to its berries.
"use strict";

(function (A) {
  const rules = A.rules.forager;
  const { AGENT_X, AGENT_Y, BERRY_X, BERRY_Y, BERRY_KIND, SLIP } = rules.slots;
  const { add, subtract, multiply, ratio, clamp, negate, where, gather, spread, sum, stack, full } = A.columns;
  const { equal, atMost, both, either, not } = A.columns;
  const f32 = Math.fround;
  const DX = Int32Array.of(0, 1, 0, -1); // north, east, south, west
  const DY = Int32Array.of(1, 0, -1, 0);

  /** The rules as columns. The constants are the spec's; the widget about the gate lets the reader change them. */
  function forager(constants = rules.constants) {
    const { GRID, N_BERRIES, N_KINDS, SLIP_P, MAX_STEPS } = constants;
    const GAINS = Float32Array.from(constants.GAINS);
    const START_ENERGY = f32(constants.START_ENERGY);
    const STEP_COST = f32(constants.STEP_COST);
    const REWARD_SCALE = f32(constants.REWARD_SCALE);
    const REWARD_COST = f32(constants.REWARD_COST);

    return {
      cap: MAX_STEPS,

      initial(draw) {
        return {
          x: draw.randint(AGENT_X, GRID),
          y: draw.randint(AGENT_Y, GRID),
          energy: full(Float32Array, draw.n, START_ENERGY),
          berry_x: draw.randint(BERRY_X, GRID, N_BERRIES),
          berry_y: draw.randint(BERRY_Y, GRID, N_BERRIES),
          berry_kind: draw.randint(BERRY_KIND, N_KINDS, N_BERRIES),
          berry_live: full(Uint8Array, draw.n * N_BERRIES, 1),
        };
      },

      transition(state, action, draw) {
        const slipped = draw.bernoulli(SLIP, SLIP_P);
        const east = gather(DX, action);
        const north = gather(DY, action);
        const [dx, dy] = this.turned(east, north, slipped);
        const x = clamp(add(state.x, dx), 0, GRID - 1);
        const y = clamp(add(state.y, dy), 0, GRID - 1);
        const found = this.found(state, x, y);
        const gained = this.gained(found, state.berry_kind);
        const energy = this.energy(state.energy, gained);
        const scaled = multiply(gained, REWARD_SCALE);
        const reward = subtract(scaled, REWARD_COST);
        const berry_live = both(state.berry_live, not(found));
        const terminated = this.ends(berry_live, energy, state);
        const next = { ...state, x, y, energy, berry_live };
        return [next, reward, terminated];
      },

      turned(dx, dy, slipped) {
        const x = where(slipped, dy, dx);
        const y = where(slipped, negate(dx), dy);
        return [x, y];
      },

      found(state, x, y) {
        const sameX = equal(state.berry_x, spread(x, N_BERRIES));
        const sameY = equal(state.berry_y, spread(y, N_BERRIES));
        return both(state.berry_live, both(sameX, sameY));
      },

      gained(found, kind) {
        return sum(where(found, gather(GAINS, kind), 0), N_BERRIES);
      },

      energy(before, gained) {
        return add(subtract(before, STEP_COST), gained);
      },

      ends(live, energy) {
        const cleared = equal(sum(live, N_BERRIES), 0);
        const exhausted = atMost(energy, 0);
        return either(cleared, exhausted);
      },

      observation({ x, y, energy, berry_live, t }) {
        const live = ratio(sum(berry_live, N_BERRIES), N_BERRIES);
        return stack([ratio(x, GRID - 1), ratio(y, GRID - 1), energy, live, ratio(t, MAX_STEPS)]);
      },
    };
  }

  A.forager.batched = forager();
  A.forager.withConstants = forager;
})((globalThis.Article = globalThis.Article || {}));
