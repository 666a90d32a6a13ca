// SPDX-License-Identifier: MIT
// What each line of source cost, of what is asked. The page has its samples as a tree of lines, too:
// the same questions are asked of that one, with lines in the place of looks.
import { Model } from "./model.js";
import { tally } from "./tally.js";

const OF_LOOK = ["focus", "drop", "below", "above", "hide"];

export class Heat {
  // Lines come first, then looks: frames whose line nobody knows.
  constructor({ look, line, page }, looks) {
    const of = (k) => (k < look.length ? look[k] : k - look.length), n = look.length + looks.n;
    Object.assign(this, { look, line, tree: null, sums: null });
    this.each = Int32Array.from({ length: n }, (_, k) => k);
    this.model = new Model({ ...page, looks: {
      n, same: this.each.map((k) => looks.same[of(k)]), kind: Uint8Array.from(this.each, (k) => looks.kind[of(k)]),
      guest: looks.guest, own: looks.own, module: (k) => looks.module(of(k)),
    } });
  }

  // Of a look: number of the line to { self, total }.
  linesOf(own, question) {
    const asks = question.asks.map(({ ask, of }) => ({ ask, of: OF_LOOK.includes(ask) ? this.look.length + of : of }));
    const tree = this.model.plain({ ...question, asks }), lines = new Map();
    if (tree !== this.tree) Object.assign(this, { tree, sums: tally(tree, { n: this.each.length, same: this.each }) });
    const { self, total, places } = this.sums;
    this.look.forEach((look, k) => { if (look === own && places[k]) lines.set(this.line[k], { self: self[k], total: total[k] }); });
    return lines;
  }
}
