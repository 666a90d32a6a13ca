#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the times of a raw profile's samples: record_times.py FILE.pb.gz BEFORE_NS AFTER_NS."""
import gzip
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            sys.exit(f"wire type {key & 7}")
        yield key >> 3, value


def packed(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def main():
    with gzip.open(sys.argv[1]) as file:
        top = list(fields(file.read()))
    before, after = int(sys.argv[2]), int(sys.argv[3])
    strings = [value.decode() for field, value in top if field == 6]
    begin = next(value for field, value in top if field == 9)
    times = []
    for field, sample in top:
        if field != 2:
            continue
        parts = list(fields(sample))
        counts = [value for number, value in parts if number == 2]
        counts = packed(counts[0]) if isinstance(counts[0], bytes) else counts
        if counts[0] != 1:
            sys.exit(f"a sample stands for {counts[0]}")
        labels = [dict(fields(value)) for number, value in parts if number == 3]
        when = [one for one in labels if strings[one[1]] == "cairn.time_ns"]
        if len(when) != 1 or strings[when[0].get(4, 0)] != "nanoseconds":
            sys.exit(f"labels {labels}")
        times.append(when[0][3])
    if len(times) < 100 or not before <= begin <= min(times) <= max(times) <= after:
        sys.exit(f"{len(times)} samples; {before} {begin} {min(times)} {max(times)} {after}")
    if len(set(times)) < len(times) * 9 // 10:
        sys.exit(f"{len(set(times))} times of {len(times)} samples")
    print(f"{len(times)} samples in {(max(times) - min(times)) / 1e9:.2f} s")


main()
