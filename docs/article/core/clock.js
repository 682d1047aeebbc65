// The clock: seeds, episodes, steps and the step cap, for one instance and for a batch of them.
// The worlds (toywalk.js, forager.js) hold the rules only, as pure functions.
"use strict";

(function (A) {
  const { add, either, not, atMost, rowsOf, scatter } = A.columns;
  const { threefry, seedKey, episodeKey, Draw } = A.rng;
  const EPISODE_TAG = 0xff000000;

  /** One instance, as gymnasium.Env has it: reset(seed) begins episode 0 of a stream, reset() the next one. */
  class Scalar {
    constructor(world) {
      this.world = world;
    }

    reset(seed) {
      this.begin(seed === undefined ? this.seed : BigInt(seed), seed === undefined ? this.episode + 1 : 0);
      return this.world.observation(this.state);
    }

    begin(seed, episode) {
      this.seed = seed;
      this.episode = episode;
      this.key = episodeKey(seed, episode);
      this.state = { ...this.world.initial(new Draw(this.key, 0)), t: 0 };
    }

    /** Enter a state by hand. */
    put(state, seed, episode) {
      this.begin(seed, episode);
      this.state = { ...state };
    }

    step(action) {
      const draw = new Draw(this.key, this.state.t);
      const [next, reward, terminated] = this.world.transition(this.state, action, draw);
      this.state = { ...next, t: this.state.t + 1 };
      const truncated = this.state.t >= this.world.cap;
      return { state: this.state, reward, terminated, truncated, observation: this.world.observation(this.state) };
    }
  }

  /** What is drawn in one step of n episodes at once. */
  class Draws {
    constructor(key0, key1, t, rows) {
      Object.assign(this, { key0, key1, t, rows, n: t.length, block: [0, 0] });
    }

    words(row, slot, index) {
      return threefry(this.key0[row], this.key1[row], this.t[row], ((slot << 24) | index) >>> 0, this.block);
    }

    /** [N, items], the index running over the items. */
    randint(slot, limit, items = 1) {
      const out = new Int32Array(this.n * items);
      for (let i = 0; i < out.length; i++) {
        out[i] = A.rng.randint(this.words(Math.floor(i / items), slot, i % items), limit);
      }
      return out;
    }

    /** [N] */
    bernoulli(slot, p) {
      const out = new Uint8Array(this.n);
      const limit = A.rng.threshold(p);
      for (let row = 0; row < this.n; row++) out[row] = this.words(row, slot, 0)[0] < limit ? 1 : 0;
      return out;
    }
  }

  /** N instances that step together. A finished row begins its next episode at once; what it ended with is returned. */
  class Batch {
    constructor(world, n, fault = {}) {
      this.world = Object.assign(Object.create(world), fault.world);
      this.fault = fault;
      this.n = n;
      Object.assign(this, fault.clock);
    }

    reset(seeds) {
      this.seeds = seeds.map(BigInt);
      this.put(null, this.seeds, new Uint32Array(this.n));
      return this.world.observation(this.state);
    }

    /** Enter states by hand; without any, the first states of the episodes. */
    put(state, seeds, episode) {
      this.setSeeds(seeds);
      this.episode = Uint32Array.from(episode);
      this.key0 = new Uint32Array(this.n);
      this.key1 = new Uint32Array(this.n);
      this.state = state || this.first([...Array(this.n).keys()]);
      this.rekey([...Array(this.n).keys()]);
    }

    setSeeds(seeds) {
      const keys = seeds.map(seedKey);
      this.high = Uint32Array.from(keys, (key) => key[0]);
      this.low = Uint32Array.from(keys, (key) => key[1]);
    }

    rekey(rows) {
      for (const row of rows) {
        const key = threefry(this.high[row], this.low[row], this.episode[row], EPISODE_TAG);
        [this.key0[row], this.key1[row]] = key;
      }
    }

    draws(rows, t) {
      const draws = new Draws(A.columns.gather(this.key0, rows), A.columns.gather(this.key1, rows), t, rows);
      return Object.assign(draws, this.fault.draws);
    }

    /** The first states of some rows' episodes. */
    first(rows) {
      this.rekey(rows);
      const t = new Int32Array(rows.length);
      return { ...this.world.initial(this.draws(rows, t)), t };
    }

    step(action) {
      const before = this.state;
      const [next, reward, terminated] = this.world.transition(before, action, this.drawsOfStep(before.t));
      this.state = { ...next, t: add(before.t, 1) };
      const truncated = this.capped(this.state.t, terminated);
      const observation = this.world.observation(this.state);
      const result = { state: this.state, reward, terminated, truncated, observation };
      return { ...result, ...this.autoreset(result) };
    }

    drawsOfStep(t) {
      return this.draws([...Array(this.n).keys()], t);
    }

    capped(t) {
      return not(atMost(t, this.world.cap - 1));
    }

    /** `first` is what the policy sees next: of a finished row the first observation of its next episode. */
    autoreset({ terminated, truncated, observation }) {
      const done = either(terminated, truncated);
      return { first: rowsOf(done).length ? this.resetRows(done) : observation };
    }

    /** The next episode for the rows of a mask; all others stay as they are. */
    resetRows(mask) {
      const rows = rowsOf(mask);
      this.advance(rows);
      this.enter(rows, this.first(rows));
      return this.world.observation(this.state);
    }

    advance(rows) {
      this.episode = this.episode.slice();
      for (const row of rows) this.episode[row] += 1;
    }

    enter(rows, first) {
      const old = this.state;
      this.state = Object.fromEntries(
        Object.keys(old).map((field) => [field, scatter(old[field], rows, first[field], this.n)]),
      );
    }
  }

  A.clock = { Scalar, Batch, Draws };
})((globalThis.Article = globalThis.Article || {}));
