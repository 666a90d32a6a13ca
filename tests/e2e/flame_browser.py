#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pictures of `cairn flame` in a real browser: what is drawn, what can be done with it, and that
names from a target stay names."""
from flame_page import HOSTILE, Browser, check, check_picture, check_that, finish, flame, pprof
from selenium.webdriver.common.keys import Keys

STACKS = """\
_start;main;Server::run();Request::parse(char const*);std::from_chars<int>_[i] 210
_start;main;Server::run();Request::parse(char const*);std::string::append_[i];malloc 90
_start;main;Server::run();Request::parse(char const*) 60
_start;main;Server::run();Table::find(unsigned long);Table::hash(unsigned long)_[i] 180
_start;main;Server::run();Table::find(unsigned long) 150
_start;main;Server::run();lua_pcall;handler;render 70
_start;main;Server::run();writev;entry_SYSCALL_64_[k];do_syscall_64_[k];vfs_writev_[k] 120
_start;main;Server::run();walk;walk;walk 40
_start;main;Server::run();walk;walk 20
start_thread;worker;Regex_[j] 30
start_thread;worker;0x7f2200401000 30
"""

def tree_of(text):
    """What the page must hold: paths of names to [self, total]."""
    nodes = {(): [0, 0]}
    for line in text.splitlines():
        names, count = line.rsplit(" ", 1)
        path = ()
        nodes[()][1] += int(count)
        for name in names.split(";"):
            path += (name[:-4] if name[-4:-2] == "_[" else name,)
            nodes.setdefault(path, [0, 0])[1] += int(count)
        nodes[path][0] += int(count)
    return nodes


# Tests ------------------------------------------------------------------------------------------

RUN = ("_start", "main", "Server::run()")


def holds_every_frame(browser, page):
    browser.open(page)
    wanted = {"/".join(path): row for path, row in tree_of(STACKS).items()}
    got = browser.run("""
        const { tree } = cairn, rows = {};
        for (let node = 0; node < tree.n; node++) {
            const names = tree.pathTo(node).slice(1).map((i) => cairn.page.looks.name(tree.look[i]));
            rows[names.join("/")] = [tree.self[node], tree.total[node]];
        }
        return rows;""")
    check("every frame, self and total", got, wanted)
    check("status", browser.text("#status"), "")
    check("count", browser.text("#count"), f"{len(wanted) - 1} frames · 1,000 samples")
    check("legend", browser.text("#legend").split("\n"),
          ["native 43.0%", "inlined 39.0%", "kernel 12.0%", "JIT 3.00%", "unnamed 3.00%"])
    check_that("subtitle", browser.text("#subtitle").startswith("1,000 samples"), browser.text("#subtitle"))
    browser.check_quiet("page")


def can_be_zoomed(browser, page):
    browser.open(page)
    check("view at first", browser.view(), [0, 1])
    find = browser.node(*RUN, "Table::find(unsigned long)")
    browser.point(find, click=True)
    check("view of find", browser.view(), [0.36, 0.69])
    check("crumbs", browser.text("#crumbs").split("\n"),
          ["all", *RUN, "Table::find(unsigned long)"])
    browser.point(browser.node(*RUN), click=True)
    check("view of an ancestor that was clicked", browser.view(), [0, 0.94])
    browser.driver.back()
    browser.settle()
    check("view after going back", browser.view(), [0.36, 0.69])
    browser.run("document.querySelectorAll('#crumbs button')[2].click()")
    browser.settle()
    check("view of a crumb", browser.view(), [0, 0.94])
    browser.run("document.getElementById('reset').click()")
    browser.settle()
    check("view after reset", browser.view(), [0, 1])
    browser.point(find, click=True)
    browser.press(Keys.ESCAPE)
    check("view after Esc", browser.view(), [0, 1])
    browser.open(page, fragment=f"#frame={find}")
    check("view by link", browser.view(), [0.36, 0.69])
    browser.check_quiet("zoom")


def can_be_searched(browser, page):
    browser.open(page)
    for query, share in (("table::", "33.0%"), ("walk", "6.00%"), ("std::", "30.0%"),
                         ("/^(main|walk|Table)/", "94.0%"), ("/^STD/i", "30.0%"),
                         ("/^STD/", "0.00%"), ("entry_*", "0.00%"), ("nothing", "0.00%"), ("", "")):
        browser.search(query)
        check(f"share of {query!r}", browser.text("#share") or "", share)
    browser.search("/(/")
    check("a broken expression", [browser.text("#share"), browser.run(
        "return document.getElementById('search').className")], ["", "wrong"])
    browser.search("Table::hash")
    browser.point(browser.node(*RUN, "Table::find(unsigned long)"), click=True)
    check("share of a view", browser.text("#share"), "18.0% · 54.5% of the view")
    browser.search("main")
    check("share of a view inside", browser.text("#share"), "94.0% · 100.0% of the view")
    browser.press(Keys.ESCAPE)
    check("nothing searched for", [browser.text("#share"), browser.view()], ["", [0, 1]])
    browser.press("/")
    browser.press("walk")
    check("typed", browser.text("#share"), "6.00%")
    browser.check_quiet("search")


def has_a_tooltip(browser, page):
    browser.open(page)
    browser.point(browser.node(*RUN, "Table::find(unsigned long)"))
    check("tooltip", browser.tip(), {"": "Table::find(unsigned long)", "total": "330 samples · 33.0%",
                                     "self": "150 samples · 15.0%", "kind": "native"})
    browser.point(browser.node(*RUN, "writev", "entry_SYSCALL_64"))
    check("kind", browser.tip()["kind"], "kernel, found by the kernel")
    browser.run("document.getElementById('canvas').dispatchEvent(new PointerEvent('pointerleave'))")
    check("no tooltip", browser.tip(), None)
    browser.check_quiet("tooltip")


def obeys_keys(browser, page):
    browser.open(page)
    browser.run("document.getElementById('canvas').focus()")
    browser.press(Keys.ARROW_UP, Keys.ARROW_UP)
    check("two up", browser.tip()[""], "main")
    browser.press(Keys.ARROW_UP, Keys.ARROW_UP)
    check("the widest child", browser.tip()[""], "Request::parse(char const*)")
    browser.press(Keys.ARROW_RIGHT)
    check("the next one", browser.tip()[""], "Table::find(unsigned long)")
    browser.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    check("the first is the last", browser.tip()[""], "Request::parse(char const*)")
    browser.press(Keys.ARROW_RIGHT, Keys.ENTER)
    check("Enter zooms", browser.view(), [0.36, 0.69])
    browser.press(Keys.ARROW_DOWN)
    check("down to the caller", browser.tip()[""], "Server::run()")
    check_that("spoken", "94.0%" in browser.run("return document.getElementById('spoken').textContent"))
    browser.press(Keys.ESCAPE)
    below = browser.run("return cairn.chart.top(0)")
    browser.press("i")
    check_that("turned over", browser.run("return cairn.chart.top(0)") < below)
    check("a row is found again", browser.run(
        "return cairn.chart.nodeAt(10, cairn.chart.top(2) + 5)"), browser.node("_start", "main"))
    browser.press("t")
    rows = browser.run("""return [...document.querySelectorAll("#table tbody tr")].map((row) =>
        [...row.querySelectorAll("td > span:not(.bar), td:nth-child(n + 3)")].map((cell) => cell.textContent))""")
    check("the first row", rows[0], ["210 samples", "21.0%", "210 samples", "21.0%", "1", "std::from_chars<int>", ""])
    check("recursion counts once", [row[:5] for row in rows if row[5] == "walk"],
          [["60 samples", "6.00%", "60 samples", "6.00%", "3"]])
    browser.check_quiet("keys")


def shows_what_a_pprof_knows(browser):
    main = [("main", "/src/app/main.cc", 12)]
    find = [("Table::hash", "/src/app/table.h", 40), ("Table::find", "/src/app/table.cc", 96)]
    find2 = [("Table::find", "/src/app/table.cc", 99)]
    samples = [([find, main], [2, 20_000_000], "cf"), ([find2, main], [1, 10_000_000], "ff"),
               ([main], [3, 2_000_000_000], "c")]
    page = flame("pprof", pprof(samples, comment="command: ./server --port 80"), "--value=samples")
    browser.open(page)
    check("the command is the title", browser.text("#title"), "cairn: ./server --port 80")
    check("frames", browser.run("return cairn.tree.n"), 4)
    browser.point(browser.node("main", "Table::find"))
    check("tooltip", browser.tip(), {
        "": "Table::find", "total": "3 samples · 50.0%", "self": "1 sample · 16.7%",
        "source": "/src/app/table.cc:96–99", "module": "server",
        "kind": "native, found by unwind tables and by frame pointers"})
    browser.point(browser.node("main", "Table::find", "Table::hash"))
    check("an inlined frame", [browser.tip()["source"], browser.tip()["kind"]],
          ["/src/app/table.h:40", "inlined, found by unwind tables"])
    check("types", browser.text("#type"), "samples\ncpu (nanoseconds)")
    browser.run("""const box = document.getElementById("type");
        box.value = "1";
        box.dispatchEvent(new Event("change"));""")
    browser.settle()
    browser.point(browser.node("main", "Table::find"))
    check("other values", [browser.tip()["total"], browser.tip()["self"]],
          ["30.0 ms · 1.48%", "10.0 ms · 0.49%"])
    check("sum", browser.text("#count"), "3 frames · 2.03 s")
    browser.check_quiet("pprof")


def tells_guesses_and_lua_apart(browser):
    names = ("main", "kern", "lua_f", "jitted", "maybe")
    frames = [[(name, "", 0)] for name in reversed(names)]
    browser.open(flame("kinds", pprof([(frames, [1, 1], "gjlkc")], comment="quality: 1 sample, whole")))
    check("the recorder's word", browser.text("#subtitle"), "1 sample, whole")
    shown = {}
    for depth in range(1, 1 + len(names)):
        browser.point(depth)
        shown[browser.tip()[""]] = browser.tip()["kind"]
    check("kinds", shown, {
        "main": "native, found by unwind tables", "kern": "kernel, found by the kernel",
        "lua_f": "Lua, found by the Lua state", "jitted": "JIT, found by the JIT's map",
        "maybe": "guessed, found by a guess"})
    check("legend of kinds", browser.text("#legend").split("\n"),
          ["native", "kernel", "Lua", "JIT", "guessed 100.0%"])
    browser.check_quiet("kinds")


def says_so_without_samples(browser):
    browser.open(flame("empty", pprof([])))
    check("no samples", browser.text("#status"), "No samples: there is nothing to draw.")
    browser.press("t", "i", Keys.ARROW_UP, Keys.ENTER, "/", "x", Keys.ESCAPE)
    browser.check_quiet("empty")
    browser.open(flame("empty", pprof([]), "--format=svg"))
    check_that("no samples in the SVG", "no samples" in browser.run("return document.documentElement.textContent"))
    browser.check_quiet("empty SVG")


def inflates_by_hand(browser, page):
    for what in ("delete globalThis.DecompressionStream; delete Uint8Array.fromBase64;",
                 "globalThis.DecompressionStream = class { constructor() { throw new TypeError() } };"):
        browser.open(page, before=what)
        check("nodes, inflated by hand", browser.run("return [cairn.tree.n, cairn.tree.total[0]]"),
              [len(tree_of(STACKS)), 1000])
        check("names, inflated by hand", browser.node(*RUN, "writev") > 0, True)
        browser.check_quiet("by hand")


def hostile_stacks():
    rows = []
    for i, name in enumerate(HOSTILE):
        name = name if isinstance(name, bytes) else name.encode()
        name = name.replace(b";", b":")
        rows.append(b"main;" + name + b" %d\n" % (100 + i))
        rows.append(name + b" 50\n")
    return b"".join(rows)


COUNTS = """return ["script", "img", "iframe", "object", "embed", "link", "a", "b", "style", "h1", "title"]
    .map((tag) => document.getElementsByTagName(tag).length)"""


def keeps_names_names(browser, page):
    browser.open(page)
    usual = browser.run(COUNTS)
    title = "</title><script>globalThis.hacked=8</script>"
    browser.open(flame("hostile", hostile_stacks(), f"--title={title}"))
    check("elements", browser.run(COUNTS), usual)
    check("title", [browser.text("#title"), browser.driver.title], [title, title])
    check("nodes", browser.run("return cairn.tree.n"), 2 + 2 * len(HOSTILE))
    browser.press("t", "t")
    for node in range(1, 2 + 2 * len(HOSTILE)):
        browser.point(node)
        tip = browser.tip()
        if tip is None:
            check(f"tooltip of node {node}", tip, "one")
        elif node % 5 == 0:
            browser.point(node, click=True)
            browser.press(Keys.ESCAPE)
    for query in ("<img", "/script/", "__proto__", "\u05d0"):
        browser.search(query)
        check_that(f"share of {query}", browser.text("#share") not in (None, "", "0.00%"))
    browser.search("")
    check("elements after all that", browser.run(COUNTS), usual)
    check("hacked", browser.run("return globalThis.hacked ?? null"), None)
    shown = browser.run("return Array.from({length: cairn.page.looks.n}, (_, i) => cairn.page.looks.name(i))")
    for name in ("line\\u{2028}para\\u{2029}end", "left\\u{202e}gnp.exe", "bell\\x07esc\\x1b[31m",
                 "broken\\xff\\xc0\\xaf", "long" + "x" * 10000, HOSTILE[2], "&lt:b&gt:&amp:",
                 "\U0001f525 fire"):
        check_that("a name as it is", name in shown, name[:60])
    browser.screenshot("hostile", 0.25)
    check("nothing is wider than the window", browser.run(
        "return document.documentElement.scrollWidth <= innerWidth"), True)
    browser.check_quiet("hostile")


def keeps_names_names_in_svg(browser):
    svg = flame("hostile", hostile_stacks(), "--format=svg", "--title=</text><script>hacked=1</script>")
    browser.open(svg)
    counts = browser.run("""return ["script", "style", "img", "a", "foreignObject", "parsererror"]
        .map((tag) => document.getElementsByTagName(tag).length)""")
    check("elements of the SVG", counts, [1, 1, 0, 0, 0, 0])
    frames = browser.run("return document.querySelectorAll('#frames > g').length")
    check("frames of the SVG", frames, 2 + 2 * len(HOSTILE))
    check("hacked", browser.run("return globalThis.hacked ?? null"), None)
    browser.screenshot("hostile-svg", 0.25)
    browser.check_quiet("hostile SVG")


def svg_zooms_and_searches(browser):
    svg = flame("stacks", STACKS, "--format=svg")
    browser.open(svg)
    click = """const g = [...document.querySelectorAll("#frames > g")].find((g) =>
            g.querySelector("title").textContent.startsWith(arguments[0] + " ("));
        g.dispatchEvent(new MouseEvent("click", {bubbles: true}));
        return [...document.querySelectorAll("#frames > g")].filter((g) => g.style.display !== "none")
            .map((g) => [g.querySelector("title").textContent.replace(/ \\(\\d.*/s, ""),
                         Math.round(g.querySelector("rect").getAttribute("width"))]);"""
    check("zoom in the SVG", browser.run(click, "Table::find(unsigned long)"),
          [["all", 1180], ["_start", 1180], ["main", 1180], ["Server::run()", 1180],
           ["Table::find(unsigned long)", 1180], ["Table::hash(unsigned long)", 644]])
    browser.run("document.getElementById('reset').dispatchEvent(new MouseEvent('click'))")
    check("all again", browser.run("return [...document.querySelectorAll('#frames > g')].every((g) => g.style.display !== 'none')"), True)
    browser.run("globalThis.prompt = () => '^walk|^malloc'")
    browser.run("document.getElementById('search').dispatchEvent(new MouseEvent('click'))")
    check("matched in the SVG", browser.run("return document.getElementById('matched').textContent"),
          "Matched: 15.0%")
    check_picture("svg-light", browser.screenshot("svg-light"))
    browser.check_quiet("SVG")


def looks_good(browser, page):
    for theme in ("light", "dark"):
        browser.open(page, dark=theme == "dark")
        picture = browser.screenshot(f"page-{theme}")
        width, height, rows = picture
        paper = bytes(rows[height // 3][3 * 5:3 * 6])
        check(f"{theme} page", paper.hex(), "fbfaf7" if theme == "light" else "191816")
        colours = {bytes(row[i:i + 3]) for row in rows[::3] for i in range(0, 3 * width, 9)}
        palette = browser.run("return cairn.app.meta.palettes[arguments[0]].kinds.map((kind) => kind.join(' '))", theme)
        for kind, name in enumerate(browser.run("return JSON.parse(document.getElementById('data-meta').textContent).kinds")):
            if name in ("guessed", "interpreter", "Lua"):
                continue
            check_that(f"{theme}: {name} is to be seen",
                       colours & {bytes.fromhex(c[1:]) for c in palette[kind].split()})
        check_picture(f"page-{theme}", picture)
        browser.check_quiet(theme)


def fits_any_window(browser, page):
    browser.open(page)
    for width, height in ((1600, 900), (700, 500), (400, 700), (1280, 800)):
        browser.driver.set_window_size(width, height)
        browser.settle()
        browser.wait("return cairn.chart.width === document.getElementById('stage').clientWidth")
        browser.settle()
        fits = browser.run("""
            const box = cairn.chart.canvas.getBoundingClientRect(), ratio = devicePixelRatio;
            return [document.documentElement.scrollWidth <= innerWidth, box.right <= innerWidth,
                    cairn.chart.canvas.width === Math.round(box.width * ratio)];""")
        check(f"fits {width} x {height}", fits, [True, True, True])
        browser.screenshot(f"window-{width}", 0.25)
    browser.check_quiet("windows")


def has_one_row_of_controls(browser):
    page = flame("wide", pprof([([[("main", "", 0)]], [1, 4096], "f")], types=(("inuse_objects", "count"), ("inuse_space", "bytes"))),
                 "--value=inuse_space")
    for width in (1280, 1200):
        browser.resize(width, 800)
        browser.open(page)
        check_that(f"one row of controls at {width}", browser.run("return document.getElementById('tools').clientHeight") < 60)
    browser.resize(1280, 800)
    browser.check_quiet("controls")


def main():
    page = flame("stacks", STACKS)
    browser = Browser()
    try:
        for test in (holds_every_frame, can_be_zoomed, can_be_searched, has_a_tooltip, obeys_keys,
                     inflates_by_hand, keeps_names_names, looks_good):
            test(browser, page)
        for test in (shows_what_a_pprof_knows, tells_guesses_and_lua_apart, says_so_without_samples, keeps_names_names_in_svg,
                     svg_zooms_and_searches, has_one_row_of_controls):
            test(browser)
        fits_any_window(browser, page)
    finally:
        browser.close()
    sharp = Browser(scale=2)
    try:
        sharp.open(page)
        check("twice the pixels", sharp.run(
            "return cairn.chart.canvas.width / cairn.chart.width"), 2)
        sharp.screenshot("page-sharp", 0.25)
    finally:
        sharp.close()
    finish()


main()
