// SPDX-License-Identifier: MIT
// What is asked at the moment, as chips that can be taken away, and the panel to ask for more.
import { byId, button, make } from "./dom.js";
import { counted } from "./format.js";
import { labelsOf } from "./filter.js";
import { timeText } from "./time_axis.js";

const words = {
  focus: "through", drop: "without", below: "below", above: "above", hide: "hidden:", module: "collapsed:", kind: "hidden:", recursion: "recursion collapsed",
};
const ORDER = ["process", "pid", "thread", "tid", "input"]; // the others by name
const VALUES = 200;

const nameOf = (app, { ask, of }) =>
  ask === "recursion" ? "" : ask === "module" ? of : ask === "kind" ? `${app.meta.kinds[of]} frames` : app.looks.short(of);

export const showChips = (app) => {
  const { state } = app, chips = [];
  const chip = (text, remove) => {
    chips.push(make("li", "", button(text.slice(0, 120), "Take it away", remove, { className: "chip" })));
  };
  for (const [key, values] of Object.entries(state.labels))
    chip(`${key}: ${values.join(", ")}`, () => { const { [key]: _, ...labels } = state.labels; state.set({ labels, frame: "" }); });
  if (state.span) chip(`${timeText(state.span[0])} to ${timeText(state.span[1])}`, () => state.set({ span: null, frame: "" }));
  state.asks.forEach((ask, i) => chip(`${words[ask.ask]} ${nameOf(app, ask)}`.trim(), () => state.set({ asks: state.asks.filter((_, k) => k !== i), frame: "" })));
  byId("chips").replaceChildren(...chips);
};

const toggled = (values, value) => (values.includes(value) ? values.filter((one) => one !== value) : [...values, value]);

const labelGroup = (app, key, values) => {
  const { state } = app, own = state.labels[key] ?? [];
  const rows = [...values].sort((a, b) => b[1] - a[1]).slice(0, VALUES).map(([value, n]) => make("label", "",
    make("input", "", { type: "checkbox", checked: own.includes(value), onchange: () => {
      const { [key]: _, ...rest } = state.labels, next = toggled(own, value);
      state.set({ labels: next.length ? { ...rest, [key]: next } : rest, frame: "" });
    } }), make("span", value || "(empty)"), make("small", counted(n))));
  return make("fieldset", "", make("legend", key), ...rows);
};

export const showFilters = (app) => {
  const panel = byId("filters"), { state, meta } = app;
  if (panel.hidden) return;
  app.labels ??= labelsOf(app.page);
  const groups = [...app.labels].sort(([a], [b]) => (ORDER.indexOf(a) + 99) % 99 - (ORDER.indexOf(b) + 99) % 99 || (a < b ? -1 : 1))
    .filter(([, values]) => values.size > 1).map(([key, values]) => labelGroup(app, key, values));
  const present = new Set(app.looks.kind), hidden = (kind) => state.asks.some(({ ask, of }) => ask === "kind" && of === kind);
  const kinds = meta.kinds.map((name, kind) => (present.has(kind) ? make("label", "", make("input", "", { type: "checkbox", checked: !hidden(kind),
    onchange: () => app.toggleKind(kind) }), make("span", `${name} frames`)) : null)).filter(Boolean);
  const recursion = make("label", "", make("input", "", { type: "checkbox", checked: state.asks.some(({ ask }) => ask === "recursion"), onchange: () => app.toggleRecursion() }), make("span", "collapse recursion"));
  const least = make("label", "", make("span", "least width"), make("input", "", { type: "number", min: 0, max: 100, step: 0.5, value: state.min,
    onchange: (event) => state.set({ min: Math.min(100, Math.max(0, Number(event.target.value) || 0)) }, true) }), make("span", "pixels"));
  const two = app.page.sides > 1 ? [make("fieldset", "", make("legend", "two profiles"), ...["new", "old", "both"].map((width) => make("label", "", make("input", "", { type: "radio", name: "width", checked: state.width === width,
    onchange: () => state.set({ width, frame: "" }) }), make("span", `widths of ${width === "both" ? "both" : `the ${width} one`}`))),
    make("label", "", make("input", "", { type: "checkbox", checked: state.absolute, onchange: () => state.set({ absolute: !state.absolute, frame: "" }) }), make("span", "absolute, not scaled to one sum")))] : [];
  panel.replaceChildren(...two, make("fieldset", "", make("legend", "kinds"), ...kinds), ...groups, make("fieldset", "", make("legend", "shape"), recursion, least));
};
