// SPDX-License-Identifier: MIT
// Questions to a tree that change it. Each is { ask, of }: `of` is a look, a module or a kind.
//
//   focus   stacks through the function      drop     stacks that are not through it
//   below   the function and whom it calls   above    the function and who calls it
//   hide    leave the function out: what it calls, its caller calls
//   module  of a module only where it is entered       kind   leave frames of a kind out
//   guest   `of` is fold, only or off: frames that cairn_guest_shows() leaves out of the stack
//   recursion   a function that calls itself is there once
//
// The answer is { tree, self, map }: map() says which node of it each of the old ones is part of, -1: none.
import { Tree, arrange, pick } from "./tree.js";

// For each node whether it is one of those, has one above it, or has one below it.
const HAS = 1, UNDER = 2;

const marks = (tree, look, same) => {
  const { n, parent } = tree, mark = new Uint8Array(n);
  for (let i = 1; i < n; i++) {
    if (mark[parent[i]] & (HAS | UNDER)) mark[i] = UNDER;
    else if (same[tree.look[i]] === same[look]) mark[i] = HAS;
  }
  return mark;
};

// Questions that leave the tree as it is and ask for some of its values only.
const only = (keeps) => (tree, self, look, same) => {
  const mark = marks(tree, look, same);
  return { self: self.map((value, i) => (keeps(mark[i]) ? value : 0)), map: () => Int32Array.from(mark, (m, i) => (keeps(m) ? i : -1)) };
};
const values = {
  focus: only((mark) => mark !== 0),
  drop: only((mark) => mark === 0),
  above: (tree, self, look, same) => {
    const mark = marks(tree, look, same), out = new Float64Array(tree.n), into = new Int32Array(tree.n).fill(-1);
    for (let i = tree.n - 1; i > 0; i--) {
      if (mark[i] === HAS) for (let k = i; k < i + tree.size[i]; k++) { out[i] += self[k]; into[k] = i; }
    }
    return { self: out, map: () => into };
  },
};

const STAY = 0, LEAVE_OUT = 1, ONCE = 2, ENTER = 3;

// By node, itself if it stays, else the one above it that it becomes part of.
const keptNodes = ({ n, look, parent }, rule, group, same) => {
  const kept = new Int32Array(n);
  for (let i = 1; i < n; i++) {
    const above = kept[parent[i]], own = look[i], old = look[above], what = rule[own];
    const stays = what === STAY || (what === ONCE && (old < 0 || same[old] !== same[own])) ||
                  (what === ENTER && (old < 0 || group[old] !== group[own]));
    kept[i] = stays ? i : above;
  }
  return kept;
};

// As keptNodes. For "only", what is called by no frame of an interpreter stays for stacks without one, and
// the outermost such frames become roots: `rise` has a 1 for them.
const guestNodes = ({ n, look, parent }, view, looks) => {
  const kept = new Int32Array(n), rise = new Uint8Array(n), inside = new Uint8Array(n), { kind, guest, own } = looks;
  for (let i = 1; i < n; i++) {
    const above = parent[i], isGuest = kind[look[i]] === guest;
    inside[i] = inside[above] || isGuest ? 1 : 0;
    rise[i] = view === "only" && isGuest && !inside[above] ? 1 : 0;
    const stays = view === "fold" ? kind[look[i]] !== own : view === "off" ? !isGuest : isGuest || !inside[i];
    kept[i] = stays ? i : kept[above];
  }
  return { kept, rise: view === "only" ? rise : null };
};

// Nodes of the same look under the same node become one. Below a node that takes in another, or may
// be one with another, children are looked up by (parent, look); elsewhere none meets its like.
// `rise`: with a 1 for each node that stands at the root, or null.
const merge = ({ n, look, parent }, self, kept, rootMixed = false, rise = null) => {
  const mixed = new Uint8Array(n);
  let lookedUp = 0;
  mixed[0] = rootMixed ? 1 : 0;
  for (let i = 1; i < n; i++) if (kept[i] !== i) mixed[kept[i]] = 1;
  for (let i = 1; i < n; i++) if (rise?.[i] || mixed[kept[parent[i]]]) { mixed[i] = 1; lookedUp++; }
  let size = 1024;
  while (size < 2 * lookedUp) size *= 2;
  const slots = new Int32Array(size).fill(-1), into = new Int32Array(n);
  const parents = new Int32Array(n), looks = new Int32Array(n), sums = new Float64Array(n);
  let many = 1;
  parents[0] = looks[0] = -1;
  sums[0] = self[0];
  for (let i = 1; i < n; i++) {
    const own = look[i], above = rise?.[i] ? 0 : into[parent[i]];
    let at = above;
    if (kept[i] === i) {
      let slot = -1;
      at = -1;
      if (rise?.[i] || mixed[kept[parent[i]]]) {
        slot = Math.imul(Math.imul(above, 0x9e3779b1) ^ own, 0x85ebca6b);
        slot = (slot ^ (slot >>> 15)) & (size - 1);
        while ((at = slots[slot]) >= 0 && (parents[at] !== above || looks[at] !== own)) slot = (slot + 1) & (size - 1);
      }
      if (at < 0) {
        at = many++;
        if (slot >= 0) slots[slot] = at;
        parents[at] = above;
        looks[at] = own;
      }
    }
    into[i] = at;
    sums[at] += self[i];
  }
  const { tree, from } = arrange(parents.subarray(0, many), looks.subarray(0, many), null);
  const map = () => {
    const place = new Int32Array(many);
    for (let i = 0; i < many; i++) place[from[i]] = i;
    return into.map((at) => place[at]);
  };
  return { tree, self: pick(sums, from), map };
};

// The trees below the outermost nodes of a function, laid over each other.
const below = (tree, self, look, same) => {
  const mark = marks(tree, look, same);
  let many = 1;
  for (let i = 1; i < tree.n; i++) if (mark[i]) many++;
  const depths = new Uint32Array(many), looks = new Int32Array(many).fill(-1), selves = new Float64Array(many);
  for (let i = 1, at = 1, top = 0; i < tree.n; i++) {
    if (!mark[i]) continue;
    if (mark[i] === HAS) top = tree.depth[i] - 1;
    depths[at] = tree.depth[i] - top;
    looks[at] = tree.look[i];
    selves[at++] = self[i];
  }
  const cut = new Tree(depths, looks), kept = Int32Array.from({ length: many }, (_, i) => i);
  const merged = merge(cut, selves, kept, true);
  const map = () => {
    const into = merged.map();
    let at = 1;
    return Int32Array.from(mark, (m) => (m ? into[at++] : -1));
  };
  return { ...merged, map };
};

export const reshape = (tree, self, { ask, of }, looks) => {
  if (values[ask]) return { tree, ...values[ask](tree, self, of, looks.same) };
  if (ask === "guest") {
    const { kept, rise } = guestNodes(tree, of, looks);
    return merge(tree, self, kept, rise !== null, rise);
  }
  if (ask === "below") return below(tree, self, of, looks.same);
  const rule = new Uint8Array(looks.n);
  let group = null;
  if (ask === "hide") {
    for (let k = 0; k < looks.n; k++) if (looks.same[k] === looks.same[of]) rule[k] = LEAVE_OUT;
  } else if (ask === "kind") {
    for (let k = 0; k < looks.n; k++) rule[k] = looks.kind[k] === of ? LEAVE_OUT : STAY;
  } else if (ask === "recursion") {
    rule.fill(ONCE);
  } else if (ask === "module") {
    group = Uint8Array.from({ length: looks.n }, (_, k) => (looks.module(k) === of ? 1 : 0));
    for (let k = 0; k < looks.n; k++) rule[k] = group[k] ? ENTER : STAY;
  } else {
    throw new Error(`no such question: ${ask}`);
  }
  return merge(tree, self, keptNodes(tree, rule, group, looks.same));
};
