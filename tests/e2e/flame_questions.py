#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Questions to the page: search in functions, files and modules, what is left out or collapsed,
filters by label and kind, the value type, a least width; each in the address, each taken back."""
from flame_page import WORK, Browser, check, check_that, finish, flame, pprof, pprof_of_threads
from selenium.webdriver.common.keys import Keys

STACKS = """\
main;run;parse;copy 30
main;run;parse 10
main;run;find;hash 25
main;run;find;hash;copy 5
main;run;walk;walk;walk 20
idle;entry_[k];wait_[k] 10
"""


def whole(browser):
    return browser.run("return cairn.tree.total[0]")


def total(browser, *path):
    node = browser.node(*path)
    return browser.run("return cairn.tree.total[arguments[0]]", node) if node >= 0 else None


def back(browser):
    browser.driver.back()
    browser.settle()


# Key, function it is pressed on, sum that is left, a path and its total after that.
ASKED = (("f", ("main", "run", "find"), 30, ("main", "run", "find", "hash"), 30),
         ("x", ("main", "run", "find"), 70, ("main", "run", "find"), None),
         ("b", ("main", "run", "parse"), 40, ("parse", "copy"), 30),
         ("a", ("main", "run", "find"), 30, ("main", "run", "find"), 30),
         ("h", ("main", "run"), 100, ("main", "parse", "copy"), 30),
         ("r", ("main", "run", "walk"), 100, ("main", "run", "walk", "walk"), None))


def answers_questions(browser, page):
    for key, path, left, at, value in ASKED:
        browser.open(page)
        browser.point(browser.node(*path), click=True)
        browser.press(Keys.ESCAPE, key)
        check(f"{key}: what is left", [whole(browser), total(browser, *at)], [left, value])
        check_that(f"{key}: a chip", browser.text("#chips"), browser.text("#chips"))
        url = browser.driver.current_url.split("#")[1]
        back(browser)
        check(f"{key}: back", [whole(browser), browser.text("#chips")], [100, ""])
        browser.open(page, fragment="#" + url)
        check(f"{key}: by link", [whole(browser), total(browser, *at)], [left, value])
        browser.run("document.querySelector('#chips button').click()")
        browser.settle()
        check(f"{key}: taken away", whole(browser), 100)
    browser.check_quiet("questions")


def hides_kinds(browser, page):
    browser.open(page)
    browser.run("[...document.querySelectorAll('#legend button')].find((b) => b.textContent.startsWith('kernel')).click()")
    browser.settle()
    check("without the kernel's frames", [whole(browser), total(browser, "idle", "entry"), browser.run(
        "return cairn.tree.self[arguments[0]]", browser.node("idle"))], [100, None, 10])
    browser.run("document.getElementById('filter').click()")
    browser.run("[...document.querySelectorAll('#filters label')].find((l) => l.textContent === 'kernel frames').click()")
    browser.settle()
    check("and with them again", total(browser, "idle", "entry"), 10)
    browser.check_quiet("kinds")


def walks_from_match_to_match(browser, page):
    browser.open(page)
    browser.press("/", *"copy", Keys.ENTER)
    check("the first", [browser.text("#nth"), browser.tip()[""], browser.tip()["total"]],
          ["1 / 2", "copy", "5 samples · 5.00%"])
    browser.press(Keys.ENTER)
    check("the second", [browser.text("#nth"), browser.tip()["total"]], ["2 / 2", "30 samples · 30.0%"])
    browser.press(Keys.ENTER)
    check("round", browser.text("#nth"), "1 / 2")
    browser.press(Keys.SHIFT + Keys.ENTER)
    browser.press(Keys.NULL)
    check("and back", browser.text("#nth"), "2 / 2")
    browser.open(page, fragment="#q=%2F%5E(hash%7Cwalk)%24%2F&view=inverted")
    check("by link", [browser.text("#share"), browser.run("return document.getElementById('search').value")],
          ["50.0%", "/^(hash|walk)$/"])
    browser.check_quiet("matches")


def searches_files_and_modules(browser):
    copy, find = [("copy", "/usr/include/copy.h", 3)], [("find", "/src/table.cc", 9)]
    page = flame("files", pprof([([copy, find], [3, 1], "cc"), ([find], [1, 1], "c")]))
    for where, query, share in (("file", "copy.h", "75.0%"), ("file", "/table\\.cc$/", "100.0%"), ("name", "table", "0.00%"),
                                ("module", "server", "100.0%"), ("any", "include", "75.0%")):
        browser.open(page, fragment=f"#in={where}&type=0")
        browser.search(query)
        check(f"{query} in {where}", browser.text("#share"), share)
    browser.open(page, fragment="#type=0")
    browser.point(browser.node("find", "copy"), click=True)
    browser.press(Keys.ESCAPE, "c")
    check("the module is entered once", [total(browser, "find"), total(browser, "find", "copy")], [4, None])
    browser.run("const box = document.getElementById('type'); box.value = '1'; box.dispatchEvent(new Event('change'))")
    browser.settle()
    check("another value", [browser.text("#count"), browser.fragment().get("type", "1")], ["2 frames · 2 ns", "1"])
    browser.check_quiet("files")


# Letters, leaf first: c native, o native code of an interpreter, l Lua's; values.
C_MAIN, C_HELP, OWN = [("main", "", 0)], [("helper", "", 0)], [("luaV_execute", "", 0)]
LUA_A, LUA_B, LUA_C = [("outer", "app.lua", 9, 7)], [("inner", "app.lua", 4, 3)], [("inner", "app.lua", 31, 30)]
GUESTS = (([LUA_B, LUA_A, OWN, C_MAIN], [8, 1], "lloc"), ([C_HELP, LUA_A, OWN, C_MAIN], [4, 1], "cloc"), ([LUA_C, OWN, C_MAIN], [2, 1], "loc"),
          ([C_HELP, C_MAIN], [1, 1], "cc"))
SEEN = {  # by view: paths and their totals
    "fold": {("main",): 15, ("main", "outer"): 12, ("main", "outer", "helper"): 4, ("main", "helper"): 1, ("main", "inner"): 2},
    "all": {("main", "luaV_execute"): 14, ("main", "luaV_execute", "outer", "inner"): 8, ("main", "helper"): 1},
    "only": {("outer",): 12, ("outer", "inner"): 8, ("inner",): 2, ("main",): 1, ("main", "helper"): 1, ("outer", "helper"): None},
    "off": {("main", "luaV_execute"): 14, ("main", "luaV_execute", "helper"): 4, ("main", "helper"): 1},
}
SWITCH = "const box = document.getElementById('guest'); box.value = arguments[0]; box.dispatchEvent(new Event('change'))"


def switches_guests(browser, plain):
    page = flame("guests", pprof(GUESTS))
    browser.open(page, fragment="#type=0")
    for view in ("fold", "all", "only", "off", "fold"):
        browser.run(SWITCH, view)
        browser.settle()
        check(f"{view}: what is seen", {path: total(browser, *path) for path in SEEN[view]}, SEEN[view])
        check(f"{view}: all of it", whole(browser), 15)
    browser.run(SWITCH, "only")
    browser.settle()
    check("in the address", browser.fragment().get("guest"), "only")
    browser.press("2")
    check("inverted", [total(browser, "inner"), total(browser, "helper", "main")], [10, 1])
    back(browser)
    back(browser)
    check("back", total(browser, "main"), 15)
    browser.point(browser.node("main", "outer"))
    check("the tooltip", [browser.tip()[row] for row in ("chunk", "defined", "kind")], ["app.lua:9", "at line 7", "Lua, found by the Lua state"])
    browser.point(browser.node("main", "inner"))
    check("two of a name", [browser.tip()[row] for row in ("chunk", "defined")], ["app.lua:4–31", "at line 3 and others"])
    for where, query, share in (("chunk", "app.lua", "93.3%"), ("chunk", "server", "0.00%"), ("chunk", "/^app/", "93.3%")):
        browser.open(page, fragment=f"#type=0&in={where}")
        browser.search(query)
        check(f"{query} in {where}", browser.text("#share"), share)
    browser.open(page, fragment="#guest=all&type=0")
    browser.point(browser.node("main", "luaV_execute"))
    check("by link, with its own frames", browser.tip()["kind"], "interpreter, found by unwind tables")
    colours = "const { colours, tree } = cairn.app.view.panes[0].chart; return colours.of(tree.look[arguments[0]], 0, 0)"
    shown = {browser.run(colours, browser.node(*path)) for path in (("main",), ("main", "luaV_execute"), ("main", "luaV_execute", "outer"))}
    check("a colour of their own", len(shown), 3)
    browser.screenshot("guests-all", 1)
    browser.open(flame("guests-only", pprof(GUESTS), "--guest=only"), fragment="#type=0")
    check("--guest says what is seen first", [total(browser, "outer"), total(browser, "main", "outer")], [12, None])
    hidden = "return ['guest', 'in-chunks'].map((id) => document.getElementById(id).hidden)"
    check("the switch", browser.run(hidden), [False, False])
    browser.open(plain)
    check("no switch without an interpreter", browser.run(hidden), [True, True])
    browser.check_quiet("guests")


def filters_by_label(browser):
    rows = [(["a", "main"], "busy", 1, 0, 4), (["b", "main"], "busy", 2, 0, 2), (["b", "main"], "calm", 3, 0, 1)]
    browser.open(flame("labels", pprof_of_threads(rows)))
    browser.run("document.getElementById('filter').click()")
    tick = "[...document.querySelectorAll('#filters label')].find((l) => l.firstChild.nextSibling.textContent === arguments[0])"
    browser.click_on(tick, "busy")
    check("one thread's name", [whole(browser), total(browser, "main", "b"), browser.text("#chips")], [6, 2, "thread: busy"])
    browser.click_on(tick, "calm")
    check("or another", whole(browser), 7)
    browser.click_on(tick, "3")
    check("and a number", [whole(browser), total(browser, "main", "a")], [1, None])
    back(browser)
    back(browser)
    check("back twice", whole(browser), 6)
    browser.press("0")
    check("all again", whole(browser), 7)
    browser.check_quiet("labels")


HEAT = """return Object.fromEntries([...document.querySelectorAll(".source li")].map((line) => [line.value, line.querySelector(".share")])
    .filter(([, share]) => share.title).map(([line, share]) => [line, share.title]))"""


def text_of(total, own):
    return f"{total} samples, of it {own} samples in the line itself"


def shows_heat_of_what_is_asked(browser):
    """Lines 10 and 20 of work(), which calls itself from 10 and copy() from 20; by two threads."""
    rows = [([("work", 20), ("work", 10)], "busy", 1, 0, 4), ([("copy", 3), ("work", 20), ("main", 5)], "busy", 1, 400, 3),
            ([("work", 10), ("main", 5)], "calm", 2, 800, 2), ([("main", 7)], "calm", 2, 900, 1)]
    (WORK / "src").mkdir(exist_ok=True)
    (WORK / "src" / "work.c").write_text("".join(f"    line {k}\n" for k in range(1, 31)))
    browser.open(flame("heat", pprof_of_threads(rows, file="/src/app/work.c"), f"--source={WORK / 'src'}"), fragment="#facts=1")
    browser.point(browser.node("work"), click=True)
    check("all", browser.run(HEAT), {"10": text_of(6, 2), "20": text_of(7, 4)})
    check("text without the blanks that all lines have", browser.run("return document.querySelector('.source code').textContent[0]"), "l")
    for name, values, wanted in (
            ("one thread", {"labels": {"thread": ["calm"]}}, {"10": text_of(2, 2)}),
            ("another", {"labels": {"thread": ["busy"]}}, {"10": text_of(4, 0), "20": text_of(7, 4)}),
            ("a span of time", {"labels": {}, "span": [300000, 850000]}, {"10": text_of(2, 2), "20": text_of(3, 0)}),
            ("nothing of it", {"span": [850000, 950000]}, {}),
            ("only through a function", {"span": None, "asks": [["focus", "copy"]]}, {"20": text_of(3, 0)}),
            ("without one", {"asks": [["drop", "main"]]}, {"10": text_of(4, 0), "20": text_of(4, 4)}),
            ("one hidden", {"asks": [["hide", "copy"]]}, {"10": text_of(6, 2), "20": text_of(7, 7)}),
            ("recursion collapsed", {"asks": [["recursion"]]}, {"10": text_of(6, 6), "20": text_of(3, 0)})):
        browser.run("""const { looks } = cairn.page, of = (name) => Array.from({ length: looks.n }, (_, k) => k).find((k) => looks.name(k) === name);
            const values = arguments[0];
            if (values.asks) values.asks = values.asks.map(([ask, name]) => (name ? { ask, of: of(name) } : { ask }));
            cairn.state.set(values);""", values)
        browser.settle()
        check(f"heat of {name}", browser.run(HEAT), wanted)
    browser.check_quiet("heat")


def leaves_out_what_is_narrow(browser, page):
    browser.open(page, fragment="#min=100")
    check("says what", browser.text("#hidden"), "not drawn: 1 tower narrower than 100 px, 5.00%")
    browser.open(page)
    check("nothing is hidden at first", browser.text("#hidden"), "")
    browser.check_quiet("widths")


def orders_by_weight(browser, page):
    browser.open(page)
    names = """const { tree, page } = cairn; return tree.childrenOf(arguments[0]).map((i) => page.looks.name(tree.look[i]))"""
    check("by name", browser.run(names, browser.node("main", "run")), ["find", "parse", "walk"])
    browser.point(browser.node("main", "run", "find"), click=True)
    browser.press("o")
    check("by weight", browser.run(names, browser.node("main", "run")), ["parse", "find", "walk"])
    check("the view is still of find", browser.text("#crumbs").split("\n")[-1], "find")
    browser.press("o", "i")
    check("roots at the top", browser.run("return cairn.chart.rootsBelow"), False)
    browser.check_quiet("order")


def survives_broken_links(browser, page):
    for fragment in ("#asks=[{", "#asks=7", "#asks=[{\"ask\":\"nonsense\"}]", "#frame=99999999", "#frame=-1", "#frame=1.2.3",
                     "#view=nowhere", "#type=99", "#span=x", "#labels=[]", "#fn=1e9&view=sandwich", "#min=-3", "#__proto__=1",
                     "#view=timeline", "#q=%2F(%2F", "#%E0%A4%A"):
        browser.open(page, fragment=fragment)
        check(f"after {fragment}", [browser.run("return cairn.model.base.n"), browser.text("#status")], [14, ""])
    browser.check_quiet("broken links")


def main():
    page = flame("questions", STACKS)
    browser = Browser()
    try:
        for test in (answers_questions, hides_kinds, walks_from_match_to_match, leaves_out_what_is_narrow,
                     orders_by_weight, survives_broken_links):
            test(browser, page)
        searches_files_and_modules(browser)
        switches_guests(browser, page)
        filters_by_label(browser)
        shows_heat_of_what_is_asked(browser)
    finally:
        browser.close()
    finish()


main()
