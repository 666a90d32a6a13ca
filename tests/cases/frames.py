#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Reads what `cairn symbolize --json` prints; writes one line per address, innermost frame first:
   0x1234 leaf(int) a.c:3 < main a.c:9 .cold +folded"""
import json
import os
import sys

for line in sys.stdin:
    answer = json.loads(line)
    frames = []
    for frame in answer["frames"]:
        text = frame["function"] or "??"
        if frame["file"]:
            text += " %s:%d" % (os.path.basename(frame["file"]), frame["line"])
        if frame["suffix"]:
            text += " ." + frame["suffix"]
        if frame["folded"]:
            text += " +folded"
        frames.append(text)
    if answer["state"] != "named":
        frames.append("(" + answer["state"] + ")")
    print(answer["address"], " < ".join(frames))
