# SPDX-License-Identifier: MIT
"""What addr2line.py asks of a program: thousands of addresses, answered by GNU addr2line and by ours.
An answer is the same byte for byte, or one rule below, which is GNU's fault or our choice, explains
how it differs; llvm-addr2line is the witness where frames do."""
import bisect
import collections
import random
import re
import subprocess

ADDRESS = re.compile(r"(?m)^0x[0-9a-f]+(?:: |\n)")


class Program:
    def __init__(self, path, gnu="/usr/bin/addr2line"):
        self.path, self.gnu = path, gnu
        text = subprocess.run(["readelf", "-SsW", path], capture_output=True, text=True).stdout
        self.code, self.spans, self.names = [], [], {}
        for line in text.replace("[ ", "[").splitlines():
            word = line.split()
            if len(word) > 8 and word[0].startswith("[") and "AX" in word[7]:
                self.code.append((int(word[3], 16), int(word[5], 16), word[1]))
            elif len(word) == 8 and word[3] in ("FUNC", "IFUNC", "NOTYPE") and word[6] != "UND":
                low = int(word[1], 16) & (~1 if "arm" in gnu else ~0)
                if int(word[2], 0):
                    self.spans.append((low, low + int(word[2], 0)))
                self.names.setdefault(low, set()).add(word[7])

    def in_a_function(self, address):
        return any(low <= address < high for low, high in self.spans)

    def addresses(self, count):
        """Uniform over the code, and each function's first byte; the same ones in each run."""
        pick = random.Random(7)
        total = sum(size for _, size, _ in self.code)
        chosen = {low for low, _ in self.spans} if len(self.spans) < count else set()
        for low, size, _ in self.code:
            n = max(8, count * size // total)
            chosen.update(low + pick.randrange(size) for _ in range(n))
        return sorted(chosen)

    def is_stub(self, address):
        return any(name.startswith((".plt", ".iplt")) and low <= address < low + size
                   for low, size, name in self.code)


def ask(command, program, options, asked, as_arguments=False):
    words = ["%x" % address for address in asked]
    command = [command, "-e", program.path, *options] + (words if as_arguments else [])
    done = subprocess.run(command, input="" if as_arguments else "\n".join(words) + "\n",
                          capture_output=True, text=True, errors="replace", timeout=200)
    assert done.returncode == 0, (command[:6], done.returncode, done.stderr)
    return done.stdout


def answers(command, program, options, asked):
    """One text for each address, without the line of -a."""
    parts = ADDRESS.split(ask(command, program, ["-a", *options], asked))
    assert parts[0] == "" and len(parts) == len(asked) + 1, (command, len(parts), len(asked))
    return parts[1:]


def frames(text):
    """[(function, place)], for -f without -p."""
    lines = text.replace(":?\n", ":0\n").splitlines()
    return list(zip(lines[0::2], lines[1::2]))


def same_name(gnu, ours, witness, demangled):
    if gnu == ours or ours == witness:
        return True
    if re.fullmatch(re.escape(ours) + r"(\.[a-z_]+(\.\d+)*)+( \[clone .*\])?", gnu):
        return True  # .cold, .part.0: left out where DWARF knows the function
    if not demangled:
        return ours.startswith("_Z") and not gnu.startswith("_Z")  # the symbol table's name
    # The plain name of DWARF, behind the namespaces and types that hold it; demangled, if the symbol
    # table knows it.
    ends = [name.split("<")[0].split("(")[0] for name in (gnu, witness)]
    return any(end in ours for end in ends if end) or re.sub(r" \[clone .*\]", "", gnu) == ours


def explain(program, address, gnu, ours, witness, options):
    """The rule by which ours may differ, or None."""
    if gnu == ours:
        return "same"
    theirs, mine, third = frames(gnu), frames(ours), frames(witness)
    if mine == [("??", "??:0")]:
        known = program.in_a_function(address)
        return None if known or theirs[0][1].split(":")[-1] != "0" else "nearest symbol"
    if program.is_stub(address):
        return "stub" if mine[0][0].endswith(("@plt", ".plt")) else None  # .plt: its first entry
    if theirs == [(mine[0][0], ":0")] and mine[0][1] == "??:0":
        return "file without a name"  # the linker's own, as which it lists _init and _fini
    names = [(a[0], b[0], (third[i][0] if i < len(third) else ""))
             for i, (a, b) in enumerate(zip(theirs, mine))]
    if [f[1] for f in mine] == [f[1] for f in theirs]:
        right = all(same_name(*three, "-C" in options) for three in names)
        return "names" if right else None
    if [f[1] for f in mine] != [f[1] for f in third]:
        return None
    if len(mine) > len(theirs):
        return "inline frames"
    same_lines = [f[1].rsplit(":", 1)[1] for f in mine] == [f[1].rsplit(":", 1)[1] for f in theirs]
    return "file of a header" if same_lines else None


EXPLAINED = (["-f", "-i"], ["-f", "-i", "-C"], ["-f"])
COMBINED = ([], ["-f"], ["-i"], ["-C"], ["-fi"], ["-fiC"], ["-fip"], ["-pfCi"], ["-fa"], ["-ap"],
            ["-aipf"], ["-s"], ["-sfi"], ["-psfiCa"], ["-fir"], ["-R", "-f"], ["-b", "elf64", "-f"])


def settle(ours, program, asked):
    """GNU's name for an inlined function without a linkage name is that of the symbol that it found
    for an earlier address: leaves out what changes when other addresses are no longer asked for."""
    for _ in range(8):
        pairs = zip(asked, answers(program.gnu, program, ["-f", "-i"], asked),
                    answers(ours, program, ["-f", "-i"], asked))
        left = [address for address, theirs, mine in pairs if theirs == mine]
        if left == asked:
            break
        asked = left
    return asked


def sweep(ours, program, count, expected):
    """Yields what is wrong. `expected` are the rules that the program must show."""
    asked = program.addresses(count)
    equal, seen = set(asked), collections.Counter()
    for options in EXPLAINED:
        replies = [answers(tool, program, options, asked)
                   for tool in (program.gnu, ours, "llvm-addr2line-14")]
        for address, *three in zip(asked, *replies):
            rule = explain(program, address, *three, options)
            seen[rule] += 1
            seen["discriminator"] += "(discriminator " in three[0] and rule == "same"
            seen["file of a symbol"] += ".c:?" in three[0] and rule == "same"
            if rule != "same":
                equal.discard(address)
            if rule is None:
                yield "%s %s 0x%x:\nGNU:\n%sours:\n%sLLVM:\n%s" % (
                    program.path, options, address, *three)
    print("%s: %d addresses, %s" % (program.path, len(asked),
                                    ", ".join("%s %d" % pair for pair in seen.most_common())))
    yield from ("%s: nothing shows the rule %s" % (program.path, rule)
                for rule in expected if not seen[rule])
    equal = settle(ours, program, sorted(equal))
    if len(equal) < len(asked) // 5:
        yield "%s: only %d of %d answers are the same" % (program.path, len(equal), len(asked))
    for options in COMBINED:
        if program.gnu != "/usr/bin/addr2line" and "-b" in options:
            continue
        want = ask(program.gnu, program, [o.replace("elf64", "elf64-x86-64") for o in options], equal)
        for as_arguments in (False, True):
            got = ask(ours, program, options, equal, as_arguments)
            if got != want:
                at = next((i for i, (a, b) in enumerate(zip(got.splitlines(), want.splitlines()))
                           if a != b), -1)
                yield "%s %s, arguments %s: line %d differs: %r, GNU %r" % (
                    program.path, options, as_arguments, at, got.splitlines()[at:at + 1],
                    want.splitlines()[at:at + 1])
    # What differs must not depend on the form: the other combinations of all addresses.
    whole = answers(ours, program, ["-f", "-i"], asked)
    if "".join(whole) != ask(ours, program, ["-fi"], asked):
        yield "%s: -a changes answers" % program.path
