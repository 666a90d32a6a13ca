// SPDX-License-Identifier: MIT
// Data: the columns of the page to a tree in typed arrays, in preorder. Node 0 is the root; the
// children of node i lie in [i + 1, i + size[i]).
"use strict";

const readTree = async (meta) => {
  const page = await readPage(meta), { n, depth, look, looks } = page;
  const tree = {
    n, page, depth, look,
    types: meta.types.length,
    size: new Uint32Array(n),
    total: new Float64Array(n),
    left: new Float64Array(n),
    deepest: 0,
    self: null,
    shown: -1,
    frames: { ...looks, lines: (k) => (k < 0 ? [0, 0] : [looks.lineLow[k], looks.lineHigh[k]]) },
  };

  // What is climbed out of is whole.
  const { size } = tree;
  for (let i = 1; i < n; i++) if (depth[i] > tree.deepest) tree.deepest = depth[i];
  const open = new Uint32Array(tree.deepest + 1);
  let d = 0;
  for (let i = 1; i < n; i++) {
    for (; d >= depth[i]; d--) size[open[d]] = i - open[d];
    open[++d] = i;
  }
  for (; d >= 0; d--) size[open[d]] = n - open[d];
  return tree;
};

// Makes `type` the value that widths stand for: totals from the leaves up, places from the left.
const showType = (tree, type) => {
  if (tree.shown === type) return;
  const { n, depth, total, left } = tree;
  const self = (tree.self = tree.page.self(type));
  tree.shown = type;
  const open = new Float64Array(tree.deepest + 2);
  for (let i = n - 1; i >= 0; i--) {
    const d = depth[i], sum = self[i] + open[d + 1];
    open[d + 1] = 0;
    open[d] += sum;
    total[i] = sum;
  }
  open.fill(0);
  for (let i = 0; i < n; i++) {
    const d = depth[i], at = open[d];
    left[i] = at;
    open[d + 1] = at;
    if (total[i] > 0) open[d] = at + total[i];
  }
};

// From the root to `node`, both included.
const pathTo = (tree, node) => {
  const path = [0];
  for (let at = 0; at !== node; ) {
    let child = at + 1;
    while (child + tree.size[child] <= node) child += tree.size[child];
    path.push((at = child));
  }
  return path;
};
