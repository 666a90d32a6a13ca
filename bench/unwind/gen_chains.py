#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the functions whose stacks bench/unwind/local.c captures: gen_chains.py FOLDER.

lib0.c to lib2.c, for three shared libraries: a chain of 64 functions, each of which calls the next
one in another library and every sixteenth by way of libc's qsort; and 768 functions that call one
of four others at random. They differ in what they save and in how much they keep on the stack.
tables.c has their addresses.
"""
import pathlib
import random
import sys

N_CHAIN, N_WALK, N_LIBRARIES = 64, 768, 3
LOCALS = [0, 0, 2, 5, 12, 40]  # words on the stack
SAVED = [0, 1, 2, 4, 5]        # values that live over the call
VALUES = ["a", "b", "d", "a * 3 + b", "b * 5 + d"]

HEAD = """#include <stdlib.h>
struct walk { long depth; void (*leaf)(struct walk *); unsigned seed; long sum; };
typedef long (*step_fn)(struct walk *, long, long, long);
"""
TABLES = f"extern step_fn chain[{N_CHAIN + 1}], steps[{N_WALK}];\n"


def frame(dice):
    """Declarations, and what is added to the result so that they stay alive."""
    n_locals, n_saved = dice.choice(LOCALS), dice.choice(SAVED)
    text = f"    volatile long local[{n_locals}]; local[0] = a; local[{n_locals} - 1] = b;\n" if n_locals else ""
    text += "".join(f"    long t{i} = {VALUES[i]} + w->sum * {i + 2};\n" for i in range(n_saved))
    kept = [f"t{i}" for i in range(n_saved)] + (["local[0]"] if n_locals else [])
    return text, " + ".join(kept or ["1"])


def chain_function(dice, k):
    text, kept = frame(dice)
    head = f"long f{k}(struct walk *w, long a, long b, long d)\n{{\n{text}"
    head += f"    if (w->depth <= {k + 1}) {{ w->leaf(w); return a + b; }}\n"
    if k % 16 != 15:
        return head + f"    long r = chain[{k + 1}](w, a + 1, b + 2, d + 3);\n    return r + {kept};\n}}\n"
    compare = (f"static int compare{k}(const void *x, const void *y)\n{{\n    (void)y;\n"
               f"    return (int)chain[{k + 1}](current, *(const long *)x, 2, 3) & 1 ? 1 : -1;\n}}\n")
    return compare + head + (f"    long v[2] = {{a, b}};\n    current = w;\n"
                             f"    qsort(v, 2, sizeof *v, compare{k});\n    return v[0] + {kept} + d;\n}}\n")


def walk_function(dice, k):
    text, kept = frame(dice)
    calls = "".join(f"    case {i}: r = steps[{dice.randrange(N_WALK)}](w, {a}, {i}) + {i}; break;\n"
                    for i, a in enumerate(["a, b", "b, a", "d, a", "d, b"]))
    return (f"long s{k}(struct walk *w, long a, long b, long d)\n{{\n{text}    long r = 0;\n"
            "    if (--w->depth <= 0) { w->leaf(w); return a + b; }\n"
            "    w->seed = w->seed * 1664525u + 1013904223u;\n"
            f"    switch (w->seed >> 20 & 3) {{\n{calls}    }}\n    return r + {kept};\n}}\n")


def main():
    folder, dice = pathlib.Path(sys.argv[1]), random.Random(7)
    for library in range(N_LIBRARIES):
        text = HEAD + TABLES + "static __thread struct walk *current;\n"
        text += "".join(chain_function(dice, k) for k in range(library, N_CHAIN, N_LIBRARIES))
        text += "".join(walk_function(dice, k) for k in range(library, N_WALK, N_LIBRARIES))
        (folder / f"lib{library}.c").write_text(text)
    arguments = "(struct walk *, long, long, long)"
    text = HEAD + "".join(f"long f{k}{arguments};\n" for k in range(N_CHAIN))
    text += "".join(f"long s{k}{arguments};\n" for k in range(N_WALK))
    text += f"step_fn chain[] = {{{', '.join(f'f{k % N_CHAIN}' for k in range(N_CHAIN + 1))}}};\n"
    text += f"step_fn steps[] = {{{', '.join(f's{k}' for k in range(N_WALK))}}};\n"
    (folder / "tables.c").write_text(text)


main()
