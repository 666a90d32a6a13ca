// SPDX-License-Identifier: MIT
// What is known of a frame, as rows of a term and a text, and the tooltip that shows them.
import { byId, make } from "./dom.js";
import { percent } from "./format.js";
import { sidesOf } from "./compare.js";

const ways = ["by unwind tables", "by frame pointers", "by a guess", "by the JIT's map", "by the Lua state", "by the kernel"];

export const linesOf = (looks, look) => {
  const low = looks.lineLow[look] ?? 0, high = looks.lineHigh[look] ?? 0;
  return low ? `:${low}${high > low ? `–${high}` : ""}` : "";
};

export const kindText = ({ looks, meta }, look) => {
  const found = ways.filter((_, bit) => (looks.found[look] >> bit) & 1), kind = meta.kinds[looks.kind[look]];
  return found.length ? `${kind}, found ${found.join(" and ")}` : kind;
};

// Where it stands in its source; of an interpreter's frame, where the function was defined, too.
export const placeRows = (looks, look) => {
  if (!looks.file(look)) return [];
  const isGuest = looks.isGuest(look), rows = [[isGuest ? "chunk" : "source", looks.file(look) + linesOf(looks, look)]];
  if (isGuest && looks.defined[look]) rows.push(["defined", `at line ${looks.defined[look]}${looks.flags[look] & 4 ? " and others" : ""}`]);
  return rows;
};

export const sourceRows = (app, look) => {
  if (look < 0) return [];
  const { looks } = app, rows = [];
  rows.push(...placeRows(looks, look));
  if (looks.module(look)) rows.push(["module", looks.module(look)]);
  rows.push(["kind", kindText(app, look)]);
  return rows;
};

// Names of a node and of the frames that called it, the first twelve.
export const framesOf = (looks, { parent, look }, node) => {
  const frames = [];
  for (let at = node; at > 0 && frames.length < 12; at = parent[at]) frames.push(looks.name(look[at]).slice(0, 120));
  return frames;
};

const signedText = (value, text) => (value > 0 ? "+" : value < 0 ? "−" : "±") + text(Math.abs(value));

// Of two profiles: what each has, and how much more the new one.
export const changeRows = (app, total, delta) => {
  const [fresh, old] = sidesOf(total, delta, app.state.width), value = (v) => app.valueText(v);
  return [["new", value(fresh)], ["old", value(old)],
          ["change", signedText(delta, value) + (old > 0 ? ` · ${signedText(delta, (v) => percent(v, old))}` : "")]];
};

export const nodeRows = (app, tree, node, within) => {
  const both = (value) => `${app.valueText(value)} · ${percent(value, app.whole)}`;
  const rows = [["total", both(tree.total[node])], [tree.up ? "begins here" : "self", both(tree.self[node])]];
  if (tree.delta) rows.push(...changeRows(app, tree.total[node], tree.delta[node]));
  if (within > 0) rows.push(["of the view", percent(tree.total[node], tree.total[within])]);
  return rows;
};

export const showTip = (app, tree, node, within, x, y) => {
  const look = tree.look[node];
  showRows(app.looks.name(look).slice(0, 2000), [...nodeRows(app, tree, node, within), ...sourceRows(app, look)], x, y);
};

// A title and rows of a term and a text, beside a point of the window.
export const showRows = (title, rows, x, y) => {
  const tip = byId("tip"), list = make("dl");
  for (const [term, text] of rows) list.append(make("dt", term), make("dd", text));
  tip.replaceChildren(make("h2", title), list);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = x + 16 + width < innerWidth ? x + 16 : Math.max(8, x - 16 - width);
  const top = y + 18 + height < innerHeight ? y + 18 : Math.max(8, y - 14 - height);
  tip.style.transform = `translate(${Math.min(left, Math.max(8, innerWidth - width - 8))}px, ${top}px)`;
};

export const hideTip = () => { byId("tip").hidden = true; };
