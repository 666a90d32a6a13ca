#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a reader of debuggerd's form makes of stdin, as Android's ndk-stack looks at it: nothing before
a banner counts, a frame is "#NN pc HEX  FILE" with blanks before it, notes in parentheses follow."""
import re
import sys

BANNER = "*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***"
FRAME = re.compile(r"^.* +#(?P<number>[0-9]+) +pc (?:0x)?(?P<pc>[0-9a-f]+) +(?P<file>[^ ]+)(?P<tail>.*)$")
FUNCTION = re.compile(r"\((?P<name>.*?)(?:\+(?P<off>[0-9]+))?\)(?: \(BuildId:|$)")
BUILD_ID = re.compile(r"\(BuildId: +([0-9a-f]+)\)")

crashes = frames = 0
for line in sys.stdin:
    line = line.rstrip("\n")
    if BANNER in line:
        crashes, expected = crashes + 1, 0
        print(f"********** Crash dump {crashes}: **********")
        continue
    found = FRAME.match(line) if crashes else None
    if not found:
        continue
    if int(found["number"]) != expected:
        print(f"frame {expected} is missing: {line}")
    expected += 1
    frames += 1
    tail = found["tail"].strip()
    function, build_id = FUNCTION.search(tail), BUILD_ID.search(tail)
    if function and function["name"].startswith("BuildId"):
        function = None
    print(f"  {int(found['pc'], 16):#x} in {found['file']}: function", function and function["name"],
          "+", function and function["off"], "of build", build_id and build_id[1])
print(f"{crashes} crashes, {frames} frames")
