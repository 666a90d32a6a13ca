# SPDX-License-Identifier: MIT
"""The kinds of difference between what two symbolizers say of one address."""
import collections
import re

Frame = collections.namedtuple("Frame", "name file line shown suffix folded source inlined")
SUFFIX = re.compile(r"(\.(cold|part|isra|constprop|llvm|localalias|lto_priv|abi0|abiinternal|[0-9]+)(\.\d+)*)+$")


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
            len(a) != len(b) or places(a)[1:] != places(b)[1:] or [f[0] for f in a[1:-1]] != [f[0] for f in b[1:-1]])


def is_structor_variant(a, b):
    """...C1E... and ...C2E...: one constructor of the source."""
    differ = [i for i in range(min(len(a), len(b))) if a[i] != b[i]]
    return len(a) == len(b) and len(differ) == 1 and a[differ[0] - 1] in "CD"


def is_mangled(name):
    return name.startswith(("_Z", "_R"))


def name_class(program, address, ours, theirs):
    """Why do two names of one frame differ? "" where they do not, None where nobody knows."""
    a, b = ours[0], theirs[0]
    if a == b:
        return ""
    if not b:
        return "no name"
    bare = SUFFIX.sub("", b)
    if a == bare:
        return "name with the compiler's suffix"
    if not ours.inlined:
        over = program.symbols_over(address)
        if b in over and (a in over or ours.folded or any(SUFFIX.sub("", s) == a for s in over)):
            return "another symbol of the same bytes"
        if b in over:
            return "symbol instead of DWARF's name"
        if b in program.nearest(address) and not over:
            return "nearest symbol, though it does not reach so far"
    if is_structor_variant(a, bare):
        return "another variant of a constructor"
    if is_mangled(a) and not is_mangled(b):
        identifier = re.match(r"~?(\w*)", bare.split("<")[0]).group(1)
        if identifier in a or b.startswith(("operator", "<lambda", "~")):
            return "plain name where DWARF has no linkage name, a symbol has"
    return None


def names_of_places(program, address, mine, theirs):
    kinds = [name_class(program, address, m, t) for m, t in zip(mine, theirs)]
    return None if None in kinds else {k for k in kinds if k}


def is_part_of(few, many):
    """Do all of `few` stand in `many` in this order?"""
    rest = iter(many)
    return all(x in rest for x in few)


def explain(program, oracle, address, mine, theirs, others):
    """The class of a difference; None where no rule is known."""
    at, bt = places(mine), places(theirs)
    if not any(f[0] or f[1] for f in theirs):
        return "says nothing"
    if not mine:
        if len(theirs) > 1:
            return None
        if not program.symbols_over(address):
            if theirs[0][0] in program.nearest(address):
                return "nearest symbol, though it does not reach so far"
            if not theirs[0][0]:
                return "line of padding between functions"
        return None
    agree = any(places(o) == at for o in others)
    if len(mine) == len(theirs):
        if at == bt:
            kinds = names_of_places(program, address, mine, theirs)
            if kinds is not None:
                return "; ".join(sorted(kinds))
            if agree and oracle == "addr2line" and len(mine) > 1:
                return "inlined function under another name"
            return None
        if all(b == ("", 0) for b in bt):
            return "no lines"
        if [a[1] for a in at] == [b[1] for b in bt] and agree:
            return "right line, wrong file"
    if len(mine) > len(theirs):
        if len(theirs) == 1 and bt[0] == at[0]:
            return "all inline frames lost"
        if len(theirs) == 1 and bt[0] == ("", 0):
            return "no lines, no inline frames"
        if len(theirs) == 1 and bt[0][1] == at[0][1] and agree:
            return "all inline frames lost, wrong file"
        if is_part_of(bt, at) and agree:
            return "some inline frames lost"
    if agree and oracle == "eu-addr2line" and len(mine) < len(theirs):
        return "inline frames that do not cover the address"
    return None
