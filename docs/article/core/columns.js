// Columns: one typed array holds one field of all rows. Each function makes a new column and changes none.
// A Float32Array rounds what is stored in it to float32, so each operation here is one rounded operation.
"use strict";

(function (A) {
  /** Lifts an operation on two numbers to columns; the second may be one number for all rows. */
  function lift(operation, Type) {
    return (a, b) => {
      const out = Type ? new Type(a.length) : new a.constructor(a.length);
      if (typeof b === "number") for (let i = 0; i < out.length; i++) out[i] = operation(a[i], b);
      else for (let i = 0; i < out.length; i++) out[i] = operation(a[i], b[i]);
      return out;
    };
  }

  const columns = {
    add: lift((p, q) => p + q),
    subtract: lift((p, q) => p - q),
    multiply: lift((p, q) => p * q),
    ratio: lift((p, q) => p / q, Float32Array),
    clamp: (a, low, high) => a.map((value) => Math.min(Math.max(value, low), high)),
    negate: (a) => a.map((value) => 0 - value),
    equal: lift((p, q) => (p === q ? 1 : 0), Uint8Array),
    atMost: lift((p, q) => (p <= q ? 1 : 0), Uint8Array),
    below: lift((p, q) => (p < q ? 1 : 0), Uint8Array),
    both: lift((p, q) => p & q, Uint8Array),
    either: lift((p, q) => p | q, Uint8Array),
    not: (mask) => mask.map((value) => 1 - value),

    /** a where the mask is set, b elsewhere. */
    where(mask, a, b) {
      const out = new a.constructor(a.length);
      const other = typeof b === "number" ? () => b : (i) => b[i];
      for (let i = 0; i < out.length; i++) out[i] = mask[i] ? a[i] : other(i);
      return out;
    },

    /** table[index], row by row; the dtype is the table's. */
    gather(table, index) {
      const out = new table.constructor(index.length);
      for (let i = 0; i < out.length; i++) out[i] = table[index[i]];
      return out;
    },

    /** [N] to [N, items]: each row's value, once for each of its items. */
    spread(a, items) {
      const out = new a.constructor(a.length * items);
      for (let i = 0; i < out.length; i++) out[i] = a[Math.floor(i / items)];
      return out;
    },

    /** [N, items] to [N]: the sum of each row, first item first. */
    sum(a, items) {
      const out = new a.constructor(a.length / items);
      for (let item = 0; item < items; item++) {
        for (let row = 0; row < out.length; row++) out[row] = out[row] + a[row * items + item];
      }
      return out;
    },

    /** [N] each into [N, columns]: what a row's observation is. */
    stack(parts) {
      const out = new Float32Array(parts[0].length * parts.length);
      parts.forEach((part, column) => part.forEach((value, row) => (out[row * parts.length + column] = value)));
      return out;
    },

    full: (Type, length, value) => new Type(length).fill(value),

    /** The numbers of the rows where the mask is set. */
    rowsOf(mask) {
      const rows = [];
      mask.forEach((value, row) => value && rows.push(row));
      return rows;
    },

    /** A copy of a column of n rows in which some rows are replaced. */
    scatter(a, rows, values, n) {
      const out = a.slice();
      const items = a.length / n;
      rows.forEach((row, i) => out.set(values.subarray(i * items, (i + 1) * items), row * items));
      return out;
    },
  };

  A.columns = columns;
})((globalThis.Article = globalThis.Article || {}));
