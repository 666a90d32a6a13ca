// SPDX-License-Identifier: MIT
// A chart: what of a tree lies between two places, in rows. Places are shares of the whole, 0 to 1.
// Knows nothing of the page around the canvas. A grown tree grows where it is drawn.
import { CanvasPaint, GAP, ROW } from "./paint.js";
import { changeOf } from "./compare.js";

const PAD = 5, GROW_WIDTH = 0.5;
const FIRST_MS = 400, GROW_MS = 12; // to grow in: when a tree is new, and in one frame later

export class Chart {
  // `options`: { colours, name: (look) -> string, nLooks, same, withRoot, rootsBelow }
  constructor(canvas, options) {
    this.canvas = canvas;
    Object.assign(this, { rootsBelow: true, withRoot: true, grows: true, ...options });
    this.paint = new CanvasPaint(canvas, options.nLooks);
    this.width = this.height = this.scroll = 0;
    this.from = 0;
    this.to = 1;
    this.hover = this.chosen = -1;
    this.hits = null; // by look: 1 where a search found it
    this.selected = -1; // a look: it is outlined wherever it stands
    this.torn = null; // a Set of looks whose stacks are cut: they miss what called them
    this.min = 0;
    this.side = "new"; // of two profiles, what widths stand for
    this.tree = null;
    this.drawn = 0;
  }

  setTree(tree, whole = tree.total[0]) {
    this.tree = tree;
    this.grownFor = "";
    this.isNew = true;
    this.whole = whole; // what 1 stands for in the colours of shares
    this.hover = this.chosen = -1;
  }

  rowOf(depth) { return depth - (this.withRoot ? 0 : 1); }
  heightOf(deepest) { return this.rowOf(deepest + 1) * ROW + 2 * PAD; }
  get contentHeight() { return this.heightOf(this.tree.deepest); }

  // The deepest level with a box between the two places, on the screen or not.
  deepestShown() {
    let deepest = 0;
    const { tree } = this, top = () => 0, box = (_, i) => { deepest = Math.max(deepest, tree.depth[i]); };
    Object.assign(Object.create(this), { isNew: true, rootsBelow: false, height: ROW, top, box }).walk({});
    return deepest;
  }

  resize(width, height, ratio = devicePixelRatio || 1) {
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.ratio = ratio;
  }

  // Of a row's upper edge, on the canvas.
  top(depth) {
    const content = Math.max(this.contentHeight, this.height), row = this.rowOf(depth);
    return (this.rootsBelow ? content - PAD - (row + 1) * ROW : PAD + row * ROW) - this.scroll;
  }

  depthAt(y) {
    const content = Math.max(this.contentHeight, this.height), inside = y + this.scroll;
    return Math.floor((this.rootsBelow ? content - PAD - inside : inside - PAD) / ROW) + (this.withRoot ? 0 : 1);
  }

  // [x, width] on the canvas, clipped to it.
  extent(node) {
    const { left, total } = this.tree, scale = this.width / (this.to - this.from);
    const x0 = Math.max(0, (left[node] / total[0] - this.from) * scale);
    const x1 = Math.min(this.width, ((left[node] + total[node]) / total[0] - this.from) * scale);
    return [x0, x1 - x0];
  }

  // The node under a point, or -1. A sliver is found within half a pixel.
  nodeAt(x, y) {
    const { tree } = this, depth = this.depthAt(y);
    if (!tree || depth < (this.withRoot ? 0 : 1) || depth > tree.deepest || !(tree.total[0] > 0)) return -1;
    const at = (this.from + (x / this.width) * (this.to - this.from)) * tree.total[0];
    const slack = (0.5 / this.width) * (this.to - this.from) * tree.total[0];
    let node = 0;
    for (let d = 0; d < depth; d++) {
      let best = -1, distance = slack;
      for (let child = tree.firstOf(node), end = tree.endOf(node); child < end; child = tree.nextOf(child)) {
        if (!(tree.total[child] > 0)) continue;
        const off = Math.max(tree.left[child] - at, at - tree.left[child] - tree.total[child], 0);
        if (off < distance || (off === 0 && best < 0)) { best = child; distance = off; }
        if (off === 0 || tree.left[child] > at + slack) break;
      }
      if (best < 0) return -1;
      node = best;
    }
    return node;
  }

  // Draws, and says whether all there is to see was known.
  draw() {
    this.paint.begin(this.width, this.height, this.ratio);
    const whole = this.drawInto(this.paint);
    this.isNew = false;
    return whole;
  }

  get range() { return [this.from, this.to, this.width].join(); }
  isGrown() { return !this.tree?.first || this.grownFor === this.range; }

  // Rows that are not on the screen grow, too, so that one can scroll to them. True when done.
  growRest() {
    if (!this.isGrown() && this.walk(null)) this.grownFor = this.range;
    return this.isGrown();
  }

  drawInto(paint) {
    this.drawn = this.hidden = this.hiddenValue = 0;
    if (!this.tree || !(this.tree.total[0] > 0)) return true;
    const { palette } = this.colours;
    this.ink = [palette.text, palette.hitText];
    this.labels = [];
    this.marks = [];
    const whole = this.walk(paint);
    paint.flush?.();
    for (const [mark, ...where] of this.marks) paint[mark](...where);
    for (const [node, x, y, w, alpha, hit] of this.labels) this.label(paint, node, x, y, w, alpha, hit);
    if (this.chosen > 0) this.outline(paint, this.chosen, 2);
    if (this.hover >= 0) this.outline(paint, this.hover, 1);
    return whole;
  }

  // Walks down only where there is something to see: nodes beside the view are left out with all
  // below them, and of those narrower than a pixel one stands for all that share it. Without `paint`
  // nodes are only made to grow, on and off the screen.
  walk(paint) {
    const { tree, width, height, from } = this, { total } = tree;
    const scale = width / (this.to - from) / total[0], start = from * total[0];
    const taken = [], next = [0], end = [1], deadline = performance.now() + (this.isNew ? FIRST_MS : GROW_MS);
    let d = 0, whole = true;
    while (d >= 0) {
      const i = next[d];
      if (i >= end[d]) { d--; continue; }
      next[d] = d === 0 ? 1 : tree.nextOf(i);
      const x = (tree.left[i] - start) * scale, w = tree.total[i] * scale, y = this.top(d);
      if (!(w > 0) || x + w <= 0) continue;
      if (x >= width || (paint && (this.rootsBelow ? y + ROW < 0 : y > height))) { next[d] = end[d]; continue; }
      if (paint && w < this.min) { this.hidden++; this.hiddenValue += tree.total[i]; continue; }
      if (x + w <= (taken[d] ?? -1)) continue;
      if (paint && y < height && y + ROW > 0 && (d > 0 || this.withRoot)) this.box(paint, i, x, y, w);
      if (w < 1) taken[d] = Math.max(x, 0) + 1;
      if (!tree.isWhole(i)) {
        if (w < GROW_WIDTH || !this.grows) continue;
        if (performance.now() > deadline) { whole = false; continue; }
        tree.grow(i);
      }
      next[++d] = tree.firstOf(i);
      end[d] = tree.endOf(i);
    }
    return whole;
  }

  // [colour, alpha]
  colourOf(i) {
    const { tree, hits, colours } = this, look = tree.look[i];
    if (hits && look >= 0 && hits[look] === 1) return [colours.palette.hit, 1];
    const change = tree.delta ? changeOf(tree.total[i], tree.delta[i], this.side) : 0;
    return [colours.of(look, tree.total[i] / this.whole, change), !hits ? 1 : colours.dark ? 0.3 : 0.38];
  }

  box(paint, i, x, y, w) {
    const { tree, hits, width, colours } = this, look = tree.look[i], hit = hits && look >= 0 && hits[look] === 1;
    const over = x < -0.5 && x + w > width + 0.5; // wider than the view: on the way to it
    const [colour, faint] = this.colourOf(i), alpha = over ? Math.min(faint, 0.6) : faint;
    const x0 = Math.max(x, 0), x1 = Math.min(x + w, width);
    const shown = w < 1.5 ? Math.max(w, 0.7) : x1 - x0 - (w > 4 ? GAP : 0.4);
    paint.box(x0, y, shown, ROW - GAP, colour, alpha);
    this.drawn++;
    if (w > 6 && colours.isUnsure(look)) this.marks.push(["hatch", x0, y, shown, ROW - GAP, this.ink[0]]);
    if (this.torn && w > 6 && tree.depth[i] === 1 && this.torn.has(look)) this.marks.push(["torn", x0, this.rootsBelow ? y + ROW - GAP : y + 2, shown, this.paper]);
    if (look >= 0 && this.same[look] === this.same[this.selected] && w > 3) this.marks.push(["outline", x0, y, shown, ROW - GAP, this.ink[0], 1.5]);
    if (x1 - x0 > 24) this.labels.push([i, x0, y, x1 - x0, hits && !hit ? 0.5 : over ? 0.75 : 1, hit ? 1 : 0]);
  }

  label(paint, node, x, y, w, alpha, hit) {
    const look = this.tree.look[node];
    paint.name(look + 1, this.name(look), x + 5, y + (ROW - GAP) / 2 + 0.5, w - 10, this.ink[hit], alpha);
  }

  outline(paint, node, thickness) {
    const [x, w] = this.extent(node);
    if (w > 0) paint.outline(x, this.top(this.tree.depth[node]), Math.max(w - GAP, 0.5), ROW - GAP, this.ink[0], thickness);
  }
}
