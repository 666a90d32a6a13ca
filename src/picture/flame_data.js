// SPDX-License-Identifier: MIT
// Data: the blocks of the page to a tree in typed arrays, in preorder. Node 0 is the root; the
// children of node i lie in [i + 1, i + size[i]).
"use strict";

const blockBytes = async (id) => {
  const element = document.getElementById(id);
  const text = element.textContent;
  element.remove(); // its megabytes are not needed again
  let bytes;
  if (Uint8Array.fromBase64) {
    bytes = Uint8Array.fromBase64(text);
  } else {
    const binary = atob(text);
    bytes = new Uint8Array(binary.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  }
  let stream;
  try {
    stream = new DecompressionStream("deflate-raw");
  } catch {
    return inflateByHand(bytes);
  }
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
};

// LEB128 into `out`; beyond 2^53 the last digits are lost, as in every number here.
const readVarints = (bytes, out, first) => {
  for (let at = 0, i = first; i < out.length; i++) {
    let byte = bytes[at++];
    if (byte < 128) { out[i] = byte; continue; }
    let value = byte & 127, scale = 128;
    do {
      byte = bytes[at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    out[i] = value;
  }
  return out;
};

const readTree = async (meta) => {
  const n = meta.nodes, types = meta.types.length;
  const [steps, looks, frames, texts, ...selves] = await Promise.all(
    ["steps", "looks", "frames", "texts", ...meta.types.map((_, i) => `self${i}`)].map((id) => blockBytes(`data-${id}`)));

  const tree = {
    n, types,
    depth: readVarints(steps, new Uint32Array(n), 1),
    look: readVarints(looks, new Int32Array(n), 1),
    size: new Uint32Array(n),
    total: new Float64Array(n),
    left: new Float64Array(n),
    deepest: 0,
    self: null,
    shown: -1,
    selves,
  };
  tree.look[0] = -1;

  // A step says how many levels to climb before going one down; what is climbed out of is whole.
  const { depth, size } = tree;
  let open = new Uint32Array(256), d = 0;
  for (let i = 1; i < n; i++) {
    const up = depth[i];
    for (let k = 0; k < up; k++, d--) size[open[d]] = i - open[d];
    depth[i] = ++d;
    if (d > tree.deepest) {
      tree.deepest = d;
      if (d === open.length) {
        const longer = new Uint32Array(2 * d);
        longer.set(open);
        open = longer;
      }
    }
    open[d] = i;
  }
  for (; d >= 0; d--) size[open[d]] = n - open[d];

  const names = new TextDecoder().decode(texts).split("\0");
  const rows = readVarints(frames, new Float64Array(meta.frames * 8), 0);
  const columns = (k) => Float64Array.from({ length: meta.frames }, (_, i) => rows[8 * i + k]);
  tree.frames = {
    n: meta.frames,
    name: (look) => (look < 0 ? "all" : names[rows[8 * look]]),
    file: (look) => (look < 0 ? "" : names[rows[8 * look + 1]]),
    module: (look) => (look < 0 ? "" : names[rows[8 * look + 2]]),
    lines: (look) => (look < 0 ? [0, 0] : [rows[8 * look + 3], rows[8 * look + 4]]),
    kind: Uint8Array.from(columns(5)),
    shade: Uint8Array.from(columns(6)),
    found: Uint8Array.from(columns(7)),
  };
  return tree;
};

// Makes `type` the value that widths stand for: totals from the leaves up, places from the left.
const showType = (tree, type, unit) => {
  if (tree.shown === type) return;
  const { n, depth, total, left } = tree;
  const self = (tree.self = readVarints(tree.selves[type], tree.self || new Float64Array(n), 0));
  tree.shown = type;
  for (let i = 0; i < n; i++) {
    const v = self[i];
    if (v) self[i] = (v % 2 ? -(v + 1) / 2 : v / 2) * unit; // zigzag
  }
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
