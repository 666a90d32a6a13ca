/* SPDX-License-Identifier: MIT */
/* Our own program: which build it is, and its bytes, to be sent to another machine. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/sha256.h"
#include "cli/remote.h"

enum { PROGRAM_MAX = 256 << 20, ID_MAX = 64 };

static bool copy_id(const uint8_t *at, size_t size, char *text)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        size_t name = (note.n_namesz + 3u) & ~3u, desc = (note.n_descsz + 3u) & ~3u;
        if (name > size - sizeof note || desc > size - sizeof note - name)
            return false;
        const uint8_t *id = at + sizeof note + name;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(at + sizeof note, "GNU", 4) == 0 && note.n_descsz <= ID_MAX) {
            for (size_t i = 0; i < note.n_descsz; i++)
                snprintf(text + 2 * i, 3, "%02x", id[i]);
            return true;
        }
        at += sizeof note + name + desc;
        size -= sizeof note + name + desc;
    }
    return false;
}

/* The first object is the program itself. */
static int find_id(struct dl_phdr_info *info, size_t size, void *text)
{
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uint8_t *note = (const uint8_t *)(info->dlpi_addr + segment->p_vaddr);
        if (segment->p_type == PT_NOTE && copy_id(note, segment->p_memsz, text))
            break;
    }
    return 1;
}

const char *cli_remote_build_id(void)
{
    static char text[2 * ID_MAX + 1];
    if (!*text)
        (void)dl_iterate_phdr(find_id, text);
    return text;
}

int cli_remote_read_program(struct cairn_buffer *ret_bytes, char sha256[65], struct cairn_err *err)
{
    static const char path[] = "/proc/self/exe";
    struct stat facts;
    int fd = open(path, O_RDONLY | O_CLOEXEC), code = CAIRN_OK;
    if (fd < 0 || fstat(fd, &facts) < 0)
        code = cairn_fail_os(err, errno, "%s: the program to install", path);
    else if (facts.st_size <= 0 || facts.st_size > PROGRAM_MAX)
        code = cairn_fail(err, CAIRN_E_LIMIT, "%s: %lld bytes, at most %d can be installed", path,
                          (long long)facts.st_size, PROGRAM_MAX);
    else if (!cairn_buffer_reserve(ret_bytes, (size_t)facts.st_size))
        code = cairn_fail_memory(err);
    while (code == CAIRN_OK && ret_bytes->size < (size_t)facts.st_size) {
        ssize_t n =
            read(fd, ret_bytes->data + ret_bytes->size, (size_t)facts.st_size - ret_bytes->size);
        if (n <= 0 && errno != EINTR)
            code = cairn_fail_os(err, n ? errno : EIO, "%s: the program to install", path);
        ret_bytes->size += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
    if (code == CAIRN_OK)
        cairn_sha256_text(cairn_buffer_span(ret_bytes), sha256);
    return code;
}
