// SPDX-License-Identifier: MIT
// Sums over a tree: by function, and of what a search finds.

// By look: what ended there, what went through there, and in how many places of the tree it stands.
// A function that is several times on one stack counts once in its total. Of a function with several
// looks all is in the first; `ended` alone is of each.
export const tally = (tree, { n: nLooks, same }) => {
  const { n, look, depth, self, total } = tree, ended = new Float64Array(nLooks);
  const deltas = new Float64Array(tree.delta ? nLooks : 0), selves = new Float64Array(nLooks), totals = new Float64Array(nLooks), places = new Uint32Array(nLooks);
  const open = new Uint32Array(nLooks), path = new Int32Array(tree.deepest + 2);
  let d = 0; // path[1..d] are the looks above
  for (let i = 1; i < n; i++) {
    if (!total[i] && !self[i] && !tree.delta?.[i]) continue;
    for (; d >= depth[i]; d--) open[path[d]]--;
    const k = same[look[i]];
    ended[look[i]] += self[i];
    selves[k] += self[i];
    if (open[k]++ === 0) {
      totals[k] += total[i];
      if (tree.delta) deltas[k] += tree.delta[i];
    }
    places[k]++;
    path[(d = depth[i])] = k;
  }
  return { ended, self: selves, total: totals, places, delta: tree.delta && deltas };
};

// A text, or a regular expression between slashes, to a test. Throws where the expression is none.
export const matcher = (query) => {
  const slashed = /^\/(.+)\/(i?)$/s.exec(query);
  if (slashed) {
    const pattern = new RegExp(slashed[1], slashed[2]);
    return (text) => pattern.test(text);
  }
  const wanted = query.toLowerCase();
  return (text) => text.toLowerCase().includes(wanted);
};

// By look, 1 where one of the texts matches.
export const find = (looks, query, fields) => {
  const matches = matcher(query), known = new Map(), hits = new Uint8Array(looks.n);
  const test = (text) => {
    let hit = known.get(text);
    if (hit === undefined) known.set(text, (hit = text !== "" && matches(text)));
    return hit;
  };
  for (let k = 0; k < looks.n; k++) hits[k] = fields.some((field) => test(looks[field](k))) ? 1 : 0;
  return hits;
};

// Of the nodes of a tree in preorder, from `first` to `end`; what lies below a match is part of it
// and not counted again.
export const sumOfHits = (tree, hits, first = 0, end = tree.n) => {
  const { look, size, total } = tree;
  let sum = 0;
  for (let i = first; i < end; ) {
    const own = look[i];
    if (own >= 0 && hits[own]) {
      sum += Math.max(0, total[i]);
      i += size[i];
    } else {
      i++;
    }
  }
  return sum;
};
