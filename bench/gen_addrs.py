#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gen_addrs.py ELF PREFIX: writes PREFIX.rand.1, .1k, .100k and .1M: random vaddrs inside the functions of
ELF, uniform over their bytes, in hex, one a line; and PREFIX.zipf.1M: 20,000 places, each asked for as
often as samples of a program hit them (Zipf's law, exponent 1.1)."""
import bisect, itertools, random, subprocess, sys


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    elf, prefix = sys.argv[1:]
    random.seed(42)
    found = set()
    text = subprocess.run(["readelf", "-sW", elf], capture_output=True, text=True).stdout
    for row in map(str.split, text.splitlines()):
        if len(row) >= 8 and row[3] in ("FUNC", "IFUNC") and row[6] != "UND" and int(row[2], 0):
            found.add((int(row[1], 16), int(row[2], 0)))
    symbols = sorted(found)
    ends = list(itertools.accumulate(size for _, size in symbols))
    addresses = []
    for _ in range(1000000):
        byte = random.randrange(ends[-1])
        index = bisect.bisect_right(ends, byte)
        vaddr, size = symbols[index]
        addresses.append("0x%x\n" % (vaddr + byte - (ends[index] - size)))
    for name, count in (("1", 1), ("1k", 1000), ("100k", 100000), ("1M", 1000000)):
        with open(f"{prefix}.rand.{name}", "w") as file:
            file.writelines(addresses[:count])
    places = addresses[:20000]
    weights = [1 / rank**1.1 for rank in range(1, len(places) + 1)]
    with open(f"{prefix}.zipf.1M", "w") as file:
        file.writelines(random.choices(places, weights, k=1000000))


main()
