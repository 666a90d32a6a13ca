// SPDX-License-Identifier: MIT
// Time from left to right: texts, marks, and the span that is selected.
export const AXIS = 24; // pixels
export const SMALL_FONT = "11px system-ui, DejaVu Sans, sans-serif";

// Of the first `n` times, which rise, the last one at or before another; -1.
export const lastAt = (times, at, n = times.length) => {
  let low = 0, high = n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= at) low = middle + 1; else high = middle;
  }
  return low - 1;
};

// What the marks of an axis are apart, at least `rough`: 1, 2 or 5 times a power of ten.
export const roundStep = (rough) => {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((k) => k * power).find((k) => k >= rough);
};

export const timeText = (us) => (us === 0 ? "0" : us >= 60e6 ? `${Math.floor(us / 60e6)}:${(us / 1e6 % 60).toFixed(1).padStart(4, "0")} min` : us >= 1e6 ? `${(us / 1e6).toFixed(2)} s` : us >= 1e3 ? `${(us / 1e3).toFixed(1)} ms` : `${us.toFixed(0)} us`);

// A moment, to the microsecond.
export const momentText = (us) => (us >= 1e6 ? `${(us / 1e6).toFixed(6)} s` : us >= 1e3 ? `${(us / 1e3).toFixed(3)} ms` : `${us.toFixed(0)} us`);

// Of the marks of an axis, apart by `step`: as many digits as tell them apart.
const markText = (us, step) => {
  if (us === 0 || us >= 60e6) return timeText(us);
  const [size, unit] = us >= 1e6 ? [1e6, "s"] : us >= 1e3 ? [1e3, "ms"] : [1, "us"];
  return `${(us / size).toFixed(Math.max(0, Math.min(6, Math.ceil(Math.log10(size / step)))))} ${unit}`;
};

// `view`: { low, high, place(µs) }.
export const drawAxis = (g, view, width, height, colour) => {
  const step = roundStep((view.high - view.low) / Math.max(2, width / 110));
  g.textBaseline = "middle";
  for (let k = Math.ceil(view.low / step); k * step <= view.high; k++) {
    const at = k * step, x = view.place(at);
    g.fillStyle = colour("--line");
    g.fillRect(x, AXIS - 4, 1, height - AXIS + 4);
    g.fillStyle = colour("--faint");
    if (x < width - 60) g.fillText(markText(at, step), x + 5, AXIS / 2);
  }
};

// What lies beside the span is veiled.
export const drawSpan = (g, view, span, width, height, colour) => {
  const [x0, x1] = span.map((at) => Math.max(-9, Math.min(width + 9, view.place(at))));
  g.globalAlpha = 0.6;
  g.fillStyle = colour("--page");
  g.fillRect(0, AXIS, x0, height);
  g.fillRect(x1, AXIS, width, height);
  g.globalAlpha = 1;
  g.fillStyle = colour("--focus");
  for (const x of [x0, x1]) g.fillRect(x - 1, AXIS - 4, 2, height);
  const text = `${timeText(span[0])} to ${timeText(span[1])}`, wide = g.measureText(text).width, x = Math.max(2, Math.min(x0 + 5, width - wide - 4));
  g.fillStyle = colour("--page");
  g.fillRect(x - 3, 4, wide + 6, 16);
  g.fillStyle = colour("--focus");
  g.fillText(text, x, AXIS / 2);
};
