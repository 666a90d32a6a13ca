// SPDX-License-Identifier: MIT
// Trees: columns in preorder. Node 0 is the root, whose look is -1; the children of node i lie in
// [i + 1, i + size[i]). What a chart asks of a tree (firstOf, endOf, nextOf, pathTo) is asked of a
// grown one too: see grow.js.

export class Tree {
  constructor(depth, look) {
    const n = depth.length;
    Object.assign(this, { n, depth, look });
    this.size = new Uint32Array(n);
    this.parent = new Int32Array(n);
    this.self = this.total = this.left = null;
    this.delta = this.deltaSelf = null; // of two profiles: how much the new one has more
    this.deepest = 0;
    this.link();
  }

  link() {
    const { n, depth, size, parent } = this;
    for (let i = 0; i < n; i++) if (depth[i] > this.deepest) this.deepest = depth[i];
    const open = new Int32Array(this.deepest + 2);
    let d = 0;
    for (let i = 1; i < n; i++) {
      const at = depth[i];
      for (; d >= at; d--) size[open[d]] = i - open[d];
      parent[i] = open[at - 1];
      open[(d = at)] = i;
    }
    for (; d >= 0; d--) size[open[d]] = n - open[d];
    parent[0] = -1;
  }

  // Totals from the leaves up, places from the left: a parent comes before its children.
  measure(self) {
    const { n, parent } = this;
    const total = (this.total = Float64Array.from(self)), left = (this.left ??= new Float64Array(n));
    this.self = self;
    for (let i = n - 1; i > 0; i--) total[parent[i]] += total[i];
    const used = new Float64Array(n);
    left[0] = 0;
    for (let i = 1; i < n; i++) {
      const above = parent[i];
      left[i] = left[above] + used[above];
      if (total[i] > 0) used[above] += total[i];
    }
    return this;
  }

  measureDelta(deltaSelf) {
    const { n, parent } = this, delta = (this.delta = Float64Array.from(deltaSelf));
    this.deltaSelf = deltaSelf;
    for (let i = n - 1; i > 0; i--) delta[parent[i]] += delta[i];
    return this;
  }

  firstOf(node) { return node + 1; }
  endOf(node) { return node + this.size[node]; }
  nextOf(node) { return node + this.size[node]; }
  isWhole() { return true; } // all there is below a node is known
  grow() {}

  childrenOf(node) {
    const children = [];
    for (let child = node + 1, end = this.endOf(node); child < end; child = this.nextOf(child))
      if (this.total[child] > 0) children.push(child);
    return children;
  }

  // From the root to `node`, both included.
  pathTo(node) { return pathUp(this.parent, node); }
}

export const pathUp = (parent, node) => {
  const path = [];
  for (let at = node; at >= 0; at = parent[at]) path.push(at);
  return path.reverse();
};

// Order of nodes by a column of numbers, largest first; those that are equal stay in order. By
// halves of what the numbers are as 32-bit floats: nobody sees a ten-millionth of a pixel.
const byWeight = (weight) => {
  const n = weight.length, keys = new Uint32Array(Float32Array.from(weight).buffer);
  for (let i = 0; i < n; i++) keys[i] = keys[i] >>> 31 ? keys[i] : ~keys[i] & 0x7fffffff;
  let from = new Uint32Array(n), to = new Uint32Array(n);
  for (let i = 0; i < n; i++) from[i] = i;
  for (const shift of [0, 16]) {
    const starts = new Uint32Array(65537);
    for (let i = 0; i < n; i++) starts[((keys[i] >>> shift) & 65535) + 1]++;
    for (let k = 0; k < 65536; k++) starts[k + 1] += starts[k];
    for (let i = 0; i < n; i++) to[starts[(keys[from[i]] >>> shift) & 65535]++] = from[i];
    [from, to] = [to, from];
  }
  return from;
};

// The same for looks, smallest first: looks are numbered in the order of their names.
const byLook = (look) => {
  const n = look.length;
  let most = 0;
  for (let i = 1; i < n; i++) if (look[i] > most) most = look[i];
  const starts = new Uint32Array(most + 2), order = new Uint32Array(n);
  for (let i = 1; i < n; i++) starts[look[i] + 1]++;
  for (let k = 0; k <= most; k++) starts[k + 1] += starts[k];
  for (let i = 1; i < n; i++) order[1 + starts[look[i]]++] = i;
  return order;
};

// A tree of nodes that know their parents, which come before them: preorder, siblings by look, or
// by `weight` where there is one. `from` says which node each was.
export const arrange = (parent, look, weight) => {
  const n = look.length, order = weight ? byWeight(weight) : byLook(look);
  const child = new Int32Array(n).fill(-1), next = new Int32Array(n);
  for (let k = n - 1; k >= 0; k--) {
    const i = order[k];
    if (i === 0) continue;
    next[i] = child[parent[i]];
    child[parent[i]] = i;
  }
  const from = new Uint32Array(n), depths = new Uint32Array(n), looks = new Int32Array(n);
  for (let i = 0, d = 0, at = 0; i >= 0; at++) {
    from[at] = i;
    depths[at] = d;
    looks[at] = look[i];
    if (child[i] >= 0) { i = child[i]; d++; continue; }
    while (i > 0 && next[i] < 0) { i = parent[i]; d--; }
    i = i > 0 ? next[i] : -1;
  }
  return { tree: new Tree(depths, looks), from };
};

export const pick = (column, from) => {
  const out = new column.constructor(from.length);
  for (let i = 0; i < from.length; i++) out[i] = column[from[i]];
  return out;
};

// The tree with its siblings by total, largest first.
export const orderByWeight = (tree) => {
  const { tree: ordered, from } = arrange(tree.parent, tree.look, tree.total);
  if (tree.delta) ordered.measureDelta(pick(tree.deltaSelf, from));
  return ordered.measure(pick(tree.self, from));
};
