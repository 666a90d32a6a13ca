# SPDX-License-Identifier: MIT
"""Checks of a script that say what is wrong and go on, as tests/support/e2e_lib.sh has them."""
import functools
import os
import subprocess
import sys

failures, checks = 0, 0


def check(right, what, *more):
    global failures, checks
    checks += 1
    if not right:
        failures += 1
        print("FAIL:", what, *more)


def run(*words, status=0):
    """Runs a command that must end with this status."""
    done = subprocess.run([str(word) for word in words], text=True, errors="replace", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    check(done.returncode == status, f"{' '.join(map(str, words))}: status {done.returncode}", done.stderr)
    return done


def skip(reason):
    """Leaves out the rest of the script. What failed before stays failed."""
    print("skipped:", reason)
    sys.exit(1 if failures else 77)


def finish(text):
    print(f"{failures} failures" if failures else f"{checks} checks: {text}")
    sys.exit(failures != 0)


@functools.cache
def under_asan():
    """Whether AddressSanitizer is in the command. It reserves terabytes of addresses, has memory of
    its own, and takes about three times the CPU."""
    with open(os.environ["CAIRN"], "rb") as command:
        return b"__asan_init" in command.read()
