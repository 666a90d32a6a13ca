// SPDX-License-Identifier: MIT
// The page around the views.
import { App } from "./app.js";
import { byId, button, make } from "./dom.js";
import { many, percent, typeName } from "./format.js";
import { showChips, showFilters } from "./filters.js";
import { showFacts } from "./facts.js";
import { listenToSaves } from "./export.js";
import { listenToKeys } from "./keys.js";
import { openSheet } from "./sheet.js";
import { hasTimes } from "./threads.js";
import { drawLines, showLines } from "./lines.js";
import { hideLines } from "./heap_chart.js";
import { hideTip } from "./tip.js";

const sections = { flame: "stage", inverted: "stage", sandwich: "sandwich", table: "table", tree: "tree", timeline: "timeline" };

const swatchOf = (colours) => {
  const swatch = make("canvas", "", { width: colours.length, height: 1 }), g = swatch.getContext("2d");
  colours.forEach((colour, i) => { g.fillStyle = colour; g.fillRect(i, 0, 1, 1); });
  return swatch;
};

// A kind that is hidden stays in the legend, to be shown again.
const showLegend = (app) => {
  const { ended } = app.model.functions(app.question), { state, whole } = app;
  byId("legend").replaceChildren(...app.colours.legend(ended).map(({ colours, name, kind, self: sum }) => {
    const text = name + (sum ? ` ${percent(sum, whole)}` : "");
    if (kind === undefined) return make("li", "", { className: sum === undefined ? "scale" : "" }, swatchOf(colours), text);
    const hidden = state.asks.some(({ ask, of }) => ask === "kind" && of === kind);
    return make("li", "", make("button", "", { type: "button", "aria-pressed": String(!hidden), onclick: () => app.toggleKind(kind),
      title: `${sum ? "S" : "No s"}elf value in ${name} frames. A click ${hidden ? "shows" : "hides"} these frames.` }, swatchOf(colours), text));
  }));
};

const noTimes = ({ types }) => "No sample says when it was taken" +
  (types.some(({ type }) => type === "inuse_space") ? ": of a heap, the file that 'cairn heap run' wrote has times" : ": 'cairn record --timeline' keeps that");

const showTools = (app) => {
  const { state, page } = app;
  for (const tab of document.querySelectorAll("#views button")) {
    tab.setAttribute("aria-pressed", String(tab.dataset.view === state.view));
    if (tab.dataset.view === "timeline" && !hasTimes(page)) Object.assign(tab, { disabled: true, title: noTimes(page) });
  }
  byId("type").value = String(state.type);
  byId("colour").value = state.colour;
  byId("guest").value = state.guest;
  byId("order").setAttribute("aria-pressed", String(state.heavy));
  byId("flip").setAttribute("aria-pressed", String(state.down));
  byId("flip").disabled = state.view !== "flame" && state.view !== "inverted";
  byId("reset").disabled = app.isPlain;
  byId("count").textContent = `${many(app.model.base.n - 1, "frame")} · ${app.valueText(app.whole)}`;
};

const showView = (app) => {
  const { state } = app, shown = sections[state.view];
  for (const id of new Set(Object.values(sections))) byId(id).hidden = id !== shown;
  byId("path").hidden = shown !== "stage";
  hideLines(app);
  byId("hidden").textContent = "";
};

const showAll = (app, changed) => {
  hideTip();
  showView(app);
  app.colours.set(app.state.colour, app.colours.dark);
  if (changed.has("q") || changed.has("in")) app.searchBox.update();
  if (!changed.has("q")) app.searchBox.forget();
  showTools(app);
  showChips(app);
  const { view } = app;
  for (const pane of view.panes) Object.assign(pane.chart, { hits: app.hits, selected: app.state.fn, paper: app.paper, side: app.state.width });
  view.update();
  app.searchBox.showShare();
  showFilters(app);
  showFacts(app);
  app.sayIfEmpty();
  app.later(() => showLegend(app)); // it sums over all of the tree
};

// What changes no picture but an outline is not worth doing all again.
const onChange = (app, changed) => {
  if (changed.size === 1 && changed.has("facts")) return showFacts(app);
  if (changed.size === 1 && changed.has("fn") && app.state.view !== "sandwich") return app.onSelect();
  if ([...changed].every((key) => key === "frame" || key === "fn") && app.view.zoomed !== undefined) {
    hideTip();
    app.view.update();
    app.onSelect();
    app.searchBox.showShare();
    return showTools(app);
  }
  showAll(app, changed);
};

const dress = (app, dark) => {
  app.colours.set(app.state.colour, dark);
  app.paper = getComputedStyle(document.documentElement).getPropertyValue("--page").trim();
  showAll(app, new Set());
  drawLines(app);
};

const listen = (app) => {
  const { state, meta } = app;
  for (const [i, type] of meta.types.entries()) byId("type").append(make("option", typeName(type), { value: String(i) }));
  if (app.page.sides > 1) byId("colour").prepend(make("option", "By change", { value: "change" }), make("option", "By change, colour-blind", { value: "safe" }));
  byId("type").hidden = meta.types.length < 2;
  byId("type").addEventListener("change", (event) => state.set({ type: Number(event.target.value) }, true));
  byId("colour").addEventListener("change", (event) => state.set({ colour: event.target.value }, true));
  byId("guest").hidden = byId("in-chunks").hidden = byId("in-chunks").disabled = !app.looks.hasGuests;
  byId("guest").addEventListener("change", (event) => state.set({ guest: event.target.value, frame: "" }));
  for (const tab of document.querySelectorAll("#views button")) tab.addEventListener("click", () => app.setView(tab.dataset.view));
  byId("flip").addEventListener("click", () => app.flip());
  byId("order").addEventListener("click", () => app.toggleOrder());
  byId("reset").addEventListener("click", () => app.reset());
  byId("details").addEventListener("click", () => state.set({ facts: !state.facts }, true));
  byId("help").addEventListener("click", openSheet);
  byId("filter").addEventListener("click", () => {
    const panel = byId("filters");
    panel.hidden = !panel.hidden;
    byId("filter").setAttribute("aria-expanded", String(!panel.hidden));
    showFilters(app);
  });
  listenToKeys(app);
  listenToSaves(app);
  app.onSelect = () => {
    for (const pane of app.view.panes) { pane.chart.selected = state.fn; pane.redraw(); }
    app.view.mark?.();
    showFacts(app);
  };
  state.onChange((changed) => onChange(app, changed));
};

// What the captures say of themselves: of a comparison both.
const qualityOf = ({ subtitle, sides: [, old] }) => (old ? `${subtitle}\nbefore: ${old.title} · ${old.subtitle}` : subtitle);

const start = async () => {
  const meta = JSON.parse(byId("data-meta").textContent);
  byId("title").textContent = byId("title").title = meta.title;
  byId("subtitle").textContent = byId("subtitle").title = qualityOf(meta);
  byId("subtitle").classList.toggle("two", meta.sides.length > 1);
  const app = new App(await readPage(meta), meta), dark = matchMedia("(prefers-color-scheme: dark)");
  listen(app);
  showLines(app);
  app.searchBox.update();
  dress(app, dark.matches);
  dark.addEventListener("change", () => dress(app, dark.matches));
  addEventListener("beforeprint", () => {
    document.documentElement.classList.add("paper"); // the light colours
    dress(app, false);
    showLegend(app);
    app.view.print(true);
  });
  addEventListener("afterprint", () => {
    document.documentElement.classList.remove("paper");
    dress(app, dark.matches);
    app.view.print(false);
  });
  requestAnimationFrame(() => setTimeout(() => {
    // For whoever measures and tests: by now the picture is on the screen.
    const { model, page, state } = app;
    globalThis.cairn = {
      app, model, page, state, drawnAt: performance.now(), isStill: () => app.isStill(),
      get chart() { return app.view.panes[0]?.chart; },
      get tree() { return app.view.tree; },
    };
  }));
};

start().catch((error) => {
  byId("status").textContent = `This page is damaged: ${error.message}`;
  throw error;
});
