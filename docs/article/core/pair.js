// A batch beside scalar instances that live the same episodes, and the comparison of their bits.
"use strict";

(function (A) {
  const { Scalar, Batch } = A.clock;
  const view = new DataView(new ArrayBuffer(8));
  const FLOATS = new Set(["energy", "reward", "observation"]);
  const FLAGS = new Set(["terminated", "truncated", "berry_live"]); // true of one instance is 1 of a column

  /** The bits of a float32 in hexadecimal; of a float64 where the number is no float32. */
  function bits(value) {
    if (Math.fround(value) === value) {
      view.setFloat32(0, value);
      return "0x" + view.getUint32(0).toString(16).padStart(8, "0");
    }
    view.setFloat64(0, value);
    return "0x" + view.getBigUint64(0).toString(16).padStart(16, "0");
  }

  function shown(field, value) {
    if (value === undefined) return "nothing";
    if (FLAGS.has(field) && [0, 1].includes(Number(value))) return String(Boolean(Number(value)));
    return FLOATS.has(field) ? `${value} (${bits(value)})` : String(value);
  }

  /** The first difference of two lists of numbers; `at` is the first element's number. */
  function difference(field, expected, got, at = 0, count = expected.length) {
    for (let item = 0; item < count; item++) {
      if (!Object.is(Number(expected[item]), Number(got[at + item]))) {
        return {
          field,
          item: count > 1 ? item : null,
          expected: shown(field, expected[item]),
          got: shown(field, got[at + item]),
        };
      }
    }
    return null;
  }

  function stateDifference(world, state, columns, row) {
    for (const [field, items] of Object.entries(world.fields)) {
      const values = items > 1 ? state[field] : [state[field]];
      const found = difference(field, values, columns[field], row * items, items);
      if (found) return found;
    }
    return null;
  }

  class Pair {
    /** n rows in a batch with a fault; beside `compared` of them (row numbers; all, if absent) a scalar instance each. */
    constructor(world, fault, n, compared = [...Array(n).keys()]) {
      Object.assign(this, { world, n, compared, steps: 0 });
      this.batch = new Batch(world.batched, n, fault);
      const scalar = fault.scalar ? Object.assign(Object.create(world.scalar), fault.scalar) : world.scalar;
      this.scalars = compared.map(() => new Scalar(scalar));
    }

    /** Each of these returns the first finding, or null. */
    reset(seeds) {
      const first = this.batch.reset(seeds);
      return this.each((scalar, row) => {
        const seen = scalar.reset(seeds[row]);
        return this.beginning(scalar, row, seen, first);
      });
    }

    put(states, seeds, episodes) {
      const columns = {};
      for (const [field, items] of Object.entries(this.world.fields)) {
        const Type = this.world.types[field];
        columns[field] = Type.from(states.flatMap((state) => (items > 1 ? state[field] : [state[field]])));
      }
      this.batch.put(columns, seeds, episodes);
      this.scalars.forEach((scalar, i) => {
        const row = this.compared[i];
        scalar.put(states[row], seeds[row], episodes[row]);
      });
    }

    step(action) {
      const before = this.scalars.map((scalar) => [scalar.episode, scalar.state.t]);
      const got = this.batch.step(Int32Array.from(action));
      return this.each((scalar, row, i) => {
        const expected = scalar.step(action[row]);
        const found = this.transition(expected, got, row);
        const next = this.next(scalar, row, expected, got); // always, since a finished instance begins anew in it
        return (found || next) && { ...(found || next), episode: before[i][0], t: before[i][1], action: action[row] };
      });
    }

    resetRows(mask) {
      const first = this.batch.resetRows(Uint8Array.from(mask));
      return this.each((scalar, row) => {
        const seen = mask[row] ? scalar.reset() : scalar.world.observation(scalar.state);
        return this.beginning(scalar, row, seen, first);
      });
    }

    transition(expected, got, row) {
      this.steps += 1;
      const { seen } = this.world;
      return (
        difference("terminated", [expected.terminated], got.terminated, row, 1) ||
        difference("truncated", [expected.truncated], got.truncated, row, 1) ||
        difference("reward", [expected.reward], got.reward, row, 1) ||
        difference("observation", expected.observation, got.observation, row * seen, seen) ||
        stateDifference(this.world, expected.state, got.state, row)
      );
    }

    /** What the policy sees next, and the hidden state behind it. */
    next(scalar, row, expected, got) {
      if (!(expected.terminated || expected.truncated))
        return this.beginning(scalar, row, expected.observation, got.first);
      return this.beginning(scalar, row, scalar.reset(), got.first);
    }

    beginning(scalar, row, seen, first) {
      const found =
        difference("observation", seen, first, row * this.world.seen, this.world.seen) ||
        stateDifference(this.world, scalar.state, this.batch.state, row);
      return found && { ...found, after: "reset or next step" };
    }

    each(look) {
      for (let i = 0; i < this.compared.length; i++) {
        const found = look(this.scalars[i], this.compared[i], i);
        if (found) {
          const { seed, episode, state } = this.scalars[i];
          return { episode, t: state.t, ...found, row: this.compared[i], n: this.n, seed, step: this.steps };
        }
      }
      return null;
    }

    /** Goes on past differences, and keeps in `wrong` the rows that had one. A generator: it yields after each step. */
    *disagreement(seeds, steps, act) {
      this.wrong = new Set();
      this.each = (look) => {
        this.scalars.forEach((scalar, i) => look(scalar, this.compared[i], i) && this.wrong.add(this.compared[i]));
        return null;
      };
      this.reset(seeds);
      for (let step = 0; step < steps; step++) {
        this.step(act(this));
        yield;
      }
    }
  }

  A.pair = { Pair, bits, difference };
})((globalThis.Article = globalThis.Article || {}));
