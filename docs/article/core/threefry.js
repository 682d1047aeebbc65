// Threefry-2x32 with 20 rounds, and the draws that are made of it, written from docs/randomness.md.
"use strict";

(function (A) {
  const EVEN = [13, 15, 26, 6];
  const ODD = [17, 29, 16, 24];
  const PARITY = 0x1bd11bda;
  const EPISODE_TAG = 0xff000000;
  const INSTANCE_TAG = 0xfe000000;
  const TWO_32 = 4294967296;
  const SLOTS = 240;
  const INDICES = 1 << 24;

  /** One block: two words of key, two of counter, two of output. `out`, if given, takes the output. */
  function threefry(k0, k1, c0, c1, out = [0, 0]) {
    const keys = [k0, k1, PARITY ^ k0 ^ k1];
    let x0 = (c0 + k0) | 0;
    let x1 = (c1 + k1) | 0;
    for (let group = 1; group <= 5; group++) {
      const rotations = group % 2 === 1 ? EVEN : ODD;
      for (let round = 0; round < 4; round++) {
        const r = rotations[round];
        x0 = (x0 + x1) | 0;
        x1 = ((x1 << r) | (x1 >>> (32 - r))) ^ x0;
      }
      x0 = (x0 + keys[group % 3]) | 0;
      x1 = (x1 + keys[(group + 1) % 3] + group) | 0;
    }
    out[0] = x0 >>> 0;
    out[1] = x1 >>> 0;
    return out;
  }

  /** The key of a seed, 0 <= seed < 2**64: its high and its low word. A BigInt, since numbers stop at 2**53. */
  function seedKey(seed) {
    const s = BigInt(seed);
    if (s < 0n || s >= 1n << 64n) throw new RangeError(`seed: expected 0 <= seed < 2**64, got ${s}`);
    return [Number(s >> 32n), Number(s & 0xffffffffn)];
  }

  function episodeKey(seed, episode) {
    const [k0, k1] = seedKey(seed);
    return threefry(k0, k1, episode, EPISODE_TAG);
  }

  /** The seed of instance i of a batch that was seeded with one number. */
  function instanceSeed(seed, instance) {
    const [k0, k1] = seedKey(seed);
    return u64(threefry(k0, k1, instance, INSTANCE_TAG));
  }

  function u64([x0, x1]) {
    return (BigInt(x0) << 32n) | BigInt(x1);
  }

  // ---- what a block becomes. Numbers hold 53 bits, so products of two words are put together from halves.

  function high(a, b) {
    const low = (a & 0xffff) * b;
    return Math.floor(((a >>> 16) * b + Math.floor(low / 65536)) / 65536);
  }

  function randint([x0, x1], n) {
    const carry = (Math.imul(x0, n) >>> 0) + high(x1, n) >= TWO_32 ? 1 : 0;
    return high(x0, n) + carry;
  }

  function uniform([x0]) {
    return (x0 >>> 8) / 16777216;
  }

  function uniform64([x0, x1]) {
    return (x0 * 2097152 + (x1 >>> 11)) / 9007199254740992;
  }

  function threshold(p) {
    if (!(p === 0 || (p >= 1 / TWO_32 && p <= 1))) throw new RangeError(`p: expected 0, or 2**-32 to 1, got ${p}`);
    return Math.floor(p * TWO_32);
  }

  function thresholds(weights) {
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    let sum = 0;
    return weights.map((weight, i) => {
      sum += weight;
      return i === weights.length - 1 ? TWO_32 : Math.floor((sum / total) * TWO_32);
    });
  }

  /** What is drawn in one step (or in the reset, where t = 0) of one episode. */
  class Draw {
    constructor(key, t) {
      [this.k0, this.k1] = key;
      this.t = t;
    }

    static at(seed, episode, t) {
      return new Draw(episodeKey(seed, episode), t);
    }

    words(slot, index = 0) {
      if (!(slot >= 0 && slot < SLOTS)) throw new RangeError(`slot: expected 0..${SLOTS - 1}, got ${slot}`);
      if (!(index >= 0 && index < INDICES)) throw new RangeError(`index: expected 0..2**24 - 1, got ${index}`);
      return threefry(this.k0, this.k1, this.t, ((slot << 24) | index) >>> 0);
    }

    bits(slot, index) {
      return this.words(slot, index)[0];
    }

    bits64(slot, index) {
      return u64(this.words(slot, index));
    }

    uniform(slot, index) {
      return uniform(this.words(slot, index));
    }

    uniform64(slot, index) {
      return uniform64(this.words(slot, index));
    }

    randint(slot, n, index) {
      return randint(this.words(slot, index), n);
    }

    bernoulli(slot, p, index) {
      return this.words(slot, index)[0] < threshold(p);
    }

    categorical(slot, weights, index) {
      const x0 = this.words(slot, index)[0];
      return thresholds(weights).filter((limit) => limit <= x0).length;
    }

    permutation(slot, n, index = 0) {
      const drawn = Array.from({ length: n }, (_, i) => this.words(slot, index + i));
      return drawn.map((_, i) => i).sort((a, b) => drawn[a][0] - drawn[b][0] || drawn[a][1] - drawn[b][1]);
    }
  }

  A.rng = {
    threefry,
    seedKey,
    episodeKey,
    instanceSeed,
    u64,
    randint,
    uniform,
    uniform64,
    threshold,
    thresholds,
    Draw,
    INDICES,
  };
})((globalThis.Article = globalThis.Article || {}));
