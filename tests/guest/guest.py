#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs programs in a guest of Debian's kernel, on this CPU or another one:

    guest.py ARCH BUILD SYSROOT WORK PROGRAM[,WORD...]... +FILE... \&PROGRAM[,WORD...]...

BUILD is a build for Debian's ARCH (amd64, arm64), SYSROOT a folder with its libraries ("-": this
system). The kernel is unpacked into build-sysroot/ beside the others. The initrd is made here: the
programs, files that lie beside them, the libraries that they need, and guest_init.c. What begins
with & runs beside those that follow, in which the word % is its pid. Exit status 77: it cannot be
had here, and why. CAIRN_GUEST_KERNEL=/path/to/vmlinuz takes another kernel.

arm64's CPU signs return addresses (FEAT_PAuth): what qemu-user does itself, a kernel does there,
signal frames and keys included.
"""
import gzip
import os
import pathlib
import re
import stat
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BOOT_SECONDS = 1200
MACHINES = {
    "amd64": ("x86_64-linux-gnu", "ttyS0", ["qemu-system-x86_64", "-machine", "q35"]),
    "arm64": ("aarch64-linux-gnu", "ttyAMA0", ["qemu-system-aarch64", "-machine", "virt"]),
}
# What a program says besides ending well, by the end of its line. A number stands for at least that.
SAID = {
    "programs fork": ["3 allocations in 2 processes",
                      "every block recorded; 1 frees of blocks of the parent process"],
    "clone": ["602 allocations in 2 processes", "600.3 kB in 300 blocks: ",
              "200.4 kB in 200 blocks: ", "every block recorded"],
    # the rest depends on what is tried, which gives up after three seconds: a busy guest may need more
    "doctor": ["record -p PID", "yes +BPF program for samples", r"yes +trace by programs in the kernel",
               r"BTF \(.*\) +there"],
    "stack 1": [r"\[iterator\]", r"#\d+ +main\b"],
    "-p %": [r"(samples|together,) in .* by unwind tables, .* whole \((100\.0|99\.\d) %\)"],
    "deep.txt": [r" (100\.0|99\.\d)  main\b", r" (100\.0|99\.\d)  dive\b"],
    "waits.txt": [r" [45]\d\.\d  forever\b", r" [45]\d\.\d  forever_too\b"],
    "nap 20": [r"\b(2[0-9]|[3-9]\d|\d{3,}) events seen, .* 0 lost"],
    "signal.txt": [r" (100\.0|[2-9]\d\.\d)  on_alarm\b", r" (100\.0|9\d\.\d)  alarmed\b"],
}
DEVICES = {"dev/console": (5, 1), "dev/null": (1, 3), "dev/zero": (1, 5)}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, text=True,
                          stdout=subprocess.PIPE, **more).stdout


def depends_of(package, names):
    """What apt-cache says, by the lists of a folder that packages.sh made."""
    return run("apt-cache", "depends", package,
               env={"APT_CONFIG": str(names / "apt/apt.conf"), "PATH": "/usr/bin:/bin"})


def kernel(arch, release=""):
    """The newest of this release, by the package that stands for it; or that of CAIRN_GUEST_KERNEL.
    `release` such as "6.12-" is another one that Debian has."""
    if "CAIRN_GUEST_KERNEL" in os.environ:
        return pathlib.Path(os.environ["CAIRN_GUEST_KERNEL"])
    folder, packages = ROOT / "build-sysroot" / f"{arch}-kernel", ROOT / "scripts/packages.sh"
    names, meta = folder / f"{release}name", f"linux-image-{release}cloud-{arch}"
    try:
        run(packages, arch, "-", names, meta)
        name = re.search(r"Depends: (linux-image-\S+)", depends_of(meta, names))[1]
        run(packages, arch, "-", folder / name, name)
        return next((folder / name / "boot").glob("vmlinuz-*"))
    except (subprocess.CalledProcessError, StopIteration, TypeError):
        skip(f"Debian's kernel for {arch} cannot be had")


def libraries(program, folders):
    """What the loader would load for it, and the loader, by where they are looked for."""
    found, left = {}, [program]
    while left:
        path = left.pop()
        text = run("readelf", "-d", "-l", "-W", path)
        names = ["lib/" + name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", text)]
        names += [name.strip("/") for name in re.findall(r"interpreter: (\S+)\]", text)]
        for name in names:
            base = pathlib.Path(name).name
            where = next((f / base for f in folders if (f / base).exists()), None)
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


def boot(arch, image, work, more=""):
    """What the guest's console said. `more` is for the kernel's command line."""
    _, console, machine = MACHINES[arch]
    command = [*machine, "-cpu", "max", "-accel", "tcg,thread=multi", "-smp", "2", "-m", "768",
               "-no-reboot", "-display", "none", "-nodefaults", "-serial", "stdio", "-kernel", image,
               "-initrd", work / "initrd", "-append", f"console={console} panic=-1 quiet rdinit=/init {more}".strip()]
    try:
        return run(*command, stdin=subprocess.DEVNULL, timeout=BOOT_SECONDS, errors="replace")
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(errors="replace") + f"\nno end in {BOOT_SECONDS} s"


def has_iterator(image):
    """Linux 5.18, by the kernel's file name."""
    release = re.search(r"(\d+)\.(\d+)", image.name)
    return not release or (int(release[1]), int(release[2])) >= (5, 18)


def is_wanted(image, line, text):
    """Without the iterator nobody sees who sleeps already, and all the time."""
    return has_iterator(image) or ("iterator" not in text and "off-cpu" not in line and "waits" not in line)


def is_right(arch, image, said, lines):
    """Whether each of the guest's lines was run, ended well, and said what it should."""
    parts = re.split(r"^guest: (\S+ ended: .*?)\r?$", said, flags=re.M)
    wrong = [f"{line}: {end}" for line, end in zip(lines, parts[1::2])
             if not end.endswith(" ended: 0") and is_wanted(image, line, "")]
    for line, output in zip(lines, parts[::2]):
        wanted = [text for end, texts in SAID.items() if line.endswith(end) for text in texts
                  if is_wanted(image, line, text)]
        wrong += [f"{line}: not said: {text}" for text in wanted if not re.search(text, output)]
    if len(parts) // 2 != len(lines):
        wrong.append(f"{len(parts) // 2} of {len(lines)} programs ended")
    if arch == "arm64" and not re.search(r"^guest: pauth: yes", said, re.M):
        wrong.append("the guest's CPU signs no return addresses")
    for reason in re.findall(r"skipped: (qemu-user.*|.*the stack walker.*|.*the task iterator.*)", said):
        if not has_iterator(image) and reason.startswith("the task iterator needs"):
            continue
        wrong.append(f"skipped here: {reason.strip()}")
    print("\n".join(wrong))
    return not wrong


def main():
    arch = sys.argv[1]
    build, work = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[4])
    sysroot = pathlib.Path("/" if sys.argv[3] == "-" else sys.argv[3])
    triple, _, machine = MACHINES[arch]
    if sys.argv[3] == "-" and "CAIRN_FULL" not in os.environ:
        skip("it starts a machine: ./run test --full")
    for tool in (machine[0], f"{triple}-gcc", "apt-get", "readelf"):
        if subprocess.run(["which", tool], stdout=subprocess.DEVNULL).returncode:
            skip(f"{tool} is missing")
    image = kernel(arch)
    work.mkdir(parents=True, exist_ok=True)
    folders = [build, build / "tests/e2e/unwind", sysroot / "usr/lib" / triple, sysroot / "lib" / triple,
               pathlib.Path("/usr") / triple / "lib", sysroot / "lib64"]
    # glibc loads that where a thread ends by pthread_exit(3).
    files = {f"lib/{path.name}": path for folder in folders for path in folder.glob("libgcc_s.so.1")}
    lines = []
    for words in sys.argv[5:]:
        program, *args = words.lstrip("+&").split(",")
        path = build / program
        files |= libraries(path, folders)
        files[f"bin/{path.name}"] = path
        if not words.startswith("+"):
            lines.append(" ".join(["&"] * words.startswith("&") + [f"/bin/{path.name}", *args]))
        if "unwind_odd" in path.name:
            files["lib/odd_library.so"] = build / "tests/e2e/unwind/odd_library.so"
    (work / "programs").write_text("".join(line + "\n" for line in lines))
    files["programs"] = work / "programs"
    run(f"{triple}-gcc", "-static", "-O2", "-Wall", "-Werror",
        pathlib.Path(__file__).with_name("guest_init.c"), "-o", work / "init")
    files["init"] = work / "init"
    (work / "initrd").write_bytes(initrd(files))
    said = boot(arch, image, work)
    print(said)
    return 0 if is_right(arch, image, said, [line for line in lines if not line.startswith("&")]) else 1


if __name__ == "__main__":
    sys.exit(main())
