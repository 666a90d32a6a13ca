#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks every #include against the table of rooms: check_layers.py [--write] SOURCE_ROOT.

What the table allows, some file needs; and a struct's tag is one struct in the whole tree.

The table in docs/architecture.md is generated from ROOMS. The check fails when they differ; --write
updates the document.
"""
import pathlib
import re
import sys

ROOMS = {  # a room, from floor 0 upwards: the rooms that it may include beside itself, its subject
    "base": ("", "errors, untrusted bytes, memory, text, files, compression"),
    "rt": ("base", "what may run inside another program: pages, threads, system calls"),
    "cache": ("base", "results about modules, kept between runs"),
    "symlist": ("base", "lists of symbols: kallsyms, System.map, perf maps"),
    "elf": ("base", "one ELF image in memory: headers, sections, notes, symbols, relocations"),
    "proc": ("base", "`/proc`: mappings, memory, threads, the running kernel; ptrace"),
    "profile": ("base", "the model: modules, frames, stacks, samples, labels; sums and trees"),
    "select": ("base profile", "filters of samples, threads and frames"),
    "code": ("base elf", "instructions: length, target, effect; size of a function"),
    "hook": ("base code", "moved code, and plans to divert functions"),
    "plans": ("base elf proc hook", "plans for files and processes"),
    "dwarf": ("base", "debug information: units, lines, functions, inline frames, CFI"),
    "stream": ("base profile", "from events of processes to a profile"),
    # Of rt only the layout of the tracker's state, and words.
    "formats": ("base profile stream rt", "files of profiles: pprof, collapsed stacks, perf, tracker states"),
    "push": ("base http profile formats", "profiles to stores"),
    "klog": ("base", "kernel logs: prefixes of lines, stack dumps, which line is of which dump"),
    "picture": ("base profile", "flame graphs: layout, HTML, SVG"),
    "arena": ("base", "blocks of glibc's malloc, out of its own structures"),
    "reach": ("base", "which blocks of a heap pointers reach"),
    "debugfile": ("base elf", "the search for a module's debug files"),
    "symstore": ("base profile dwarf debugfile", "the local store of symbols"),
    "http": ("base", "requests by libcurl"),
    "debuginfod": ("base debugfile http", "debug files from servers"),
    "symbol": ("base cache symlist elf code dwarf debugfile", "address to functions and lines"),
    # Of proc only what <cairn/maps.h> says: libcairn-unwind has none of it.
    "unwind": ("base rt elf proc code dwarf", "unwind tables, the cursor, the walk of the calling thread"),
    "guest": ("base elf code dwarf unwind", "interpreters inside a process: their states, frames and names"),
    "target": ("base elf proc profile stream debugfile unwind guest", "address spaces: processes, core files, stack copies"),
    "import": ("base rt proc profile stream formats debugfile unwind target", "recordings of perf, with their copied stacks walked"),
    "resolve": ("base proc debugfile symbol profile klog", "names for a whole profile or text"),
    "remote": ("base profile resolve", "the protocol with a cairn elsewhere"),
    "bpf": ("base proc unwind guest target", "programs in the kernel, and what loads them"),
    "sample": ("base rt elf proc code profile stream debugfile unwind target bpf", "samples of running processes"),
    "trace": ("base rt elf proc code symbol profile resolve target bpf sample", "events of processes, each with its stack"),
    "snapshot": ("base elf proc unwind target profile stream bpf", "the threads of a process or core file, once"),
    "agent": ("base proc profile", "continuous sampling"),
    "embed": ("base rt code hook unwind", "hooks in the own process"),
    "heap": ("base rt hook unwind", "the allocation tracker, inside the target"),
    "attach": ("base elf proc hook plans arena heap", "own threads in a running process"),
    "doctor": ("base elf proc debugfile unwind target bpf sample trace snapshot attach", "what this machine allows, and why not more"),
    "watch": ("base rt elf proc profile formats arena reach symbol unwind target bpf snapshot", "heaps, read from outside"),
    # cli uses base beside <cairn/...>: the library's JSON writer, escapes and atomic files.
    "cli": ("base", "the command: options, tables, messages (`cli/`, not in `src/`)"),
}
# <cairn/NAME.h> counts as a header of this room.
PUBLIC = {
    "api": "base", "attach": "attach", "error": "base", "log": "base", "version": "base", "frame": "base", "regs": "base",
    "unwind_end": "base", "symbol_source": "base", "cache": "cache", "maps": "proc", "guest": "base", "profile": "profile",
    "tree": "profile", "diff": "profile", "picture": "picture", "resolve": "resolve", "sampler": "sample", "select": "select",
    "snapshot": "snapshot", "trace": "trace", "doctor": "doctor", "heap": "watch", "heap_holds": "watch", "hook": "hook", "plans": "plans", "remote": "remote", "slots": "plans", "klog": "klog", "import": "import", "symbolizer": "symbol", "symbols": "symstore", "debuginfod": "debuginfod", "push": "push",
    "unwind": "unwind", "agent": "agent",
}
DOCUMENT = "docs/architecture.md"
BEGIN = "<!-- rooms: written by tests/style/check_layers.py --write -->\n"
END = "<!-- rooms: end -->\n"
BANNED = {"internal.h", "common.h", "util.c", "util.h", "utils.c", "utils.h", "misc.c", "misc.h"}


def room_of(root, path):
    return path.relative_to(root).parts[0 if path.is_relative_to(root / "cli") else 1]


def check_file(root, path):
    room = room_of(root, path)
    where = path.relative_to(root)
    if room not in ROOMS:
        yield f"{where}: ROOMS of check_layers.py has no room {room}/"
        return
    if path.name in BANNED:
        yield f"{where}: a file is named after its subject"
    allowed = {room, *ROOMS[room][0].split()}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*"([^"]*)"', line)
        if not found:
            continue
        head, slash, _ = found[1].partition("/")
        if not slash or head in (".", ".."):
            yield f'{where}:{number}: expected "room/file.h"'
        elif head == "cairn":
            yield f"{where}:{number}: public headers are included as <cairn/...>"
        elif head not in allowed:
            yield f"{where}:{number}: {room}/ may not include {head}/ (docs/architecture.md)"
    if room == "cli": # whatever the library has for everybody
        return
    for name in re.findall(r"^\s*#\s*include\s*<cairn/(\w+)\.h>", path.read_text(), re.MULTILINE):
        if PUBLIC.get(name) not in allowed:
            yield f"{where}: {room}/ may not include <cairn/{name}.h>, which is {PUBLIC.get(name)}/'s"


def check_unused(root, paths):
    """What no include needs is not allowed either."""
    used = {room: set() for room in ROOMS}
    for path in paths:
        text = path.read_text()
        heads = re.findall(r'^\s*#\s*include\s*"([^"/]*)/', text, re.MULTILINE)
        heads += [PUBLIC.get(name) for name in re.findall(r"^\s*#\s*include\s*<cairn/(\w+)\.h>", text, re.MULTILINE)]
        used.get(room_of(root, path), set()).update(heads)
    for room, (allowed, _) in ROOMS.items():
        for name in allowed.split():
            if name not in used[room]:
                yield f"ROOMS of check_layers.py: {room}/ includes nothing of {name}/"


def check_tags(root, paths):
    """A struct's tag means one thing in the whole tree. Short tags are a file's own."""
    first = {}
    for path in paths:
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        for tag, body in re.findall(r"^struct (cairn_\w+) \{(.*?)^\}", text, re.DOTALL | re.MULTILINE):
            body = " ".join(body.split())
            where, known = first.setdefault(tag, (path, body))
            if body != known:
                yield (f"{path.relative_to(root)}: struct {tag} is another one in "
                       f"{where.relative_to(root)}")


def table_of_rooms():
    yield "| room | subject | may include, beside `base` |\n|---|---|---|\n"
    for room, (allowed, subject) in ROOMS.items():
        names = ", ".join(f"`{name}`" for name in allowed.split() if name != "base")
        yield f"| `{room}` | {subject} | {names} |\n"


def check_document(root, write):
    """The table in the document is the one that this script prints."""
    path = root / DOCUMENT
    before, begin, rest = path.read_text().partition(BEGIN)
    table, end, after = rest.partition(END)
    wanted = "".join(table_of_rooms())
    if not begin or not end:
        yield f"{DOCUMENT}: no table between {BEGIN.strip()} and {END.strip()}"
    elif table != wanted and write:
        path.write_text(before + begin + wanted + end + after)
    elif table != wanted:
        yield (f"{DOCUMENT}: the table of rooms differs from tests/style/check_layers.py\n"
               "hint: python3 tests/style/check_layers.py --write .")


def check_public(root):
    for path in sorted((root / "include").rglob("*.h")):
        room = PUBLIC.get(path.stem, "heap") # <memory_tracker.h> is the tracker's
        if path.parent.name == "cairn" and path.stem not in PUBLIC:
            yield f"{path.relative_to(root)}: PUBLIC of check_layers.py names no room for it"
        for name in re.findall(r"^#include <cairn/(\w+)\.h>", path.read_text(), re.MULTILINE):
            if PUBLIC.get(name) not in (room, *ROOMS[room][0].split()):
                yield f"{path.relative_to(root)}: {room}/ may not include <cairn/{name}.h>"
        for line in path.read_text().splitlines():
            if re.match(r'\s*#\s*include\s*"', line):
                yield f"{path.relative_to(root)}: includes a header that is not installed: {line}"


def main():
    root = pathlib.Path(sys.argv[-1]).resolve()
    paths = [path for folder in ("src", "cli") for path in sorted((root / folder).rglob("*.[ch]"))]
    wrong = [text for path in paths for text in check_file(root, path)]
    wrong += check_unused(root, paths)
    wrong += check_tags(root, paths + sorted((root / "include").rglob("*.h")))
    wrong += check_public(root)
    wrong += check_document(root, "--write" in sys.argv[1:-1])
    print("\n".join(wrong))
    print(f"{len(paths)} files read")
    return bool(wrong) or not paths


sys.exit(main())
