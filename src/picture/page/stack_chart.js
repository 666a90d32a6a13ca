// SPDX-License-Identifier: MIT
// The stacks of one thread over time, depth downwards. Equal frames that follow each other are one box. Time
// off the CPU is hatched, with what the thread waited for below its innermost frame. Frames before and after
// a gap of a few pixels are joined by a paler box.
import { GAP, ROW } from "./paint.js";
import { sharedNode } from "./runs.js";
import { changeOf } from "./compare.js";
import { labelOf } from "./threads.js";

const NAMED = 26, HATCHED = 4, POINTED = 3, BRIDGED = 20; // pixels that a box has at least; that a gap has at most
const PALE = 0.4, MISSED = 0.35; // in a gap; where a search finds something else

// "sleep, woken by writer (4711)", by the labels of a sample.
export const waitText = (labels) => {
  const why = labelOf(labels, "off_cpu"), waker = labelOf(labels, "woken_by"), pid = labelOf(labels, "woken_by_pid");
  return (why ? String(why) : "off the CPU") + (waker ? `, woken by ${waker}${pid ? ` (${pid})` : ""}` : "");
};

export class StackChart {
  constructor(app) {
    this.app = app;
  }

  // So many levels, and one for what was waited for.
  heightOf({ deepest, hasWaits }) { return (deepest + (hasWaits ? 1 : 0)) * ROW + 2 * GAP; }

  // The boxes. `to`: { paint, place(µs), low, high, width, top, from, until (y), tree, whole, faint }
  draw(runs, to) {
    Object.assign(this, { runs, to, boxes: [], waits: [], open: [], since: [], seen: [], isRough: false });
    this.begin(runs.deepest);
    const { parent, depth } = to.tree, { open, since, seen } = this, least = (to.high - to.low) / to.width;
    let lastEnd = -Infinity, last = 0, deepest = 0;
    const close = (above) => { for (; deepest > above; deepest--) this.run(deepest, lastEnd); };
    runs.each(to.low, to.high, least, (start, end, node, off, sample) => {
      const gap = start - lastEnd;
      if (gap > 0 && gap <= least) lastEnd = start; // less than a pixel
      close(gap <= BRIDGED * least ? depth[sharedNode(parent, last, node)] : 0);
      if (gap > least) this.bridge(deepest, lastEnd, start);
      for (let at = node, d = depth[node]; d > deepest; at = parent[at], d--) { open[d] = at; since[d] = seen[d] = start; }
      deepest = depth[node];
      last = node;
      lastEnd = end;
      if (off) this.wait(start, end, depth[node], sample);
      if (sample < 0) this.isRough = true; // several samples in one
    });
    close(0);
  }

  // What is the same for all boxes: of each row its pixels, of each function its colour.
  begin(deepest) {
    const { to, app } = this, { strips } = to.paint;
    this.scale = to.width / (to.high - to.low);
    this.lines = new Int32Array(deepest + 1).fill(-1);
    for (let d = 1; d <= deepest; d++) {
      const y = this.top(d);
      if (y + ROW > to.from && y < to.until) this.lines[d] = strips.lineOf(y);
    }
    this.inks = new Map();
    this.byNode = app.colours.isOfChange || app.colours.by === "share";
  }

  top(depth) { return this.to.top + (depth - 1) * ROW; }

  bridge(deepest, end, start) {
    for (let d = 1; d <= deepest; d++) {
      this.box(d, this.seen[d], end, 1, 0);
      this.box(d, end, start, PALE, 0);
      this.seen[d] = start;
    }
  }

  // Of those that can be pointed at it is known where they are.
  run(depth, end) {
    if (this.lines[depth] < 0) return;
    const { to, scale } = this, start = this.since[depth], x = Math.max(0, (start - to.low) * scale), w = Math.min(to.width, (end - to.low) * scale) - x;
    this.box(depth, this.seen[depth], end, 1, GAP);
    if (w >= POINTED) this.boxes.push({ node: this.open[depth], depth, start, end, x, y: this.top(depth), w });
  }

  box(depth, start, end, alpha, gap) {
    const line = this.lines[depth];
    if (line < 0) return;
    const { to, scale } = this, x = Math.max(0, (start - to.low) * scale), right = Math.min(to.width, (end - to.low) * scale);
    if (!(right > 0) || x >= to.width) return;
    const { colour, faint } = this.inkOf(this.open[depth]);
    to.paint.strips.fill(line, x, right - x > 3 ? right - gap : right, colour, alpha * faint);
  }

  inkOf(node) {
    const { app, to: { tree, whole, paint } } = this, look = tree.look[node], key = this.byNode ? node : look;
    let ink = this.inks.get(key);
    if (!ink) {
      const { hits, colours, state } = app, hit = hits && hits[look], change = tree.delta ? changeOf(tree.total[node], tree.delta[node], state.width) : 0;
      const text = hit ? colours.palette.hit : colours.of(look, whole ? tree.total[node] / whole : 0, change);
      this.inks.set(key, (ink = { colour: paint.strips.colourOf(text), faint: hits && !hit ? MISSED : 1 }));
    }
    return ink;
  }

  wait(start, end, depth, sample) {
    const { to } = this, x = Math.max(0, to.place(start)), w = Math.min(to.width, to.place(end)) - x;
    if (w >= HATCHED) this.waits.push({ start, end, depth, sample, x, y: this.top(depth + 1), w });
  }

  // Hatches, names and outlines, over the boxes of all charts.
  finish() {
    const { to, app, boxes } = this, { paint, tree } = to, { text, hitText } = app.colours.palette, { hits, state } = app;
    for (const { depth, x, w, sample } of this.waits) {
      const high = this.top(depth + 1) - to.top, from = Math.max(to.from - ROW, to.top), until = Math.min(to.top + high - GAP, to.until);
      if (until > from) paint.hatch(x, from, w, until - from, text);
      if (sample >= 0 && w >= NAMED) paint.name(0, this.waitOf(sample), x + 5, this.top(depth + 1) + (ROW - GAP) / 2 + 0.5, w - 8, to.faint, 1);
    }
    const same = app.looks.same, selected = state.fn >= 0 ? same[state.fn] : -1;
    for (const { node, x, y, w } of boxes) {
      const look = tree.look[node], hit = hits && hits[look];
      if (selected >= 0 && same[look] === selected && w > 3) paint.outline(x, y, Math.max(w - GAP, 0.5), ROW - GAP, text, 1.5);
      if (w > NAMED) paint.name(look + 1, app.looks.short(look), x + 5, y + (ROW - GAP) / 2 + 0.5, w - 10, hit ? hitText : text, hits && !hit ? 0.5 : 1);
    }
    paint.alpha(1);
  }

  // The name of a wait is none of a function, and is measured each time.
  waitOf(sample) {
    const { app } = this, set = this.runs.samples.set[sample];
    this.to.paint.fitter.widths[0] = -1;
    return waitText(app.page.sets.labels(set));
  }

  // What was drawn at a point: { box } or { wait }; null. Of what is too narrow the run of the very time.
  at(x, y) {
    if (!this.boxes) return null;
    const { to, runs } = this, inside = (one) => y >= one.y && y < one.y + ROW && x >= one.x && x < one.x + one.w;
    const box = this.boxes.find(inside), wait = this.waits.find(inside), depth = Math.floor((y - to.top) / ROW) + 1;
    if (box || wait) return box ? { box } : { wait };
    const { start, end, node } = runs.samples, slack = 1 / this.scale, time = to.low + x / this.scale, i = runs.at(time + slack);
    if (depth < 1 || i < 0 || time > end[i] + slack || time < start[i] - slack || to.tree.depth[node[i]] < depth) return null;
    const run = runs.run(i, depth);
    return { box: { ...run, x: to.place(run.start), y: this.top(depth), w: (run.end - run.start) * this.scale } };
  }
}
