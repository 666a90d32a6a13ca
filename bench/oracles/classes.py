# SPDX-License-Identifier: MIT
"""The kinds of difference between what cairn and another symbolizer say of one address: which rule
finds them, and who is right. Each verdict was reached by reading the DWARF and the symbols at examples
of its kind (readelf, llvm-dwarfdump), not by counting heads; docs/guide/symbols.md tells of them.
"""
import collections
import re

Frame = collections.namedtuple("Frame", "name file line shown suffix folded source inlined")

# What the compiler or linker hung behind a name; .123 numbers local functions (gnat, gfortran), .abi0 is Go's
SUFFIX = re.compile(
    r"(\.(cold|part|isra|constprop|llvm|localalias|lto_priv|abi0|abiinternal|[0-9]+)(\.\d+)*)+$")

CAIRN, BOTH, NEITHER = "cairn is right", "both are right", "neither is right"
CLASSES = {
    # names
    "suffix": (BOTH, "the symbol's suffix (.cold, .part.0, .123) in the name; cairn keeps it apart"),
    "alias": (BOTH, "another of several symbols that share these bytes (aliases, folded functions)"),
    "version": (BOTH, "the symbol's version in the name"),
    "dot": (BOTH, "a dot, where DWARF has Go's middle dot"),
    "structor": (BOTH, "another variant of one constructor or destructor"),
    "plain": (CAIRN, "a bare name, where DWARF has no linkage name and the symbol table has"),
    "caller": (CAIRN, "an inlined function under the name of a function that it was inlined into"),
    "label": (CAIRN, "a label inside of the function, instead of the function"),
    "mark": (NEITHER, "padding, which each names after another mark of the linker before it"),
    "nearest": (CAIRN, "the nearest symbol, though it does not reach so far"),
    "plt": (CAIRN, "nothing, or the nearest symbol, for a PLT stub"),
    "silent name": (CAIRN, "no name, where cairn has one"),
    # lines
    "file": (CAIRN, "the right line, under the name of another file"),
    "no lines": (CAIRN, "names only"),
    "run on": (CAIRN, "the line of the function before, for one that has no lines or for padding"),
    # chains
    "no inlines": (CAIRN, "no inline frames"),
    "no inlines, file": (CAIRN, "no inline frames, and the right line under the name of another file"),
    "no inlines, no lines": (CAIRN, "names only, and no inline frames"),
    "lost inlines": (CAIRN, "some inline frames are missing"),
    "invented": (CAIRN, "inline frames, or lines of calls, of another place in the function"),
    "copy": (BOTH, "the copy of another unit that describes these bytes differently"),
    "silent": (CAIRN, "nothing, where cairn has an answer"),
}


def verdict(kind):
    """Who is right, of one class or several joined by "; "."""
    verdicts = {CLASSES[k][0] for k in kind.split("; ")}
    return next(v for v in (NEITHER, CAIRN, BOTH) if v in verdicts)


def place(frame):
    return (frame[1], frame[2]) if frame[2] else ("", 0)


def places(frames):
    return [place(f) for f in frames]


def levels(mine, theirs):
    """Do names, innermost lines, chains differ? As they stand, no rule applied."""
    a = mine or [("", "", 0)]
    b = theirs or [("", "", 0)]
    return ((a[0][0], a[-1][0]) != (b[0][0], b[-1][0]),
            place(a[0]) != place(b[0]),
            len(a) != len(b) or places(a)[1:] != places(b)[1:] or
            [f[0] for f in a[1:-1]] != [f[0] for f in b[1:-1]])


def is_structor_variant(a, b):
    """...C1E... and ...C2E...: one constructor of the source."""
    differ = [i for i in range(min(len(a), len(b))) if a[i] != b[i]]
    return len(a) == len(b) and len(differ) == 1 and a[differ[0] - 1] in "CD"


def is_mangled(name):
    return name.startswith(("_Z", "_R"))


def name_class(program, address, ours, theirs, callers):
    """Why do two names of one frame differ? "" where they do not, None where nobody knows."""
    a, b = ours[0], theirs[0]
    if a == b:
        return ""
    if not b:
        return "silent name"
    bare = SUFFIX.sub("", b)
    if a == bare:
        return "suffix"
    if a == b.split("@")[0]:
        return "version"
    if a.replace("\u00b7", ".") == b:
        return "dot"
    if not ours.inlined:
        over, sizeless = program.symbols_over(address), program.labels_before(address)
        if b in over and (a in over or ours.folded or any(SUFFIX.sub("", s) == a for s in over)):
            return "alias"
        if b in sizeless:
            return "mark" if not over and a in sizeless else "label"
        if b in program.nearest(address) and b not in over:
            return "nearest"
    if is_structor_variant(a, bare):
        return "structor"
    if is_mangled(a) and not is_mangled(b):
        identifier = re.match(r"~?(\w*)", bare.split("<")[0]).group(1)
        if identifier in a or b.startswith(("operator", "<lambda", "~")):
            return "plain"
    if ours.inlined and any(SUFFIX.sub("", c[0]) == bare or c[0] == b for c in callers):
        return "caller"
    return None


def explain_names(program, address, mine, theirs):
    kinds = {name_class(program, address, m, t, [*mine, *theirs]) for m, t in zip(mine, theirs)}
    return None if None in kinds else "; ".join(sorted(k for k in kinds if k))


def is_part_of(few, many):
    """Do all of `few` stand in `many` in this order?"""
    rest = iter(many)
    return all(x in rest for x in few)


def explain_unknown(program, address, theirs):
    """cairn says nothing."""
    if program.symbols_over(address):
        return None
    if theirs[0][0] in program.nearest(address) or theirs[0][0] in program.labels_before(address):
        return "nearest"
    return "run on" if not theirs[0][0] else None


def explain(program, oracle, address, mine, theirs, others):
    """The class of a difference; None where no rule is known. `others` are the answers of the other two."""
    at, bt = places(mine), places(theirs)
    agree = any(places(o) == at for o in others)
    if mine and mine[0].name.endswith("@plt"):
        return "plt"
    if not any(f[0] or f[1] for f in theirs):
        return "silent" if agree else None
    if not mine:
        return explain_unknown(program, address, theirs)
    if len(mine) == 1 and at[0] == ("", 0) and at != bt and agree and mine[0].source != "dwarf":
        return "run on"
    if len(mine) == len(theirs):
        if at == bt:
            return explain_names(program, address, mine, theirs) or None
        if all(b == ("", 0) for b in bt):
            return "no lines"
        if [a[1] for a in at] == [b[1] for b in bt] and agree:
            return "file"
        if not is_nested(mine) and [m[0] for m in mine] == [t[0] for t in theirs] and at[1:] == bt[1:]:
            return "copy"
    if len(theirs) == 1 and len(mine) > 1:
        if bt[0] == at[0]:
            return "no inlines"
        if bt[0] == ("", 0):
            return "no inlines, no lines"
        if bt[0][1] == at[0][1] and agree:
            return "no inlines, file"
    if not agree:
        return None
    if len(mine) > len(theirs) and is_part_of(bt, at):
        return "lost inlines"
    return "invented" if oracle == "eu-addr2line" and at[0] == bt[0] else None


def is_nested(frames):
    return len(frames) > 1
