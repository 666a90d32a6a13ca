// SPDX-License-Identifier: MIT
// The flame graph, and the same from the leaves: one pane, crumbs above it, and the frame that fills
// it in the address of the page.
import { Pane } from "./pane.js";
import { byId, make, speak } from "./dom.js";
import { counted, many, percent } from "./format.js";
import { Overview } from "./overview.js";
import { hideTip, showTip } from "./tip.js";

const CRUMBS = 60, CRUMBS_FIRST = 10; // nobody reads a thousand

// A node in the address: its number, or where nodes are made as one looks, the looks on the way to it.
export const keyOf = (tree, node) =>
  node === 0 ? "" : tree.size ? String(node) : tree.pathTo(node).slice(1).map((i) => tree.look[i]).join(".");

export const nodeOf = (tree, key) => {
  if (!key) return 0;
  if (tree.size) {
    const node = Number(key);
    return Number.isInteger(node) && node < tree.n && tree.total[node] > 0 ? node : 0;
  }
  return followLooks(tree, key.split(".").map(Number));
};

// As far along these looks as the tree goes.
export const followLooks = (tree, looks) => {
  let node = 0;
  for (const look of looks) {
    const child = tree.childrenOf(node).find((one) => tree.look[one] === look);
    if (child === undefined) break;
    node = child;
  }
  return node;
};

export class FlameView {
  constructor(app) {
    this.app = app;
    this.zoomed = 0;
    this.pane = new Pane(byId("stage"), app, {}, {
      click: (node) => { this.pane.chart.chosen = -1; app.select(this.tree.look[node], node); this.zoom(node); },
      menu: (node, event) => app.openMenu(this.tree, node, event.clientX, event.clientY),
      tip: (node, x, y) => showTip(app, this.tree, node, this.zoomed, x, y),
      noTip: hideTip,
      moved: () => {},
      drawn: () => { this.showHidden(); this.overview.show(); },
      chosen: (node) => this.chosen(node),
    });
    this.overview = new Overview(this.pane, app);
    this.pane.canvas.id = "canvas";
    byId("status").textContent = "";
  }

  get tree() { return this.pane.tree; }
  get panes() { return [this.pane]; }
  isStill() { return this.pane.isStill() && this.overview.isStill(); }
  print(on) {
    const [shown, all] = this.pane.print(on);
    if (shown < all) byId("hidden").textContent = `on paper: ${shown} of ${counted(all)} levels`;
  }

  update() {
    const { app, pane } = this, { state } = app, inverted = state.view === "inverted";
    const tree = inverted ? app.model.bottomUp(app.question) : app.model.topDown(app.question);
    const { chart } = pane;
    chart.torn = inverted ? null : app.torn;
    if (tree !== this.tree) pane.setTree(tree, app.whole);
    pane.turn(!state.down);
    chart.min = state.min;
    this.zoomed = nodeOf(tree, state.frame);
    pane.zoomTo(this.zoomed);
    this.showCrumbs();
    pane.canvas.setAttribute("aria-label", `${inverted ? "Inverted flame graph" : "Flame graph"} of ${many(app.model.base.n - 1, "frame")}, ${app.valueText(app.whole)}. Arrow keys walk through it; the view Table lists the same.`);
    pane.redraw();
  }

  zoom(node) {
    hideTip();
    this.app.state.set({ frame: keyOf(this.tree, node) });
    if (node !== this.zoomed) this.update();
    else this.pane.zoomTo(node); // back from where fingers moved it
  }

  home() { this.pane.zoomTo(this.zoomed); }

  chosen(node) {
    this.app.select(this.tree.look[node], node);
    speak(`${this.app.looks.name(this.tree.look[node])}, ${percent(this.tree.total[node], this.tree.total[0])}`);
  }

  showHidden() {
    const { chart } = this.pane, note = byId("hidden");
    note.textContent = chart.min > 0 && chart.hidden
      ? `not drawn: ${many(chart.hidden, "tower")} narrower than ${chart.min} px, ${percent(chart.hiddenValue, this.tree.total[0])}` : "";
  }

  showCrumbs() {
    const path = this.tree.pathTo(this.zoomed);
    if (path.length > CRUMBS) path.splice(CRUMBS_FIRST, path.length - CRUMBS + CRUMBS_FIRST, -1);
    const crumbs = byId("crumbs");
    crumbs.replaceChildren(...path.map((node) => {
      if (node < 0) return make("span", "› …");
      const name = this.app.looks.name(this.tree.look[node]).slice(0, 200);
      return make("button", name, { type: "button", title: name, onclick: () => this.zoom(node) });
    }));
    crumbs.scrollLeft = crumbs.scrollWidth;
  }

  // The frames a search found that no other found one is above, from the left; those known so far.
  hits() {
    const { tree, pane: { chart: { hits } } } = this, found = [];
    const stack = [0];
    while (stack.length) {
      const node = stack.pop(), look = tree.look[node];
      if (!(tree.total[node] > 0)) continue;
      if (look >= 0 && hits[look]) { found.push(node); continue; }
      if (!tree.isWhole(node)) continue;
      const children = [];
      for (let child = tree.firstOf(node), end = tree.endOf(node); child < end; child = tree.nextOf(child)) children.push(child);
      for (let i = children.length - 1; i >= 0; i--) stack.push(children[i]);
    }
    return found;
  }

  goTo(node) { this.pane.choose(node); }

  press(key) {
    const at = this.pane.chart.chosen >= 0 ? this.pane.chart.chosen : this.zoomed;
    if (key === "Enter") { this.zoom(at); return true; }
    if (key === "m") { this.app.openMenu(this.tree, at, ...this.pane.placeOf(at)); return true; }
    return this.pane.press(key, at);
  }
}
