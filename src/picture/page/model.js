// SPDX-License-Identifier: MIT
// The model: from the columns of the page and the questions of whoever looks to the trees and
// tables that views show. Each step is kept until another question is asked of it.
import { Tree, orderByWeight } from "./tree.js";
import { growInverted, growSandwich } from "./grow.js";
import { reshape } from "./reshape.js";
import { tally } from "./tally.js";
import { keptRows } from "./filter.js";
import { compared } from "./compare.js";

// The last answer of a step, and the question it belongs to.
const remembering = (answer) => {
  let known = null, last;
  return (...question) => {
    if (!known || question.some((part, i) => part !== known[i])) {
      known = null; // before the memory for a new one is asked for
      last = undefined;
      last = answer(...question);
      known = question;
    }
    return last;
  };
};

const joinMaps = (first, second) => first.map((node) => (node < 0 ? -1 : second[node]));

export class Model {
  // A question: { type, filter, asks, compare, heaviestFirst }, as state.js keeps them.
  constructor(page) {
    this.page = page;
    this.looks = page.looks;
    this.base = new Tree(page.depth, page.look);
    const base = (self) => {
      const tree = Object.assign(Object.create(Tree.prototype), this.base); // shares its columns
      tree.left = null;
      return { tree, self, map: null };
    };
    this.rows = remembering((filter, side = 0) => keptRows(page, JSON.parse(filter), side));
    this.kept = remembering((type, filter, compare) => this.keep(type, filter, compare));
    this.reshaped = (self, asks) => JSON.parse(asks).reduce(({ tree, self: left, map: before }, ask) => {
      const { map, ...next } = reshape(tree, left, ask, this.looks);
      return { ...next, map: () => (before ? joinMaps(before(), map()) : map()) };
    }, base(self));
    this.asked = remembering(({ self, delta }, asks) =>
      ({ ...this.reshaped(self, asks), delta: delta && this.reshaped(delta, asks).self }));
    this.measured = remembering(({ tree, self, delta }) => (delta ? tree.measureDelta(delta) : tree).measure(self));
    this.ordered = remembering((tree, heaviestFirst) => (heaviestFirst ? orderByWeight(tree) : tree));
    this.inverted = remembering((tree, heaviestFirst) => growInverted(tree, this.looks.n, heaviestFirst));
    this.around = remembering((tree, look, heaviestFirst) => growSandwich(tree, look, this.looks, heaviestFirst));
    this.tallied = remembering((tree) => tally(tree, this.looks));
  }

  // From the roots, siblings by name; what all others are made of.
  plain({ type, filter, asks, compare }) {
    return this.measured(this.asked(this.kept(type, JSON.stringify(filter), compare), JSON.stringify(asks)));
  }

  // By node of the page the node of plain() that it is part of, -1: none; null: itself.
  nodeMap({ type, filter, asks, compare }) {
    return this.asked(this.kept(type, JSON.stringify(filter), compare), JSON.stringify(asks)).map?.() ?? null;
  }

  keep(type, filter, compare) {
    const { page } = this, self = page.self(type, 0, this.rows(filter));
    return page.sides < 2 ? { self, delta: null } : compared(self, page.self(type, 1, this.rows(filter, 1)), compare);
  }

  topDown(question) { return this.ordered(this.plain(question), question.heaviestFirst); }
  bottomUp(question) { return this.inverted(this.plain(question), question.heaviestFirst); }
  sandwich(question, look) { return this.around(this.plain(question), look, question.heaviestFirst); }
  functions(question) { return this.tallied(this.plain(question)); }
}
