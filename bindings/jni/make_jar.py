#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles Java sources into a jar: make_jar.py JAVAC JAR OUT_JAR WORK_FOLDER SOURCE..."""
import os
import shutil
import subprocess
import sys


def main():
    javac, jar, out, work, *sources = sys.argv[1:]
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    # Java 8, which Android from API level 21 on reads.
    subprocess.run([javac, "--release", "8", "-Xlint:-options", "-encoding", "UTF-8", "-d", work, *sources], check=True)
    subprocess.run([jar, "cf", out, "-C", work, "."], check=True)


main()
