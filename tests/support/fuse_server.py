# SPDX-License-Identifier: MIT
"""A file system of one file that can stop answering, on /dev/fuse without libfuse.

Source: Linux, include/uapi/linux/fuse.h (protocol 7.31).
"""
import ctypes
import errno
import mmap
import os
import signal
import stat
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, MS_REC, MS_PRIVATE, MNT_DETACH = 0x20000, 1 << 14, 1 << 18, 2
# Else each open waits until the pages are free that a read without an answer holds: a target that was stopped may
# ask for its own, and the next one could not begin.
KEEP_CACHE = 2
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, INIT = 1, 2, 3, 14, 15, 17, 26
RELEASE, FLUSH, INTERRUPT, BATCH_FORGET = 18, 25, 36, 42
ROOT, FILE = 1, 2
VALID_S = 3600


def why_not():
    """None where a mount can be made here, else the reason to skip."""
    if not os.path.exists("/dev/fuse"):
        return "no /dev/fuse"
    if os.geteuid() != 0:
        return "mounting needs root"
    return None


def call(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def mount_apart():
    """From here on this process and its children mount for themselves: nothing outlives them."""
    call(LIBC.unshare(CLONE_NEWNS), "unshare")
    made = LIBC.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    # In a chroot whose root is a plain folder, whoever made the chroot has decided who shares its mounts.
    if made < 0 and ctypes.get_errno() != errno.EINVAL:
        call(made, "private mounts")


class FuseServer:
    """Serves `contents` as FOLDER/file. After stop_answering() every request waits for ever.

    It serves in a process of its own: who starts a program of its file holds Python's lock until the
    file has been looked up. Whatever ends that process ends all waits, with an error.
    """

    def __init__(self, folder, contents):
        self.folder, self.contents = folder, contents
        self.silent = mmap.mmap(-1, 2)  # shared: all requests, reads
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.fd},rootmode=40755,user_id=0,group_id=0,allow_other"
        call(LIBC.mount(b"cairn-test", folder.encode(), b"fuse", 0, options.encode()), folder)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.serve()
            finally:
                os._exit(1)
        os.close(self.fd)

    def stop_answering(self):
        self.silent[0] = 1

    def silence_reads(self):
        """Files can be opened and mapped; who reads one waits for ever."""
        self.silent[1] = 1

    def close(self):
        """Ends all waits with an error."""
        LIBC.umount2(self.folder.encode(), MNT_DETACH)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def attributes(self, node):
        mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o755
        size = 0 if node == ROOT else len(self.contents)
        return struct.pack("<6Q10I", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0,
                           0, 0, 4096, 0)

    def answer(self, opcode, node, body):
        """Bytes, or a negative errno."""
        if opcode == INIT:
            return struct.pack("<4I2H2I2H8I", 7, 31, 65536, 0, 16, 12, 65536, 1, 16, 0, *[0] * 8)
        if opcode == LOOKUP:
            if body.rstrip(b"\0") != b"file":
                return -errno.ENOENT
            return struct.pack("<4Q2I", FILE, 0, VALID_S, VALID_S, 0, 0) + self.attributes(FILE)
        if opcode == GETATTR:
            return struct.pack("<Q2I", VALID_S, 0, 0) + self.attributes(node)
        if opcode == OPEN:
            return struct.pack("<Q2I", 0, KEEP_CACHE, 0)
        if opcode == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return self.contents[offset:offset + size]
        if opcode == STATFS:
            return struct.pack("<5Q10I", 1, 1, 1, 1, 1, 4096, 255, 4096, *[0] * 7)
        return b"" if opcode in (RELEASE, FLUSH) else -errno.ENOSYS

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, 1 << 17)
            except OSError:
                return
            _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
            if self.silent[0] or opcode in (FORGET, INTERRUPT, BATCH_FORGET):
                continue
            if opcode == READ and self.silent[1]:
                continue
            reply = self.answer(opcode, node, request[40:])
            error, data = (reply, b"") if isinstance(reply, int) else (0, reply)
            try:
                os.write(self.fd, struct.pack("<IiQ", 16 + len(data), error, unique) + data)
            except OSError:
                continue
