/* SPDX-License-Identifier: MIT */
#include "sample/ahead.h"

#include <elf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/open.h"
#include "elf/dynamic.h"
#include "rt/program.h"
#include "target/library.h"

enum { FILES_MAX = 64 };

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

/* Files whose code is mapped, in the order in which the loader meets them. */
struct wanted {
    char *paths[FILES_MAX];
    size_t n;
    const char *origin; /* of the file that asks now */
};

static bool has(const struct wanted *wanted, const char *path)
{
    for (size_t i = 0; i < wanted->n; i++)
        if (strcmp(wanted->paths[i], path) == 0)
            return true;
    return false;
}

static void want(struct wanted *wanted, const char *path)
{
    char *copy = wanted->n < FILES_MAX && !has(wanted, path) ? cairn_strdup(path) : NULL;
    if (copy)
        wanted->paths[wanted->n++] = copy;
}

static bool on_needed(void *ctx, const char *name, const char *folders)
{
    struct wanted *wanted = ctx;
    const struct cairn_library_user user = {folders, wanted->origin};
    struct cairn_buffer path = {0};
    if (cairn_library_find(name, &user, &path))
        want(wanted, cairn_buffer_text(&path));
    cairn_buffer_done(&path);
    return wanted->n < FILES_MAX;
}

static void want_needed(const struct cairn_elf *elf, const char *path, struct wanted *wanted)
{
    char *folder = cairn_strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash)
        *slash = 0;
    wanted->origin = slash ? folder : ".";
    (void)cairn_elf_each_needed(elf, on_needed, wanted);
    cairn_free(folder);
}

static void take_file(const char *path, struct wanted *wanted, struct cairn_ahead *ahead)
{
    struct cairn_file file;
    struct cairn_elf elf;
    int fd = cairn_open_regular(path);
    if (fd < 0)
        return;
    if (cairn_file_open_fd(fd, path, &file, NULL) == CAIRN_OK) {
        if (cairn_elf_open(file.bytes, &elf, NULL) == CAIRN_OK) {
            map_code(fd, &elf, ahead);
            want_needed(&elf, path, wanted);
        }
        cairn_file_close(&file);
    }
    close(fd);
}

void cairn_ahead_map(const char *name, struct cairn_ahead *ret_ahead)
{
    char found[PATH_MAX], interpreter[CAIRN_PROGRAM_INTERPRETER] = "";
    struct wanted wanted = {0};
    *ret_ahead = (struct cairn_ahead){0};
    const char *path = cairn_program_find(name, getenv("PATH"), found, sizeof found);
    if (!path)
        return;
    (void)cairn_program_judge(path, interpreter);
    want(&wanted, interpreter[0] ? interpreter : path);
    for (size_t i = 0; i < wanted.n; i++)
        take_file(wanted.paths[i], &wanted, ret_ahead);
    for (size_t i = 0; i < wanted.n; i++)
        cairn_free(wanted.paths[i]);
}

void cairn_ahead_unmap(struct cairn_ahead *ahead)
{
    for (size_t i = 0; i < ahead->n; i++)
        munmap(ahead->pieces[i].at, ahead->pieces[i].size);
    *ahead = (struct cairn_ahead){0};
}
