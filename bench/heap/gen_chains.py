#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gen_chains.py FILE: the functions that allocbench.c calls through. f0 to f32: each calls the one before from
either of two places, as a bit of `path` says. g0 to g6: four of each, with frames of different sizes, of which
two bits say which is called."""
import random, sys

out = ["typedef void (*leaf_fn)(void *);", "#define APART __attribute__((noinline)) static",
       "APART void f0(leaf_fn leaf, void *arg, unsigned path) { (void)path; leaf(arg); __asm__ volatile(\"\" ::: \"memory\"); }"]
for i in range(1, 33):
    call = f"f{i - 1}(leaf, arg, path >> 1)"
    out.append(f"""APART void f{i}(leaf_fn leaf, void *arg, unsigned path)
{{
    if (path & 1) {{ __asm__ volatile("# {i}a"); {call}; __asm__ volatile("# {i}b" ::: "memory"); }}
    else {{ __asm__ volatile("# {i}c"); {call}; __asm__ volatile("# {i}d" ::: "memory"); }}
}}""")
out.append("static void (*const chains[])(leaf_fn, void *, unsigned) = {" + ", ".join(f"f{i}" for i in range(33)) + "};")
out.append("struct sized { leaf_fn leaf; void *arg; unsigned path; };\ntypedef void (*sized_fn)(struct sized *);")
out.append("APART void g0_0(struct sized *x) { x->leaf(x->arg); __asm__ volatile(\"\" ::: \"memory\"); }")
out.append("static const sized_fn g0[4] = {g0_0, g0_0, g0_0, g0_0};")
random.seed(3)
for i in range(1, 7):
    for k in range(4):
        size = 8 + 16 * random.randrange(11)
        out.append(f"""APART void g{i}_{k}(struct sized *x)
{{
    char room[{size}];
    __asm__ volatile("# {i} {k}" ::"r"(room) : "memory");
    unsigned which = x->path & 3;
    x->path >>= 2;
    g{i - 1}[which](x);
    __asm__ volatile("# {i} {k} back" ::"r"(room) : "memory");
}}""")
    out.append(f"static const sized_fn g{i}[4] = {{" + ", ".join(f"g{i}_{k}" for k in range(4)) + "};")
out.append("""APART void g_entry(void *arg)
{
    struct sized *x = arg;
    unsigned which = x->path & 3;
    x->path >>= 2;
    g6[which](x);
    __asm__ volatile("" ::: "memory");
}""")
open(sys.argv[1], "w").write("\n".join(out) + "\n")
