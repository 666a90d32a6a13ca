#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cairn in place of addr2line, beside GNU's own: the same bytes for every option, question and
complaint, but for what addr2line_compare.py lists. Works in an empty folder, with links to CAIRN."""
import os
import re
import select
import shutil
import subprocess
import sys

sys.path.insert(0, os.environ["SRC"] + "/tests/e2e")
import addr2line_compare as compare  # noqa: E402

GNU = "/usr/bin/addr2line"
OURS = os.path.abspath("bin/addr2line")
wrong = []

SOURCE = """
#include "header.h"
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>
namespace {
__attribute__((noinline)) int hidden(int x)
{
    for (int i = 0; i < x; i++)
        x += i & 1 ? puts("odd") : -2;
    if (x == 4711)
        throw std::runtime_error("cold");
    return x;
}
inline __attribute__((always_inline)) int unseen(int x) { return puts("unseen") + x; }
struct Counter {
    std::vector<int> seen;
    Counter(int n) { for (int i = 0; i < n; i++) seen.push_back(in_header(i)); }
    __attribute__((noinline)) int sum() const { int s = 0; for (int x : seen) s += x; return s; }
};
}
static inline __attribute__((always_inline)) int leaf(int x) { return x + puts("leaf"); }
int outer(int x)
{
    auto twice = [&](int y) { return leaf(x) * 2 + hidden(y) + unseen(y); };
    return twice(x) + twice(x + 1);
}
template <class T> __attribute__((noinline)) T larger(T a, T b) { return a < b ? b : a; }
int main(int c, char **v)
{
    std::string name(v[0]);
    Counter counter(c + (int)name.size());
    int table[3] = {c, outer(c), counter.sum()};
    return larger(table[c % 3], 7) + (int)larger(1.5, (double)c);
}
"""
HEADER = """
static inline int in_header(int x)
{
    return x * x + 1;
}
"""

# Questions as they come on stdin: what is no address, and what is one in an odd way.
QUESTIONS = [
    b"%x", b"0x%x", b"0X%X", b" %x", b"\t%x", b"%x ", b"%x\r", b"%xz", b"%x zz", b"%x,5", b"%x+4",
    b"%x-1", b"\v%x\f", b"0000000000000000000000%x", b"%x\0zz", b",", b"", b" ", b"-1", b"+4",
    b"-%x", b"- 5", b"--5", b"0", b"0x", b"x%x", b"g", b"Garbage", b"face", b"FACE", b"zz",
    b"ffffffffffffffff", b"10000000000000000", b"11112222333344445555", b"7fffffffffff", b"\0",
    b"main", b" main", b"main+4", b"main +4", b"main+0x4", b"main+010", b"main+", b"main+zz",
    b"main+-18446744073709551615", b"main-4", b"main extra", b"4+main", b"_Z5outeri", b"_Z5outeri+0x1", b"outer",
    b"outer(int)", b"outer(int)+1", b"hidden", b"nosuch", b"nosuch+5", b"add", b"add+1", b".text",
    b"deregister_tm_clones", b"\xff\xfe", b"@x", b"(", b"::", b" " * 94 + b"%x", b" " * 98 + b"%x",
    b"0" * 97 + b"%x", b"0" * 300 + b"%x", b"a" * 99, b"a" * 100, b"a" * 5000,
]


def expect(what, got, want):
    if got != want:
        wrong.append("%s: %r, expected %r" % (what, got, want))


def run(tool, *words, stdin=b"", env=None):
    done = subprocess.run([tool, *words], input=stdin, capture_output=True, timeout=60,
                          env=dict(os.environ, **(env or {})))
    return done.returncode, done.stdout, done.stderr.replace(tool.encode() + b":", b"addr2line:")


def build():
    open("prog.cc", "w").write(SOURCE)
    open("header.h", "w").write(HEADER)
    programs = {
        "gcc5": "g++ -O2 -g -gdwarf-5",
        "gcc4-exec": "g++ -O1 -g -gdwarf-4 -no-pie -fno-pie",
        "gcc0": "g++ -O0 -g",
        "clang5-lld": "clang++-14 -O2 -g -gdwarf-5 -fuse-ld=lld",
        "clang4": "clang++-14 -O2 -g -gdwarf-4",
    }
    for name, command in programs.items():
        subprocess.run([*command.split(), "prog.cc", "-o", name], check=True)
    for command in ("strip --strip-debug -o nodebug gcc5", "strip -o stripped gcc5",
                    "objcopy --only-keep-debug gcc5 linked.debug",
                    "objcopy --strip-all --add-gnu-debuglink=linked.debug gcc5 linked",
                    "objcopy --compress-debug-sections=zlib-gabi gcc5 zlib"):
        subprocess.run(command.split(), check=True)
    os.makedirs("bin")
    os.symlink(os.environ["CAIRN"], OURS)


def check_programs():
    rules = {"gcc5": ["names", "stub", "file of a symbol"], "gcc0": ["discriminator"],
             "clang5-lld": ["inline frames"]}
    for name in ("gcc5", "gcc4-exec", "gcc0", "clang5-lld", "clang4", "nodebug", "stripped", "linked",
                 "zlib"):
        wrong.extend(compare.sweep(OURS, compare.Program(name), 300, rules.get(name, [])))
    for target in ("aarch64-linux-gnu", "arm-linux-gnueabihf"):
        if not shutil.which(target + "-gcc") or not shutil.which(target + "-addr2line"):
            print("skipped: %s: no cross compiler" % target)
            continue
        with open("small.c", "w") as source:
            for i in range(40):
                source.write("int f%d(int n)\n{\n    int s = %d;\n    s *= n - 7;\n"
                             "    return s ^ n >> 2;\n}\n" % (i, i))
        subprocess.run([target + "-gcc", "-O2", "-g", "-shared", "-fPIC", "small.c", "-o", target],
                       check=True)
        program = compare.Program(target, "/usr/bin/" + target + "-addr2line")
        wrong.extend(compare.sweep(OURS, program, 200, []))


OBJECT = """
static inline __attribute__((always_inline)) int inlined(int x) { return x * 7 ^ 3; }
__attribute__((noinline)) int first(int x)
{
    return inlined(x) + 1;
}
int second(int x)
{
    for (int i = 0; i < x; i++)
        x += first(i);
    return x;
}
__attribute__((section(".init.text"))) int init(int x)
{
    return first(x) + inlined(x);
}
"""


def check_objects():
    """Relocatable files: each section begins at 0, and all of them are asked in turn, or that of -j."""
    open("object.c", "w").write(OBJECT)
    compilers = [("gcc", GNU), ("clang-14", GNU), ("gcc -m32", GNU), ("gcc -gz", GNU),
                 ("clang-14 -gdwarf-4", GNU)]
    for target in ("aarch64-linux-gnu", "arm-linux-gnueabihf"):
        if shutil.which(target + "-gcc") and shutil.which(target + "-addr2line"):
            compilers.append((target + "-gcc", target + "-addr2line"))
        else:
            print("skipped: %s: no cross compiler" % target)
    n = 0
    for command, gnu in compilers:
        for flags in ("-O2 -g", "-O2 -g -ffunction-sections", "-O0 -g"):
            subprocess.run([*command.split(), *flags.split(), "-c", "object.c", "-o", "one.o"], check=True)
            gaps = asks_of_object("one.o")
            for section, addresses in gaps.items():
                words = ["-e", "one.o", "-fia", *(["-j", section] if section else [])]
                stdin = b"".join(b"%x\n" % address for address in addresses)
                got, want = run(OURS, *words, stdin=stdin)[1], run(gnu, *words, stdin=stdin)[1]
                expect("%s %s %s" % (command, flags, section), got.replace(b"??:?", b"??:0"),
                       want.replace(b"??:?", b"??:0"))
                n += len(addresses)
    print("relocatable files: %d addresses" % n)
    expect("an address of no section", run(OURS, "-fe", "one.o", "ffffff")[1], b"??\n??:0\n")
    for words in ("-fae one.o first", "-fae one.o second", "-fe one.o -j .init.text init"):
        expect(words, run(OURS, *words.split())[1], run(gnu, *words.split())[1])


def asks_of_object(path):
    """Section ("": none is named) -> the addresses that lie in functions, of which GNU and we think the
    same: without -j the first section that is long enough answers."""
    text = subprocess.run(["readelf", "-SsW", path], capture_output=True, text=True).stdout
    number, spans = {}, {}
    for line in text.replace("[ ", "[").splitlines():
        word = line.split()
        if len(word) > 8 and word[0].startswith("[") and "AX" in word[7]:
            number[word[0].strip("[]")] = word[1]
        elif len(word) == 8 and word[3] == "FUNC":
            low, size = int(word[1], 16) & ~1, int(word[2], 0)
            spans.setdefault(number[word[6]], set()).update(range(low, low + size))
    return {**spans, "": next(iter(spans.values()))} if len(spans) == 1 or ".text" in spans else spans


def check_questions():
    symbols = subprocess.run(["nm", "gcc0"], capture_output=True, text=True, check=True).stdout
    start = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" _Z5outeri"))
    for question in QUESTIONS:
        if b"%" in question:
            question %= start
        for options in (["-a", "-f"], ["-p", "-f", "-a"], []):
            want = run(GNU, "-e", "gcc0", *options, stdin=question + b"\n")
            expect("stdin %r %s" % (question, options),
                   run(OURS, "-e", "gcc0", *options, stdin=question + b"\n"), want)
            if b"\0" not in question:
                want = run(GNU, "-e", "gcc0", *options, "--", question)
                expect("argument %r %s" % (question, options),
                       run(OURS, "-e", "gcc0", *options, "--", question), want)
    for stdin in (b"%x" % start, b"", b"\n", b"\n\n%x" % start, b"main\nmain", b"%x\n%x" % (start, start)):
        expect("stdin %r" % stdin, run(OURS, "-e", "gcc0", "-fa", stdin=stdin),
               run(GNU, "-e", "gcc0", "-fa", stdin=stdin))
    many = b"".join(b"%x\n,\n" % (start + i % 64) for i in range(30000))
    expect("30000 questions", run(OURS, "-e", "gcc0", "-fs", stdin=many)[1].count(b"\n"), 120000)
    for section, at in ((".text", 0x100), (".text", 0), (".text", 0xffffff), (".data", 0), (".bss", 0)):
        got, want = (run(tool, "-fsa", "-j", section, "-e", "nodebug", "%x" % at)[1]
                     for tool in (OURS, GNU))
        if not section == ".text":  # data has no function with us
            want = b"0x%016x\n??\n??:0\n" % at
        expect("-j %s %x" % (section, at), got.replace(b"??:?", b"??:0"), want.replace(b"??:?", b"??:0"))
    text = next(low for low, _, name in compare.Program("gcc0").code if name == ".text")
    expect("-j .text", run(OURS, "-fi", "-j", ".text", "-e", "gcc0", "%x" % (start - text)),
           run(OURS, "-fi", "-e", "gcc0", "%x" % start))


def check_options():
    open("options", "w").write("-f -e 'gcc5'\n\t\"main\" ma\\in+4\n")
    open("more", "w").write("@options -s")
    os.symlink("gcc5", "with blank")
    open("quoted", "w").write("--exe='with blank' -f \"main\"")
    os.makedirs("default")
    shutil.copy("gcc5", "default/a.out")
    for words in (
            "-e gcc5 main", "-egcc5 main", "--exe gcc5 main", "--exe=gcc5 main", "--ex gcc5 main",
            "--e=gcc5 main", "main -e gcc5", "main -f -e gcc5", "-fie gcc5 main", "-Cfie gcc5 main",
            "-f -C -i -p -a -s -e gcc5 main", "--functions --inlines -e gcc5 main+8",
            "--func --inl --pretty --addr --base --dem -e gcc5 main", "--demangle=auto -fe gcc5 main",
            "--demangle=gnu-v3 -fe gcc5 _Z5outeri", "--demangle=none -fe gcc5 _Z5outeri",
            "-C --demangle=none -fe gcc5 _Z5outeri", "--no-recurse-limit -fe gcc5 main",
            "--no-rec -fe gcc5 main", "--recurse-limit -fe gcc5 main", "--recursion -fe gcc5 main",
            "--target=elf64-x86-64 -e gcc5 main", "-e nowhere -e gcc5 main", "-e gcc5 -- main",
            "-e gcc5 -- -f main", "@options", "@more", "@quoted", "-e gcc5 @nowhere",
            "-fe gcc5 -j .init 0", "--section=.text -fe nodebug ffffff"):
        expect(words, run(OURS, *words.split()), run(GNU, *words.split()))
    posix = {"POSIXLY_CORRECT": "1"}
    expect("POSIXLY_CORRECT", run(OURS, "main", "-e", "gcc5", env=posix),
           run(GNU, "main", "-e", "gcc5", env=posix))
    here = os.getcwd()
    os.chdir("default")
    expect("a.out", run(OURS, "-f", "main"), run(GNU, "-f", "main"))
    os.chdir(here)
    for words in ("-h", "-H", "--help", "--hel", "-v", "-V", "--version"):
        code, out, err = run(OURS, words)
        expect(words, (code, err, b"cairn" in out), (0, b"", True))


def check_refusals():
    open("empty", "w").close()
    open("text", "w").write("no ELF file\n")
    open("short", "wb").write(open("gcc5", "rb").read(40))
    subprocess.run(["g++", "-g", "-c", "prog.cc", "-o", "object.o"], check=True)
    subprocess.run(["ar", "rc", "lib.a", "object.o"], check=True)
    os.mkfifo("pipe")
    os.symlink("loop", "loop")
    for words in ("0", "-e nowhere 0", "-e . 0", "-e text 0", "-e /dev/null 0", "-e lib.a 0", "-e loop 0",
                  "-e pipe 0", "-e gcc5 -j .nosuch 0", "-e gcc5 --demangle=nosuch 0", "-e nowhere/x 0",
                  "-e text/x 0"):
        expect(words, run(OURS, *words.split()), run(GNU, *words.split()))
    for words in ("-e empty 0", "-e short 0"):
        code, out, err = run(OURS, *words.split())
        expect(words, (code, out, b"not recognized" in err), (1, b"", True))
    for words in ("--nosuch", "-x", "-e", "--exe", "-C=none -e gcc5 0", "--inlines=3", "--re -x"):
        got, want = run(OURS, *words.split()), run(GNU, *words.split())
        expect(words, (got[:2], got[2].split(b"\n")[0]), (want[:2], want[2].split(b"\n")[0]))
        expect(words, b"Usage: " in got[2], True)
    with open("/dev/full", "wb") as full:
        done = subprocess.run([OURS, "-e", "gcc5", "main"], stdout=full, stderr=subprocess.PIPE)
        expect("a full disk", (done.returncode, b"stdout" in done.stderr), (1, True))


def check_conversation():
    """As perf talks: an address and a comma, then it waits for both answers."""
    child = subprocess.Popen([OURS, "-e", "gcc5", "-i", "-f"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, bufsize=0)
    for question, want in ((b"main\n,\n", 4), (b",\n", 2), (b"ma", 0), (b"in\n", 2)):
        child.stdin.write(question)
        got = b""
        while got.count(b"\n") < want:
            if not select.select([child.stdout], [], [], 20)[0]:
                break
            got += child.stdout.read(4096)
        expect("%r in a conversation" % question, got.count(b"\n"), want)
        if question.endswith(b",\n"):
            expect("the sentinel", got.endswith(b"??\n??:0\n"), True)
    child.stdin.close()
    expect("end of a conversation", child.wait(20), 0)
    child.stdout.close()


def check_names():
    """A name may not make lines of its own; links by other names; --where."""
    subprocess.run(["objcopy", "--redefine-sym", "_Z5outeri=a\nb\033[31m", "nodebug", "hostile"], check=True)
    start = subprocess.run(["nm", "nodebug"], capture_output=True, text=True, check=True).stdout
    start = next(line.split()[0] for line in start.splitlines() if line.endswith(" _Z5outeri"))
    expect("a hostile name", run(OURS, "-fe", "hostile", start)[1], b"a\\x0ab\\x1b[31m\n??:?\n")
    expect("a hostile path", run(OURS, "-e", "no\033[31m\nfile", start)[2],
           b"addr2line: 'no\\x1b[31m\\x0afile': No such file\n")
    for name in ("cairn-addr2line", "x86_64-linux-gnu-addr2line"):
        os.symlink(os.environ["CAIRN"], "bin/" + name)
        expect(name, run("bin/" + name, "-fe", "gcc5", "main")[:2], run(GNU, "-fe", "gcc5", "main")[:2])
    expect("cairn addr2line", run(os.environ["CAIRN"], "addr2line", "-fe", "gcc5", "main")[:2],
           run(GNU, "-fe", "gcc5", "main")[:2])
    os.symlink(os.environ["CAIRN"], "bin/notaddr2line")
    expect("another name", run("bin/notaddr2line", "-e", "gcc5", "main")[0], 2)


def main():
    for tool in (GNU, "g++", "clang++-14", "ld.lld", "llvm-addr2line-14", "objcopy", "readelf"):
        if not shutil.which(tool):
            print("skipped: %s is missing" % tool)
            return 77
    version = subprocess.run([GNU, "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    if not version.endswith(" 2.40"):
        print("skipped: what is compared with is binutils 2.40, this is %s" % version)
        return 77
    build()
    for check in (check_programs, check_objects, check_questions, check_options, check_refusals, check_conversation,
                  check_names):
        check()
    for text in wrong[:20]:
        print("FAIL: " + text)
    print("%d differences" % len(wrong) if wrong else "addr2line's answers, but for the known ones")
    return bool(wrong)


sys.exit(main())
