/* SPDX-License-Identifier: MIT */
#include "sample/ahead.h"

#include <elf.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/image.h"
#include "rt/program.h"
#include "target/library.h"

static void map_segment(int fd, const struct cairn_elf_segment *segment, struct cairn_ahead *ahead)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = segment->off / page * page;
    const uint64_t size = segment->off - first + segment->file_size;
    if (!segment->file_size || size > SIZE_MAX / 2 || first > INT64_MAX)
        return;
    void *at = mmap(NULL, (size_t)size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)first);
    if (at == MAP_FAILED)
        return;
    ahead->pieces[ahead->n].at = at;
    ahead->pieces[ahead->n++].size = (size_t)size;
}

static void map_code(int fd, const struct cairn_elf *elf, struct cairn_ahead *ahead)
{
    struct cairn_elf_segment segment;
    for (uint32_t i = 0; i < elf->n_segments && ahead->n < CAIRN_AHEAD_PIECES; i++)
        if (cairn_elf_segment(elf, i, &segment) && segment.type == PT_LOAD &&
            segment.flags & PF_X && segment.off <= elf->bytes.size &&
            segment.file_size <= elf->bytes.size - segment.off)
            map_segment(fd, &segment, ahead);
}

static int map_file(void *ctx, const struct cairn_library_file *file)
{
    struct cairn_ahead *ahead = ctx;
    if (file->elf)
        map_code(file->fd, file->elf, ahead);
    return ahead->n == CAIRN_AHEAD_PIECES;
}

void cairn_ahead_map(const char *name, struct cairn_ahead *ret_ahead)
{
    char found[PATH_MAX];
    *ret_ahead = (struct cairn_ahead){0};
    const char *path = cairn_program_find_mapped(name, getenv("PATH"), found, sizeof found);
    if (path)
        (void)cairn_library_each_file(path, map_file, ret_ahead);
}

void cairn_ahead_unmap(struct cairn_ahead *ahead)
{
    for (size_t i = 0; i < ahead->n; i++)
        munmap(ahead->pieces[i].at, ahead->pieces[i].size);
    *ahead = (struct cairn_ahead){0};
}
