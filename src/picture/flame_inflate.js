// SPDX-License-Identifier: MIT
// Raw deflate (RFC 1951) by hand, for browsers without DecompressionStream. Slow and small.
"use strict";

const inflateByHand = (() => {
  // Canonical Huffman codes by length: how many codes each length has, and the symbols in order.
  const makeCode = (lengths) => {
    const counts = new Uint16Array(16);
    for (const length of lengths) counts[length]++;
    counts[0] = 0;
    const offsets = new Uint16Array(16);
    for (let i = 1; i < 15; i++) offsets[i + 1] = offsets[i] + counts[i];
    const symbols = new Uint16Array(lengths.length);
    lengths.forEach((length, symbol) => { if (length) symbols[offsets[length]++] = symbol; });
    return { counts, symbols };
  };

  const bases = (extra, first, last) => {
    const base = [];
    for (let at = first, i = 0; i < extra.length; at += 1 << extra[i++]) base.push(at);
    if (last) base[base.length - 1] = last;
    return base;
  };
  const lengthExtra = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
  const lengthBase = bases(lengthExtra, 3, 258);
  const distanceExtra = [0, 0, 0, 0];
  for (let bits = 1; bits < 14; bits++) distanceExtra.push(bits, bits);
  const distanceBase = bases(distanceExtra, 1, 0);
  const order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
  const fixed = [
    makeCode(Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8))),
    makeCode(Array(30).fill(5)),
  ];

  return (input) => {
    let at = 0, held = 0, n = 0, out = new Uint8Array(Math.max(1024, input.length * 4)), size = 0;
    const bits = (need) => {
      while (n < need) {
        if (at >= input.length) throw new Error("the data ends early");
        held |= input[at++] << n;
        n += 8;
      }
      const value = held & ((1 << need) - 1);
      held >>>= need;
      n -= need;
      return value;
    };
    const symbol = ({ counts, symbols }) => {
      for (let code = 0, first = 0, index = 0, length = 1; length < 16; length++) {
        code |= bits(1);
        if (code - counts[length] < first) return symbols[index + (code - first)];
        index += counts[length];
        first = (first + counts[length]) << 1;
        code <<= 1;
      }
      throw new Error("no such code");
    };
    const reserve = (more) => {
      if (size + more <= out.length) return;
      const grown = new Uint8Array(2 * (size + more));
      grown.set(out);
      out = grown;
    };
    const readCodes = () => {
      const nLengths = bits(5) + 257, nDistances = bits(5) + 1, nCodes = bits(4) + 4;
      const lengths = new Array(19).fill(0);
      for (let i = 0; i < nCodes; i++) lengths[order[i]] = bits(3);
      const code = makeCode(lengths), all = [];
      while (all.length < nLengths + nDistances) {
        const s = symbol(code);
        if (s < 16) { all.push(s); continue; }
        const value = s === 16 ? all[all.length - 1] : 0;
        for (let i = s === 16 ? 3 + bits(2) : s === 17 ? 3 + bits(3) : 11 + bits(7); i > 0; i--)
          all.push(value);
      }
      return [makeCode(all.slice(0, nLengths)), makeCode(all.slice(nLengths))];
    };
    const coded = ([lengths, distances]) => {
      for (;;) {
        const s = symbol(lengths);
        if (s === 256) return;
        if (s < 256) {
          reserve(1);
          out[size++] = s;
          continue;
        }
        const length = lengthBase[s - 257] + bits(lengthExtra[s - 257]);
        const d = symbol(distances);
        const from = size - distanceBase[d] - bits(distanceExtra[d]);
        if (!(from >= 0)) throw new Error("a copy from before the beginning");
        reserve(length);
        for (let i = 0; i < length; i++) out[size++] = out[from + i];
      }
    };
    for (let last = 0; !last; ) {
      last = bits(1);
      const type = bits(2);
      if (type === 0) {
        held = n = 0;
        const length = input[at] | (input[at + 1] << 8);
        at += 4;
        reserve(length);
        out.set(input.subarray(at, at + length), size);
        size += length;
        at += length;
      } else {
        if (type === 3) throw new Error("no such block");
        coded(type === 1 ? fixed : readCodes());
      }
    }
    return out.slice(0, size);
  };
})();
