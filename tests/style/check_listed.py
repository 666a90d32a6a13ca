#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds that no source and no test is forgotten: check_listed.py SOURCE_ROOT.

A file that no meson.build names is not built, a test that none names is not run, and neither is
missed by anybody. Every corpus folder belongs to a fuzz target and has something in it.
"""
import pathlib
import re
import sys

PLACES = [  # files, what their meson.build calls them by
    ("src/*/*.c", lambda path: path.name, "."),
    ("cli/*.c", lambda path: path.name, "."),
    ("tests/support/*writer.c", lambda path: path.name, "."),
    ("tests/unit/*/*_test.c", lambda path: path.name.removesuffix("_test.c"), "."),
    ("tests/fuzz/*_fuzz.c", lambda path: path.name.removesuffix("_fuzz.c"), "."),
    ("tests/e2e/*.sh", lambda path: path.stem, "."),
    ("tests/data/corpus/*", lambda path: path.name, "../../fuzz"),
    ("include/cairn/*.h", lambda path: path.name, "../.."),
    ("tests/style/check_*", lambda path: path.name, "."),
]

PLATFORM = re.compile(r"_(x86_64|aarch64|arm|other)\.c$")


def named(name, text):
    """In quotes, alone or after a folder; or a file per platform, 'arch_' + cpu_family + '.c'."""
    platform = PLATFORM.split(name)[0]
    return f"'{name}'" in text or f"/{name}'" in text or f"'{platform}_'" in text


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    wrong, read = [], 0
    for pattern, name_of, where in PLACES:
        for path in sorted(root.glob(pattern)):
            listing = (path.parent / where / "meson.build").resolve()
            name, text = name_of(path), listing.read_text()
            read += 1
            if not named(name, text):
                wrong.append(f"{path.relative_to(root)}: {listing.relative_to(root)} does not name it")
    used = "".join(path.read_text() for path in (root / "tests/e2e").iterdir() if path.is_file())
    wrong += [f"tests/e2e/{path.name}: neither meson.build nor a script names it"
              for path in (root / "tests/e2e").glob("*.py")
              if f"'{path.stem}'" not in used and path.name not in used]
    for folder in (root / "tests/data/corpus").glob("*"):
        if not any(folder.iterdir()):
            wrong.append(f"{folder.relative_to(root)}: an empty corpus")
    print("\n".join(wrong))
    print(f"{read} files looked for")
    return bool(wrong) or not read


sys.exit(main())
