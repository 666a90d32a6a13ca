// SPDX-License-Identifier: MIT
// The stacks of one thread over time: depth downwards, equal frames that follow each other as one box,
// time off the CPU hatched, with what the thread waited for below its innermost frame. Where nobody saw the
// thread for a few pixels, and the same frames before and after, these go on, paler.
import { GAP, ROW } from "./paint.js";
import { sharedNode } from "./runs.js";
import { changeOf } from "./compare.js";

const NAMED = 26, HATCHED = 4, BRIDGED = 20; // pixels that a box has at least; that a gap has at most
const PALE = 0.4, MISSED = 0.35; // where nobody saw it; where a search finds something else

const get = (labels, key) => labels.find((label) => label.key === key)?.value;

// "sleep, woken by writer (4711)", by the labels of a sample.
export const waitText = (labels) => {
  const why = get(labels, "off_cpu"), waker = get(labels, "woken_by"), pid = get(labels, "woken_by_pid");
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
    const { parent, depth } = to.tree, least = (to.high - to.low) / to.width;
    let lastEnd = -Infinity, last = 0, deepest = 0;
    const close = (above) => { for (; deepest > above; deepest--) this.run(deepest, lastEnd); };
    runs.each(to.low, to.high, least, (start, end, node, off, sample) => {
      const gap = start - lastEnd;
      close(gap <= BRIDGED * least ? depth[sharedNode(parent, last, node)] : 0);
      if (gap > least) this.bridge(deepest, lastEnd, start);
      for (let at = node; depth[at] > deepest; at = parent[at]) { this.open[depth[at]] = at; this.since[depth[at]] = this.seen[depth[at]] = start; }
      deepest = depth[node];
      last = node;
      lastEnd = end;
      if (off) this.wait(start, end, depth[node], sample);
      if (sample < 0) this.isRough = true; // several samples in one
    });
    close(0);
  }

  top(depth) { return this.to.top + (depth - 1) * ROW; }

  bridge(deepest, end, start) {
    for (let d = 1; d <= deepest; d++) {
      this.box(d, this.seen[d], end, 1);
      this.box(d, end, start, PALE);
      this.seen[d] = start;
    }
  }

  // To be named, and to be found again.
  run(depth, end) {
    const { to } = this, start = this.since[depth], y = this.top(depth);
    this.box(depth, this.seen[depth], end, 1, GAP);
    if (y + ROW <= to.from || y >= to.until) return;
    const x = Math.max(0, to.place(start));
    this.boxes.push({ node: this.open[depth], depth, start, end, x, y, w: Math.min(to.width, to.place(end)) - x });
  }

  box(depth, start, end, alpha, gap = 0) {
    const { to, app } = this, { tree, paint, width } = to, y = this.top(depth), node = this.open[depth];
    if (y + ROW <= to.from || y >= to.until) return;
    const x = Math.max(0, to.place(start)), right = Math.min(width, to.place(end)), w = right - x;
    if (!(right > 0) || x >= width) return;
    const look = tree.look[node], { hits } = app, hit = hits && hits[look];
    const colour = hit ? app.colours.palette.hit : app.colours.of(look, to.whole ? tree.total[node] / to.whole : 0, tree.delta ? changeOf(tree.total[node], tree.delta[node], app.state.width) : 0);
    paint.box(x, y, Math.max(w - (w > 3 ? gap : 0), 0.7), ROW - GAP, colour, alpha * (hits && !hit ? MISSED : 1));
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
    const { app } = this, set = app.page.rows[0].set[this.runs.samples.row[sample]];
    this.to.paint.fitter.widths[0] = -1;
    return waitText(app.page.sets.labels(set));
  }

  // What was drawn at a point: { box } or { wait }; null.
  at(x, y) {
    const inside = (one) => y >= one.y && y < one.y + ROW && x >= one.x - 0.5 && x < one.x + Math.max(one.w, 0.7) + 0.5;
    const box = this.boxes?.find(inside), wait = this.waits?.find(inside);
    return box ? { box } : wait ? { wait } : null;
  }
}
