#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gen_flame.py LINES OUT: collapsed stacks, all different, with deep shared prefixes, 6000 function names
and 8 to 32 frames: what makes flame graph tools slow. Same arguments, same bytes."""
import random, sys


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    random.seed(7)
    names = [f"ns{index % 37}::fn{index}" for index in range(6000)]
    draw, stack, seen, left = random.random, [], set(), int(sys.argv[1])
    with open(sys.argv[2], "w") as file:
        while left:
            stack = stack[:min(len(stack), int(random.triangular(2, 32, 20)))]
            depth = max(8, min(32, int(random.gauss(18, 5))))
            stack = stack[:depth]
            while len(stack) < depth:
                stack.append(names[int(draw() * draw() * 6000)])
            key = hash(tuple(stack))
            if key in seen:
                continue
            seen.add(key)
            left -= 1
            file.write(f"_start;main;{';'.join(stack)} {1 + int(draw() * 50)}\n")


main()
