#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the tests of the page share: a browser, profiles to look at, checks. Screenshots are left in
$WORK (KEEP=1 keeps that folder) and held against coarse ones in tests/data/flame; CAIRN_BLESS=1 writes
those anew."""
import base64
import gzip
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

from png_coarse import COLUMNS, coarse, ink, read_png
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


def finish():
    if failures:
        sys.exit(f"{len(failures)} checks failed")
    print("all checks passed")


# Profiles ---------------------------------------------------------------------------------------

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


def pprof(samples, types=(("samples", "count"), ("cpu", "nanoseconds")), comment=""):
    """Samples are (frames leaf first, values, letters); a frame is a list of (function, file, line),
    perhaps with the line of its definition, innermost first, in one module of its own making."""
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
        for name, file, line, *start in frame:
            known = functions.setdefault((name, file, *start), len(functions) + 1)
            lines += message(4, number(1, known), number(2, line))
        out += message(4, number(1, own), number(2, 1), number(3, 0x400000 + 16 * own), lines)
    for (name, file, *start), own in functions.items():
        out += message(5, number(1, own), number(2, index(name)), number(3, index(name)),
                       number(4, index(file)), *(number(5, line) for line in start))
    if comment:
        out += number(13, index(comment))
    return gzip.compress(out + b"".join(text(6, value) for value in strings))


def pprof_of_threads(rows, file="", events=(), types=(("samples", "count"),)):
    """Rows are (names leaf first, thread, tid, milliseconds, value, {label: text}), the last of which may be
    missing; milliseconds of None are no time; a name may be (name, line) in the one file; of several types a
    value is a tuple. Events are (name, names leaf first, thread, tid, milliseconds, nanoseconds taken, {detail: text})."""
    strings, functions, places, out = [""], {}, {}, b""

    def index(value):
        if value not in strings:
            strings.append(value)
        return strings.index(value)

    for kind, unit in types:
        out += message(1, number(1, index(kind)), number(2, index(unit)))
    rows = [(*row, {})[:6] for row in rows] + [
        (names, thread, tid, at, (0,) * len(types), {"cairn.marker": name, "cairn.duration_ns": took, **details})
        for name, names, thread, tid, at, took, details in events]
    for names, thread, tid, at, value, more in rows:
        names = [name if isinstance(name, tuple) else (name, 0) for name in names]
        ids = [places.setdefault(place, len(places) + 1) for place in names]
        labels = [message(3, number(1, index("thread")), number(2, index(thread))),
                  message(3, number(1, index("tid")), number(3, tid))]
        if at is not None:
            labels.append(message(3, number(1, index("cairn.time_ns")), number(3, 1_790_000_000_000_000_000 + int(at * 1_000_000))))
        labels += [message(3, number(1, index(key)), number(3, text) if isinstance(text, int) else number(2, index(text)))
                   for key, text in more.items()]
        out += message(2, packed(1, *ids), packed(2, *(value if isinstance(value, tuple) else (value,))), *labels)
    for (name, line), own in places.items():
        known = functions.setdefault(name, len(functions) + 1)
        out += message(4, number(1, own), number(3, own), message(4, number(1, known), *([number(2, line)] if line else [])))
    for name, own in functions.items():
        out += message(5, number(1, own), number(2, index(name)), number(3, index(name)), *([number(4, index(file))] if file else []))
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
            const { tree, page } = cairn;
            let node = 0;
            for (const name of arguments[0]) {
                node = tree.childrenOf(node).find((child) => page.looks.name(tree.look[child]) === name);
                if (node === undefined) return -1;
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

    def click_on(self, element, *arguments):
        """What a JavaScript expression names, by the pointer: a browser goes back only to where a
        person did something."""
        x, y = self.run(f"const box = ({element}).getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]",
                        *arguments)
        actions = ActionChains(self.driver, duration=0)
        actions.w3c_actions.pointer_action.move_to_location(int(x), int(y))
        actions.click().perform()
        self.settle()

    def move(self, x, y):
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})
        self.settle()

    def drag(self, x0, y0, x1, y1):
        actions = ActionChains(self.driver, duration=0)
        pointer = actions.w3c_actions.pointer_action
        pointer.move_to_location(int(x0), int(y0))
        pointer.pointer_down()
        pointer.move_to_location(int((x0 + x1) / 2), int(y1))
        pointer.move_to_location(int(x1), int(y1))
        pointer.pointer_up()
        actions.perform()
        self.settle()

    def fragment(self):
        """What the address says, by name."""
        return dict(urllib.parse.parse_qsl(self.driver.current_url.partition("#")[2]))

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

    def screenshot(self, name, scale=1):
        """A smaller `scale` is read faster, and says as much to check_picture()."""
        path = WORK / f"{name}.png"
        width, height = self.run("return [innerWidth, innerHeight]")
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {
            "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": scale}})
        path.write_bytes(base64.b64decode(shot["data"]))
        return read_png(path)

    def resize(self, width, height, touch=False):
        """Before a page is opened; with `touch` as on a telephone."""
        cdp = self.driver.execute_cdp_cmd
        cdp("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": touch})
        cdp("Emulation.setTouchEmulationEnabled", {"enabled": touch, "maxTouchPoints": 2})

    def touch(self, *steps):
        """Each step is where the fingers are, [(x, y), ...]; they lift behind the last."""
        send = self.driver.execute_cdp_cmd
        for i, points in enumerate(steps):
            send("Input.dispatchTouchEvent", {
                "type": "touchMove" if i else "touchStart",
                "touchPoints": [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(points)]})

    def lift(self):
        self.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        self.settle()

    def close(self):
        self.driver.quit()


# Screenshots ------------------------------------------------------------------------------------

def check_picture(name, picture):
    path = SRC / f"tests/data/flame/{name}.json"
    got = coarse(picture)
    if os.environ.get("CAIRN_BLESS") == "1":
        lines = ["".join(f"{c:02x}" for field in got[k:k + COLUMNS] for c in field) for k in range(0, len(got), COLUMNS)]
        path.write_text("[" + ",\n".join(json.dumps(line) for line in lines) + "]\n")
    bytes_of = bytes.fromhex("".join(json.loads(path.read_text())))
    wanted = [list(bytes_of[k:k + 3]) for k in range(0, len(bytes_of), 3)]
    off = [max(abs(a - b) for a, b in zip(x, y)) for x, y in zip(got, wanted)]
    # Other fonts move the text of a few fields; another layout or palette changes many.
    check_that(f"{name}.png looks as before (see tests/data/flame)",
               sum(o > 24 for o in off) <= len(off) // 20,
               f"{sum(o > 24 for o in off)} of {len(off)} fields differ")
    inks = list(zip(ink(got), ink(wanted)))
    check_that(f"{name}.png has as much on it", all(abs(a - b) <= 1 + 0.4 * max(a, b) for a, b in inks), inks)
