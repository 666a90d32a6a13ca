// SPDX-License-Identifier: MIT
// What all views share: the page, the model, the state, and the one selection.
import { Model } from "./model.js";
import { State, questionOf } from "./state.js";
import { Colours } from "./colours.js";
import { Heat } from "./heat.js";
import { SearchBox } from "./search_box.js";
import { FlameView, followLooks, keyOf } from "./flame_view.js";
import { SandwichView } from "./sandwich_view.js";
import { TableView } from "./table_view.js";
import { TreeView } from "./tree_view.js";
import { TimelineView } from "./timeline_view.js";
import { byId } from "./dom.js";
import { valueText } from "./format.js";
import { openMenu } from "./actions.js";
import { hideTip } from "./tip.js";

const makers = { flame: FlameView, inverted: FlameView, sandwich: SandwichView, table: TableView, tree: TreeView, timeline: TimelineView };
const NOTHING = { asks: [], labels: {}, span: null, frame: "", q: "", min: 0 };

export class App {
  constructor(page, meta) {
    Object.assign(this, { page, meta, looks: page.looks, hits: null, views: {}, selected: null });
    this.model = new Model(page);
    this.state = new State({ type: meta.shown, guest: meta.guest, ...(page.sides > 1 && { colour: "change" }) }, (state) => this.isPossible(state));
    this.colours = new Colours(page.looks, meta);
    this.torn = this.findTorn();
    this.searchBox = new SearchBox(this);
  }

  // Whether a state, from a link to another page perhaps, fits this one.
  isPossible({ type, asks, fn, span }) {
    const { n } = this.looks, ofLook = ["focus", "drop", "below", "above", "hide"];
    return type < Math.max(1, this.page.types.length) && fn < n && (!span || span.length === 2) &&
           asks.every(({ ask, of }) => !ofLook.includes(ask) || (Number.isInteger(of) && of >= 0 && of < n));
  }

  get question() { return questionOf(this.state, this.looks.hasGuests); }
  get whole() { return this.model.plain(this.question).total[0]; }
  get type() { return this.page.types[this.state.type] ?? this.page.types[0]; }
  valueText(value) { return valueText(value, this.type); }
  link() { return location.href.split("#")[0] + this.state.link; }

  // What the lines of a function cost, where the page knows.
  heatOf(look) {
    if (!this.page.heat) return new Map();
    this.heat ??= new Heat(this.page.heat, this.looks);
    return this.heat.linesOf(look, this.question);
  }

  get view() {
    const { view } = this.state, kind = makers[view];
    this.views[kind.name] ??= new kind(this);
    return this.views[kind.name];
  }

  // The looks of outermost frames whose stacks are mostly cut, so that nobody knows what called them.
  findTorn() {
    const { page: { rows, sets, n, depth, look }, model: { base } } = this, torn = new Set();
    if (!rows[0]) return torn;
    const cut = new Uint8Array(sets.n);
    for (const set of new Set(rows[0].set)) cut[set] = sets.labels(set).some(({ key }) => key === "cairn.cut") ? 1 : 0;
    if (!cut.includes(1)) return torn;
    const outer = new Int32Array(n).fill(-1), sums = new Map();
    for (let i = 1; i < n; i++) outer[i] = depth[i] === 1 ? look[i] : outer[base.parent[i]];
    for (let row = 0; row < rows[0].n; row++) {
      const own = outer[rows[0].node[row]];
      if (!sums.has(own)) sums.set(own, [0, 0]);
      sums.get(own)[cut[rows[0].set[row]]]++;
    }
    for (const [own, [whole, broken]] of sums) if (own >= 0 && broken > whole) torn.add(own);
    return torn;
  }

  // The function that is selected, and where, if the view at hand has it.
  selection() {
    const { fn } = this.state, { selected } = this;
    const here = selected && selected.tree === this.view.tree && selected.tree.look[selected.node] === fn;
    return here ? { ...selected, look: fn } : { tree: null, node: 0, look: fn < this.looks.n ? fn : -1 };
  }

  isSelected(look) { return look >= 0 && this.looks.same[look] === this.looks.same[this.state.fn]; }

  select(look, node = -1) {
    this.selected = node >= 0 ? { tree: this.view.tree, node } : null;
    if (this.state.fn === look) this.onSelect();
    else this.state.set({ fn: look }, true);
  }

  // For views of one function: the selected one, else the one where most ended.
  functionInMiddle() {
    const { fn } = this.state;
    if (fn >= 0 && fn < this.looks.n) return fn;
    const { self } = this.model.functions(this.question);
    return self.reduce((best, value, k) => (best < 0 || value > self[best] ? k : best), -1);
  }

  openMenu(tree, node, x, y) {
    const look = tree ? tree.look[node] : node;
    if (tree) this.select(look, node);
    hideTip();
    openMenu(this, tree, node, x, y);
  }

  ask(ask) {
    const same = (one) => JSON.stringify(one) === JSON.stringify(ask);
    if (this.state.asks.some(same) && ask.ask !== "recursion" && ask.ask !== "kind") return;
    const asks = this.state.asks.some(same) ? this.state.asks.filter((one) => !same(one)) : [...this.state.asks, ask];
    this.state.set({ asks, frame: "" });
  }
  toggleKind(of) { this.ask({ ask: "kind", of }); }
  toggleRecursion() { this.ask({ ask: "recursion" }); }

  search(text) { this.state.set({ q: text, in: "name" }, true); }

  // Siblings by weight or by name; the frame that fills the view stays.
  toggleOrder() {
    const { state } = this, heavy = !state.heavy, view = this.view;
    if (state.view !== "flame") return state.set({ heavy });
    const looks = view.tree.pathTo(view.zoomed).slice(1).map((node) => view.tree.look[node]);
    const tree = this.model.topDown({ ...this.question, heaviestFirst: heavy });
    state.set({ heavy, frame: keyOf(tree, followLooks(tree, looks)) });
  }

  setView(view) { this.state.set({ view, frame: "" }); }
  flip() { this.state.set({ down: !this.state.down }, true); }
  reset() { this.state.set(NOTHING); }
  leave() {
    this.state.set({ q: "", frame: "" });
    this.view.home?.(); // where fingers moved it
  }
  get isPlain() { return Object.entries(NOTHING).every(([key, value]) => JSON.stringify(this.state[key]) === JSON.stringify(value)); }

  isStill() { return this.view.isStill() && !this.waiting; }

  // What can wait until the picture is on the screen; of several the last.
  later(work) {
    this.work = work;
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => setTimeout(() => {
      this.waiting = false;
      this.work();
    }));
  }

  sayIfEmpty() {
    const say = (text) => { byId("status").textContent = text; };
    if (this.whole > 0) return say("");
    const some = this.page.types.some((_, type) => this.page.self(type).some((value) => value > 0));
    say(some ? "Nothing is left to draw: take a filter away, or choose another value." : "No samples: there is nothing to draw.");
  }
}
