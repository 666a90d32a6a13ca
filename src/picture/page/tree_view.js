// SPDX-License-Identifier: MIT
// The tree for reading: rows that open, the heaviest first, each with its share. It opens along the
// heaviest way at first. Screen readers get a treegrid.
import { byId, button, make } from "./dom.js";
import { percent } from "./format.js";

const CHILDREN = 50; // of one row, before "more"
const OPEN_SHARE = 0.5, OPEN_ROWS = 40;

export class TreeView {
  constructor(app) {
    this.app = app;
    this.open = new Set();
    this.all = new Set(); // rows whose children are all shown
    this.at = 0;
  }

  get panes() { return []; }
  isStill() { return true; }
  print() {}

  update() {
    const { app } = this, tree = app.model.topDown(app.question);
    if (tree !== this.tree) {
      this.tree = tree;
      this.open = new Set([0]);
      this.all.clear();
      this.at = 0;
      for (let node = 0, n = 0; n < OPEN_ROWS; n++) {
        const heaviest = this.children(node)[0];
        if (heaviest === undefined || tree.total[heaviest] < OPEN_SHARE * tree.total[node]) break;
        this.open.add((node = heaviest));
      }
    }
    this.fill();
  }

  children(node) {
    const { tree } = this;
    return tree.childrenOf(node).sort((a, b) => tree.total[b] - tree.total[a] || a - b);
  }

  // The rows to be seen, by an explicit stack: trees are thousands deep.
  rows() {
    const rows = [], stack = [[this.children(0), 0]];
    while (stack.length) {
      const top = stack[stack.length - 1], node = top[0][top[1]++];
      if (node === undefined) { stack.pop(); continue; }
      const parent = this.tree.parent[node];
      if (top[1] > CHILDREN && !this.all.has(parent)) {
        rows.push({ more: top[0].length - top[1] + 1, node: parent, level: stack.length });
        stack.pop();
        continue;
      }
      rows.push({ node, level: stack.length });
      if (this.open.has(node)) stack.push([this.children(node), 0]);
    }
    return rows;
  }

  fill() {
    const { app, tree } = this, { looks, whole, hits } = app;
    const rows = this.rows().map(({ node, level, more }) => {
      const indent = make("span", "", { className: "indent" });
      indent.style.setProperty("--level", level - 1);
      if (more) return make("tr", "", make("td", "", { colSpan: 2 }), make("td", "", indent, button(`${more} more`, "", () => { this.all.add(node); this.fill(); })));
      const look = tree.look[node], hasMore = tree.size[node] > 1 && this.tree.childrenOf(node).length > 0;
      const bar = make("span", "", { className: "bar" });
      bar.style.width = `${Math.min(100, (100 * tree.total[node]) / whole)}%`;
      return make("tr", "", {
        "aria-level": level, "data-node": node, tabIndex: node === this.at ? 0 : -1,
        ...(hasMore && { "aria-expanded": String(this.open.has(node)) }), ...(app.isSelected(look) && { "aria-selected": "true" }),
        className: hits && hits[look] ? "hit" : "",
        onclick: () => { this.at = node; app.select(look, node); this.toggle(node); },
        oncontextmenu: (event) => { event.preventDefault(); app.openMenu(tree, node, event.clientX, event.clientY); },
      }, make("td", "", bar, make("span", percent(tree.total[node], whole))), make("td", tree.self[node] ? percent(tree.self[node], whole) : ""),
      make("td", "", indent, make("span", !hasMore ? "" : this.open.has(node) ? "▾" : "▸", { className: "twist" }), make("span", looks.name(look).slice(0, 1000), { title: looks.name(look).slice(0, 2000) }), make("small", looks.module(look))));
    });
    const head = make("tr", "", ...["total", "self", "function"].map((text) => make("th", text, { scope: "col" })));
    byId("tree").replaceChildren(make("table", "", { role: "treegrid", "aria-label": "Call tree", className: "calls" }, make("thead", "", head), make("tbody", "", ...rows)));
  }

  toggle(node, open = !this.open.has(node)) {
    if (open) this.open.add(node);
    else this.open.delete(node);
    this.fill();
    this.focus();
  }

  focus() {
    const row = byId("tree").querySelector(`tr[data-node="${this.at}"]`) ?? byId("tree").querySelector("tr[data-node]");
    if (!row) return;
    this.at = Number(row.dataset.node);
    row.tabIndex = 0;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  mark() { this.fill(); }
  hits() { return []; }

  press(key) {
    const rows = [...byId("tree").querySelectorAll("tr[data-node]")];
    const at = rows.findIndex((row) => Number(row.dataset.node) === this.at);
    const go = (row) => {
      if (!row) return;
      this.at = Number(row.dataset.node);
      this.app.select(this.tree.look[this.at], this.at);
      this.focus();
    };
    if (key === "ArrowDown") go(rows[at + 1] ?? rows[at]);
    else if (key === "ArrowUp") go(rows[Math.max(0, at - 1)]);
    else if (key === "ArrowRight") this.open.has(this.at) ? go(rows[at + 1]) : this.toggle(this.at, true);
    else if (key === "ArrowLeft") this.open.has(this.at) ? this.toggle(this.at, false) : go(rows.find((row) => Number(row.dataset.node) === this.tree.parent[this.at]));
    else if (key === "Enter") this.app.state.set({ fn: this.tree.look[this.at], view: "sandwich" });
    else return false;
    return true;
  }
}
