#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the documents: check_docs.py SOURCE_ROOT.

Every relative link of a *.md file leads to a file, and its #fragment to a title of that file.
docs/architecture.md has at most WORDS_MAX words, and docs/design/README.md lists every decision.
"""
import pathlib
import re
import sys

WORDS_MAX = {"docs/architecture.md": 1500}
SKIPPED = re.compile(r"^(build.*|\..*|work|node_modules)$")
LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)")
DECISION = re.compile(r"^## (.*)$", re.M)


def documents(root):
    for path in sorted(root.rglob("*.md")):
        if not any(SKIPPED.match(part) for part in path.relative_to(root).parts[:-1]):
            yield path


def prose_of(text):
    """The text without code: links there are examples."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    lines = [line for line in text.splitlines() if not line.startswith("    ")]
    return re.sub(r"`[^`\n]*`", "", "\n".join(lines))


def anchor(title):
    """The fragment that GitHub and GitLab make of a title."""
    title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower().strip()
    return re.sub(r"[^\w\- ]", "", title).replace(" ", "-")


def anchors_of(path):
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S)
    return {anchor(title) for title in re.findall(r"^#+ +(.*)$", text, re.M)}


def check_links(root, path):
    for link in LINK.findall(prose_of(path.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, fragment = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        where = path.relative_to(root)
        if not target.exists():
            yield f"{where}: the link {link} leads to no file"
        elif fragment and target.suffix == ".md" and fragment not in anchors_of(target):
            yield f"{where}: the link {link} leads to no title of {target.relative_to(root)}"


def check_words(root):
    for name, most in WORDS_MAX.items():
        n_words = len((root / name).read_text().split())  # as wc -w counts
        if n_words > most:
            yield f"{name}: {n_words} words, at most {most} (decisions belong in docs/design/)"


def check_index(root):
    """The index names each title of each file of docs/design/."""
    folder = root / "docs/design"
    index = (folder / "README.md").read_text()
    for path in sorted(folder.glob("*.md")):
        if path.name == "README.md":
            continue
        for title in DECISION.findall(path.read_text()):
            if f"]({path.name}#{anchor(title)})" not in index:
                yield f"docs/design/README.md: no link to {path.name}#{anchor(title)}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    paths = list(documents(root))
    wrong = [text for path in paths for text in check_links(root, path)]
    wrong += check_words(root)
    wrong += check_index(root)
    print("\n".join(wrong))
    print(f"{len(paths)} documents read")
    return bool(wrong) or not paths


sys.exit(main())
