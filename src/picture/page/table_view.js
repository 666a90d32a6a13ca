// SPDX-License-Identifier: MIT
// The functions as a table: a real one, that sorts by its heads and shows what the search finds.
import { byId, button, make } from "./dom.js";
import { counted, percent } from "./format.js";
import { changeRows } from "./tip.js";

const ROWS = 300; // at first: a browser is slow with tables of a hundred thousand

const columns = [
  { key: "self", text: "self", title: "What ended in the function itself" },
  { key: "total", text: "total", title: "What went through the function; once for each stack" },
  { key: "delta", text: "change", title: "How much more the new profile has in it; largest changes first" },
  { key: "places", text: "places", title: "Where the function stands in the tree" },
  { key: "name", text: "function" },
  { key: "module", text: "module" },
];

// On a narrow screen the share of it alone, where there is one.
const changeOf = (app, total, delta) => {
  const [value, share] = changeRows(app, total, delta).at(-1)[1].split(" · ");
  return share ? [make("span", `${value} · `, { className: "wide" }), make("span", share)] : [make("span", value)];
};

export class TableView {
  constructor(app) {
    this.app = app;
    this.limit = ROWS;
  }

  get panes() { return []; }
  isStill() { return true; }
  print() {}

  // Looks in the order of a column; what is equal stays in the order of names.
  sorted({ self, total, places, delta }) {
    const { looks, state } = this.app, { sort } = state, rows = [];
    for (let k = 0; k < looks.n; k++) if (places[k] && (!this.app.hits || this.app.hits[k])) rows.push(k);
    if (sort === "module") return rows.map((k) => [looks.module(k), k]).sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] - b[1])).map(([, k]) => k);
    if (sort === "delta" && delta) return rows.sort((a, b) => Math.abs(delta[b]) - Math.abs(delta[a]) || a - b);
    const column = { self, total, places }[sort];
    if (column) rows.sort((a, b) => column[b] - column[a] || total[b] - total[a] || a - b);
    return rows;
  }

  update() {
    const { app } = this, sums = app.model.functions(app.question), rows = this.sorted(sums);
    const shown = rows.slice(0, this.limit), most = shown.reduce((max, k) => Math.max(max, sums.self[k]), 0);
    const head = make("tr", "", ...columns.filter(({ key }) => key !== "delta" || sums.delta).map(({ key, text, title = "" }) => make("th", "", { scope: "col", className: key,
      "aria-sort": app.state.sort === key ? (key === "name" || key === "module" ? "ascending" : "descending") : "none" },
      button(text, title || `Sort by ${text}`, () => app.state.set({ sort: key }, true)))));
    const body = make("tbody", "", ...shown.map((k) => this.row(k, sums, most)));
    const of = app.hits ? ` of ${counted(app.model.functions(app.question).places.reduce((n, p) => n + (p > 0), 0))}` : "";
    const caption = make("caption", `${counted(rows.length)}${of} functions`);
    byId("table").replaceChildren(make("table", "", { className: "functions" }, caption, make("thead", "", head), body));
    if (rows.length > shown.length)
      byId("table").append(button(`Show ${counted(rows.length - shown.length)} more`, "", () => { this.limit = Infinity; this.update(); }, { className: "more" }));
  }

  row(k, { self, total, places, delta }, most) {
    const { app } = this, { looks, whole } = app;
    const share = (value) => [make("span", app.valueText(value), { className: "wide" }), make("span", percent(value, whole), { className: "share" })];
    const name = button(looks.name(k).slice(0, 1000), looks.name(k).slice(0, 2000), () => app.select(k), { ondblclick: () => app.state.set({ fn: k, view: "sandwich" }) });
    const bar = make("span", "", { className: "bar" });
    bar.style.width = `${most ? Math.max(0, (100 * self[k]) / most) : 0}%`;
    return make("tr", "", { "data-look": k, ...(app.isSelected(k) && { "aria-selected": "true" }), oncontextmenu: (event) => { event.preventDefault(); app.openMenu(null, k, event.clientX, event.clientY); } },
      make("td", "", bar, ...share(self[k])), make("td", "", ...share(total[k])), ...(delta ? [make("td", "", ...changeOf(app, total[k], delta[k]))] : []), make("td", counted(places[k]), { className: "places" }),
      make("td", "", { className: "name" }, name), make("td", looks.module(k), { title: looks.path(k) }));
  }

  // The selection alone has changed.
  mark() {
    for (const row of byId("table").querySelectorAll("tbody tr"))
      if (this.app.isSelected(Number(row.dataset.look))) row.setAttribute("aria-selected", "true");
      else row.removeAttribute("aria-selected");
  }

  hits() { return []; }

  press(key) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (key === "Enter") this.app.state.set({ fn: this.app.functionInMiddle(), view: "sandwich" });
    if (!step) return key === "Enter";
    const rows = [...byId("table").querySelectorAll("tbody tr")];
    const at = rows.findIndex((row) => this.app.isSelected(Number(row.dataset.look)));
    const row = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))];
    if (!row) return true;
    this.app.select(Number(row.dataset.look));
    row.scrollIntoView({ block: "nearest" });
    row.querySelector("button").focus({ preventScroll: true });
    return true;
  }
}
