// SPDX-License-Identifier: MIT
// Boxes that stand in rows, as pixels. All boxes of a row are equally high, so a row is one line of
// pixels that is stretched: to write these is many times faster than to fill ten thousand boxes.

// Straight alpha, as an ImageData has it: little-endian, 0xaabbggrr.
const over = (below, colour, cover) => {
  const under = (below >>> 24) / 255, alpha = cover + under * (1 - cover), share = cover / alpha;
  const mix = (shift) => {
    const was = (below >>> shift) & 255;
    return Math.round(was + (((colour >>> shift) & 255) - was) * share) << shift;
  };
  return ((Math.round(alpha * 255) << 24) | mix(16) | mix(8) | mix(0)) >>> 0;
};

export class Strips {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.known = new Map();
    this.rows = new Map();
  }

  // `width` in pixels of the screen, for at most so many rows.
  begin(width, rows, ratio) {
    const { canvas } = this;
    this.ratio = ratio;
    this.rows.clear();
    if (this.width === width && this.most === rows) { this.pixels.fill(0); return; }
    this.width = canvas.width = width;
    this.most = canvas.height = rows;
    this.g = canvas.getContext("2d", { willReadFrequently: true }); // made by hand, so not on a GPU
    this.image = this.g.createImageData(width, rows);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }

  // The browser reads all notations of colours.
  colourOf(text) {
    let colour = this.known.get(text);
    if (colour === undefined) {
      this.g.fillStyle = text;
      const rgb = parseInt(this.g.fillStyle.slice(1, 7), 16);
      colour = (((rgb & 255) << 16) | (rgb & 0xff00) | (rgb >>> 16)) >>> 0;
      this.known.set(text, colour);
    }
    return colour;
  }

  // Where the pixels of a row begin; -1: there are too many rows.
  lineOf(y) {
    let row = this.rows.get(y);
    if (row === undefined) this.rows.set(y, (row = this.rows.size));
    return row < this.most ? row * this.width : -1;
  }

  // Without smooth edges, and at least one pixel: for a chart of as many boxes as pixels.
  fill(line, x0, x1, colour, alpha) {
    const { pixels, width, ratio } = this, from = Math.max(0, Math.round(x0 * ratio)), to = Math.min(width, Math.max(from + 1, Math.round(x1 * ratio)));
    if (line < 0) return;
    for (let at = from; at < to; at++) pixels[line + at] = alpha === 1 ? (colour | 0xff000000) >>> 0 : over(pixels[line + at], colour, alpha);
  }

  box(x, y, w, text, alpha) {
    const line = this.lineOf(y);
    if (line < 0) return;
    const { pixels, width, ratio } = this, colour = this.colourOf(text);
    const from = Math.max(0, x * ratio), to = Math.min(width, (x + w) * ratio), first = Math.floor(from), last = Math.floor(to);
    const put = (at, cover) => {
      if (at < width && cover > 0.002) pixels[line + at] = over(pixels[line + at], colour, cover * alpha);
    };
    if (first === last) { put(first, to - from); return; }
    let at = first;
    if (from > first) put(at++, first + 1 - from);
    if (alpha === 1) pixels.fill((colour | 0xff000000) >>> 0, line + at, line + last);
    else for (; at < last; at++) put(at, 1);
    put(last, to - last);
  }

  flush() { this.g.putImageData(this.image, 0, 0); }

  // Where a pixel of a row is one of the screen, nothing is to be smoothed.
  draw(g, h) {
    const { canvas, rows, width, ratio } = this;
    this.flush();
    g.imageSmoothingEnabled = false;
    for (const [y, row] of rows) if (row < this.most) g.drawImage(canvas, 0, row, width, 1, 0, y, width / ratio, h);
  }
}
