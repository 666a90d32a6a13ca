// SPDX-License-Identifier: MIT
// Drawing: what of a tree lies between two places, on a canvas of the size of the window. Places
// are shares of the whole, 0 to 1. Knows nothing of the page around the canvas.
"use strict";

const ROW = 19, GAP = 1, PAD = 5;

class Chart {
  constructor(canvas, tree, palettes) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.tree = tree;
    this.palettes = palettes;
    this.width = this.height = this.scroll = 0;
    this.from = 0;
    this.to = 1;
    this.rootsBelow = true;
    this.dark = false;
    this.hover = this.chosen = -1;
    this.hits = null; // by look: 1 where a search found it
    this.textWidths = new Float32Array(tree.frames.n + 1).fill(-1);
    this.drawn = 0;
  }

  get contentHeight() { return (this.tree.deepest + 1) * ROW + 2 * PAD; }

  resize(width, height) {
    const ratio = devicePixelRatio || 1;
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
    const content = Math.max(this.contentHeight, this.height);
    return (this.rootsBelow ? content - PAD - (depth + 1) * ROW : PAD + depth * ROW) - this.scroll;
  }

  depthAt(y) {
    const content = Math.max(this.contentHeight, this.height);
    const inside = y + this.scroll;
    return Math.floor((this.rootsBelow ? content - PAD - inside : inside - PAD) / ROW);
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
    if (depth < 0 || depth > tree.deepest || !(tree.total[0] > 0)) return -1;
    const at = (this.from + (x / this.width) * (this.to - this.from)) * tree.total[0];
    const slack = (0.5 / this.width) * (this.to - this.from) * tree.total[0];
    let node = 0;
    for (let d = 0; d < depth; d++) {
      const end = node + tree.size[node];
      let best = -1, distance = slack;
      for (let child = node + 1; child < end; child += tree.size[child]) {
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

  draw() {
    const { context: g, tree, width, height } = this;
    const colours = this.palettes[this.dark ? "dark" : "light"];
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    this.drawn = 0;
    if (!(tree.total[0] > 0)) return;
    g.font = getComputedStyle(this.canvas).font;
    g.direction = "ltr";
    const labels = this.drawBoxes(colours);
    this.drawLabels(labels);
    if (this.chosen > 0) this.outline(this.chosen, 2);
    if (this.hover >= 0) this.outline(this.hover, 1);
  }

  // Walks down only where there is something to see: nodes beside the view are left out with all
  // below them, and of those narrower than a pixel one stands for all that share it.
  drawBoxes(colours) {
    const { context: g, tree, width, height, hits } = this;
    const { n, look, depth, size, total, left, frames } = tree;
    const scale = width / (this.to - this.from) / total[0], start = this.from * total[0];
    const taken = new Float64Array(tree.deepest + 2).fill(-1);
    const faint = this.dark ? 0.3 : 0.38, labels = [];
    for (let i = 0; i < n; ) {
      const x = (left[i] - start) * scale, w = total[i] * scale;
      const d = depth[i], y = this.top(d);
      if (!(w > 0) || x >= width || x + w <= 0 || x + w <= taken[d] ||
          (this.rootsBelow ? y + ROW < 0 : y > height)) {
        i += size[i];
        continue;
      }
      if (y < height && y + ROW > 0) {
        const k = look[i], hit = hits && k >= 0 && hits[k];
        const over = x < -0.5 && x + w > width + 0.5; // wider than the view: on the way to it
        g.globalAlpha = hits && !hit ? faint : over ? 0.6 : 1;
        g.fillStyle = hit ? colours.hit : colours.kinds[k < 0 ? frames.kind.root : frames.kind[k]][k < 0 ? 0 : frames.shade[k]];
        const x0 = Math.max(x, 0), x1 = Math.min(x + w, width);
        if (w < 1.5) g.fillRect(x0, y, Math.max(w, 0.7), ROW - GAP);
        else g.fillRect(x0, y, x1 - x0 - (w > 4 ? GAP : 0.4), ROW - GAP);
        if (x1 - x0 > 24) labels.push(i, x0, y, x1 - x0, hits && !hit ? 0.5 : over ? 0.75 : 1, hit ? 1 : 0);
        this.drawn++;
      }
      if (w < 1) taken[d] = Math.max(x, 0) + 1;
      i++;
    }
    g.globalAlpha = 1;
    this.ink = [colours.text, colours.hitText];
    return labels;
  }

  drawLabels(labels) {
    const { context: g, tree } = this;
    g.textBaseline = "middle";
    for (let i = 0; i < labels.length; i += 6) {
      const [node, x, y, w, alpha, hit] = labels.slice(i, i + 6);
      const text = this.fit(tree.look[node], w - 10);
      if (!text) continue;
      g.globalAlpha = alpha;
      g.fillStyle = this.ink[hit];
      g.fillText(text, x + 5, y + (ROW - GAP) / 2 + 0.5);
    }
    g.globalAlpha = 1;
  }

  // The name, or its beginning and an ellipsis; "" where that would say nothing. Long names are
  // measured by their first part alone.
  fit(look, room) {
    const { context: g, textWidths } = this, name = this.tree.frames.name(look), slot = look + 1;
    if (textWidths[slot] < 0) {
      const part = name.slice(0, 300);
      textWidths[slot] = g.measureText(part).width * (name.length / Math.max(1, part.length));
    }
    if (textWidths[slot] <= room) return name;
    let keep = Math.min(name.length, Math.floor((name.length * room) / textWidths[slot]));
    for (; keep >= 2; keep--) {
      if (name.charCodeAt(keep - 1) >> 10 === 0x36) continue; // the first half of a pair
      const text = name.slice(0, keep) + "…";
      if (g.measureText(text).width <= room) return text;
    }
    return "";
  }

  outline(node, thickness) {
    const { context: g } = this, [x, w] = this.extent(node), y = this.top(this.tree.depth[node]);
    if (!(w > 0)) return;
    g.strokeStyle = this.ink[0];
    g.lineWidth = thickness;
    const inset = thickness / 2;
    g.strokeRect(x + inset, y + inset, Math.max(w - GAP - thickness, 0.5), ROW - GAP - thickness);
  }
}
