#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sums up what unwind/compare.c wrote: unwind_report.py FOLDER LEAST. A table of programs; exit
status 1 where a difference is none of EXPLAINED or its proof fails, or a program has fewer captures
than LEAST.
"""
import collections
import pathlib
import re
import sys

# Whose next frame must the program have come back to, where it could be asked?
OURS = "ours"      # to ours, and never to libunwind's
LOST = "lost"      # not to ours: we end early, said openly
NOBODY = "nobody"  # to neither: the stack itself is lost
ITSELF = "itself"  # it is not asked: its own test holds our walk against what it knows

# Of which program, which lines, whose proof, and why the two walks differ there.
EXPLAINED = [
    (r"node|java",
     r"^not covered in code made at run time: cairn goes on by (fp|code) guess to .* own 1 \d",
     OURS, "compiled code before or behind its frame: the caller is on top of the stack; libunwind "
     "follows rbp and leaves it out, or ends"),
    (r"node", r"^not covered in node: cairn goes on by (fp|code) guess to .* own 1 0",
     OURS, "V8's built-in code, which lies in node's text without CFI: the same"),
    (r"java", r"^not covered in libjvm.so: cairn goes on by (fp|code) guess to .* own 1 0",
     OURS, "HotSpot's assembly without CFI (SpinPause): the same"),
    (r"(?!odd).*", r"^not covered in \S+: cairn goes on by code guess to ",
     OURS, "code without CFI (_init, PLT), followed to its return; libunwind follows rbp, or ends"),
    (r".*", r"^not covered in libcrypto.so.3: cairn goes on by fp guess to ",
     OURS, "libcrypto's assembly without CFI: the same"),
    (r".*", r"^not covered in libc.so.6: cairn ends \(no rule\) .* leaf libc\.so\.6\+",
     LOST, "padding between glibc's string functions, which one falls through into the next"),
    (r"storm",
     r"^not covered in (nothing|data): cairn ends \(no (rule|module)\) .* leaf libgcc_s\.so\.1\+",
     NOBODY, "libgcc puts the registers of the catching frame over its own saved ones: what CFI "
     "leads to is wild; libunwind follows rbp unchecked"),
    (r"storm", r"^covered: cairn goes on by code guess .* \| at libgcc_s\.so\.1\+",
     ITSELF, "the same, where libgcc's last code before the handler is followed: a guess, marked as "
     "one, right or wrong"),
    (r"odd", r"^not covered in unwind_odd: cairn goes on by (cfi|code guess) to \S+",
     ITSELF, "code without CFI, followed to its return; libunwind follows rbp, or ends"),
    (r"odd", r"^covered: cairn goes on by cfi to unwind_odd\S+( \(\w+\))? \| libunwind goes on to .*"
     r" \| leaf libc\.so\.6\+0x[0-9a-f]+$",
     ITSELF, "longjmp's end, where CFI has the return address in rdx: libunwind 1.6 reads it from "
     "the jmp_buf"),
    (r"odd", r"^covered: cairn goes on by cfi to unwind_odd\S+( \(\w+\))? \| libunwind ends \(0\)"
     r" .*\| at (unwind_odd\+\S+)( \(\w+\))? \| leaf \2",
     ITSELF, "the end of a realigned frame, where GCC 12 names places by an rbp that is gone: "
     "libunwind ends"),
]
FEW = 3  # answers that prove nothing yet, where each is one of two
EARLY = 10  # the same where many come too late: on a busy machine two in three do


def holds(proof, ours, theirs):
    if proof == OURS:
        return theirs == 0
    if proof == LOST:
        return ours == 0
    return proof == ITSELF or ours + theirs == 0


class Reason:
    """Lines with one explanation, and what the program said of them: [ours, theirs, neither, not
    asked]."""

    def __init__(self, proof, text):
        self.proof, self.text, self.n, self.back, self.lines = proof, text, 0, [0] * 4, []

    def add(self, n, line):
        found = re.search(r" \| back (\d+) (\d+) (\d+) (\d+) \| ", line)
        self.n += n
        self.back = [sum(pair) for pair in zip(self.back, map(int, found.groups()))]
        self.lines.append(line)

    def is_sound(self):
        ours, theirs, neither, _ = self.back
        right = ours if self.proof == OURS else None
        enough = right is None or right + neither < EARLY or right >= neither
        return self.proof is not None and enough and holds(self.proof, ours, theirs)

    def show(self):
        ours, theirs, neither, not_asked = self.back
        print(f"    {self.n} {self.text}")
        if self.proof != ITSELF:
            print(f"        came back to ours: {ours}, to libunwind's: {theirs}, to neither in "
                  f"time: {neither}, not asked: {not_asked}")
        if not self.is_sound():
            print("        NOT EXPLAINED, or refuted:")
            for line in self.lines:
                print(f"            {line}")


class Program:
    def __init__(self):
        self.sums, self.reasons = collections.Counter(), {}

    def read(self, name, path):
        head, proofs, *lines = path.read_text(errors="replace").splitlines()
        found = re.match(r"captures (\d+) identical (\d+) frames (\d+) lost (\d+)", head)
        asked = re.match(r"proved (\d+) refuted (\d+) open (\d+)", proofs)
        for key, value in zip(("captures", "identical", "frames", "lost", "proved", "refuted",
                               "open"), found.groups() + asked.groups()):
            self.sums[key] += int(value)
        for line in lines:
            count, text = line.split(" ", 1)
            proof, why = next(((proof, why) for program, pattern, proof, why in EXPLAINED
                               if re.fullmatch(program, name) and re.search(pattern, text)),
                              (None, "differ"))
            self.reasons.setdefault((proof, why), Reason(proof, why)).add(int(count), text)

    def show(self, name, least):
        """Whether all is well."""
        sums = self.sums
        print(f"{name}: {sums['captures']} captures, {sums['identical']} identical; "
              f"{sums['frames'] / sums['captures']:.1f} frames; of the same frames, "
              f"{sums['proved']} came back, {sums['refuted']} did not, {sums['open']} not in time")
        reasons = sorted(self.reasons.values(), key=lambda r: -r.n)
        for reason in reasons:
            reason.show()
        few = sums["captures"] < least
        if few:
            print(f"    too few captures: at least {least}")
        if sums["refuted"] > max(FEW, sums["proved"]):
            print("    the program does not return as both say")
            return False
        return not few and not sums["lost"] and all(reason.is_sound() for reason in reasons)


def main():
    folder, least = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    programs = {}
    for path in sorted(folder.iterdir()):
        if found := re.fullmatch(r"(\w+)\.\d+", path.name):
            programs.setdefault(found[1], Program()).read(found[1], path)
    fine = [program.show(name, least) for name, program in programs.items()]
    return not fine or not all(fine)


sys.exit(main())
