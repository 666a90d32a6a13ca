// SPDX-License-Identifier: MIT
// What a capture has over time, as lines above the picture: a heap's live and resident bytes, its peak and
// its marks. Read from left to right; the height is that of the largest value of all lines of one unit.
import { byId, make } from "./dom.js";
import { inUnit } from "./format.js";
import { timeText } from "./time_axis.js";

const HEIGHT = 64, PAD = 6;
const isPoint = ({ name }) => name === "mark" || name === "peak";
const COLOURS = ["--focus", "--accent", "--faint"];

const most = (values) => values.reduce((max, value) => Math.max(max, value), 0);
const colourOf = (i) => getComputedStyle(document.documentElement).getPropertyValue(COLOURS[i % COLOURS.length]);

const place = (canvas, width) => {
  const ratio = devicePixelRatio || 1, g = canvas.getContext("2d");
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(HEIGHT * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${HEIGHT}px`;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  return g;
};

// A value holds until the next one.
const trace = (g, { time, value }, x, y) => {
  g.beginPath();
  time.forEach((at, i) => {
    if (i) g.lineTo(x(at), y(value[i - 1]));
    g[i ? "lineTo" : "moveTo"](x(at), y(value[i]));
  });
};

export const drawLines = (app) => {
  const box = byId("lines"), canvas = box.querySelector("canvas");
  if (!canvas || !box.clientWidth) return;
  const width = Math.max(80, box.clientWidth - 32), g = place(canvas, width), { lines } = app.page;
  const until = most(lines.map(({ time }) => most(time))) || 1, x = (at) => (at / until) * width;
  lines.filter((line) => !isPoint(line)).forEach((line, i) => {
    const top = most(lines.filter((one) => one.unit === line.unit && !isPoint(one)).map(({ value }) => most(value))) || 1;
    const y = (value) => HEIGHT - PAD - (value / top) * (HEIGHT - 2 * PAD);
    g.strokeStyle = g.fillStyle = colourOf(i);
    g.lineWidth = 1.5;
    trace(g, line, x, y);
    g.stroke();
    if (i > 0) return;
    g.lineTo(x(line.time[line.time.length - 1]), y(0));
    g.lineTo(x(line.time[0]), y(0));
    g.globalAlpha = 0.12;
    g.fill();
    g.globalAlpha = 1;
  });
  for (const { name, time, value } of lines.filter(isPoint))
    time.forEach((at, i) => {
      const text = name === "peak" ? name : String(value[i]), wide = g.measureText(text).width;
      g.fillStyle = colourOf(2);
      g.fillRect(x(at), 0, 1, HEIGHT);
      g.fillText(text, x(at) + wide + 4 > width ? x(at) - wide - 3 : x(at) + 3, 9);
    });
};

export const showLines = (app) => {
  const { lines } = app.page, box = byId("lines");
  const shown = lines.filter((line) => !isPoint(line) && line.time.length);
  if (!shown.length) return;
  const until = most(lines.map(({ time }) => most(time)));
  const texts = shown.map(({ name, unit, value }) => `${name}: at most ${inUnit(most(value), unit)}, at the end ${inUnit(value[value.length - 1], unit)}`);
  const legend = make("p", "", ...texts.map((text, i) => {
    const key = make("i");
    key.style.background = `var(${COLOURS[i % COLOURS.length]})`;
    return make("span", "", key, text);
  }), make("span", `over ${timeText(until * 1000)}`));
  box.replaceChildren(legend, make("canvas", "", { role: "img", ariaLabel: texts.join("; ") }));
  new ResizeObserver(() => drawLines(app)).observe(box);
};
