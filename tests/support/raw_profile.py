#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a profile of addresses without names: raw_profile.py OUT PATH,BUILDID,VADDR,COUNT...

Each module is mapped whole, 16 MB behind the one before it, and has one sample.
"""
import gzip
import sys

from pprof_encode import message, number, packed, text

strings = ["", "samples", "count"]
samples, mappings, locations = [], [], []
for index, row in enumerate(sys.argv[2:], 1):
    path, build_id, vaddr, count = row.split(",")
    start = 0x555555554000 + (index << 24)
    strings += [path, build_id]
    samples.append(message(2, packed(1, index), packed(2, int(count))))
    mappings.append(message(3, number(1, index), number(2, start), number(3, start + 0x10000),
                            number(5, len(strings) - 2), number(6, len(strings) - 1)))
    locations.append(message(4, number(1, index), number(2, index), number(3, start + int(vaddr, 16))))
body = b"".join([message(1, number(1, 1), number(2, 2)), *samples, *mappings, *locations,
                 *(text(6, string) for string in strings)])
with gzip.open(sys.argv[1], "wb") as out:
    out.write(body)
