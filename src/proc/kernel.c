/* SPDX-License-Identifier: MIT */
#include "proc/kernel.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cairn/maps.h>

#include "base/file.h"
#include "base/reader.h"

enum { NOTES_BYTES_MAX = 1 << 16, PIECE_BYTES = 1 << 15, PIECES_MAX = 4096, LINE_BYTES = 64 };

static void write_hex(struct cairn_span id, char ret_hex[CAIRN_KERNEL_BUILD_ID_SIZE])
{
    if (2 * id.size >= CAIRN_KERNEL_BUILD_ID_SIZE)
        return;
    for (size_t i = 0; i < id.size; i++)
        snprintf(ret_hex + 2 * i, 3, "%02x", id.data[i]);
}

/* The notes of the kernel and of its vdso are aligned to 4 bytes. */
static bool find_build_id(struct cairn_span notes, char ret_hex[CAIRN_KERNEL_BUILD_ID_SIZE])
{
    struct cairn_reader r = cairn_reader_of(notes, false);
    while (cairn_reader_more(&r)) {
        uint32_t name_size = cairn_reader_u32(&r), size = cairn_reader_u32(&r);
        uint32_t type = cairn_reader_u32(&r);
        struct cairn_span name = cairn_reader_take(&r, name_size);
        cairn_reader_skip(&r, -name_size & 3);
        struct cairn_span id = cairn_reader_take(&r, size);
        if (r.failed)
            return false;
        if (type == NT_GNU_BUILD_ID && name.size == 4 && memcmp(name.data, "GNU", 4) == 0) {
            write_hex(id, ret_hex);
            return true;
        }
        cairn_reader_skip(&r, -size & 3);
    }
    return false;
}

void cairn_kernel_note_build_id(struct cairn_span notes, char ret_hex[CAIRN_KERNEL_BUILD_ID_SIZE])
{
    ret_hex[0] = 0;
    (void)find_build_id(notes, ret_hex);
}

static void read_build_id(char ret_hex[CAIRN_KERNEL_BUILD_ID_SIZE])
{
    struct cairn_buffer notes = {0};
    if (cairn_file_slurp("/sys/kernel/notes", NOTES_BYTES_MAX, &notes, NULL) == CAIRN_OK)
        find_build_id(cairn_buffer_span(&notes), ret_hex);
    cairn_buffer_done(&notes);
}

/* "ffffffff81000000 T _text" among the first lines; the kernel takes long to print them all. */
static uint64_t read_text(void)
{
    char piece[LINE_BYTES + PIECE_BYTES + 1];
    int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
    size_t kept = 0;
    uint64_t text = 0;
    for (int i = 0; fd >= 0 && i < PIECES_MAX; i++) {
        ssize_t got = read(fd, piece + kept, PIECE_BYTES);
        if (got <= 0)
            break;
        size_t size = kept + (size_t)got;
        const char *found = memmem(piece, size, " T _text\n", 9);
        if (found) {
            const char *line = found;
            while (line > piece && line[-1] != '\n')
                line--;
            text = strtoull(line, NULL, 16);
            break;
        }
        kept = size < LINE_BYTES ? size : LINE_BYTES;
        memmove(piece, piece + size - kept, kept);
    }
    if (fd >= 0)
        close(fd);
    return text;
}

void cairn_running_kernel(struct cairn_running_kernel *ret_kernel)
{
    struct utsname names;
    *ret_kernel = (struct cairn_running_kernel){0};
    if (uname(&names) == 0)
        snprintf(ret_kernel->release, sizeof ret_kernel->release, "%s", names.release);
    read_build_id(ret_kernel->build_id);
    ret_kernel->text = read_text();
}

bool cairn_host_is_other(const char *name)
{
    struct utsname here;
    return name && uname(&here) == 0 && strcmp(name, here.nodename) != 0;
}

struct cairn_span cairn_vdso_of_self(void)
{
    uintptr_t at = (uintptr_t)getauxval(AT_SYSINFO_EHDR);
    struct cairn_maps *maps;
    struct cairn_span vdso = {0};
    if (!at || cairn_maps_read_pid(getpid(), &maps, NULL) < 0)
        return vdso;
    const struct cairn_map *map = cairn_maps_find(maps, at);
    if (map && map->start == at)
        vdso = (struct cairn_span){(const uint8_t *)at, (size_t)(map->end - map->start)};
    cairn_maps_free(maps);
    return vdso;
}

bool cairn_vdso_is_mapped(struct cairn_span vdso, uint64_t start, uint64_t end)
{
    return vdso.size && vdso.size == end - start &&
           (end > UINT32_MAX) == (UINTPTR_MAX > UINT32_MAX);
}

void cairn_vdso_build_id(char ret_hex[CAIRN_KERNEL_BUILD_ID_SIZE])
{
    struct cairn_span vdso = cairn_vdso_of_self(), notes;
    ElfW(Ehdr) header;
    ElfW(Phdr) segment;
    ret_hex[0] = 0;
    if (vdso.size < sizeof header)
        return;
    memcpy(&header, vdso.data, sizeof header);
    for (size_t i = 0; i < header.e_phnum; i++) {
        struct cairn_span raw;
        if (!cairn_span_slice(vdso, header.e_phoff + i * sizeof segment, sizeof segment, &raw))
            return;
        memcpy(&segment, raw.data, sizeof segment);
        if (segment.p_type == PT_NOTE &&
            cairn_span_slice(vdso, segment.p_offset, segment.p_filesz, &notes) &&
            find_build_id(notes, ret_hex))
            return;
    }
}
