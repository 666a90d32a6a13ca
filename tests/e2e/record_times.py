#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the times of a raw profile's samples: record_times.py FILE.pb.gz BEFORE_NS AFTER_NS."""
import sys

from pprof_decode import Profile


def main():
    profile = Profile(sys.argv[1])
    before, after = int(sys.argv[2]), int(sys.argv[3])
    times = []
    for sample in profile.samples:
        if sample.values[0] != 1:
            sys.exit(f"a sample stands for {sample.values[0]}")
        if sample.units.get("cairn.time_ns") != "nanoseconds":
            sys.exit(f"labels {sample.labels}")
        times.append(sample.labels["cairn.time_ns"])
    if len(times) < 100 or not before <= profile.time_ns <= min(times) <= max(times) <= after:
        sys.exit(f"{len(times)} samples; {before} {profile.time_ns} {min(times)} {max(times)} {after}")
    if len(set(times)) < len(times) * 9 // 10:
        sys.exit(f"{len(set(times))} times of {len(times)} samples")
    print(f"{len(times)} samples in {(max(times) - min(times)) / 1e9:.2f} s")


main()
