// SPDX-License-Identifier: MIT
// One function in the middle: who calls it above, whom it calls below.
import { Pane } from "./pane.js";
import { byId, button, make, speak } from "./dom.js";
import { many, percent } from "./format.js";
import { hideTip, showTip } from "./tip.js";

export class SandwichView {
  constructor(app) {
    this.app = app;
    const pane = (id, rootsBelow) => {
      const own = new Pane(byId(id), app, { withRoot: false, rootsBelow }, {
        click: (node, event) => this.click(own, node, event),
        menu: (node, event) => app.openMenu(own.tree, node, event.clientX, event.clientY),
        tip: (node, x, y) => { this.last = own; showTip(app, own.tree, node, 0, x, y); },
        noTip: hideTip,
        moved: () => {},
        chosen: (node) => { this.last = own; speak(`${app.looks.name(own.tree.look[node])}, ${percent(own.tree.total[node], own.tree.total[0])}`); },
      });
      return own;
    };
    this.callers = pane("callers", true);
    this.callees = pane("callees", false);
    this.last = this.callees;
  }

  get panes() { return [this.callers, this.callees]; }
  get tree() { return this.last.tree; }
  isStill() { return this.panes.every((pane) => pane.isStill()); }
  print(on) { for (const pane of this.panes) pane.print(on); }

  // A click selects, another one puts that function in the middle.
  click(pane, node) {
    this.last = pane;
    const again = pane.chart.chosen === node;
    pane.chart.chosen = node;
    if (again) this.app.state.set({ fn: pane.tree.look[node] });
    else pane.redraw();
  }

  update() {
    const { app } = this, fn = app.functionInMiddle();
    const { nodes, self, callers, callees } = app.model.sandwich(app.question, fn);
    if (callers !== this.callers.tree) {
      this.callers.setTree(callers, app.whole);
      this.callees.setTree(callees, app.whole);
      this.last = this.callees;
      for (const pane of this.panes) pane.tree.grow(0);
    }
    const total = callees.total[0];
    const facts = `${app.valueText(total)} · ${percent(total, app.whole)} total, ${percent(self, app.whole)} self, in ${many(nodes.length, "place")}`;
    byId("middle").replaceChildren(
      make("strong", fn < 0 ? "no function" : app.looks.name(fn), { title: app.looks.name(fn) }), make("span", facts),
      button("All functions", "Choose another one from the table", () => app.state.set({ view: "table" })));
    const ends = (tree, text) => (tree.childrenOf(0).length ? "" : text);
    byId("no-callers").textContent = ends(callers, "Nothing calls it: stacks begin here.");
    byId("no-callees").textContent = ends(callees, "It calls nothing that was seen.");
    this.callers.canvas.setAttribute("aria-label", `Callers of ${app.looks.name(fn)}`);
    this.callees.canvas.setAttribute("aria-label", `What ${app.looks.name(fn)} calls`);
    for (const pane of this.panes) { pane.chart.min = app.state.min; pane.zoomTo(0); pane.redraw(); }
  }

  hits() { return []; }

  press(key) {
    const { last } = this, { chart, tree } = last, at = Math.max(0, chart.chosen);
    if (key === "Enter") {
      if (at > 0) this.app.state.set({ fn: tree.look[at] });
      return true;
    }
    if (key === "m") { this.app.openMenu(tree, at, ...last.placeOf(at)); return true; }
    const crosses = at === 0 && ((last === this.callers && key === "ArrowDown") || (last === this.callees && key === "ArrowUp"));
    if (crosses) {
      chart.chosen = -1;
      this.last = last === this.callers ? this.callees : this.callers;
      return this.press(key);
    }
    return last.press(key, at);
  }
}
