// SPDX-License-Identifier: MIT
// Where a chart's boxes and names go: onto a canvas, or into an SVG that holds what is seen.
import { Strips } from "./strips.js";

// Where fingers point, rows are as high as they can hit.
export const ROW = matchMedia("(pointer: coarse)").matches ? 26 : 19;
export const GAP = 1;

// A name, or its beginning and an ellipsis; "" where that would say nothing. Long names are measured
// by their first part alone.
class Fitter {
  constructor(context, nLooks) {
    this.context = context;
    this.widths = new Float32Array(nLooks + 1).fill(-1);
  }

  fit(slot, name, room) {
    const { context: g, widths } = this;
    if (widths[slot] < 0) {
      const part = name.slice(0, 300);
      widths[slot] = g.measureText(part).width * (name.length / Math.max(1, part.length));
    }
    if (widths[slot] <= room) return name;
    let keep = Math.min(name.length, Math.floor((name.length * room) / widths[slot]));
    for (; keep >= 2; keep--) {
      if (name.charCodeAt(keep - 1) >> 10 === 0x36) continue; // the first half of a pair
      const text = name.slice(0, keep) + "…";
      if (g.measureText(text).width <= room) return text;
    }
    return "";
  }
}

export class CanvasPaint {
  constructor(canvas, nLooks) {
    this.canvas = canvas;
    this.g = canvas.getContext("2d");
    this.fitter = new Fitter(this.g, nLooks);
    this.strips = new Strips();
  }

  begin(width, height, ratio) {
    const { g } = this;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    g.font = getComputedStyle(this.canvas).font;
    g.direction = "ltr";
    g.textBaseline = "middle";
    this.strips.begin(this.canvas.width, Math.ceil(height / ROW) + 2, ratio);
    this.last = -1;
  }

  alpha(alpha) { if (this.last !== alpha) this.g.globalAlpha = this.last = alpha; }

  box(x, y, w, h, colour, alpha) { this.strips.box(x, y, w, colour, alpha); }

  flush() {
    this.alpha(1);
    this.strips.draw(this.g, ROW - GAP);
  }

  // Slanted lines over a box: a frame that is a guess.
  hatch(x, y, w, h, ink) {
    const { g } = this;
    g.save();
    g.beginPath();
    g.rect(x, y, w, h);
    g.clip();
    g.beginPath();
    for (let at = x - h; at < x + w; at += 7) { g.moveTo(at, y + h); g.lineTo(at + h, y); }
    g.globalAlpha = 0.22;
    g.strokeStyle = ink;
    g.lineWidth = 1.5;
    g.stroke();
    g.restore();
  }

  // A torn edge: what was called from where nobody could see.
  torn(x, y, w, paper) {
    const { g } = this;
    this.alpha(1);
    g.beginPath();
    g.moveTo(x, y);
    for (let at = 0, up = true; at < w; up = !up) { at = Math.min(w, at + 4); g.lineTo(x + at, y + (up ? -3.5 : 0)); }
    g.lineTo(x + w, y + 1);
    g.lineTo(x, y + 1);
    g.fillStyle = paper;
    g.fill();
  }

  name(slot, name, x, y, room, ink, alpha) {
    const text = this.fitter.fit(slot, name, room);
    if (!text) return;
    this.alpha(alpha);
    this.g.fillStyle = ink;
    this.g.fillText(text, x, y);
  }

  outline(x, y, w, h, ink, thickness) {
    this.alpha(1);
    this.g.strokeStyle = ink;
    this.g.lineWidth = thickness;
    this.g.strokeRect(x + thickness / 2, y + thickness / 2, Math.max(w - thickness, 0.5), h - thickness);
  }
}

const escaped = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "\ufffd");
// As the parser has it: in the page's text no address stands, so that all can see that it asks for none.
const svgNamespace = () => new DOMParser().parseFromString("<svg>", "text/html").querySelector("svg").namespaceURI;
const short = (x) => Math.round(x * 100) / 100;

export class SvgPaint {
  constructor(fitter) {
    this.fitter = fitter;
    this.parts = [];
  }

  begin(width, height, paper) {
    this.parts.push(`<svg xmlns="${svgNamespace()}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, DejaVu Sans, sans-serif" font-size="12">
<rect width="100%" height="100%" fill="${paper}"/>
`);
  }

  add(name, of, more = "") {
    this.parts.push(`<${name} ${Object.entries(of).map(([key, v]) => `${key}="${typeof v === "number" ? short(v) : v}"`).join(" ")}${more ? `>${more}</${name}>` : "/>"}\n`);
  }

  box(x, y, width, height, fill, opacity) { this.add("rect", { x, y, width, height, fill, ...(opacity < 1 && { opacity }) }); }
  hatch(x, y, width, height, stroke) {
    this.add("rect", { x: x + 0.5, y: y + 0.5, width: Math.max(0, width - 1), height: height - 1, fill: "none", stroke, "stroke-dasharray": "3 3", opacity: 0.5 });
  }
  torn(x, y, width, fill) { this.add("rect", { x, y: y - 2, width, height: 2, fill }); }
  name(slot, name, x, y, room, fill, opacity) {
    const text = this.fitter.fit(slot, name, room);
    if (text) this.add("text", { x, y: y + 4, fill, ...(opacity < 1 && { opacity }) }, escaped(text));
  }
  title(text, x, y, fill) { this.add("text", { x, y, fill, "font-size": 14 }, escaped(text)); }
  outline(x, y, width, height, stroke, thickness) { this.add("rect", { x, y, width, height, fill: "none", stroke, "stroke-width": thickness }); }
  end() { return this.parts.join("") + "</svg>\n"; }
}
