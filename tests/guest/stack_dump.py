#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""contrib/kernel in a guest of Debian's kernel: stack_dump.py ARCH RELEASE BUILD WORK.

ARCH is amd64 or arm64; RELEASE the start of a package's name, "-" for Debian's own kernel, "6.12-".
The module is built against the kernel's headers, programs of known calls ask it for their stacks, the
log comes over the serial console, and `cairn resolve` of BUILD names it. Each frame must be what
LLVM says of the program's file, and each chain the one that the program has.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import guest

HERE = pathlib.Path(__file__).resolve().parent
FP = ["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"]
# program: source, flags, what it is for alone
PROGRAMS = {
    "stack_fp": ("stack_chain.c", ["-DWITH_LIBRARY", *FP], None),
    "stack_nofp": ("stack_chain.c", ["-fomit-frame-pointer", "-DWITHOUT_FRAMES"], None),
    "stack_static": ("stack_chain.c", ["-static", "-no-pie", *FP], None),
    "stack_inlines": ("stack_inlines.cpp", FP, None),
    "stack_signed": ("stack_chain.c", ["-mbranch-protection=standard", *FP], "arm64"),
    "stack_32": ("stack_chain.c", ["-m32", "-static", "-idirafter", "/usr/include/x86_64-linux-gnu", *FP], "amd64"),
}
LIBRARY = "libstack_gone.so"
CHAIN = ["trigger", "inner", "outer", "main"]
# dump of the guest: its line, and the names of its user frames as far as they are known
DUMPS = {
    "fp": ("stack_fp fp", CHAIN),
    "gone": (f"stack_fp gone /lib/{LIBRARY}",
             ["trigger", "inner", "library_inner", "library_call", "through_library", "outer", "main"]),
    "static": ("stack_static static", CHAIN),
    "signed": ("stack_signed signed", CHAIN),
    "32": ("stack_32 32", CHAIN),
    "inlines_0": ("stack_inlines", ["trigger", "step", "operator()", "twice", "run", "main"]),
    "inlines_1": (None, ["trigger", "step", "operator()", "twice", "run", "main"]),
    "irq": ("stack_fp irq_irq", None),
    "worker": ("stack_fp worker_worker", None),
    "do_sys_openat2": ("stack_fp open", ["open_inner", "open_outer", "main"]),
    "ksys_write": (None, ["trigger", "main"]),
    "opener": (None, ["trigger", "main"]),
    "sched_process_exit": (None, None),
    "storm": ("stack_fp storm", ["trigger", "storm", "main"]),
    "equal": (None, ["trigger", "storm", "main"]),
    "threads": ("stack_fp threads", None),
    "nofp": ("stack_nofp nofp", None),
}
KERNEL = {  # by tag: the innermost frames of the kernel, without offsets
    "do_sys_openat2": [r"do_sys_openat2\+0x[04]/", r"__(x64|arm64)_sys_openat\+"],
    "irq": [r"in_interrupt_of_writer\+.* \[cairn_stacks\]"],
    "worker": [r"in_kernel_thread\+.* \[cairn_stacks\]", r"process_one_work\+"],
    "ksys_write": [r"ksys_write\+0x[589]/"],
    "sched_process_exit": [r"on_tracepoint\+.* \[cairn_stacks\]"],
    "fp": [r"cairn_stacks_write\+.* \[cairn_stacks\]", r"vfs_write\+", r"ksys_write\+"],
}


def make_headers(arch, image):
    """The folder that a module is built with. Tools of the headers run here, whatever they are for."""
    release = image.name.removeprefix("vmlinuz-")
    root = guest.ROOT / "build-sysroot" / f"{arch}-headers" / release
    packages = guest.ROOT / "scripts/packages.sh"
    package = f"linux-headers-{release}"
    try:
        guest.run(packages, arch, "-", root / "flavour", package)
        depends = guest.depends_of(package, root / "flavour")
        common = re.search(r"Depends: (linux-headers-\S+-common)$", depends, re.M)[1]
        kbuild = re.search(r"Depends: (linux-kbuild-\S+)", depends)[1]
        guest.run(packages, arch, "-", root / "common", common)
        host = guest.run("dpkg", "--print-architecture").strip()
        tools = [kbuild] + re.findall(r"Depends: (linux-compiler-\S+)", depends)
        guest.run(packages, host, "-", root / "tools", *(t for t in tools if host == arch or t == kbuild))
    except (subprocess.CalledProcessError, TypeError):
        guest.skip(f"the headers of {release} cannot be had")
    folder = root / "flavour/usr/src" / package
    shared = root / "common/usr/src" / common
    makefile = folder / "Makefile"
    makefile.write_text(re.sub(r"(?<![\w/.-])/usr/src/" + re.escape(common), str(shared), makefile.read_text()))
    for place in (folder, shared):
        for name in ("scripts", "tools"):
            link = place / name
            if link.is_symlink():
                link.unlink()
                link.symlink_to(root / "tools/usr/lib" / kbuild / name)
    return folder


def make(source, arch, headers, *more):
    """A warning is a failure."""
    words = [f"KCFLAGS=-Werror -I{source}", "CONFIG_DEBUG_INFO_BTF_MODULES="]
    if arch == "arm64":
        words += ["ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-", "CC=aarch64-linux-gnu-gcc", "DEB_BUILD_ARCH=amd64",
                  "DEB_HOST_ARCH=arm64", "DEB_HOST_GNU_TYPE=aarch64-linux-gnu"]
    else:
        words += ["ARCH=x86_64", "CC=gcc"]
    made = subprocess.run(["make", "-s", *words, *map(str, more)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if made.returncode or "warning" in made.stdout.replace("warning: the compiler differs", ""):
        sys.exit(f"not built: {more}\n{made.stdout}")


def make_module(arch, headers, work):
    """Built from a copy: kbuild writes beside its sources. Then the header as other kernels would have it."""
    source = work / "module"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(guest.ROOT / "contrib/kernel", source)
    make(source, arch, headers, "-C", source, f"KDIR={headers}")
    for name in ("MODULE", "CONFIG_STACKTRACE", "CONFIG_PREEMPT_COUNT"):
        (source / f"without_{name}.c").write_text(
            f"#include <linux/kernel.h>\n#undef {name}\n#include \"cairn_stack_dump.h\"\n"
            "void caller(const char *tag);\nvoid caller(const char *tag) { cairn_dump_stacks(tag); }\n")
        make(source, arch, headers, "-C", headers, f"M={source}", f"without_{name}.o")
    return source / "cairn_stacks.ko"


def make_programs(arch, triple, work):
    made = {}
    common = ["-O2", "-g", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-pthread", "-fno-optimize-sibling-calls"]
    for name, (source, flags, only) in PROGRAMS.items():
        if only not in (None, arch):
            continue
        # Of arm64 every function with a frame pointer keeps one in its leaves, too.
        compiler = f"{triple}-" + ("g++" if source.endswith("cpp") else "gcc")
        guest.run(compiler, *common, *flags, HERE / source, "-o", work / name)
        made[name] = work / name
    guest.run(f"{triple}-gcc", *common, *FP, "-shared", "-fPIC", "-fuse-ld=lld", "-B", lld_folder(work),
              HERE / "stack_library.c", "-o", work / LIBRARY)
    guest.run(f"{triple}-gcc", *common, "-static", HERE / "stack_load.c", "-o", work / "stack_load")
    guest.run(f"{triple}-gcc", *common, "-static", HERE / "guest_init.c", "-o", work / "init")
    return made


def lld_folder(work):
    """Cross compilers look for it under a name of their own."""
    folder = work / "linker"
    folder.mkdir(exist_ok=True)
    link = folder / "ld.lld"
    if not link.exists():
        link.symlink_to(shutil.which("ld.lld") or guest.skip("ld.lld is missing"))
    return folder


def lines_of(arch, release):
    """The second probe is at an instruction inside of a function: behind what ftrace and IBT need."""
    inside = 8 if arch == "arm64" else 9 if release == "6.12-" else 5
    lines = [f"/bin/stack_load /cairn_stacks.ko limit=0 probe=do_sys_openat2,ksys_write+{inside} "
             "tracepoint=sched_process_exit comm=opener"]
    for line, _ in DUMPS.values():
        program = line and line.split()[0]
        if program and PROGRAMS[program][2] in (None, arch):
            lines.append("/bin/" + line)
    return lines + ["/bin/stack_load cairn_stacks"]


def make_guest(arch, release, module, programs, work):
    """The guest's files by their names there."""
    triple = guest.MACHINES[arch][0]
    folders = [pathlib.Path("/usr") / triple / "lib", pathlib.Path("/usr/lib") / triple, pathlib.Path("/lib") / triple,
               pathlib.Path("/lib64")]
    files = {"init": work / "init", "bin/stack_load": work / "stack_load", "cairn_stacks.ko": module,
             f"lib/{LIBRARY}": work / LIBRARY}
    for name, path in programs.items():
        files |= guest.libraries(path, folders) | {f"bin/{name}": path}
    (work / "programs").write_text("".join(line + "\n" for line in lines_of(arch, release)))
    files["programs"] = work / "programs"
    (work / "initrd").write_bytes(guest.initrd(files))
    root = work / "root"
    shutil.rmtree(root, ignore_errors=True)
    for name, path in files.items():
        if name.startswith(("bin/", "lib")):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, root / name)
    (root / "tmp").mkdir(exist_ok=True)
    shutil.copy(work / LIBRARY, root / "tmp" / LIBRARY)  # where it was, in the copy of the target's root,
    shutil.copy(work / LIBRARY, root / LIBRARY)  # also by a path that begins at its mount
    return root


class Dump:
    def __init__(self, head):
        self.head, self.kernel, self.user, self.notes, self.raw = head, [], [], [], []
        self.tag = head[2:].split(": pid=")[0]

    def names(self):
        return [bare(name) for frame in self.user for name, _ in frame["names"]]


def bare(name):
    """A function's name without namespace, template, arguments and the compiler's suffix."""
    name = re.sub(r"\.(isra|constprop|part)\.\d+", "", name)
    if "operator()" in name:
        return "operator()"
    shorter = re.sub(r"<[^<>]*>", "", name)
    while shorter != name:
        name, shorter = shorter, re.sub(r"<[^<>]*>", "", shorter)
    return name.split("(")[0].split("::")[-1].strip()


def dumps_of(text):
    found = []
    for line in text.splitlines():
        user = re.match(r"0x([0-9a-f]{16}) (?:(\S+)\+0x([0-9a-f]+)(?: => (.*) @ (\S+)| \(.*\))?|<no mapping>)$", line)
        if re.match(r"# \S+: pid=", line):
            found.append(Dump(line))
        elif line.startswith("#"):
            found[-1].notes.append(line)
        elif user:
            names = [(user[4], user[5])] if user[4] else []
            found[-1].user.append({"line": line, "va": int(user[1], 16), "path": user[2], "names": names,
                                   "off": int(user[3], 16) if user[3] else None})
        elif line.startswith("    (inlined by) "):
            found[-1].user[-1]["names"].append(tuple(line[len("    (inlined by) "):].rsplit(" @ ", 1)))
        elif line:
            found[-1].kernel.append(line)
    return found


def vaddr_of(path, off):
    for line in subprocess.run(["readelf", "-lW", path], text=True, capture_output=True).stdout.splitlines():
        words = line.split()
        if words[:1] == ["LOAD"]:
            start, vaddr, size = int(words[1], 16), int(words[2], 16), int(words[4], 16)
            if start <= off < start + size:
                return vaddr + off - start
    return None


def expected_names(path, off):
    """What LLVM says: [(function, file:line)...], the innermost first. GNU addr2line 2.40 calls lines of a
    header by the unit's file."""
    said = guest.run("llvm-addr2line", "-f", "-i", "-C", "-e", path, hex(vaddr_of(path, off))).splitlines()
    return [(name, re.sub(r" \(discriminator.*", "", place)) for name, place in zip(said[::2], said[1::2])]


def check_frames(dump, root):
    """Frames of our own programs, one by one."""
    checked = 0
    for i, frame in enumerate(dump.user):
        name = os.path.basename(frame["path"] or "")
        if name not in PROGRAMS and name != LIBRARY:
            continue
        path = root / ("bin/" + name if name in PROGRAMS else "lib/" + name)
        expected = expected_names(path, frame["off"] - (i > 0))
        if expected[0][1].startswith("??") or expected[0][1].endswith(":0"):
            continue  # libc's in a static program: a name without a line
        if [(bare(name), place) for name, place in frame["names"]] != \
           [(bare(name), place) for name, place in expected]:
            yield f"{dump.head}: {frame['line']}: {frame['names']}, expected {expected}"
        checked += 1
    dump.n_checked = checked


def check_kernel(dump):
    for got, wanted in zip(dump.kernel, KERNEL.get(dump.tag, [])):
        if not re.match(wanted, got):
            yield f"{dump.head}: {got}, expected {wanted}; all: {dump.kernel}"
    if not dump.kernel:
        yield f"{dump.head}: no kernel frames"
    for note in dump.notes:
        if re.search("missing|may|cut", note):
            yield f"{dump.head}: {note}"


def check_special(dumps, by_tag, said, arch):
    """What is not a chain of names."""
    irq, direct = by_tag["irq"][0], by_tag["fp"][0]
    if [f["va"] & 0xfff for f in irq.user[:4]] != [f["va"] & 0xfff for f in direct.user[:4]]:
        yield f"irq: {[f['line'] for f in irq.user]}"
    if by_tag["worker"][0].user or "# no user stack: a kernel thread" not in by_tag["worker"][0].notes:
        yield f"worker: {by_tag['worker'][0].notes}"
    ended = by_tag["sched_process_exit"][0]
    if not any(note.startswith("# no user stack: the program has no memory") for note in ended.notes):
        yield f"sched_process_exit: {ended.notes}"
    if len(by_tag["storm"]) != 3 or "2 dumps before #" not in said:
        yield f"storm: {len(by_tag['storm'])} dumps"
    same = [note for dump in by_tag["equal"] for note in dump.notes if note.startswith("# same as dump ")]
    if len(by_tag["equal"]) != 3 or len(same) != 2:
        yield f"equal: {len(by_tag['equal'])} dumps, {same}"
    first = by_tag["nofp"][0].user[0]["names"]
    strange = set(by_tag["nofp"][0].names()) - {*CHAIN, "_start", "__libc_start_main", "__libc_start_call_main"}
    if not first or first[0][0] != "trigger" or strange:
        yield f"nofp: {by_tag['nofp'][0].names()}"
    if arch == "amd64" and " bits=32 " not in by_tag["32"][0].head:
        yield f"32: {by_tag['32'][0].head}"


def check_threads(dumps, said):
    """20 dumps of four threads that run at the same time; those without a free slot are counted."""
    n_left_out = sum(map(int, re.findall(r"threads: (\d+) dumps before #\d+ were not printed", said)))
    if len(dumps) + n_left_out != 20 or len(dumps) < 10:
        yield f"threads: {len(dumps)} dumps and {n_left_out} left out, of 20"
    for dump in dumps:
        number = re.search(r" comm=worker_(\d) ", dump.head)
        if not number or dump.names()[:2] != ["trigger", f"work_{number[1]}"]:
            yield f"{dump.head}: {dump.names()}"


def check(said, resolved, root, arch):
    dumps = dumps_of(resolved)
    by_tag = {tag: [dump for dump in dumps if dump.tag == tag] for tag in DUMPS}
    for tag, (line, chain) in DUMPS.items():
        program = line and line.split()[0]
        if program and PROGRAMS[program][2] not in (None, arch):
            continue
        if not by_tag[tag]:
            yield f"{tag}: no dump of it"
        for dump in by_tag[tag]:
            yield from check_kernel(dump)
            yield from check_frames(dump, root)
            if chain and dump.names()[:len(chain)] != chain:
                yield f"{dump.head}: {dump.names()}, expected {chain}"
    if all(by_tag[tag] for tag in ("irq", "fp", "worker", "sched_process_exit", "nofp")):
        yield from check_special(dumps, by_tag, said, arch)
    yield from check_threads(by_tag["threads"], said)
    for line in re.findall(r"^.*(?:BUG:|WARNING:|Oops|Call [Tt]race|scheduling while atomic).*$", said, re.M):
        yield f"the kernel complains: {line}"
    for end in re.findall(r"^guest: (\S+ ended: .*?)\r?$", said, re.M):
        if not end.endswith(" ended: 0"):
            yield end
    if arch == "arm64" and not re.search(r"^guest: pauth: yes", said, re.M):
        yield "the guest's CPU signs no return addresses"
    n = sum(getattr(dump, "n_checked", 0) for dump in dumps)
    print(f"{len(dumps)} dumps, {n} user frames as llvm-addr2line has them")
    if n < 40:
        yield f"only {n} frames were compared"


def main():
    arch, release, build, work = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
    if "CAIRN_FULL" not in os.environ:
        guest.skip("it starts a machine: ./run test --full")
    triple, _, machine = guest.MACHINES[arch]
    for tool in (machine[0], f"{triple}-gcc", f"{triple}-g++", "apt-get", "readelf", "llvm-addr2line", "make"):
        if not shutil.which(tool):
            guest.skip(f"{tool} is missing")
    image = guest.kernel(arch, "" if release == "-" else release)
    work.mkdir(parents=True, exist_ok=True)
    module = make_module(arch, make_headers(arch, image), work)
    root = make_guest(arch, release, module, make_programs(arch, triple, work), work)
    said = guest.boot(arch, image, work, "ignore_loglevel loglevel=8")
    (work / "serial.log").write_text(said)
    resolved = guest.run(build / "cairn", "resolve", work / "serial.log", "--symbols", root)
    (work / "resolved.txt").write_text(resolved)
    wrong = list(check(said, resolved, root, arch))
    if wrong:
        print(said, resolved, sep="\n")
    print("\n".join(wrong))
    return bool(wrong)


sys.exit(main())
