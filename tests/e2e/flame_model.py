#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The trees of the page, held against slow ones made here of the stacks themselves: from the roots,
from the leaves, around a function, after each question, and the table of functions."""
import collections
import random

from flame_page import Browser, check, finish, flame

NAMES = [f"f{i}" for i in range(7)]


def random_stacks(seed):
    """Recursion of all kinds, since there are few names."""
    dice, stacks = random.Random(seed), collections.Counter()
    for _ in range(300):
        depth = dice.randint(1, 12)
        stack = tuple(dice.choice(NAMES[: 2 + min(i, 5)]) for i in range(depth))
        stacks[stack] += dice.randint(1, 9)
    return stacks


def tree(stacks):
    """Of (names from the root, value): paths to [self, total]."""
    nodes = collections.defaultdict(lambda: [0, 0])
    for stack, value in stacks:
        for depth in range(len(stack) + 1):
            nodes["/".join(stack[:depth])][1] += value
        nodes["/".join(stack)][0] += value
    return {path: row for path, row in nodes.items() if row[1]}


# JavaScript that lists any tree as the one above.
LIST = """
    const { model } = cairn, rows = {};
    const list = (tree) => {
        const go = (node, path) => {
            const children = tree.childrenOf(node);
            rows[path] = [tree.self[node], tree.total[node]];
            let left = tree.left[node];
            children.slice(1).forEach((child, i) => {
                const before = children[i], name = (node) => model.looks.name(tree.look[node]);
                if (question.heaviestFirst ? tree.total[before] < tree.total[child] : name(before) >= name(child))
                    throw new Error(`${path}: ${name(child)} is out of order`);
            });
            for (const child of children) {
                if (Math.abs(tree.left[child] - left) > 1e-6) throw new Error(`${path}: a child is not in its place`);
                left += tree.total[child];
                if (tree.pathTo(child).at(-2) !== node) throw new Error(`${path}: a child with another parent`);
                go(child, (path ? path + "/" : "") + model.looks.name(tree.look[child]));
            }
        };
        go(0, "");
        return rows;
    };
    const question = { type: 0, filter: {}, asks: [], heaviestFirst: false, ...arguments[0] };
    const look = (name) => Array.from({ length: model.looks.n }, (_, k) => k).find((k) => model.looks.name(k) === name);
"""


def once(stack):
    return tuple(name for i, name in enumerate(stack) if i == 0 or stack[i - 1] != name)


def asked(stacks, ask, of):
    for stack, value in stacks:
        inside = of in stack
        at = stack.index(of) if inside else 0
        if ask == "focus" and inside or ask == "drop" and not inside:
            yield stack, value
        elif ask == "below" and inside:
            yield stack[at:], value
        elif ask == "above" and inside:
            yield stack[:at + 1], value
        elif ask == "hide":
            yield tuple(name for name in stack if name != of), value
        elif ask == "recursion":
            yield once(stack), value


def same_trees(browser, stacks):
    every = list(stacks.items())
    for heaviest in (False, True):
        got = browser.run(LIST + "return list(model.topDown(question));", {"heaviestFirst": heaviest})
        check(f"from the roots, heaviest first {heaviest}", got, tree(every))
        got = browser.run(LIST + "return list(model.bottomUp(question));", {"heaviestFirst": heaviest})
        check(f"from the leaves, heaviest first {heaviest}", got, tree((s[::-1], v) for s, v in every))
    for name in NAMES:
        through = [(s, v) for s, v in every if name in s]
        wanted = [tree((s[s.index(name) + 1:], v) for s, v in through),
                  tree((s[::-1][s[::-1].index(name) + 1:], v) for s, v in through),
                  sum(v for s, v in through if s[-1] == name)]
        got = [browser.run(LIST + f"return list(model.sandwich(question, look(arguments[1])).{side});", {}, name)
               for side in ("callees", "callers")]
        got.append(browser.run(LIST + "return model.sandwich(question, look(arguments[1])).self;", {}, name))
        check(f"below, above and in {name}", got, wanted)


def same_answers(browser, stacks):
    every = list(stacks.items())
    for ask, of in [("recursion", None)] + [(ask, name) for ask in ("focus", "drop", "below", "above", "hide")
                                            for name in ("f0", "f1", "f6")]:
        got = browser.run(LIST + """
            question.asks = [{ ask: arguments[1], of: look(arguments[2]) }];
            return list(model.plain(question));""", {}, ask, of)
        check(f"{ask} {of}", got, tree(asked(every, ask, of)) or {"": [0, 0]})
    twice = list(asked(list(asked(every, "hide", "f1")), "recursion", None))
    got = browser.run(LIST + """
        question.asks = [{ ask: "hide", of: look("f1") }, { ask: "recursion" }];
        return list(model.plain(question));""", {})
    check("two questions", got, tree(twice))
    got = browser.run(LIST + "return list(model.plain(question));", {})
    check("all again", got, tree(every))


def same_table(browser, stacks):
    wanted = {}
    for name in NAMES:
        paths = {stack[:i + 1] for stack in stacks for i, own in enumerate(stack) if own == name}
        wanted[name] = [sum(v for s, v in stacks.items() if s[-1] == name),
                        sum(v for s, v in stacks.items() if name in s), len(paths)]
    got = browser.run(LIST + """
        const { self, total, places } = model.functions(question), table = {};
        for (let k = 0; k < model.looks.n; k++) table[model.looks.name(k)] = [self[k], total[k], places[k]];
        return table;""", {})
    check("functions", got, wanted)


def main():
    browser = Browser()
    try:
        for seed in range(3):
            stacks = random_stacks(seed)
            text = "".join(f"{';'.join(stack)} {value}\n" for stack, value in stacks.items())
            browser.open(flame(f"random{seed}", text))
            for test in (same_trees, same_answers, same_table):
                test(browser, stacks)
        browser.check_quiet("model")
    finally:
        browser.close()
    finish()


main()
