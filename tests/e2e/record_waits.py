#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds times off the CPU of a raw profile: record_waits.py FILE.pb.gz BEFORE_NS AFTER_NS N NS.

Each is one wait, within the recording from its begin to its end; those of one thread come one after
the other; and at least N took NS.
"""
import collections
import sys

from pprof_decode import Profile


def main():
    profile = Profile(sys.argv[1])
    before, after, wanted, long_ns = map(int, sys.argv[2:6])
    threads = collections.defaultdict(list)
    for sample in profile.samples:
        labels = sample.labels
        if sample.values[0] != 1 or sample.units.get("cairn.time_ns") != "nanoseconds":
            sys.exit(f"{sample.values} {labels}")
        threads[labels["tid"]].append((labels["cairn.time_ns"], sample.values[1]))
    n_long = 0
    for waits in threads.values():
        end_ns = max(before, profile.time_ns)
        for begin_ns, ns in sorted(waits):
            if not end_ns <= begin_ns <= begin_ns + ns <= after:
                sys.exit(f"{end_ns} {begin_ns} {ns} {after}")
            end_ns = begin_ns + ns
            n_long += ns >= long_ns
    if n_long < wanted:
        sys.exit(f"{n_long} waits of {long_ns} ns, expected {wanted}")
    print(f"{n_long} of {sum(map(len, threads.values()))} waits took {long_ns} ns")


main()
