/* SPDX-License-Identifier: MIT */
/* Our own program: which build it is, and its bytes, to be sent to another machine. */
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
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

int cli_remote_read_program(struct cairn_buffer *ret_bytes, char sha256[CAIRN_SHA256_TEXT],
                            struct cairn_err *err)
{
    int code = cairn_file_slurp("/proc/self/exe", PROGRAM_MAX, ret_bytes, err);
    if (code < 0)
        return cairn_fail_in(err, code, "the program to install");
    cairn_sha256_text(cairn_buffer_span(ret_bytes), sha256);
    return CAIRN_OK;
}
