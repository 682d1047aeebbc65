// SHA-256 (FIPS 180-4) of a text, since browsers keep crypto.subtle from pages that come from a file.
"use strict";

(function (A) {
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
  const fraction = (value) => Math.floor((value - Math.floor(value)) * 4294967296);
  const ROUND = primes.map((p) => fraction(Math.cbrt(p)));
  const START = primes.slice(0, 8).map((p) => fraction(Math.sqrt(p)));
  const rotate = (x, n) => (x >>> n) | (x << (32 - n));

  function padded(text) {
    const bytes = new TextEncoder().encode(text);
    const out = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 9) / 64) * 64));
    bytes.forEach((byte, i) => out.setUint8(i, byte));
    out.setUint8(bytes.length, 0x80);
    out.setUint32(out.byteLength - 8, Math.floor(bytes.length / 536870912));
    out.setUint32(out.byteLength - 4, bytes.length << 3);
    return out;
  }

  function schedule(data, offset) {
    const w = Array.from({ length: 16 }, (_, i) => data.getUint32(offset + 4 * i));
    for (let i = 16; i < 64; i++) {
      const s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ (w[i - 15] >>> 3);
      const s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ (w[i - 2] >>> 10);
      w.push((w[i - 16] + s0 + w[i - 7] + s1) | 0);
    }
    return w;
  }

  function compress(hash, w) {
    let [a, b, c, d, e, f, g, h] = hash;
    for (let i = 0; i < 64; i++) {
      const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
      const one = (h + s1 + ((e & f) ^ (~e & g)) + ROUND[i] + w[i]) | 0;
      const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
      const two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [a, b, c, d, e, f, g, h] = [(one + two) | 0, a, b, c, (d + one) | 0, e, f, g];
    }
    return [a, b, c, d, e, f, g, h].map((value, i) => (value + hash[i]) | 0);
  }

  /** The digest in hexadecimal. */
  A.sha256 = (text) => {
    const data = padded(text);
    let hash = START;
    for (let offset = 0; offset < data.byteLength; offset += 64) hash = compress(hash, schedule(data, offset));
    return hash.map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  };
})((globalThis.Article = globalThis.Article || {}));
