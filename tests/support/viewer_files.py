# SPDX-License-Identifier: MIT
"""Files for viewers of other projects, held to all that those viewers ask for: Firefox(PATH), Speedscope(PATH).

Both have `threads`: objects with name, pid, tid, unit, sum, self and total. The last two count by
(function, module); a function that is several times on a stack counts once in total. report() has the same numbers
of cairn report.
"""
import collections
import gzip
import json
import os
import re

from checks import run

VERSION = 66  # of processed profiles, src/types/profile.ts
TABLES = {
    "stackTable": ("frame", "prefixOffset"),
    "frameTable": ("address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol", "innerWindowID",
                   "line", "column", "originalLocation"),
    "funcTable": ("name", "isJS", "relevantForJS", "resource", "source", "lineNumber", "columnNumber",
                  "originalLocation"),
    "resourceTable": ("name", "host", "type", "lib"),
    "nativeSymbols": ("libIndex", "address", "name", "functionSize"),
    "sources": ("id", "filename", "startLine", "startColumn", "sourceMapURL", "content"),
    "sourceLocationTable": ("source", "line", "column"),
}
MARKERS = ("data", "name", "startTime", "endTime", "phase", "category")
COLOURS = {"transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown", "magenta", "red",
           "lightred", "darkgrey", "grey"}
EXACT = 1 << 53  # integers of a script


class Wrong(Exception):
    """What the file breaks, and where."""


def need(holds, what, *more):
    if not holds:
        raise Wrong(" ".join(map(str, (what, *more))))


def report(path, *options):
    """Sum, self and total by (function, module), as cairn report has them."""
    got = json.loads(run(os.environ["CAIRN"], "report", path, "--json", "--top", 0, "--guest", "all", *options).stdout)
    tables = {"self": collections.Counter(), "total": collections.Counter()}
    for row in got["functions"]:
        for name, numbers in tables.items():
            numbers[row["function"], row.get("module") or ""] += row[name]
    return got["sum"], tables["self"], tables["total"]


def unique(pairs):
    names = [name for name, _ in pairs]
    need(len(names) == len(set(names)), "a name is there twice in", names[:20])
    return dict(pairs)


def no_constant(text):
    raise Wrong(f"{text} is no JSON")


def read_json(path):
    with open(path, "rb") as file:
        data = file.read()
    if path.endswith(".gz"):
        data = gzip.decompress(data)
    return json.loads(data.decode("utf-8"), object_pairs_hook=unique, parse_constant=no_constant)


def table(parent, name, columns):
    rows = parent[name]
    need(set(rows) == {*columns, "length"}, name, "has", sorted(rows))
    for column in columns:
        need(isinstance(rows[column], list) and len(rows[column]) == rows["length"], name, column, "has",
             len(rows[column]), "rows of", rows["length"])
    return rows


def whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


def indices(values, end, what, *instead):
    """All are in [0, end), or one of `instead`."""
    for row, value in enumerate(values):
        need(value in instead and not (whole(value) and 0 <= value) or whole(value) and 0 <= value < end,
             what, "row", row, "is", value, "of", end)


def each_used(values, end, what):
    need({value for value in values if value is not None and value >= 0} == set(range(end)), what, "has unused rows")


def breakpad(build_id):
    """A GUID whose first three fields are numbers of the machine's order, and the age."""
    raw = bytes.fromhex(build_id)[:16].ljust(16, b"\0")
    return (raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:]).hex().upper() + "0"


def check_libs(libs):
    for lib in libs:
        need(set(lib) == {"arch", "name", "path", "debugName", "debugPath", "breakpadId", "codeId"}, "a lib has", lib)
        need(re.fullmatch("[0-9A-F]{32}0", lib["breakpadId"]), "breakpadId", lib["breakpadId"])
        code = lib["codeId"]
        need(code is None or re.fullmatch("([0-9a-f]{2})*", code), "codeId", code)
        need(lib["breakpadId"] == breakpad(code or ""), "breakpadId", lib["breakpadId"], "of", code)
        need(lib["path"].endswith(lib["name"]), "a lib", lib)


def check_meta(meta, n_threads):
    need(meta["preprocessedProfileVersion"] == VERSION and meta["product"] == "cairn", "meta", meta)
    for schema in meta["markerSchema"]:
        need(schema["name"] == "cairn" and schema["display"] and schema["fields"] is not None, "schema", schema)
        need(all(set(field) == {"key", "label", "format"} for field in schema["fields"]), "fields", schema)
    need(meta["interval"] > 0 and meta["startTime"] >= 0, "meta", meta)
    need(meta.get("symbolicated") is True or meta.get("symbolicationNotSupported") is True, "symbolicated")
    need(meta.get("symbolicated") is not False, "a viewer would ask a server for symbols")
    need(any(c["color"] == "grey" for c in meta["categories"]), "no category is grey")
    for category in meta["categories"]:
        need(category["color"] in COLOURS and category["subcategories"][0] == "Other", "category", category)
    for key in ("initialVisibleThreads", "initialSelectedThreads"):
        need(meta[key], key, "is empty")
        indices(meta[key], n_threads, key)
    for section in meta["extra"]:
        need(section["label"] and section["entries"], "extra", section)
        for entry in section["entries"]:
            need(set(entry) == {"label", "format", "value"} and isinstance(entry["value"], str), "extra", entry)


def check_shared(shared, n_libs, n_categories):
    t = {name: table(shared, name, columns) for name, columns in TABLES.items()}
    need(set(shared) == {*TABLES, "stringArray"}, "shared has", sorted(shared))
    texts = shared["stringArray"]
    need(all(isinstance(text, str) for text in texts), "a string is none")
    n = {name: rows["length"] for name, rows in t.items()}
    stacks, frames, funcs = t["stackTable"], t["frameTable"], t["funcTable"]
    for row, offset in enumerate(stacks["prefixOffset"]):
        need(whole(offset) and 0 <= offset <= row, "prefixOffset of row", row, "is", offset)
    indices(stacks["frame"], n["frameTable"], "stack frame")
    each_used(stacks["frame"], n["frameTable"], "frameTable")
    indices(frames["func"], n["funcTable"], "frame func")
    each_used(frames["func"], n["funcTable"], "funcTable")
    indices(frames["category"], n_categories, "category")
    need(not any(frames["subcategory"]) and not any(frames["innerWindowID"]), "subcategory, innerWindowID")
    indices(frames["nativeSymbol"], n["nativeSymbols"], "nativeSymbol", None)
    need(all(whole(a) and -1 <= a < EXACT for a in frames["address"]), "address")
    need(all(whole(d) and 0 <= d < 256 for d in frames["inlineDepth"]), "inlineDepth")
    need(all(line is None or line > 0 for line in frames["line"]), "line")
    for column in ("column", "originalLocation"):
        need(not any(value is not None for value in frames[column]), column)
    indices(funcs["name"], len(texts), "func name")
    need(not any(funcs["isJS"]) and not any(funcs["relevantForJS"]), "isJS")
    indices(funcs["resource"], n["resourceTable"], "resource", -1)
    indices(funcs["source"], n["sources"], "source", None)
    each_used(funcs["source"], n["sources"], "sources")
    indices(t["resourceTable"]["lib"], n_libs, "resource lib")
    indices(t["resourceTable"]["name"], len(texts), "resource name")
    need(all(kind == 1 for kind in t["resourceTable"]["type"]), "resource type")
    indices(t["nativeSymbols"]["libIndex"], n_libs, "symbol lib")
    indices(t["nativeSymbols"]["name"], len(texts), "symbol name")
    indices(t["sources"]["filename"], len(texts), "source name")
    check_inlined(stacks, frames, funcs, t["nativeSymbols"])
    return t


def check_inlined(stacks, frames, funcs, symbols):
    """An inlined frame is below the one that it is inlined into, at the same address."""
    for row, frame in enumerate(stacks["frame"]):
        depth = frames["inlineDepth"][frame]
        if 0 < depth < 255:
            outer = stacks["frame"][row - stacks["prefixOffset"][row]]
            need(stacks["prefixOffset"][row] and frames["inlineDepth"][outer] == depth - 1, "inlineDepth of stack", row)
            for column in ("address", "nativeSymbol"):
                need(frames[column][outer] == frames[column][frame], column, "of an inlined frame", frame)
    for frame, symbol in enumerate(frames["nativeSymbol"]):
        need((symbol is None) == (frames["address"][frame] < 0), "nativeSymbol of frame", frame)
        if symbol is not None:
            need(0 <= symbols["address"][symbol] <= frames["address"][frame], "symbol behind frame", frame)
            need(symbols["libIndex"][symbol] == funcs["resource"][frames["func"][frame]], "lib of frame", frame)


class Thread:
    def __init__(self, name, pid, tid, unit):
        self.name, self.pid, self.tid, self.unit = name, pid, tid, unit
        self.sum, self.self, self.total = 0, collections.Counter(), collections.Counter()
        self.times, self.process, self.texts = [], "", collections.Counter()

    def add(self, functions, weight):
        """Functions from the root to the leaf; None is no function, but a text that stands there."""
        self.sum += weight
        if functions and functions[-1]:
            self.self[functions[-1]] += weight
        for function in set(functions) - {None}:
            self.total[function] += weight


def check_samples(samples, n_stacks):
    columns = {"stack", "timeDeltas", "weight", "weightType", "length"}
    need(columns <= set(samples) <= columns | {"threadCPUDelta"}, "samples have", sorted(samples))
    n = samples["length"]
    for column in ("stack", "timeDeltas", "weight", "threadCPUDelta"):
        values = samples.get(column)
        need(values is None or len(values) == n, "samples", column, "has", len(values or []), "rows of", n)
    indices(samples["stack"], n_stacks, "sample stack")
    need(all(delta >= 0 for delta in samples["timeDeltas"]), "time runs back")
    need(all(delta >= 0 for delta in samples.get("threadCPUDelta", [])), "threadCPUDelta")
    need(samples["weightType"] in ("samples", "tracing-ms", "bytes"), "weightType", samples["weightType"])
    need(samples["weight"] is not None or samples["weightType"] == "samples", "no weight of", samples["weightType"])


class Firefox:
    """A processed profile; Wrong where it breaks a rule."""

    def __init__(self, path):
        whole_file = read_json(path)
        need(set(whole_file) == {"meta", "libs", "shared", "threads"}, "the profile has", sorted(whole_file))
        self.meta, self.libs = whole_file["meta"], whole_file["libs"]
        self.categories = [category["name"] for category in self.meta["categories"]]
        check_meta(self.meta, len(whole_file["threads"]))
        check_libs(self.libs)
        self.t = check_shared(whole_file["shared"], len(self.libs), len(self.categories))
        self.names = whole_file["shared"]["stringArray"]
        self.extra = {entry["label"]: entry["value"] for entry in self.meta["extra"][0]["entries"]}
        self.paths, self.used = {}, set()
        self.threads = [self.thread(thread) for thread in whole_file["threads"]]
        need(self.threads, "no threads")
        parents = {row - offset for row, offset in enumerate(self.t["stackTable"]["prefixOffset"]) if offset}
        need(self.used - {None} | parents == set(range(self.t["stackTable"]["length"])), "stackTable has unused rows")

    def function(self, frame):
        funcs, resources = self.t["funcTable"], self.t["resourceTable"]
        func = self.t["frameTable"]["func"][frame]
        resource = funcs["resource"][func]
        return (self.names[funcs["name"][func]], "" if resource < 0 else self.names[resources["name"][resource]])

    def is_text(self, frame):
        category = self.categories[self.t["frameTable"]["category"][frame]]
        return category == "Cut" or self.function(frame) == ("[no stack]", "")

    def frames(self, row):
        """From the root to the leaf."""
        stacks, frames = self.t["stackTable"], []
        while True:
            frames.append(stacks["frame"][row])
            if not stacks["prefixOffset"][row]:
                return frames[::-1]
            row -= stacks["prefixOffset"][row]

    def path(self, row):
        if row not in self.paths:
            self.paths[row] = [None if self.is_text(frame) else self.function(frame) for frame in self.frames(row)]
        return self.paths[row]

    def markers(self, rows):
        """Each as a name, times in milliseconds, fields by their labels, and the stack."""
        labels = {field["key"]: field["label"] for schema in self.meta["markerSchema"] for field in schema["fields"]}
        indices(rows["name"], len(self.names), "marker name")
        indices(rows["category"], len(self.categories), "marker category")
        found = []
        for name, start, end, phase, data in zip(*(rows[id] for id in ("name", "startTime", "endTime", "phase", "data"))):
            need(phase == (0 if end is None else 1) and start >= 0 and (end is None or end >= start), "times", start, end)
            need(data["type"] == "cairn" and isinstance(data["all"], str), "data", data)
            fields = {labels[key]: value for key, value in data.items() if key not in ("type", "all", "cause")}
            stack = data["cause"]["stack"] if "cause" in data else None
            indices([stack], self.t["stackTable"]["length"], "marker stack", None)
            self.used.add(stack)
            found.append({"name": self.names[name], "start": start, "end": end, "fields": fields, "stack": stack})
        return found

    def thread(self, thread):
        need(isinstance(thread["pid"], str) and thread["processType"] == "default", "pid", thread["pid"])
        markers = self.markers(table(thread, "markers", MARKERS))
        samples = thread["samples"]
        check_samples(samples, self.t["stackTable"]["length"])
        found = Thread(thread["name"], thread["pid"], thread["tid"], samples["weightType"])
        found.markers = markers
        found.process, found.is_main = thread["processName"], thread["isMainThread"]
        # Milliseconds with the digits of nanoseconds: as numbers of those, sums are exact.
        scale = 1000000 if found.unit == "tracing-ms" else 1
        now = 0
        for row in range(samples["length"]):
            weight = samples["weight"][row] if samples["weight"] else 1
            now += samples["timeDeltas"][row]
            found.times.append(now)
            self.used.add(samples["stack"][row])
            found.add(self.path(samples["stack"][row]), round(weight * scale))
            for frame in self.frames(samples["stack"][row])[:1]:
                if self.is_text(frame):
                    found.texts[self.function(frame)[0]] += round(weight * scale)
        return found


class Speedscope:
    """A file of speedscope's own format, by its schema and by what its importer refuses."""

    def __init__(self, path):
        whole_file = read_json(path)
        need(set(whole_file) == {"$schema", "exporter", "name", "shared", "profiles", "activeProfileIndex"},
             "the file has", sorted(whole_file))
        need(whole_file["$schema"] == "https://www.speedscope.app/file-format-schema.json", "schema")
        need(whole_file["exporter"].startswith("cairn@") and set(whole_file["shared"]) == {"frames"}, "exporter, shared")
        self.name, self.frames, self.used = whole_file["name"], whole_file["shared"]["frames"], set()
        for frame in self.frames:
            need({"name"} <= set(frame) <= {"name", "file", "line"} and isinstance(frame["name"], str), "frame", frame)
            need(whole(frame.get("line", 1)) and frame.get("line", 1) > 0 and frame.get("file", "x"), "frame", frame)
        need(whole_file["profiles"], "no profiles")
        self.threads = [self.thread(profile) for profile in whole_file["profiles"]]
        indices([whole_file["activeProfileIndex"]], len(self.threads), "activeProfileIndex")
        need(self.used == set(range(len(self.frames))), "frames are not used")
        self.active = self.threads[whole_file["activeProfileIndex"]]

    def thread(self, profile):
        """Functions are (name, "") here: a frame has no module where it has a source file."""
        need(set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"},
             "a profile has", sorted(profile))
        need(profile["type"] == "sampled" and profile["startValue"] == 0, "a profile is", profile["type"])
        need(profile["unit"] in ("none", "bytes", "nanoseconds", "microseconds", "milliseconds", "seconds"), "unit")
        need(len(profile["samples"]) == len(profile["weights"]), "samples and weights")
        thread = Thread(profile["name"], None, None, profile["unit"])
        for stack, weight in zip(profile["samples"], profile["weights"]):
            need(stack and whole(weight) and weight > 0, "a sample", stack, weight)
            indices(stack, len(self.frames), "a stack")
            self.used.update(stack)
            names = [self.frames[frame]["name"] for frame in stack]
            thread.add([None if is_note(name) else (name, "") for name in names], weight)
        need(thread.sum == profile["endValue"], "endValue", profile["endValue"], "of", thread.sum)
        need(self.is_short(profile["samples"]), "equal stacks follow each other")
        return thread

    @staticmethod
    def is_short(samples):
        return all(left != right for left, right in zip(samples, samples[1:]))


def is_note(name):
    return name == "[no stack]" or name.startswith("stack cut: ")
