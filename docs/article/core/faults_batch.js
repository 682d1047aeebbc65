// Known faults in the draws, the resets and the batch itself; each replaces one small function of the clock, of the draws
// or of the world.
"use strict";

(function (A) {
  const { add, equal, both, not, full, rowsOf } = A.columns;
  const { Batch, Draws } = A.clock;
  const usual = A.forager.batched;
  const clock = Batch.prototype;

  const randomness = [
    {
      id: "next-step",
      title: "The draw takes the next step's counter",
      note: "t + 1 where the contract says t.",
      clock: {
        drawsOfStep(t) {
          return clock.drawsOfStep.call(this, add(t, 1));
        },
      },
    },
    {
      id: "no-index",
      title: "An index is missing",
      note: "All six berries share one draw.",
      draws: {
        words(row, slot) {
          return Draws.prototype.words.call(this, row, slot, 0);
        },
      },
    },
    {
      id: "row-in-key",
      title: "The row's number is in the key",
      note: "Row 0 is right.",
      draws: {
        words(row, slot, index) {
          const key = this.key1[row] ^ this.rows[row];
          return A.rng.threefry(this.key0[row], key, this.t[row], ((slot << 24) | index) >>> 0, this.block);
        },
      },
    },
    {
      id: "short-seed",
      title: "Seeds are cut to 32 bits",
      note: "Every seed below 2**32 is right.",
      clock: {
        setSeeds(seeds) {
          clock.setSeeds.call(
            this,
            seeds.map((seed) => BigInt.asUintN(32, seed)),
          );
        },
      },
    },
    {
      id: "one-slip",
      title: "One slip for all rows",
      note: "A draw that lost its batch axis.",
      draws: {
        bernoulli(slot, p) {
          return full(Uint8Array, this.n, Draws.prototype.bernoulli.call(this, slot, p)[0]);
        },
      },
    },
  ];

  const resets = [
    {
      id: "lost-terminal",
      title: "The last observation is lost",
      note: "A finished row returns the next episode's first one.",
      clock: {
        autoreset(result) {
          const { first } = clock.autoreset.call(this, result);
          return { first, observation: first };
        },
      },
    },
    {
      id: "survivors",
      title: "A partial reset touches the survivors",
      note: "When one row begins anew, every row's clock does.",
      clock: {
        enter(rows, first) {
          clock.enter.call(this, rows, first);
          this.state.t = this.state.t.map(() => 0);
        },
      },
    },
    {
      id: "stale-t",
      title: "The step counter survives a reset",
      note: "t goes on counting.",
      clock: {
        enter(rows, first) {
          const { t } = this.state;
          clock.enter.call(this, rows, first);
          this.state.t = t;
        },
      },
    },
    {
      id: "stale-episode",
      title: "The episode counter is stale",
      note: "Every reset replays the same first state.",
      clock: { advance() {} },
    },
    {
      id: "inverted",
      title: "The reset's mask is inverted",
      note: "The survivors begin anew, the finished rows go on.",
      clock: {
        resetRows(mask) {
          return clock.resetRows.call(this, not(mask));
        },
      },
    },
    {
      id: "pair",
      title: "A leak when two rows end together",
      note: "The second of them begins where the first does.",
      clock: {
        enter(rows, first) {
          if (rows.length === 2) for (const field of ["x", "y"]) first[field][1] = first[field][0];
          clock.enter.call(this, rows, first);
        },
      },
    },
    {
      id: "one-flag",
      title: "Both ends due, one reported",
      note: "Whatever terminates at the cap is not truncated.",
      clock: {
        capped(t, terminated) {
          return both(clock.capped.call(this, t), not(terminated));
        },
      },
    },
  ];

  const system = [
    {
      id: "any",
      title: "A reduction over the batch",
      note: "One row's end is everybody's.",
      world: {
        ends(live, energy) {
          const ended = usual.ends(live, energy);
          return full(Uint8Array, ended.length, rowsOf(ended).length ? 1 : 0);
        },
      },
    },
    {
      id: "aliased",
      title: "An output is written again",
      note: "One array for the rewards of all steps.",
      clock: {
        step(action) {
          const result = clock.step.call(this, action);
          this.buffer = this.buffer || new Float32Array(this.n);
          this.buffer.set(result.reward);
          return { ...result, reward: this.buffer };
        },
      },
    },
    {
      id: "large",
      title: "Another path from N = 512 on",
      note: "A faster kernel for large batches, with one edge wrong.",
      world: {
        turned(dx, dy, slipped) {
          return usual.turned(dx, dy, dx.length < 512 ? slipped : both(slipped, not(equal(dx, -1))));
        },
      },
    },
    {
      id: "episode-20",
      title: "Wrong after episode 20",
      note: "A counter that stops at 20: later episodes repeat that one's draws.",
      clock: {
        rekey(rows) {
          const { episode } = this;
          this.episode = episode.map((number) => Math.min(number, 20));
          clock.rekey.call(this, rows);
          this.episode = episode;
        },
      },
    },
  ];

  A.faultsOf = { ...A.faultsOf, randomness, resets, system };
})((globalThis.Article = globalThis.Article || {}));
