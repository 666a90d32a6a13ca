// SPDX-License-Identifier: MIT
// Where in the whole the view is: beside the path all of the picture, small, and a window over what is
// shown. It is drawn once, when the view has come to rest; a click or a drag moves the view.
import { Chart } from "./chart.js";
import { Strips } from "./strips.js";
import { byId, make } from "./dom.js";

const LEVELS = 40, LEAST_PX = 3; // levels next to the roots: more of them would be too low

// A chart with one pixel for a level, that makes nothing grow.
class Small extends Chart {
  constructor(options) {
    super(make("canvas"), { ...options, rootsBelow: false, grows: false });
    this.strips = new Strips();
  }

  top(depth) { return depth; }
  box(paint, i, x, y, w) {
    const [colour, alpha] = this.colourOf(i);
    paint.box(x, y, Math.max(w, 0.7), colour, alpha);
  }

  drawLike({ tree, whole, hits, side, width, ratio }) {
    const levels = Math.min(tree.deepest + 1, LEVELS);
    Object.assign(this, { tree, whole, hits, side, width, height: levels - 1 });
    this.strips.begin(Math.round(width * ratio), levels, ratio);
    this.walk(this.strips);
    this.strips.flush();
  }
}

export class Overview {
  constructor(pane, app) {
    Object.assign(this, { pane, app, canvas: byId("overview"), small: null, drawn: [], waiting: 0 });
    const move = (event) => {
      const box = this.canvas.getBoundingClientRect(), { from, to } = pane.chart, span = to - from;
      const start = Math.min(1 - span, Math.max(0, (event.clientX - box.left) / box.width - span / 2));
      pane.show(start, start + span);
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      this.canvas.setPointerCapture(event.pointerId);
      move(event);
    });
    this.canvas.addEventListener("pointermove", (event) => { if (this.canvas.hasPointerCapture(event.pointerId)) move(event); });
  }

  isStill() { return !this.waiting; }

  show() {
    const { canvas, pane: { chart } } = this, isWhole = chart.from <= 0 && chart.to >= 1;
    if (canvas.hidden !== isWhole) {
      const crumbs = byId("crumbs");
      canvas.hidden = isWhole;
      crumbs.scrollLeft = crumbs.scrollWidth;
    }
    if (isWhole) return;
    this.window();
    this.waiting ||= setTimeout(() => this.renew());
  }

  // What it shows; when all of that is the same, so is the picture.
  parts() {
    const { canvas, app: { colours }, pane: { chart } } = this;
    return [chart.tree, chart.tree.deepest, chart.whole, chart.hits, chart.side, colours.by, colours.dark, canvas.clientWidth, devicePixelRatio];
  }

  renew() {
    this.waiting = 0;
    const { app, canvas, pane } = this, parts = this.parts(), width = canvas.clientWidth;
    if (pane.moving || !width || parts.every((part, i) => part === this.drawn[i])) return;
    this.drawn = parts;
    this.small ??= new Small({ colours: app.colours, nLooks: app.looks.n, same: app.looks.same });
    this.small.drawLike({ ...pane.chart, width });
    canvas.width = Math.round(width * pane.chart.ratio);
    canvas.height = Math.round(canvas.clientHeight * pane.chart.ratio);
    this.window();
  }

  window() {
    if (!this.small) return;
    const { canvas, canvas: { width, height }, small: { strips }, pane: { chart } } = this, g = canvas.getContext("2d");
    g.clearRect(0, 0, width, height);
    g.save();
    if (chart.rootsBelow) g.setTransform(1, 0, 0, -1, 0, height);
    g.drawImage(strips.canvas, 0, 0, width, height);
    g.restore();
    const least = LEAST_PX * chart.ratio, wide = Math.round(Math.max(least, (chart.to - chart.from) * width));
    const x = Math.round(Math.min(width - wide, Math.max(0, ((chart.from + chart.to) / 2) * width - wide / 2)));
    g.globalAlpha = 0.55;
    g.fillStyle = this.app.paper;
    g.fillRect(0, 0, x, height);
    g.fillRect(x + wide, 0, width, height);
    g.globalAlpha = 1;
    g.strokeStyle = this.app.colours.palette.text;
    g.lineWidth = chart.ratio;
    g.strokeRect(x + g.lineWidth / 2, g.lineWidth / 2, wide - g.lineWidth, height - g.lineWidth);
  }
}
