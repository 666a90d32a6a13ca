// SPDX-License-Identifier: MIT
// Trees that are reckoned where somebody looks. Who calls whom, from the leaves or from one
// function, has far more nodes than the tree it is made of; nearly all of them are narrower than a
// pixel. A node keeps what it stands for, items of the tree below, and makes its children of them
// when it is asked to grow.
//
// Upwards an item is a stack on its way to the root: (the frame it stands at, its weight). The items
// of a node are those of its children, in another order. Downwards an item is a node of the tree.
import { pathUp, pick } from "./tree.js";

const UNKNOWN = -1;

class Columns {
  constructor(kinds) {
    this.kinds = kinds;
    this.n = 0;
    this.room = 256;
    for (const [name, Kind] of Object.entries(kinds)) this[name] = new Kind(this.room);
  }

  add(more) {
    const first = this.n;
    this.n += more;
    if (this.n <= this.room) return first;
    while (this.room < this.n) this.room *= 2;
    for (const [name, Kind] of Object.entries(this.kinds)) {
      const longer = new Kind(this.room);
      longer.set(this[name]);
      this[name] = longer;
    }
    return first;
  }
}

export class GrownTree extends Columns {
  // `items` are nodes of `base`, `weights` what each stands for, `deltas` how much that has changed.
  constructor(base, items, weights, deltas, { up, look, nLooks, heaviestFirst }) {
    super({ look: Int32Array, parent: Int32Array, depth: Uint32Array, total: Float64Array, self: Float64Array,
            left: Float64Array, delta: Float64Array, first: Int32Array, count: Int32Array, from: Uint32Array, to: Uint32Array });
    Object.assign(this, { base, up, heaviestFirst, deepest: 0 });
    this.at = Int32Array.from(items);
    this.weight = Float64Array.from(weights);
    this.change = deltas && Float64Array.from(deltas);
    this.nItems = items.length;
    this.sums = new Float64Array(nLooks);
    this.changes = new Float64Array(nLooks);
    this.counts = new Uint32Array(nLooks);
    this.add(1);
    this.look[0] = look;
    this.parent[0] = UNKNOWN;
    this.count[0] = UNKNOWN;
    this.to[0] = items.length;
    for (const weight of weights) this.total[0] += weight;
    for (const delta of deltas ?? []) this.delta[0] += delta;
    if (!up) for (const item of items) this.self[0] += base.self[item];
  }

  firstOf(node) { return this.first[node]; }
  endOf(node) { return this.first[node] + Math.max(0, this.count[node]); }
  nextOf(node) { return node + 1; }
  isWhole(node) { return this.count[node] !== UNKNOWN; }
  placesOf(node) { return this.to[node] - this.from[node]; }
  pathTo(node) { return pathUp(this.parent, node); }

  childrenOf(node) {
    this.grow(node);
    const children = [];
    for (let child = this.first[node]; child < this.endOf(node); child++)
      if (this.total[child] > 0) children.push(child);
    return children;
  }

  // The items behind those of `node`: [nodes, weights, deltas or null, place of the first].
  step(node) {
    const { base, at, weight, change } = this, from = this.from[node], to = this.to[node];
    if (this.up) return [at.slice(from, to), weight.slice(from, to), change && change.slice(from, to), from];
    const nodes = [];
    for (let k = from; k < to; k++)
      for (let child = at[k] + 1, end = base.endOf(at[k]); child < end; child = base.nextOf(child))
        if (base.total[child] || base.delta?.[child]) nodes.push(child);
    return [nodes, nodes.map((child) => base.total[child]), base.delta && nodes.map((child) => base.delta[child]), this.nItems];
  }

  grow(node) {
    if (this.count[node] !== UNKNOWN) return;
    const { sums, changes, counts, base: { look, parent } } = this, [nodes, weights, deltas, place] = this.step(node);
    const found = [];
    let ended = 0, rest = 0; // items that stand at the root go no further
    for (let k = 0; k < nodes.length; k++) {
      const own = look[nodes[k]];
      if (own < 0) { ended++; rest += weights[k]; continue; }
      if (counts[own]++ === 0) found.push(own);
      sums[own] += weights[k];
      if (deltas) changes[own] += deltas[k];
    }
    found.sort(this.heaviestFirst ? (a, b) => sums[b] - sums[a] || a - b : (a, b) => a - b);
    const first = this.add(found.length);
    this.first[node] = first;
    this.count[node] = found.length;
    if (this.up) this.self[node] = rest;
    else this.reserveItems(nodes.length);
    let start = place + ended, left = this.left[node];
    found.forEach((own, i) => {
      const child = first + i;
      this.look[child] = own;
      this.parent[child] = node;
      this.depth[child] = this.depth[node] + 1;
      this.total[child] = sums[own];
      this.left[child] = left;
      this.count[child] = UNKNOWN;
      this.from[child] = start;
      this.to[child] = start += counts[own];
      if (sums[own] > 0) left += sums[own];
      this.delta[child] = changes[own];
      sums[own] = changes[own] = 0;
      counts[own] = this.from[child];
    });
    if (found.length) this.deepest = Math.max(this.deepest, this.depth[node] + 1);
    let end = place;
    for (let k = 0; k < nodes.length; k++) {
      const own = look[nodes[k]], slot = own < 0 ? end++ : counts[own]++;
      this.at[slot] = this.up && own >= 0 ? parent[nodes[k]] : nodes[k];
      this.weight[slot] = weights[k];
      if (deltas) this.change[slot] = deltas[k];
    }
    for (const own of found) counts[own] = 0;
    if (!this.up)
      for (let child = first; child < first + found.length; child++)
        for (let k = this.from[child]; k < this.to[child]; k++) this.self[child] += this.base.self[this.at[k]];
  }

  reserveItems(more) {
    this.nItems += more;
    if (this.nItems <= this.at.length) return;
    const at = new Int32Array(2 * this.nItems), weight = new Float64Array(2 * this.nItems);
    at.set(this.at);
    weight.set(this.weight);
    Object.assign(this, { at, weight });
    if (this.change) {
      const change = new Float64Array(2 * this.nItems);
      change.set(this.change);
      this.change = change;
    }
  }
}

// From the leaves to the root: what ended in a function, by who called it.
export const growInverted = (base, nLooks, heaviestFirst) => {
  const { n, self, deltaSelf } = base, counts = (i) => self[i] !== 0 || (deltaSelf !== null && deltaSelf[i] !== 0);
  let many = 0;
  for (let i = 1; i < n; i++) if (counts(i)) many++;
  const items = new Int32Array(many);
  for (let i = 1, k = 0; i < n; i++) if (counts(i)) items[k++] = i;
  return new GrownTree(base, items, pick(self, items), deltaSelf && pick(deltaSelf, items), { up: true, look: -1, nLooks, heaviestFirst });
};

// The nodes of a function, those below another one of it too.
const nodesOf = (tree, look, same) => {
  const nodes = [];
  for (let i = 1; i < tree.n; i++) if (same[tree.look[i]] === same[look] && (tree.total[i] || tree.delta?.[i])) nodes.push(i);
  return nodes;
};

// Of a function that is several times on a stack, the stack belongs to the innermost node alone, from
// which one sees who called it, and to the outermost one, from which one sees all that it called.
const split = (tree, nodes, values) => {
  const inner = nodes.map((node) => values[node]), outer = inner.slice(), open = [];
  nodes.forEach((node, k) => {
    while (open.length && tree.endOf(nodes[open.at(-1)]) <= node) open.pop();
    if (open.length) {
      inner[open.at(-1)] -= values[node];
      outer[k] = 0;
    }
    open.push(k);
  });
  return { inner, outer };
};

// Who calls one function, and whom it calls. The numbers are those of `cairn report --callers` and
// `--callees`: each stack through the function counts once.
export const growSandwich = (base, look, { n: nLooks, same }, heaviestFirst) => {
  const how = { look, nLooks, heaviestFirst }, nodes = look < 0 ? [] : nodesOf(base, look, same);
  const values = split(base, nodes, base.total), deltas = base.delta && split(base, nodes, base.delta);
  const grown = (side, up) => {
    const kept = nodes.map((_, k) => k).filter((k) => values[side][k] || deltas?.[side][k]);
    return new GrownTree(base, kept.map((k) => (up ? base.parent[nodes[k]] : nodes[k])), pick(values[side], kept),
                         deltas && pick(deltas[side], kept), { up, ...how });
  };
  return { nodes, self: nodes.reduce((sum, node) => sum + base.self[node], 0), callers: grown("inner", true), callees: grown("outer", false) };
};
