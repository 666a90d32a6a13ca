// SPDX-License-Identifier: MIT
// A pane: a chart in a box that scrolls, with all that fingers, mice and keys do to it.
import { Chart } from "./chart.js";
import { listenToGestures } from "./gestures.js";
import { ROW } from "./paint.js";
import { make } from "./dom.js";

const MOVE_MS = 170;
const PAPER_LEAST = 1000, PAPER_MOST = 4000, PAPER_SHAPE = 0.9, PAPER_PIXELS = 4000;
const isStillAsked = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export class Pane {
  // `on`: { click(node, event), menu(node, event), tip(node, x, y), noTip(), moved() }
  constructor(stage, app, options, on) {
    this.stage = stage;
    this.on = on;
    this.app = app;
    this.canvas = make("canvas", "", { tabIndex: 0, role: "img", className: "chart" });
    this.spacer = make("div", "", { className: "spacer" });
    stage.append(this.canvas, this.spacer);
    this.chart = new Chart(this.canvas, {
      colours: app.colours, nLooks: app.looks.n, same: app.looks.same, name: (look) => app.looks.short(look), ...options,
    });
    this.pending = false;
    this.below = 0; // what is hidden below the pane, when the roots are there
    this.moving = this.growing = 0;
    this.onPaper = false;
    this.listen();
  }

  get tree() { return this.chart.tree; }
  isStill() { return !this.pending && !this.moving && !this.growing; }

  listen() {
    const { chart, canvas, stage } = this;
    const gestures = listenToGestures(canvas, {
      range: () => [chart.from, chart.to],
      width: () => chart.width,
      show: (from, to) => this.show(from, to),
      scroll: (dy) => { stage.scrollTop += dy; },
      click: (event) => { const node = this.at(event); if (node >= 0) this.on.click(node, event); },
      hold: (event) => this.openMenu(event),
    });
    canvas.addEventListener("pointermove", (event) => {
      if (gestures.isDragging() || event.pointerType === "touch") return this.leave();
      const node = this.at(event);
      canvas.style.cursor = node >= 0 ? "pointer" : "default";
      if (node < 0) return this.leave();
      if (node !== chart.hover) { chart.hover = node; this.redraw(); }
      this.on.tip(node, event.clientX, event.clientY);
    });
    canvas.addEventListener("pointerleave", () => this.leave());
    canvas.addEventListener("contextmenu", (event) => {
      event.preventDefault();
      if (event.pointerType !== "touch") this.openMenu(event); // of a finger, gestures say so in every browser
    });
    stage.addEventListener("scroll", () => {
      if (stage.clientHeight === chart.height) this.below = stage.scrollHeight - stage.scrollTop - stage.clientHeight;
      this.on.noTip();
      this.redraw();
    });
    new ResizeObserver(() => { // it tells of the first size, too
      if (stage.clientWidth !== chart.width || stage.clientHeight !== chart.height) this.layOut();
    }).observe(stage);
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return this.chart.nodeAt(event.clientX - box.left, event.clientY - box.top);
  }

  openMenu(event) {
    const node = this.at(event);
    if (node >= 0) this.on.menu(node, event);
  }

  leave() {
    this.on.noTip();
    if (this.chart.hover >= 0) { this.chart.hover = -1; this.redraw(); }
  }

  setTree(tree, whole) {
    const fresh = tree !== this.tree;
    this.stop();
    this.chart.setTree(tree, whole);
    if (fresh) { this.chart.from = 0; this.chart.to = 1; }
    this.layOut();
    if (fresh) this.showRoots();
  }

  layOut() {
    if (!this.tree || !this.stage.clientWidth || this.onPaper) return;
    const { stage, chart, below } = this;
    this.spacer.style.height = `${chart.contentHeight}px`;
    chart.resize(stage.clientWidth, stage.clientHeight);
    if (chart.rootsBelow) stage.scrollTop = stage.scrollHeight - stage.clientHeight - below;
    this.redraw();
  }

  showRoots() {
    this.below = 0;
    this.stage.scrollTop = this.chart.rootsBelow ? this.stage.scrollHeight : 0;
  }

  turn(rootsBelow) {
    if (this.chart.rootsBelow === rootsBelow) return;
    this.chart.rootsBelow = rootsBelow;
    this.layOut();
    this.showRoots();
  }

  // For the paper, before the browser lays it out: all levels of what is shown, as wide as they need
  // to fit on one sheet. [how many of them fit, how many there are]
  print(on) {
    this.onPaper = on && Boolean(this.tree);
    if (!this.onPaper) { this.layOut(); return [0, 0]; }
    const { chart } = this, levels = chart.deepestShown() + 1, all = chart.heightOf(levels - 1);
    const width = Math.min(PAPER_MOST, Math.max(PAPER_LEAST, Math.ceil(all / PAPER_SHAPE))), height = Math.min(all, width * PAPER_SHAPE);
    chart.resize(width, height, Math.min(2, PAPER_PIXELS / width));
    chart.scroll = chart.rootsBelow ? chart.contentHeight - height : 0;
    chart.isNew = true;
    chart.draw();
    return [all > height ? Math.floor(height / ROW) : levels, levels];
  }

  showRow(node) {
    const { chart, stage } = this, y = chart.top(this.tree.depth[node]);
    if (y < 0) stage.scrollTop += y - 3 * ROW;
    else if (y + ROW > chart.height) stage.scrollTop += y + 4 * ROW - chart.height;
    chart.scroll = stage.scrollTop;
  }

  draw() {
    const { chart } = this, deepest = this.tree?.deepest;
    if (this.onPaper) return;
    chart.scroll = this.stage.scrollTop;
    const whole = !this.tree || chart.draw();
    if (this.tree && this.tree.deepest !== deepest) this.layOut(); // it has grown
    else if (!whole) this.redraw();
    else if (!this.moving && !chart.isGrown()) this.growLater();
    this.on.drawn?.();
  }

  growLater() {
    clearTimeout(this.growing);
    this.growing = setTimeout(() => {
      const { deepest } = this.tree;
      this.growing = 0;
      if (!this.chart.growRest()) this.growLater();
      if (this.tree.deepest !== deepest) this.layOut();
    });
  }

  redraw() {
    if (this.pending || this.moving) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw();
    });
  }

  stop() {
    cancelAnimationFrame(this.moving);
    this.moving = 0;
  }

  moveTo(from, to) {
    const { chart } = this, start = performance.now(), before = [chart.from, chart.to];
    if (before[0] === from && before[1] === to) return this.redraw();
    this.stop();
    const step = (now) => {
      const t = isStillAsked() ? 1 : Math.min(1, Math.max(0, now - start) / MOVE_MS), eased = 1 - (1 - t) ** 3;
      chart.from = t === 1 ? from : before[0] + (from - before[0]) * eased;
      chart.to = t === 1 ? to : before[1] + (to - before[1]) * eased;
      this.moving = t < 1 ? requestAnimationFrame(step) : 0;
      this.draw();
      this.on.moved();
    };
    this.moving = requestAnimationFrame(step);
  }

  // At once, under a finger.
  show(from, to) {
    this.stop();
    Object.assign(this.chart, { from, to });
    this.on.noTip();
    this.redraw();
    this.on.moved();
  }

  // A node over the whole width.
  zoomTo(node) {
    const { left, total } = this.tree, whole = total[0];
    if (!(total[node] > 0)) return;
    this.moveTo(left[node] / whole, (left[node] + total[node]) / whole);
  }

  widest(node) {
    const { tree } = this;
    return tree.childrenOf(node).reduce((best, child) => (best < 0 || tree.total[child] > tree.total[best] ? child : best), -1);
  }

  beside(node, way) {
    const { tree } = this, parent = tree.parent[node];
    if (parent < 0) return -1;
    const shown = tree.childrenOf(parent);
    return shown[shown.indexOf(node) + way] ?? -1;
  }

  // For keys: where a node is on the screen.
  placeOf(node) {
    const { chart } = this, [x, w] = chart.extent(node), box = this.canvas.getBoundingClientRect();
    return [box.left + x + Math.min(w / 2, 60), box.top + chart.top(this.tree.depth[node]) + ROW / 2];
  }

  choose(node) {
    if (node < 0) return;
    this.chart.chosen = node;
    const [, w] = this.chart.extent(node);
    if (!(w > 0)) this.zoomTo(this.tree.parent[node] >= 0 ? this.tree.parent[node] : node);
    this.showRow(node);
    this.redraw();
    this.on.tip(node, ...this.placeOf(node));
    this.on.chosen?.(node);
  }

  // Arrows walk: away from the roots and back, to the side. False for other keys.
  press(key, at) {
    const { rootsBelow } = this.chart, outwards = rootsBelow ? "ArrowUp" : "ArrowDown";
    if (key === "ArrowUp" || key === "ArrowDown") this.choose(key === outwards ? this.widest(at) : this.tree.parent[at]);
    else if (key === "ArrowLeft" || key === "ArrowRight") this.choose(this.beside(at, key === "ArrowLeft" ? -1 : 1));
    else return false;
    return true;
  }
}
