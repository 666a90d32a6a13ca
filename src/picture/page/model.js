// SPDX-License-Identifier: MIT
// The model: from the columns of the page and the questions of whoever looks to the trees and
// tables that views show. Each step is kept until another question is asked of it.
import { Tree, orderByWeight } from "./tree.js";
import { growInverted, growSandwich } from "./grow.js";
import { reshape } from "./reshape.js";
import { tally } from "./tally.js";
import { keptRows } from "./filter.js";

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

export class Model {
  // A question: { type, filter, asks, heaviestFirst }, as state.js keeps them.
  constructor(page) {
    this.page = page;
    this.looks = page.looks;
    this.base = new Tree(page.depth, page.look);
    const base = (self) => {
      const tree = Object.assign(Object.create(Tree.prototype), this.base); // shares its columns
      tree.left = null;
      return { tree, self };
    };
    this.rows = remembering((filter) => keptRows(page, JSON.parse(filter)));
    this.kept = remembering((type, filter) => page.self(type, 0, this.rows(filter)));
    this.asked = remembering((self, asks) => JSON.parse(asks)
      .reduce(({ tree, self: left }, ask) => reshape(tree, left, ask, this.looks), base(self)));
    this.measured = remembering((asked) => asked.tree.measure(asked.self));
    this.ordered = remembering((tree, heaviestFirst) => (heaviestFirst ? orderByWeight(tree) : tree));
    this.inverted = remembering((tree, heaviestFirst) => growInverted(tree, this.looks.n, heaviestFirst));
    this.around = remembering((tree, look, heaviestFirst) => growSandwich(tree, look, this.looks.n, heaviestFirst));
    this.tallied = remembering((tree) => tally(tree, this.looks.n));
  }

  // From the roots, siblings by name; what all others are made of.
  plain({ type, filter, asks }) {
    return this.measured(this.asked(this.kept(type, JSON.stringify(filter)), JSON.stringify(asks)));
  }

  topDown(question) { return this.ordered(this.plain(question), question.heaviestFirst); }
  bottomUp(question) { return this.inverted(this.plain(question), question.heaviestFirst); }
  sandwich(question, look) { return this.around(this.plain(question), look, question.heaviestFirst); }
  functions(question) { return this.tallied(this.plain(question)); }
}
