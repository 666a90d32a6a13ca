#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds man pages and --help against each other: check_man.py SOURCE_ROOT COMMAND.

Every command that `cairn --help` lists has a page docs/man/cairn-NAME.1 that lists the same options
as `cairn NAME --help`, with EXAMPLES and WHEN IT FAILS; a letter stands for the same option in all; every page belongs to a command; cairn(1)
names them all; mandoc finds nothing to complain about; meson installs each page. Every line of
README.md, of docs/ and of the pages that shows the command in use names commands and options that
there are. What pages say of the options of filters, which four commands share, is the same text.
"""
import pathlib
import re
import shutil
import subprocess
import sys

EVERYWHERE = {"-h", "--help"}
SHOWN = re.compile(r"^(?:\s{4}|\.Dl |\$ )\s*(?:[$#] )?(?:sudo )?(?:\S*/)?cairn (.*)")


def run(*words):
    done = subprocess.run([str(word) for word in words], text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def options_of_help(text):
    """Rows such as "  -o, --output=FILE  write to FILE"."""
    found = set()
    for line in text.splitlines():
        row = re.match(r"\s+((?:-\w(?:,? |, |$))?\s*(?:--[\w-]+)?)", line)
        if row and row[1].strip().startswith("-"):
            found.update(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", row[1]))
    return found


def letters_of_help(text):
    """"-o" of rows such as "  -o, --output FILE  write to FILE", with "--output"."""
    return re.findall(r"^\s+(-\w), (--[\w-]+)", text, re.M)


# "cairn stack -n 100" is what everybody tries, and stack prints no table that has a top. -t is a thread in perf and
# other tracers.
APART = {("-n", "--count"), ("-t", "--tid")}


def check_letters(letters):
    """A letter must not be told by the command that it is for."""
    of = {}
    for name, letter, option in letters:
        if (letter, option) in APART:
            continue
        of.setdefault(letter, {}).setdefault(option, []).append(name)
    for letter, options in sorted(of.items()):
        if len(options) > 1:
            yield f"{letter} is " + ", but ".join(
                f"{option} in {' '.join(names)}" for option, names in sorted(options.items()))


def options_of_page(text):
    """Rows such as ".It Fl o Ar FILE , Fl -output Ns = Ns Ar FILE"."""
    found = set()
    for line in text.splitlines():
        if line.startswith(".It Fl"):
            line = line.replace("Fl Fl ", "Fl -")
            found.update("-" + name for name in re.findall(r"Fl (-?[a-zA-Z][\w-]*)", line))
    return found


def commands_of(command):
    status, text = run(command, "--help")
    part = re.search(r"^commands:?\s*\n(.*?)(?:\n\s*\n|\Z)", text, re.S | re.M | re.I)
    return status, re.findall(r"^\s+([a-z][a-z0-9]*)\s\s", part[1], re.M) if part else []


def check_examples(root, options):
    """Lines such as "$ sudo cairn record -p 42 | less", in documents and pages."""
    paths = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "docs").rglob("*.1")]
    for path in sorted(paths):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            line = line.replace(r"\-", "-").replace(r"\&", "")
            for use in SHOWN.findall(line):
                use = re.split(r" [|&>#] | -- |`", use)[0]
                name = re.match(r"[a-z0-9]*", use)[0]
                if not name or name == "help":
                    continue
                where = f"{path.relative_to(root)}:{number}"
                if name not in options:
                    yield f"{where}: there is no cairn {name}"
                    continue
                for option in re.findall(r"(?<=\s)--[a-z][\w-]*", use):
                    if option not in options[name] | EVERYWHERE:
                        yield f"{where}: cairn {name} has no {option}"


def check_page(root, name, wanted):
    path = root / f"docs/man/{name}.1"
    if not path.exists():
        yield f"{name}: there is no docs/man/{name}.1"
        return
    text = path.read_text()
    has = options_of_page(text) - EVERYWHERE
    yield from (f"{name}: --help has {o}, the page has not" for o in sorted(wanted - has))
    yield from (f"{name}: the page has {o}, --help has not" for o in sorted(has - wanted))
    for section in ("EXAMPLES", "WHEN IT FAILS"):
        if not re.search(rf'^\.Sh "?{section}"?$', text, re.M):
            yield f"{name}: the page has no section {section}"
    if f"'{name}'" not in (root / "docs/meson.build").read_text():
        yield f"{name}: docs/meson.build does not install the page"
    if shutil.which("mandoc"):
        status, complaints = run("mandoc", "-Tlint", "-Wwarning", path)
        if status:
            yield complaints


def check_filters(root, options):
    """Commands share the options of filters, and their pages say the same of each."""
    first = None
    for name in sorted(name for name in options if "--merge-threads" in options[name]):
        text = (root / f"docs/man/cairn-{name}.1").read_text()
        part = re.search(r"^\.Ss Filters$.*?^(\.Bl .*?)^\.El$", text, re.M | re.S)
        if not part:
            yield f"cairn-{name}: the page has no section Filters with a list"
        elif part[1] != (first := first or (name, part[1]))[1]:
            yield f"cairn-{name}: the list of Filters differs from that of cairn-{first[0]}"


def main():
    root, command = pathlib.Path(sys.argv[1]), sys.argv[2]
    status, commands = commands_of(command)
    wrong = [] if status == 0 and commands else ["cairn --help lists no commands"]
    options, letters, elsewhere = {}, [], set()
    for name in commands:
        status, text = run(command, name, "--help")
        options[name] = options_of_help(text)
        if "cairn remote --help" in text:
            elsewhere.add(name)
        letters += [(name, *pair) for pair in letters_of_help(text)]
        if status:
            wrong.append(f"cairn {name} --help: exit status {status}")
        wrong += check_page(root, f"cairn-{name}", options[name] - EVERYWHERE)
    wrong += check_examples(root, {name: rows | options["remote"] if name in elsewhere else rows
                                   for name, rows in options.items()})
    wrong += check_letters(letters)
    wrong += check_filters(root, options)
    wrong += [text for text in check_page(root, "cairn", set()) if "the page has -" not in text]
    main_page = root / "docs/man/cairn.1"
    main_text = main_page.read_text() if main_page.exists() else ""
    wrong += [f"cairn(1) does not name cairn-{name}" for name in commands
              if f"cairn-{name}" not in main_text]
    known = {"cairn", *(f"cairn-{name}" for name in commands)}
    wrong += [f"{path.name}: there is no such command" for path in (root / "docs/man").glob("*.1")
              if path.stem not in known]
    print("\n".join(wrong))
    print(f"{len(commands)} commands: {' '.join(commands)}")
    return bool(wrong)


sys.exit(main())
