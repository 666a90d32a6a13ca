#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names that a target chose are shown harmless: no escape sequence for a terminal, no HTML, no further
line, and JSON stays JSON. Thread names, programs, modules, functions, heap states, command lines."""
import json
import os
import subprocess
import xml.etree.ElementTree

from checks import check, finish, skip
from hostile import CAIRN, Run, as_eve, give, setup

EVIL = "a\x1b]0;owned\x07\x1b[2J<script>alert(1)</script>\"'&\n;fake 99\r\u202eb\x9bm"
THREAD = b"\x1b[2J<b>\"\n;x\xff"
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int go = 1;
__attribute__((noinline)) int evil(void) __asm__("\"PLACE\"");
int evil(void) { while (go) ; return go; }
static void *run(void *name) { prctl(PR_SET_NAME, name); evil(); return NULL; }
static void *rest(void *name) { prctl(PR_SET_NAME, name); pause(); return NULL; }
int main(int argc, char **argv)
{
    pthread_t t;
    static char name[16];
    static void *volatile kept;
    (void)argc;
    snprintf(name, sizeof name, "%s", argv[1]);
    kept = malloc(12345);
    pthread_create(&t, NULL, run, name);
    pthread_create(&t, NULL, rest, name);
    printf("up\n");
    fflush(stdout);
    sleep(300);
    return kept == 0;
}
"""
BAD = [b"\x1b", b"\x07", b"\x9bm", b"\r", "\u202e".encode()]


def harmless(what, data):
    for byte in BAD:
        at = data.find(byte)
        # C1 controls are single bytes only outside of UTF-8 sequences.
        check(at < 0, f"{what}: {byte!r}", repr(data[max(0, at - 80):at + 80]))
    check(b"<script>alert" not in data or what.endswith((".txt", "text", ".json")),
          f"{what}: HTML is not escaped")


setup("gcc")
here = os.path.join("eve", EVIL.replace("/", "_"))
os.mkdir(here)
with open("evil.c", "w", encoding="utf-8") as file:
    file.write(PROGRAM.replace("PLACE", r"f\\033[2J<script>alert(1)</script>"))
built = subprocess.run(["gcc", "-O1", "-g", "-pthread", "-no-pie", "evil.c", "-o", "evil"], check=False,
                       capture_output=True)
if built.returncode:
    with open("evil.c", "w", encoding="utf-8") as file:
        file.write(PROGRAM.replace(r'__asm__("\"PLACE\"")', ""))
    if subprocess.run(["gcc", "-O1", "-g", "-pthread", "-no-pie", "evil.c", "-o", "evil"], check=False).returncode:
        skip("gcc refused the program")
program = os.path.join(here, "pr\x1b[31mog")
os.rename("evil", program)
give(here, program)
target = as_eve(program, THREAD, stdout=subprocess.PIPE)
target.stdout.readline()
pid = str(target.pid)
try:
    for words in (["stack", pid], ["stack", "--why", pid], ["stack", "--regs", pid],
                  ["stack", "--merge", pid], ["stack", "-n", "3", pid], ["doctor", pid]):
        run = Run(*words)
        check(run.status == 0, f"{words}: status", run)
        with open("out", "rb") as out, open("err", "rb") as err:
            harmless(f"{words} text", out.read() + err.read())
    for words in (["stack", "--json", pid], ["doctor", "--json", pid]):
        run = Run(*words)
        with open("out", "rb") as out:
            data = out.read()
        try:
            json.loads(data)
            check(True, "")
        except ValueError as error:
            check(False, f"{words}: no JSON", error)
        check(b"\x1b" not in data, f"{words}: an escape in JSON")
    for ending in ("html", "svg", "txt", "pb.gz", "json"):
        name = f"o.{ending}"
        run = Run("record", "-p", pid, "-d", "1", "--force", "-o", name)
        if ending == "json" and run.status:
            continue
        check(run.status == 0, f"record {ending}", run)
        with open("err", "rb") as err:
            harmless("record text", err.read())
        with open(name, "rb") as out:
            data = out.read()
        if ending in ("html", "svg", "txt"):
            harmless(name, data)
        if ending == "svg":
            try:
                xml.etree.ElementTree.fromstring(data)
            except xml.etree.ElementTree.ParseError as error:
                check(False, "o.svg is no XML", error)
    for words in (["report", "o.pb.gz"], ["report", "--tree", "o.pb.gz"], ["diff", "o.pb.gz", "o.pb.gz"],
                  ["report", "--json", "o.pb.gz"], ["convert", "o.pb.gz", "--force", "-o", "o2.txt"]):
        run = Run(*words)
        with open("out", "rb") as out, open("err", "rb") as err:
            harmless(f"{words} text", out.read() + err.read())
finally:
    target.kill()
    target.wait()
target = subprocess.Popen([CAIRN, "heap", "run", "-o", "e2.heap", "--", "timeout", "-s", "INT", "2", program,
                           "x\x1b[2J"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
said = target.communicate()[1]
harmless("heap run text", said)
if not os.path.exists("e2.heap") and b"libcairn-heap" in said:
    skip("names in a heap state: no tracker here")  # the rest of the script
check(os.path.exists("e2.heap"), "heap run left no state", said)
for words in (["heap", "report", "e2.heap"], ["heap", "leaks", "e2.heap"], ["report", "e2.heap"]):
    run = Run(*words)
    check(run.status == 0, f"{words}: status", run)
    with open("out", "rb") as out, open("err", "rb") as err:
        harmless(f"{words} text", out.read() + err.read())
finish("no name reaches a terminal, a page or a parser as anything but a name")
