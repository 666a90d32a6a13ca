// SPDX-License-Identifier: MIT
// The panel of facts on the selected frame: all that is known of it, its source where the page has
// it, and what can be done with it.
import { byId, button, make } from "./dom.js";
import { many, percent } from "./format.js";
import { changeRows, kindText, placeRows } from "./tip.js";
import { actionsOf } from "./actions.js";

const AROUND = 6; // lines of source before and after those with samples

const whereRows = ({ looks, ...app }, look) => {
  const rows = [];
  if (looks.short(look) !== looks.name(look)) rows.push(["short", looks.short(look)]);
  rows.push(...placeRows(looks, look));
  if (looks.module(look)) rows.push(["module", looks.path(look) || looks.module(look)]);
  if (looks.build(look)) rows.push(["build ID", looks.build(look) + (looks.flags[look] & 2 ? " and others" : "")]);
  rows.push(["kind", kindText({ looks, ...app }, look)]);
  if (looks.flags[look] & 1) rows.push(["note", "Several functions have this very code; the linker kept one."]);
  return rows;
};

const valueRows = (app, tree, node, look) => {
  const both = (value) => `${app.valueText(value)} · ${percent(value, app.whole)}`, rows = [];
  if (tree && node > 0) {
    rows.push(["here, total", both(tree.total[node])], [tree.up ? "here, begins" : "here, self", both(tree.self[node])]);
    const parent = tree.parent[node];
    if (parent > 0) rows.push(["of its caller", percent(tree.total[node], tree.total[parent])]);
  }
  const { self, total, places, delta } = app.model.functions(app.question), own = app.looks.same[look];
  if (delta) rows.push(...changeRows(app, total[own], delta[own]));
  rows.push(["in all, total", both(total[own])], ["in all, self", both(self[own])], ["found in", many(places[own], "place")]);
  return rows;
};

// Lines with samples and some around them, each with its heat.
const sourceOf = (app, look) => {
  const { page, looks } = app, lines = page.source?.lines(looks.file(look)) ?? [];
  if (!lines.length) return [];
  const heat = app.heatOf(look);
  const hot = heat.size ? [...heat.keys()] : [looks.lineLow[look], looks.lineHigh[look]];
  const shown = lines.filter(({ line }) => hot.some((at) => Math.abs(at - line) <= AROUND));
  const indent = Math.min(...shown.filter(({ text }) => text.trim()).map(({ text }) => text.search(/\S/)));
  const most = Math.max(1, ...[...heat.values()].map(({ total }) => total));
  let last = 0;
  return [make("ol", "", { className: "source" }, ...shown.map(({ line, text }) => {
    const of = heat.get(line), row = make("li", "", { value: line, className: last && line > last + 1 ? "gap" : "" });
    const bar = make("span", "", { className: "bar" });
    bar.style.width = of ? `${(100 * of.total) / most}%` : "0";
    row.append(bar, make("span", String(line), { className: "line" }), make("span", of ? percent(of.total, app.whole) : "", { className: "share", title: of ? `${app.valueText(of.total)}, of it ${app.valueText(of.self)} in the line itself` : "" }), make("code", text.slice(indent)));
    last = line;
    return row;
  }))];
};

export const showFacts = (app) => {
  const panel = byId("facts"), { state } = app;
  panel.hidden = !state.facts;
  byId("details").setAttribute("aria-pressed", String(state.facts));
  if (panel.hidden) return;
  const { tree, node, look } = app.selection(), close = button("×", "Close (d)", () => state.set({ facts: false }, true), { "aria-label": "Close", className: "close" });
  if (look < 0) return panel.replaceChildren(close, make("p", "Select a frame to read what is known of it.", { className: "none" }));
  const list = make("dl"), add = ([term, text]) => list.append(make("dt", term), make("dd", text));
  valueRows(app, tree, node, look).forEach(add);
  whereRows(app, look).forEach(add);
  const buttons = actionsOf(app, tree, node, look).filter((action) => action && action[0] !== "Details")
    .map(([text, key, act]) => button(text, key && `Key ${key}`, act));
  panel.replaceChildren(close, make("h2", app.looks.name(look).slice(0, 4000)), list, ...sourceOf(app, look), make("div", "", { className: "actions" }, ...buttons));
};
