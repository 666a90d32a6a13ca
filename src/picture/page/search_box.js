// SPDX-License-Identifier: MIT
// The search: what matches, its share of the whole, and the way from one match to the next.
import { byId } from "./dom.js";
import { counted, many, percent } from "./format.js";
import { find, sumOfHits } from "./tally.js";

const FIELDS = { name: ["name"], file: ["file"], chunk: ["chunk"], module: ["module"], any: ["name", "file", "module"] };

export class SearchBox {
  constructor(app) {
    this.app = app;
    this.box = byId("search");
    this.at = -1;
    const { state } = app;
    this.box.addEventListener("input", () => state.set({ q: this.box.value }, true));
    this.box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.step(event.shiftKey ? -1 : 1);
    });
    byId("in").addEventListener("change", (event) => state.set({ in: event.target.value }, true));
    byId("next").addEventListener("click", () => this.step(1));
    byId("previous").addEventListener("click", () => this.step(-1));
  }

  // By look what matches, or null where nothing is looked for.
  update() {
    const { app, box } = this, { q } = app.state;
    if (box.value !== q) box.value = q;
    byId("in").value = app.state.in;
    box.classList.remove("wrong");
    this.at = -1;
    app.hits = null;
    if (q && q !== "/")
      try {
        app.hits = find(app.looks, q, FIELDS[app.state.in]);
      } catch {
        box.classList.add("wrong");
      }
  }

  // Of all, and of what fills the view where that is a frame.
  showShare() {
    const { app } = this, share = byId("share");
    byId("steps").hidden = !app.hits || !app.view.goTo;
    share.textContent = share.title = "";
    if (!app.hits) return;
    const tree = app.model.topDown(app.question), sum = sumOfHits(tree, app.hits);
    share.textContent = percent(sum, app.whole);
    share.title = `${app.valueText(sum)} in ${many(app.hits.reduce((a, b) => a + b, 0), "matching function")}`;
    const node = app.state.view === "flame" ? app.view.zoomed : 0;
    if (!node) return;
    const above = tree.pathTo(node).some((i) => tree.look[i] >= 0 && app.hits[tree.look[i]]), whole = tree.total[node];
    share.textContent += ` · ${percent(above ? whole : sumOfHits(tree, app.hits, node, tree.endOf(node)), whole)} of the view`;
  }

  step(way) {
    const { app } = this;
    if (!app.hits || !app.view.goTo) return;
    const found = app.view.hits();
    if (!found.length) return;
    this.at = this.at < 0 && way < 0 ? found.length - 1 : (this.at + way + found.length) % found.length;
    byId("nth").textContent = `${counted(this.at + 1)} / ${counted(found.length)}`;
    app.view.goTo(found[this.at]);
  }

  forget() { byId("nth").textContent = ""; }
}
