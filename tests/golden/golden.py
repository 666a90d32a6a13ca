#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden cases: golden.py FOLDER COMMAND.

A case is two files anywhere below FOLDER: NAME.cmd, shell lines that are run in that folder with
CAIRN set to the command and TMP to an empty folder, and NAME.expect, what they print on stdout and
stderr together, with a last line "exit status N" where N is not 0. What they read lies beside them.
CAIRN_BLESS=1 writes NAME.expect anew: look at the difference before you commit it.
"""
import difflib
import os
import pathlib
import subprocess
import sys
import tempfile


def run_case(case, command):
    with tempfile.TemporaryDirectory(prefix="cairn-golden.") as tmp:
        env = dict(os.environ, CAIRN=command, TMP=tmp, LC_ALL="C.UTF-8", TZ="UTC",
                   XDG_CACHE_HOME=tmp + "/.cache")
        env.pop("COLUMNS", None)
        done = subprocess.run(["sh", "-u", case.name], cwd=case.parent, env=env, timeout=60,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    out = done.stdout.replace(tmp.encode(), b"TMP")
    if done.returncode:
        out += b"exit status %d\n" % done.returncode
    return out


def main():
    folder, command = pathlib.Path(sys.argv[1]).resolve(), os.path.abspath(sys.argv[2])
    passed = failed = 0
    for case in sorted(folder.rglob("*.cmd")):
        expect = case.with_suffix(".expect")
        out = run_case(case, command)
        if os.environ.get("CAIRN_BLESS") == "1":
            expect.write_bytes(out)
        wanted = expect.read_bytes() if expect.exists() else b""
        if out == wanted:
            passed += 1
            continue
        failed += 1
        print(f"FAILED: {case.relative_to(folder)}")
        sys.stdout.writelines(difflib.unified_diff(
            wanted.decode(errors="replace").splitlines(keepends=True),
            out.decode(errors="replace").splitlines(keepends=True), "expected", "printed"))
    print(f"[  PASSED  ] {passed} test(s).")
    if failed:
        print(f"[  FAILED  ] {failed} test(s).")
    if passed + failed == 0:
        print("there is no golden case")
    return failed > 0 or passed == 0


sys.exit(main())
