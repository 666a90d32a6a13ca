#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs programs in a guest of Debian's kernel for arm64, with a CPU that signs return addresses
(FEAT_PAuth): what qemu-user does itself, a kernel does there, signal frames and keys included.

    arm64.py BUILD SYSROOT WORK PROGRAM[,WORD...]... +FILE...

BUILD is a cross build for aarch64, SYSROOT what scripts/sysroot.sh unpacked for it. The kernel is
unpacked beside SYSROOT; the initrd is made here: the programs, files that lie beside them, the
libraries that they need, and guest_init.c. Exit status 77: it cannot be had here, and why.
"""
import gzip
import pathlib
import re
import stat
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TRIPLE = "aarch64-linux-gnu"
BOOT_SECONDS = 400
# A program's last word, and what it says besides ending well.
SAID = {
    "fork": ["3 allocations in 2 processes", "every block recorded; 1 frees of blocks of the parent process"],
    "clone": ["602 allocations in 2 processes", "600.3 kB in 300 blocks: ", "200.4 kB in 200 blocks: ",
              "every block recorded"],
}
DEVICES = {"dev/console": (5, 1), "dev/null": (1, 3)}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, text=True,
                          stdout=subprocess.PIPE, **more).stdout


def kernel(folder):
    """The newest of this release, by the package that stands for it."""
    packages = ROOT / "scripts/packages.sh"
    try:
        run(packages, "arm64", "-", folder / "name", "linux-image-cloud-arm64")
        depends = run("apt-cache", "depends", "linux-image-cloud-arm64",
                      env={"APT_CONFIG": str(folder / "name/apt/apt.conf"), "PATH": "/usr/bin:/bin"})
        name = re.search(r"Depends: (linux-image-\S+)", depends)[1]
        run(packages, "arm64", "-", folder / name, name)
        return next((folder / name / "boot").glob("vmlinuz-*"))
    except (subprocess.CalledProcessError, StopIteration, TypeError):
        skip("Debian's kernel for arm64 cannot be had")


def libraries(program, folders):
    """What the loader would load for it, with its interpreter, by name."""
    found, left = {}, [program]
    while left:
        path = left.pop()
        text = run("readelf", "-d", "-l", "-W", path)
        names = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
        names += [pathlib.Path(name).name for name in re.findall(r"interpreter: (\S+)\]", text)]
        for name in names:
            where = next((f / name for f in folders if (f / name).exists()), None)
            if not where:
                sys.exit(f"{path}: {name} is nowhere")
            if name not in found:
                found[name] = where
                left.append(where)
    return found


def entry(name, mode, data=b"", device=(0, 0)):
    """Of an archive "newc" (cpio(5)): numbers of 8 hex digits, name and data padded to 4 bytes."""
    path = name.encode() + b"\0"
    fields = [0, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(path), 0]
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + path
    return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)


def initrd(files):
    folders = sorted({str(parent) for name in [*files, *DEVICES, "proc/x", "sys/x", "tmp/x"]
                      for parent in pathlib.PurePosixPath(name).parents} - {"."})
    parts = [entry(folder, stat.S_IFDIR | 0o755) for folder in folders]
    parts += [entry(name, stat.S_IFCHR | 0o666, device=device) for name, device in DEVICES.items()]
    parts += [entry(name, stat.S_IFREG | 0o755, path.read_bytes()) for name, path in files.items()]
    return gzip.compress(b"".join(parts) + entry("TRAILER!!!", 0), 1)


def boot(image, work):
    """What the guest's console said."""
    command = ["qemu-system-aarch64", "-machine", "virt", "-cpu", "max", "-accel", "tcg,thread=multi",
               "-smp", "2", "-m", "768", "-no-reboot", "-display", "none", "-nodefaults", "-serial",
               "stdio", "-kernel", image, "-initrd", work / "initrd", "-append",
               "console=ttyAMA0 panic=-1 quiet rdinit=/init"]
    try:
        return run(*command, stdin=subprocess.DEVNULL, timeout=BOOT_SECONDS, errors="replace")
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(errors="replace") + f"\nno end in {BOOT_SECONDS} s"


def is_right(said, lines):
    """Whether each of the guest's lines was run, ended well, and said what it should."""
    parts = re.split(r"^guest: (\S+ ended: .*?)\r?$", said, flags=re.M)
    wrong = [end for end in parts[1::2] if not end.endswith(" ended: 0")]
    for line, output in zip(lines, parts[::2]):
        wrong += [f"{line}: not said: {text}" for text in SAID.get(line.split()[-1], []) if text not in output]
    if len(parts) // 2 != len(lines):
        wrong.append(f"{len(parts) // 2} of {len(lines)} programs ended")
    if not re.search(r"^guest: pauth: yes", said, re.M):
        wrong.append("the guest's CPU signs no return addresses")
    if "skipped: qemu-user" in said:
        wrong.append("what is only to be skipped under qemu-user was skipped here")
    print("\n".join(wrong))
    return not wrong


def main():
    build, sysroot, work = (pathlib.Path(word) for word in sys.argv[1:4])
    for tool in ("qemu-system-aarch64", f"{TRIPLE}-gcc", "apt-get", "readelf"):
        if subprocess.run(["which", tool], stdout=subprocess.DEVNULL).returncode:
            skip(f"{tool} is missing")
    image = kernel(sysroot.parent / "arm64-kernel")
    folders = [build, build / "tests/e2e/unwind", sysroot / "usr/lib" / TRIPLE, sysroot / "lib" / TRIPLE,
               pathlib.Path("/usr") / TRIPLE / "lib"]
    files, lines = {}, []
    for words in sys.argv[4:]:
        program, *args = words.lstrip("+").split(",")
        path = build / program
        files |= {f"lib/{name}": where for name, where in libraries(path, folders).items()}
        files[f"bin/{path.name}"] = path
        if not words.startswith("+"):
            lines.append(" ".join([f"/bin/{path.name}", *args]))
    files["lib/odd_library.so"] = build / "tests/e2e/unwind/odd_library.so"
    (work / "programs").write_text("".join(line + "\n" for line in lines))
    files["programs"] = work / "programs"
    run(f"{TRIPLE}-gcc", "-static", "-O2", "-Wall", "-Werror",
        pathlib.Path(__file__).with_name("guest_init.c"), "-o", work / "init")
    files["init"] = work / "init"
    (work / "initrd").write_bytes(initrd(files))
    said = boot(image, work)
    print(said)
    return 0 if is_right(said, lines) else 1


sys.exit(main())
