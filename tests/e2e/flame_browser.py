#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pictures of `cairn flame` in a real browser: what is drawn, what can be done with it, and that
names from a target stay names. Screenshots are left in $WORK (KEEP=1 keeps that folder) and held
against coarse ones in tests/data/flame; CAIRN_BLESS=1 writes those anew."""
import gzip
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zlib

from pprof_encode import message, number, packed, text


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


try:
    from selenium import webdriver
    from selenium.common.exceptions import NoAlertPresentException
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys
except ImportError:
    skip("python3-selenium is not installed")
try:
    socket.getaddrinfo("localhost", 80)
except OSError:
    skip("localhost has no address here, and chromedriver needs one (is there no /etc/hosts?)")
DRIVER = shutil.which("chromedriver") or "/usr/bin/chromedriver"
BROWSER = shutil.which("chromium") or "/usr/bin/chromium"
if not os.path.exists(DRIVER) or not os.path.exists(BROWSER):
    skip("chromium and chromium-driver are not installed")

CAIRN = os.environ["CAIRN"]
SRC = pathlib.Path(os.environ["SRC"])
WORK = pathlib.Path(os.environ["WORK"])
failures = []


def check(name, got, wanted):
    if got == wanted:
        return
    failures.append(name)
    print(f"FAILED: {name}\n  got    {got!r}\n  wanted {wanted!r}")


def check_that(name, holds, shown=""):
    check(name if holds else f"{name}: {shown}", bool(holds), True)


# Profiles ---------------------------------------------------------------------------------------

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

HOSTILE = [
    "</script><script>globalThis.hacked=1</script>",
    "</title></text><script>globalThis.hacked=2</script>",
    "<img src=x onerror=globalThis.hacked=3>",
    "\"onmouseover=\"alert(4)\" x='",
    "${alert(5)}`\\u0061",
    "-->]]><svg onload=alert(6)>",
    "line\u2028para\u2029end",
    "left\u202egnp.exe",
    "bell\x07esc\x1b[31m",
    b"broken\xff\xc0\xaf",
    "&lt;b&gt;&amp;",
    "long" + "x" * 10000,
    "javascript:alert(7)",
    "__proto__", "constructor", "\u05d0\u05d1\u05d2 right to left", "\U0001f525 fire",
]


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


def pprof(samples, types=(("samples", "count"), ("cpu", "nanoseconds")), comment=""):
    """Samples are (frames leaf first, values, letters); a frame is a list of (function, file, line),
    innermost first, in one module of its own making."""
    strings, functions, locations, out = [""], {}, {}, b""

    def index(value):
        if value not in strings:
            strings.append(value)
        return strings.index(value)

    for kind, unit in types:
        out += message(1, number(1, index(kind)), number(2, index(unit)))
    for frames, values, letters in samples:
        ids = [locations.setdefault(tuple(frame), len(locations) + 1) for frame in frames]
        label = message(3, number(1, index("cairn.frames")), number(2, index(letters)))
        out += message(2, packed(1, *ids), packed(2, *values), label)
    out += message(3, number(1, 1), number(2, 0x400000), number(3, 0x500000),
                   number(5, index("/opt/app/bin/server")), number(7, 1), number(8, 1),
                   number(9, 1), number(10, 1))
    for frame, own in locations.items():
        lines = b""
        for name, file, line in frame:
            known = functions.setdefault((name, file), len(functions) + 1)
            lines += message(4, number(1, known), number(2, line))
        out += message(4, number(1, own), number(2, 1), number(3, 0x400000 + 16 * own), lines)
    for (name, file), own in functions.items():
        out += message(5, number(1, own), number(2, index(name)), number(3, index(name)),
                       number(4, index(file)))
    if comment:
        out += number(13, index(comment))
    return gzip.compress(out + b"".join(text(6, value) for value in strings))


def flame(name, content, *options):
    """The path of the picture, and what the command said."""
    source = WORK / f"{name}.in"
    source.write_bytes(content if isinstance(content, bytes) else content.encode())
    ending = "svg" if "--format=svg" in options else "html"
    out = WORK / f"{name}.{ending}"
    done = subprocess.run([CAIRN, "flame", str(source), "-o", str(out), "--force", *options],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    if done.returncode:
        sys.exit(f"FAILED: cairn flame {source}: {done.stdout}")
    return out


# The browser ------------------------------------------------------------------------------------

class Browser:
    def __init__(self, scale=1):
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        self.profile = tempfile.mkdtemp(dir=WORK)
        for word in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
                     "--no-first-run", "--disable-background-networking",
                     "--disable-component-update", "--disable-sync", "--hide-scrollbars",
                     "--disable-dev-shm-usage", f"--force-device-scale-factor={scale}",
                     "--window-size=1280,800", f"--user-data-dir={self.profile}"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        options.set_capability("unhandledPromptBehavior", "ignore")
        self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        self.driver.set_page_load_timeout(60)
        self.run = self.driver.execute_script
        self.before = None

    def open(self, path, dark=False, before="", fragment=""):
        cdp = self.driver.execute_cdp_cmd
        cdp("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}]})
        if self.before:
            cdp("Page.removeScriptToEvaluateOnNewDocument", {"identifier": self.before})
            self.before = None
        if before:
            self.before = cdp("Page.addScriptToEvaluateOnNewDocument", {"source": before})["identifier"]
        self.driver.get("about:blank")
        for kind in ("browser", "performance"):
            self.driver.get_log(kind)
        self.path = path
        self.driver.get(path.as_uri() + fragment)
        if path.suffix == ".html":
            self.wait("return !!globalThis.cairn")
            self.settle()

    def wait(self, script, *arguments):
        end = time.monotonic() + 20
        while not self.run(script, *arguments):
            if time.monotonic() > end:
                sys.exit(f"FAILED: {self.path.name}: waited in vain for: {script}\n"
                         f"{self.driver.get_log('browser')}")
            time.sleep(0.02)

    def settle(self):
        self.run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.wait("return !globalThis.cairn || cairn.isStill()")

    def check_quiet(self, name):
        """Nothing on the console, no dialog, nothing fetched but the page itself."""
        check(f"{name}: console", self.driver.get_log("browser"), [])
        fetched = []
        for row in self.driver.get_log("performance"):
            message = json.loads(row["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"].split("#")[0]
                if url != self.path.as_uri():
                    fetched.append(url)
        check(f"{name}: requests", fetched, [])
        try:
            check(f"{name}: dialog", self.driver.switch_to.alert.text, None)
            self.driver.switch_to.alert.dismiss()
        except NoAlertPresentException:
            pass

    def node(self, *path):
        return self.run("""
            const { tree } = cairn;
            let node = 0;
            for (const name of arguments[0]) {
                const end = node + tree.size[node];
                let child = node + 1;
                while (child < end && tree.frames.name(tree.look[child]) !== name)
                    child += tree.size[child];
                if (child >= end) return -1;
                node = child;
            }
            return node;""", list(path))

    def place(self, node):
        return self.run("""
            const { chart, tree } = cairn, [x, w] = chart.extent(arguments[0]);
            const box = chart.canvas.getBoundingClientRect();
            return [box.left + x + w / 2, box.top + chart.top(tree.depth[arguments[0]]) + 8];""", node)

    def point(self, node, click=False):
        x, y = self.place(node)
        actions = ActionChains(self.driver, duration=0)
        actions.w3c_actions.pointer_action.move_to_location(int(x), int(y))
        if click:
            actions.click()
        actions.perform()
        self.settle()

    def press(self, *keys):
        ActionChains(self.driver, duration=0).send_keys(*keys).perform()
        self.settle()

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? null", selector)

    def search(self, query):
        self.run("""
            const box = document.getElementById("search");
            box.value = arguments[0];
            box.dispatchEvent(new Event("input"));""", query)
        self.settle()

    def view(self):
        """[first, last] share of the whole that is shown, to six digits."""
        return [round(x, 6) for x in self.run("return [cairn.chart.from, cairn.chart.to]")]

    def tip(self):
        return self.run("""
            const tip = document.getElementById("tip");
            if (tip.hidden) return null;
            const rows = {"": tip.querySelector("h2").textContent};
            for (const dt of tip.querySelectorAll("dt"))
                rows[dt.textContent] = dt.nextSibling.textContent;
            return rows;""")

    def screenshot(self, name):
        path = WORK / f"{name}.png"
        self.driver.save_screenshot(str(path))
        return read_png(path)

    def close(self):
        self.driver.quit()


# Screenshots ------------------------------------------------------------------------------------

def read_png(path):
    """Width, height and rows of RGB bytes, for what Chromium writes: 8 bits, not interlaced."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        chunk = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", chunk[:10])
            assert depth == 8 and colour in (2, 6), "an unexpected kind of PNG"
        elif kind == b"IDAT":
            packed += chunk
        at += 12 + size
    step = 3 if colour == 2 else 4
    raw, stride, before, rows = zlib.decompress(packed), width * step, bytes(width * step), []
    for y in range(height):
        kind = raw[y * (stride + 1)]
        row = bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            left = row[i - step] if i >= step else 0
            if kind == 1:
                row[i] = (row[i] + left) & 255
            elif kind == 2:
                row[i] = (row[i] + before[i]) & 255
            elif kind == 3:
                row[i] = (row[i] + (left + before[i]) // 2) & 255
            elif kind == 4:
                corner = before[i - step] if i >= step else 0
                guess = left + before[i] - corner
                near = min((abs(guess - left), 0, left), (abs(guess - before[i]), 1, before[i]),
                           (abs(guess - corner), 2, corner))
                row[i] = (row[i] + near[2]) & 255
        before = bytes(row)
        rows.append(row if step == 3 else bytes(b for i, b in enumerate(row) if i % 4 != 3))
    return width, height, rows


COLUMNS, LINES = 32, 20


def coarse(picture):
    """Mean colours of 32 x 20 fields: what is left of a picture that no font changes much."""
    width, height, rows = picture
    grid = []
    for line in range(LINES):
        for column in range(COLUMNS):
            y0, y1 = line * height // LINES, (line + 1) * height // LINES
            x0, x1 = column * width // COLUMNS, (column + 1) * width // COLUMNS
            part = b"".join(rows[y][3 * x0:3 * x1] for y in range(y0, y1, 2))
            grid.append([sum(part[c::3]) * 3 // len(part) for c in range(3)])
    return grid


def check_picture(name, picture):
    path = SRC / f"tests/data/flame/{name}.json"
    got = coarse(picture)
    if os.environ.get("CAIRN_BLESS") == "1":
        path.write_text("[" + ",\n".join(json.dumps(field) for field in got) + "]\n")
    wanted = json.loads(path.read_text())
    off = [max(abs(a - b) for a, b in zip(x, y)) for x, y in zip(got, wanted)]
    # Other fonts move the text of a few fields; another layout or palette changes many.
    check_that(f"{name}.png looks as before (see tests/data/flame)",
               sum(o > 24 for o in off) <= len(off) // 20,
               f"{sum(o > 24 for o in off)} of {len(off)} fields differ")


# Tests ------------------------------------------------------------------------------------------

RUN = ("_start", "main", "Server::run()")


def holds_every_frame(browser, page):
    browser.open(page)
    wanted = {"/".join(path): row for path, row in tree_of(STACKS).items()}
    got = browser.run("""
        const { tree } = cairn, rows = {};
        for (let node = 0; node < tree.n; node++) {
            const names = pathTo(tree, node).slice(1).map((i) => tree.frames.name(tree.look[i]));
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
    browser.run("document.getElementById('canvas').dispatchEvent(new MouseEvent('mouseleave'))")
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
        [...row.cells].map((cell) => cell.textContent))""")
    check("the first row", rows[0], ["210 samples", "21.0%", "210 samples", "21.0%", "std::from_chars<int>", ""])
    check("recursion counts once", [row[:4] for row in rows if row[4] == "walk"],
          [["60 samples", "6.00%", "60 samples", "6.00%"]])
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
        "": "Table::find", "total": "3 samples · 50.0%", "self": "1 samples · 16.7%",
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
    browser.press("t")
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
    shown = browser.run("return Array.from({length: cairn.tree.frames.n}, (_, i) => cairn.tree.frames.name(i))")
    for name in ("line\\u{2028}para\\u{2029}end", "left\\u{202e}gnp.exe", "bell\\x07esc\\x1b[31m",
                 "broken\\xff\\xc0\\xaf", "long" + "x" * 10000, HOSTILE[2], "&lt:b&gt:&amp:",
                 "\U0001f525 fire"):
        check_that("a name as it is", name in shown, name[:60])
    browser.screenshot("hostile")
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
    browser.screenshot("hostile-svg")
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
        palette = browser.run("return cairn.chart.palettes[arguments[0]].kinds.map((kind) => kind.join(' '))", theme)
        for kind, name in enumerate(browser.run("return JSON.parse(document.getElementById('data-meta').textContent).kinds")):
            if name in ("guessed", "Lua"):
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
        browser.screenshot(f"window-{width}")
    browser.check_quiet("windows")


def main():
    page = flame("stacks", STACKS)
    browser = Browser()
    try:
        for test in (holds_every_frame, can_be_zoomed, can_be_searched, has_a_tooltip, obeys_keys,
                     inflates_by_hand, keeps_names_names, looks_good):
            test(browser, page)
        for test in (shows_what_a_pprof_knows, tells_guesses_and_lua_apart, says_so_without_samples, keeps_names_names_in_svg,
                     svg_zooms_and_searches):
            test(browser)
        fits_any_window(browser, page)
    finally:
        browser.close()
    sharp = Browser(scale=2)
    try:
        sharp.open(page)
        check("twice the pixels", sharp.run(
            "return cairn.chart.canvas.width / cairn.chart.width"), 2)
        sharp.screenshot("page-sharp")
    finally:
        sharp.close()
    if failures:
        sys.exit(f"{len(failures)} checks failed")
    print("all checks passed")


main()
