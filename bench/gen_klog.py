#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gen_klog.py ELF OUT [DUMPS]: writes OUT.log, a kernel log of DUMPS (40,000) stack dumps, and OUT.maps.

A dump has 25 lines: its head, 11 kernel frames, 11 user frames, a head for each part. User frames are
17,000 different addresses inside the functions of ELF. 40,000 dumps are 1,000,000 lines, 58 MB."""
import bisect
import itertools
import random
import subprocess
import sys

ADDRESSES, FRAMES, BASE, PAGE = 17000, 11, 0x55D0C0000000, 0x1000
CHAINS = [
    ["dump_all_stacks+0xbd/0x198 [klogstack]", "ks_open+0x11/0x18 [klogstack]", "misc_open+0xc4/0x180",
     "chrdev_open+0xc3/0x250", "do_dentry_open+0x1e5/0x410", "path_openat+0xb7d/0x1260", "do_filp_open+0xaf/0x160",
     "do_sys_openat2+0xaf/0x170", "__x64_sys_openat+0x6a/0xa0", "do_syscall_64+0x5d/0xb0",
     "entry_SYSCALL_64_after_hwframe+0x6e/0xd8"],
    ["dump_all_stacks+0xbd/0x198 [klogstack]", "ks_ioctl.cold+0xc/0x13 [klogstack]", "vfs_ioctl+0x20/0x30",
     "do_vfs_ioctl+0x1c5/0x8f0", "ksys_ioctl+0x5e/0x90", "__do_sys_ioctl+0x16/0x20", "__se_sys_ioctl+0x1/0x2",
     "__x64_sys_ioctl+0x90/0xd0", "x64_sys_call+0x1a/0x20", "do_syscall_64+0x5d/0xb0",
     "entry_SYSCALL_64_after_hwframe+0x6e/0xd8"],
]


def places(elf):
    """Random vaddrs inside functions, uniform over their bytes, and the executable segment."""
    functions = set()
    text = subprocess.run(["readelf", "-sW", elf], capture_output=True, text=True, check=True).stdout
    for row in map(str.split, text.splitlines()):
        if len(row) >= 8 and row[3] == "FUNC" and row[6] != "UND" and int(row[2], 0):
            functions.add((int(row[1], 16), int(row[2], 0)))
    symbols = sorted(functions)
    ends = list(itertools.accumulate(size for _, size in symbols))
    found = set()
    while len(found) < ADDRESSES:
        byte = random.randrange(ends[-1])
        index = bisect.bisect_right(ends, byte)
        vaddr, size = symbols[index]
        found.add(vaddr + byte - (ends[index] - size))
    text = subprocess.run(["readelf", "-lW", elf], capture_output=True, text=True, check=True).stdout
    segments = []
    for row in map(str.split, text.splitlines()):
        if row and row[0] == "LOAD":
            segments.append((int(row[1], 16), int(row[2], 16), int(row[5], 16), "E" in row[6:8]))
    return sorted(found), segments


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    elf, out = sys.argv[1:3]
    dumps = int(sys.argv[3]) if len(sys.argv) == 4 else 40000
    random.seed(42)
    addresses, segments = places(elf)
    with open(out + ".maps", "w") as maps:
        for offset, vaddr, size, executable in segments:
            start, end = vaddr & -PAGE, (vaddr + size + PAGE - 1) & -PAGE
            maps.write(f"{BASE + start:x}-{BASE + end:x} {'r-xp' if executable else 'r--p'} "
                       f"{offset & -PAGE:08x} 08:01 42  {elf}\n")
    time = 4.0
    with open(out + ".log", "w") as log:
        def put(text):
            nonlocal time
            time += 0.000006
            log.write(f"[{time:12.6f}] binder_open: {text}\n")
        for i in range(dumps):
            pid = 1000 + i % 40
            put(f"pid={pid} comm=worker")
            put("kernel backtrace:")
            for k, symbol in enumerate(CHAINS[i % 2]):
                put(f"  [k{k:02}] {symbol}")
            put("user backtrace (raw user PCs):")
            for u in range(FRAMES):
                place = addresses[(i * FRAMES + u) % ADDRESSES] if i * FRAMES < ADDRESSES \
                    else random.choice(addresses)
                put(f"  [u{u:02}] 0x{BASE + place:016x}")


main()
