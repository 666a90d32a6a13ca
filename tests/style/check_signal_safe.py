#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds that what may run in a signal handler, or inside malloc, calls nothing else:
check_signal_safe.py SOURCE_ROOT LIBRARY...

A source whose second line says SIGNAL-SAFE may use these names of libc, and functions of ours that
are defined in such a source. Where it says that one function of it is not, what that calls is listed
here, with the file.
"""
import pathlib
import re
import subprocess
import sys

# No lock, no malloc, no stdio, no locale; errno is restored by who calls them.
ALLOWED = re.compile(
    r"^(__)?(memcpy|memmove|memset|memcmp|memchr|memrchr|strlen|strncmp|strnlen)(_chk)?$"
    r"|^(syscall|getpid|getauxval|__errno_location)$"
    r"|^_r_debug$|^_dl_debug_addr$|^_DYNAMIC$|^__stack_chk_(fail|guard)$|^_GLOBAL_OFFSET_TABLE_$"
    r"|^__popcount[sd]i2$|^__aeabi_\w+$|^__sync_\w+$|^__aarch64_\w+$|^__[au]?(div|mod)[sdt]i3$"
    r"|^__(asan|ubsan|tsan|sanitizer|sancov|gcov|llvm)_\w+$")
# Signal-safe by signal-safety(7), or a bare system call (pread), but nothing for inside of malloc.
FILES = {"open", "open64", "close", "read", "pread", "pread64", "write", "strcmp", "strcspn",
         "strspn"}
BUT_FOR = {  # of functions that say that they are not signal-safe
    "unwind/modules.c": {"dl_iterate_phdr", "sched_yield"},
    "unwind/unload.c": {"nanosleep"},
    "heap/epoch.c": {"clock_gettime"},  # of the vdso: no lock
    "heap/exec.c": {"environ"},
    "heap/settings.c": {"environ"},
    "rt/text.c": FILES,
    "unwind/print_maps.c": FILES,
    "unwind/print_file.c": FILES,
    "unwind/print_source.c": FILES,
    "unwind/print_symbol.c": FILES,
    "unwind/thread.c": {"clock_gettime", "getuid"},
    "unwind/thread_signal.c": FILES | {"sigaction", "sigemptyset", "strncmp"},
}


def safe_sources(root):
    for path in (root / "src").glob("*/*.[cS]"):
        if "SIGNAL-SAFE" in "".join(path.read_text().splitlines()[1:2]):
            yield f"{path.parent.name}/{path.name}"


def members(archive):
    """Of each object: its source as room/file, what it defines, what it needs."""
    text = subprocess.run(["nm", "-P", archive], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    source, has, needs = None, set(), set()
    for line in text.splitlines():
        if line.endswith(":"):
            if source:
                yield source, has, needs
            member = re.sub(r".*[\[/]([^\]/]+)\]?:$", r"\1", line)
            source = re.sub(r"^src_([a-z0-9]+)_(.*)\.o$", r"\1/\2", member)
            has, needs = set(), set()
        elif line.strip():
            name, kind = line.split()[:2]
            (needs if kind in "Uvw" else has).add(name)
    if source:
        yield source, has, needs


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    safe = set(safe_sources(root))
    objects = [row for archive in sys.argv[2:] for row in members(archive)]
    ours = {name: source for source, has, _ in objects for name in has}
    wrong = read = 0
    for source, has, needs in objects:
        if source not in safe:
            continue
        read += 1
        for name in sorted(needs - has):
            if name in ours:
                if ours[name] not in safe:
                    print(f"{source}: calls {name} of {ours[name]}, which does not say SIGNAL-SAFE")
                    wrong += 1
            elif not ALLOWED.match(name) and name not in BUT_FOR.get(source, ()):
                print(f"{source}: calls {name}: not in a signal handler, nor inside malloc")
                wrong += 1
    print(f"{read} signal-safe sources of {len(safe)} read")
    # The others are of another CPU.
    return bool(wrong) or read < len(safe) / 2


sys.exit(main())
