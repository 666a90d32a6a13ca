#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds what every source says in its first line and in its messages: check_sources.py SOURCE_ROOT.

The first line (the second one of a script) is the licence; no line ends in blanks, and none of C has
more than 100 columns; a message starts in lower case, where its first word is no name such as DWARF,
and ends without a full stop; a hint is shorter than its field. Code for the kernel (contrib/kernel) is in the kernel's own style, with tabs
of eight columns, and under both licences: it is compiled into trees that ask for that.
"""
import pathlib
import re
import sys

FOLDERS = ("src", "cli", "include", "tests", "scripts", "bench", "demo", "examples", "contrib",
           ".ci")
SUFFIXES = {".c": "/* ", ".h": "/* ", ".sh": "# ", ".py": "# ", ".js": "// ", ".css": "/* ",
            ".cpp": "// "}
LICENCE = "SPDX-License-Identifier: MIT"
KERNEL, KERNEL_LICENCE = ("contrib", "kernel"), "SPDX-License-Identifier: GPL-2.0 OR MIT"
STRING = r'"(?:[^"\\]|\\.)*"'
# cairn_fail(err, code, "...", cairn_fail_os(err, errno, "..., cairn_hint(err, "...
HINT_BYTES = 256  # of struct cairn_err: what is longer is cut off
CALLS = re.compile(r"\bcairn_(?:fail|fail_os|hint)\s*\(((?:[^\"';{}]|'[^']*')*?,)\s*"
                   rf"((?:{STRING}\s*|PRI[a-zA-Z0-9]+\s*)+)")


def sources(root):
    yield root / "run"
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            below = path.relative_to(root).parts
            if path.is_file() and not {"data", "work", "out", "__pycache__"} & set(below):
                if path.suffix in SUFFIXES or below[0] in (".ci", "contrib"):
                    yield path


def check_lines(path, lines, is_kernel):
    licence = KERNEL_LICENCE if is_kernel else LICENCE
    mark = SUFFIXES.get(path.suffix, "# ") + licence
    first = lines[1:2] if lines[:1] and lines[0].startswith("#!") else lines[:1]
    if not first or licence not in first[0] or not first[0].startswith(("# ", "// ", "/* ")):
        yield 1, f'the first line is not "{mark}"'
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield number, "blanks at the end of the line"
        columns = len(line.expandtabs(8))
        if columns > 100 and path.suffix in (".c", ".h"):
            yield number, f"{columns} columns, at most 100"
        if "\t" in line and not is_kernel and path.suffix in (".c", ".h", ".py"):
            yield number, "a tab"


def check_messages(text):
    for call in CALLS.finditer(text):
        message = "".join(piece[1:-1] for piece in re.findall(STRING, call[2]))
        word = re.match(r"[\w.]*", message)[0]
        number = text.count("\n", 0, call.start()) + 1
        if word[:1].isupper() and not re.search(r"[A-Z0-9_].*[A-Z0-9_]|^[A-Z]$", word):
            yield number, f'a message starts in lower case: "{message}"'
        if re.search(r"(?<!\.\.)\.$|[!\n]$|\\n$", message):
            yield number, f'a message has no full stop: "{message}"'
        if call[0].startswith("cairn_hint") and len(message) >= HINT_BYTES:
            yield number, f'a hint of {len(message)} bytes is cut off: "{message}"'


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    wrong = n_messages = n_files = 0
    for path in sources(root):
        text = path.read_text()
        below = path.relative_to(root).parts
        found = list(check_lines(path, text.splitlines(), below[:2] == KERNEL))
        if path.suffix == ".c" and below[0] in ("src", "cli"):
            found += check_messages(text)
            n_messages += len(CALLS.findall(text))
        for number, what in found:
            print(f"{path.relative_to(root)}:{number}: {what}")
        wrong += len(found)
        n_files += 1
    print(f"{n_files} files, {n_messages} messages read")
    return bool(wrong) or not n_messages


sys.exit(main())
