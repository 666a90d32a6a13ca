#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cairn symbolize --output-style=llvm beside llvm-symbolizer --output-style=JSON: the same shape, the
same lines and names, but for what docs/formats/symbolize-json.md lists; and --output-style=gnu."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.environ["SRC"] + "/tests/e2e")
import addr2line_compare as compare  # noqa: E402

CAIRN, LLVM = os.environ["CAIRN"], "llvm-symbolizer-14"
NOT_KEPT = {"Column": 0, "StartAddress": "", "StartFileName": ""}
STRUCTOR = re.compile(r"([CD])[0-5](?=E)")  # of several at one address
SUFFIX = re.compile(r"( \[clone [^]]*\]|\.(cold|part|isra|constprop)(\.\d+)*)+$")
wrong, seen = [], collections.Counter()


def ours(program, *options, asked=(), operands=()):
    return subprocess.run([CAIRN, "symbolize", "--output-style=llvm", *options, program, *operands],
                          input="".join("0x%x\n" % a for a in asked), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, timeout=200).stdout


def theirs(program, *options, asked=(), operands=()):
    return subprocess.run([LLVM, "--output-style=JSON", *options, "-e", program, *operands], text=True,
                          input="".join("0x%x\n" % a for a in asked), stdout=subprocess.PIPE,
                          timeout=200).stdout


def shape(value):
    """Keys and kinds; a list is as its first member, for answers differ in their number of frames."""
    if isinstance(value, dict):
        return {key: shape(member) for key, member in value.items()}
    return [shape(value[0])] if isinstance(value, list) else type(value).__name__


def same_name(mine, other):
    """Ours, or the plain one that is qualified in ours."""
    mine, other = (STRUCTOR.sub(r"\1", name) for name in (mine, SUFFIX.sub("", other)))
    return mine == other or (other.split("<")[0].split("(")[0] or "?") in mine


def explain(program, address, mine, other):
    frames, others = mine["Symbol"], other["Symbol"]
    if not frames[0]["FunctionName"] and not frames[0]["FileName"]:
        return None if program.in_a_function(address) else "nearest symbol"
    if frames[0]["FunctionName"].endswith(("@plt", ".plt")):
        return "stub"
    places = [[(f["FileName"], f["Line"]) for f in side] for side in (frames, others)]
    if places[0] != places[1]:
        return None
    if all(a["FunctionName"] == b["FunctionName"] for a, b in zip(frames, others)):
        return "same"
    right = all(same_name(a["FunctionName"], b["FunctionName"]) for a, b in zip(frames, others))
    return "names" if right else None


def check_program(path):
    """With linkage names, for two demanglers write the same name in two ways."""
    program = compare.Program(path)
    asked = program.addresses(1500)
    mine, other = ([json.loads(line) for line in text.splitlines() if line]
                   for text in (ours(path, "--names=mangled", asked=asked),
                                theirs(path, "--no-demangle", asked=asked)))
    if len(mine) != len(asked) or len(other) != len(asked):
        wrong.append("%s: %d and %d answers to %d questions" % (path, len(mine), len(other), len(asked)))
    for address, a, b in zip(asked, mine, other):
        rule = explain(program, address, a, b) if shape(a) == shape(b) else None
        kept = all(f[key] == value for f in a["Symbol"] for key, value in NOT_KEPT.items())
        head = (a["Address"], a["ModuleName"]) == (b["Address"], b["ModuleName"])
        seen[rule] += 1
        same = [f["Discriminator"] for f in a["Symbol"]] == [f["Discriminator"] for f in b["Symbol"]]
        seen["discriminator"] += a["Symbol"][0]["Discriminator"] > 0
        if not rule or not kept or not head or not (same or rule == "nearest symbol"):
            wrong.append("%s:\n ours %s\n LLVM %s" % (path, json.dumps(a), json.dumps(b)))


def check_forms(path):
    """One array for operands, one object a line for stdin; errors have LLVM's keys."""
    start = next(low for low, _, name in compare.Program(path).code if name == ".text")
    for options in ([], ["--no-inlines"]):
        a, b = (json.loads(tool(path, *options, operands=["0x%x" % start, "0x0"]))
                for tool in (ours, theirs))
        if [shape(answer) for answer in a] != [shape(answer) for answer in b] or a[1] != b[1]:
            wrong.append("operands: %s, LLVM %s" % (a, b))
    a, b = (json.loads(tool(path, operands=["0x1", "nonsense"])) for tool in (ours, theirs))
    if a[1] != b[1]:
        wrong.append("no address: %s, LLVM %s" % (a[1], b[1]))
    a, b = (tool(path, operands=["nonsense"]) for tool in (ours, theirs))
    if json.loads(a) != json.loads(b):
        wrong.append("nothing but what is no address: %s, LLVM %s" % (a, b))


def check_gnu(path):
    asked = compare.Program(path).addresses(300)
    questions = "".join("%x\n" % address for address in asked)
    for options, like in (([], "-fiC"), (["--names=mangled"], "-fi")):
        mine = subprocess.run([CAIRN, "symbolize", "--output-style=gnu", *options, path],
                              input=questions, stdout=subprocess.PIPE, text=True).stdout
        other = subprocess.run([CAIRN, "addr2line", like, "-e", path], input=questions,
                               stdout=subprocess.PIPE, text=True).stdout
        if not mine or mine != other:
            wrong.append("--output-style=gnu differs from addr2line " + like)


def main():
    for tool in (LLVM, "g++", "clang++-14", "readelf"):
        if not shutil.which(tool):
            print("skipped: %s is missing" % tool)
            return 77
    subprocess.run([sys.executable, os.environ["SRC"] + "/bench/gen_cpp.py", "cpp", "1"], check=True,
                   stdout=subprocess.DEVNULL)
    sources = ["cpp/u000.cpp", "cpp/all.cpp", "cpp/main1.cpp"]
    for name, command in {"gcc5": "g++ -O2 -g -gdwarf-5", "clang4": "clang++-14 -O2 -g -gdwarf-4"}.items():
        subprocess.run([*command.split(), "-std=c++17", "-Icpp", *sources, "-o", name], check=True)
        check_program(name)
    check_forms("gcc5")
    check_gnu("gcc5")
    for text in wrong[:8]:
        print("FAIL: " + text)
    print(", ".join("%s %d" % pair for pair in seen.most_common()))
    print("%d differences" % len(wrong) if wrong else "llvm-symbolizer's JSON, but for the known ones")
    return bool(wrong) or not seen["same"] or not seen["discriminator"]


sys.exit(main())
