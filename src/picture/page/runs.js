// SPDX-License-Identifier: MIT
// The samples of one thread as stretches of time, and above them groups of 8, of 64 and so on: a redraw
// of a million samples takes as many steps as there are pixels.
//
//     level 2   |--------------------------------------------- ...
//     level 1   |--------------||----||---------||-----------  ...    of eight, what most of it was
//     level 0   | | | | | | | | ...                                   a sample each
import { lastAt } from "./time_axis.js";

const GROUP = 8, FALLBACK_US = 10000, LEAST_US = 0.5, SAME = 1 << 30;
const CLOCKS = ["cpu", "cpu-clock", "task-clock"];

const empty = (n) => ({ n: 0, start: new Float64Array(n), end: new Float64Array(n), node: new Uint32Array(n), off: new Uint8Array(n), set: new Uint32Array(n) });

// A parent comes before its children.
export const sharedNode = (parent, a, b) => {
  while (a !== b) if (a > b) a = parent[a]; else b = parent[b];
  return a;
};

const medianGap = (time, order) => {
  const step = Math.max(1, Math.floor(order.length / 1000)), gaps = [];
  for (let k = 1; k < order.length; k += step) gaps.push(time[order[k]] - time[order[k - 1]]);
  gaps.sort((a, b) => a - b);
  return gaps[gaps.length >> 1] || FALLBACK_US;
};

// What samples say of their length, in nanoseconds: { clock, waited }, each a column or null; and `usual`
// in µs, or 0.
export const lengthsOf = ({ types, rows: [rows] }, { period, period_unit: unit }) => {
  const clock = types.findIndex(({ type, unit: of }) => CLOCKS.includes(type) && of === "nanoseconds");
  const waited = types.findIndex(({ type }) => type === "off_cpu");
  return {
    clock: clock < 0 ? null : rows.column(clock), waited: waited < 0 ? null : rows.column(waited),
    usual: unit === "nanoseconds" && Number(period) > 0 ? Number(period) / 1e3 : 0,
  };
};

// How long one sample of a thread stands for, in µs; `span` is that of those that do not say it.
const lengthOf = ({ clock, waited }, row, span) => (waited?.[row] > 0 ? waited[row] / 1e3 : clock?.[row] > 0 ? clock[row] / 1e3 : span);

// When the last sample of a thread ends.
export const endOf = ({ time }, lengths, order) => {
  const last = order[order.length - 1];
  return order.length ? time[last] + lengthOf(lengths, last, lengths.usual || medianGap(time, order)) : 0;
};

// { start, end (µs), node, off (1: the thread was off the CPU), set (of labels) } of each sample. A stretch that was
// measured is as long as it says; a sampled one ends at the next, or after its own time where that is far.
export const samplesOf = ({ time, node, set }, lengths, order, nodeOf) => {
  const n = order.length, span = lengths.usual || medianGap(time, order), { waited } = lengths;
  const samples = empty(n);
  const { start, end, off } = samples;
  let k = 0;
  for (const row of order) {
    const at = nodeOf ? nodeOf[node[row]] : node[row];
    if (at < 0) continue;
    start[k] = time[row];
    off[k] = waited?.[row] > 0 ? 1 : 0;
    end[k] = time[row] + lengthOf(lengths, row, span);
    samples.node[k] = at;
    samples.set[k++] = set[row];
  }
  samples.n = k;
  for (let i = 0; i + 1 < k; i++) {
    const next = start[i + 1];
    if (end[i] > next || (!off[i] && next - start[i] <= 2 * (end[i] - start[i]))) end[i] = next;
  }
  return samples;
};

// The same of events that have stacks: each is as long as it took.
export const samplesOfEvents = ({ time, took, node, set }, events, nodeOf) => {
  const samples = empty(events.length);
  let k = 0;
  for (const i of events) {
    const at = nodeOf ? nodeOf[node[i]] : node[i];
    if (!(at > 0)) continue;
    samples.start[k] = time[i];
    samples.end[k] = time[i] + Math.max(LEAST_US, took[i] / 1e3);
    if (k > 0 && samples.end[k - 1] > time[i]) samples.end[k - 1] = time[i];
    samples.node[k] = at;
    samples.set[k++] = set[i];
  }
  samples.n = k;
  return samples;
};

export class Runs {
  constructor(tree, samples) {
    Object.assign(this, { order: new Int32Array(GROUP), shared: new Int32Array(GROUP) }); // of one group at a time
    Object.assign(this, { tree, samples, levels: [samples], deepest: 0, hasWaits: samples.off.includes(1) });
    const { depth } = tree, { n, node } = samples;
    for (let i = 0; i < n; i++) if (depth[node[i]] > this.deepest) this.deepest = depth[node[i]];
    while (this.top.n > GROUP) this.levels.push(this.grouped(this.top));
  }

  get top() { return this.levels[this.levels.length - 1]; }

  grouped({ n, start, end, node, off }) {
    const many = Math.ceil(n / GROUP), out = { n: many, start: new Float64Array(many), end: new Float64Array(many), node: new Uint32Array(many), off: new Uint8Array(many) };
    for (let g = 0; g < many; g++) {
      const first = g * GROUP, last = Math.min(n, first + GROUP) - 1, most = this.most(node, start, end, first, last);
      out.start[g] = start[first];
      out.end[g] = end[last];
      out.node[g] = node[most];
      out.off[g] = off[most];
    }
    return out;
  }

  // Of [first, last] the one that is where most of the time was: from the root on, the child with the most.
  most(node, start, end, first, last) {
    let i = first;
    while (i < last && node[i + 1] === node[i]) i++;
    if (i === last) return first;
    const { order, shared } = this, { parent, depth } = this.tree;
    for (i = first; i <= last; i++) {
      let k = i - first;
      for (; k > 0 && node[order[k - 1]] > node[i]; k--) order[k] = order[k - 1];
      order[k] = i;
    }
    let low = 0, high = last - first;
    for (let k = 0; k < high; k++) shared[k] = node[order[k]] === node[order[k + 1]] ? SAME : depth[sharedNode(parent, node[order[k]], node[order[k + 1]])];
    while (low < high) {
      let least = SAME, best = low, bestEnd = low, weight = -1;
      for (let k = low; k < high; k++) if (shared[k] < least) least = shared[k];
      if (least === SAME) break;
      for (let k = low, begin = low, sum = 0; k <= high; k++) {
        sum += end[order[k]] - start[order[k]];
        if (k < high && shared[k] > least) continue;
        if (sum > weight) { weight = sum; best = begin; bestEnd = k; }
        begin = k + 1;
        sum = 0;
      }
      low = best;
      high = bestEnd;
    }
    return order[low];
  }

  // each(start, end, node, off, sample or -1): what lies between two times, groups for what is shorter
  // than `least`, and of those that share a column of that length one for all. Columns count from time 0,
  // so they stand still while one moves over them.
  each(low, high, least, each) {
    const { levels } = this;
    let column = -1, held = 0, first = -1, last = -1;
    const flush = () => {
      if (first < 0) return;
      const { start, end, node, off } = levels[held], most = first === last ? first : this.most(node, start, end, first, last);
      each(start[first], end[last], node[most], off[most], held === 0 && first === last ? first : -1);
      first = -1;
    };
    const visit = (level, from, to) => {
      const { n, start, end, node, off } = levels[level];
      for (let i = from, stop = Math.min(n, to); i < stop; i++) {
        if (end[i] <= low) continue;
        if (start[i] >= high) break;
        if (end[i] - start[i] > least) {
          flush();
          if (level > 0) visit(level - 1, i * GROUP, (i + 1) * GROUP);
          else each(start[i], end[i], node[i], off[i], i);
          continue;
        }
        const own = Math.floor((start[i] + end[i]) / 2 / least);
        if (first < 0 || own !== column || level !== held || i !== last + 1 || last - first + 1 >= GROUP) {
          flush();
          first = i;
        }
        column = own;
        held = level;
        last = i;
      }
    };
    visit(levels.length - 1, 0, this.top.n);
    flush();
  }

  // The last sample that begins at `time` or before; -1.
  at(time) {
    const { n, start } = this.samples;
    return lastAt(start, time, n);
  }

  ancestor(node, depth) {
    const { parent, depth: depths } = this.tree;
    while (depths[node] > depth) node = parent[node];
    return node;
  }

  // All of the run of equal frames that sample `i` is in: { sample, node, depth, start, end }.
  run(i, depth) {
    const { start, end, node } = this.samples, frame = this.ancestor(node[i], depth), last = frame + this.tree.size[frame];
    const goesOn = (k) => node[k] >= frame && node[k] < last;
    let from = i, to = i;
    while (from > 0 && goesOn(from - 1) && end[from - 1] >= start[from]) from--;
    while (to + 1 < this.samples.n && goesOn(to + 1) && end[to] >= start[to + 1]) to++;
    return { sample: i, first: from, last: to, node: frame, depth: this.tree.depth[frame], start: start[from], end: end[to] };
  }

  // The run beside one, as deep; null: there is none.
  beside({ first, last, depth }, way) {
    const { n, node } = this.samples;
    for (let i = way < 0 ? first - 1 : last + 1; i >= 0 && i < n; i += way)
      if (this.tree.depth[node[i]] >= depth) return this.run(i, depth);
    return null;
  }
}
