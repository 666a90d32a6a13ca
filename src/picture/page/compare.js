// SPDX-License-Identifier: MIT
// Two profiles in one tree: how much each node has changed. What the old one has is scaled, so that
// both have the same sum, unless they are compared as they are.

const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);

// `compare` names what widths stand for: "new", "old" or "both"; "new absolute".
export const compared = (fresh, old, compare) => {
  const [width, absolute] = compare.split(" "), whole = sumOf(old), n = fresh.length;
  const scale = absolute || !(whole > 0) || !(sumOf(fresh) > 0) ? 1 : sumOf(fresh) / whole;
  const self = new Float64Array(n), delta = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const before = old[i] * scale;
    delta[i] = fresh[i] - before;
    self[i] = width === "old" ? before : width === "new" ? fresh[i] : fresh[i] + before;
  }
  return { self, delta };
};

// [new, old] again, of a total and its change.
export const sidesOf = (total, delta, width) =>
  width === "new" ? [total, total - delta] : width === "old" ? [total + delta, total] : [(total + delta) / 2, (total - delta) / 2];

// From -1, all of it has gone, to 1, all of it is new.
export const changeOf = (total, delta, width) => {
  const [fresh, old] = sidesOf(total, delta, width), sum = Math.abs(fresh) + Math.abs(old);
  return sum > 0 ? Math.max(-1, Math.min(1, delta / sum)) : 0;
};
