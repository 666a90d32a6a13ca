// SPDX-License-Identifier: MIT
// What is asked and shown, all of it, in the fragment of the URL: a link leads to the same picture.
// A step that somebody would want to undo is one of the browser's history; the rest replaces it.

// `read` throws where a text is no such value: a link may be cut, or made up.
const must = (holds, value) => {
  if (!holds) throw new RangeError("not such a value");
  return value;
};
const text = (initial) => ({ initial, write: (v) => v, read: (v) => v });
const number = (initial, from, to) => ({ initial, write: String, read: (v) => must(v >= from && v <= to, Number(v)) });
const object = (v) => must(v && typeof v === "object", v);
const flag = { initial: false, write: () => "1", read: (v) => v === "1" };
const choice = (...values) => ({ initial: values[0], write: (v) => v, read: (v) => must(values.includes(v), v) });

const ASKS = ["focus", "drop", "below", "above", "hide", "module", "kind", "recursion"];
export const VIEWS = ["flame", "inverted", "sandwich", "table", "tree", "timeline"];
const fields = {
  view: choice(...VIEWS),
  frame: text(""), // what fills the view: a node, or in a grown tree the looks on the way to it
  fn: number(-1, -1, 2 ** 31), // the one function that is selected, in all views
  guest: choice("fold", "all", "only", "off"), // which frames of stacks with an interpreter's
  type: number(0, 0, 1000),
  q: text(""),
  in: choice("name", "file", "chunk", "module", "any"),
  asks: { // [{ ask, of }]: see reshape.js
    initial: [], write: JSON.stringify,
    read: (v) => JSON.parse(v).map((ask) => must(ASKS.includes(object(ask).ask), ask)),
  },
  labels: { // { key: [value, ...] }
    initial: {}, write: JSON.stringify,
    read: (v) => Object.fromEntries(Object.entries(object(JSON.parse(v))).map(([key, values]) => [key, values.map(String)])),
  },
  span: { initial: null, write: (v) => v.join("-"), read: (v) => v.split("-", 2).map((at) => must(at >= 0 && at !== "", Number(at))) },
  stacks: { initial: null, write: JSON.stringify, read: (v) => must(Array.isArray(JSON.parse(v)), JSON.parse(v)).map(String) }, // threads whose stacks the timeline shows
  heavy: flag, // siblings by weight, not by name
  down: flag, // roots at the top
  colour: choice("kind", "module", "share", "change", "safe"), // "safe": change, for the colour-blind
  width: choice("new", "old", "both"), // of two profiles
  absolute: flag, // the old one as it is, not as if it had the sum of the new one
  min: number(0, 0, 100), // pixels
  sort: choice("self", "total", "places", "name", "module", "delta"),
  facts: flag,
};

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export class State {
  // `isPossible`: of all values together, whether the page can show them.
  constructor(initial, isPossible) {
    this.isPossible = isPossible;
    this.initial = Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, initial[key] ?? field.initial]));
    this.listeners = [];
    Object.assign(this, this.read());
    addEventListener("popstate", () => this.take(this.read()));
    addEventListener("hashchange", () => this.take(this.read()));
  }

  read() {
    const values = { ...this.initial };
    for (const [key, value] of new URLSearchParams(location.hash.slice(1)))
      if (Object.hasOwn(fields, key))
        try {
          values[key] = fields[key].read(value);
        } catch { /* a link that somebody shortened */ }
    return this.isPossible(values) ? values : { ...this.initial };
  }

  get link() {
    const parts = Object.keys(fields).filter((key) => !same(this[key], this.initial[key]))
      .map((key) => `${key}=${encodeURIComponent(fields[key].write(this[key]))}`);
    return parts.length ? `#${parts.join("&")}` : "";
  }

  take(values) {
    const changed = new Set(Object.keys(values).filter((key) => !same(this[key], values[key])));
    for (const key of changed) this[key] = values[key];
    if (changed.size) for (const listener of this.listeners) listener(changed);
    return changed.size > 0;
  }

  // `quiet`: not a step to go back over.
  set(values, quiet = false) {
    const before = this.link;
    if (!this.take(values) || this.link === before) return;
    try {
      history[quiet ? "replaceState" : "pushState"](null, "", this.link || location.pathname + location.search);
    } catch { /* some embeddings have no history */ }
  }

  onChange(listener) { this.listeners.push(listener); }
}

// The same of two states of an address means the same tree.
export const questionOf = ({ type, labels, span, asks, guest, heavy, width, absolute }, hasGuests) =>
  ({ type, filter: { labels, ...(span && { span }) }, asks: hasGuests && guest !== "all" ? [{ ask: "guest", of: guest }, ...asks] : asks, compare: absolute ? `${width} absolute` : width, heaviestFirst: heavy });
