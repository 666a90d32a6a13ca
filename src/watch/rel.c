/* SPDX-License-Identifier: MIT */
/* Addresses as their ELF files count them: what segments are mapped at other places than they have
 * in the file, and only the file's headers tell. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "elf/image.h"
#include "watch/heap.h"

/* The vaddr of the first byte of a mapping, by the file as it is now: where it is gone or another
 * one, what linkers do that leave no gaps, vaddr = off. */
static uint64_t first_vaddr(const char *root, const struct cairn_frame_info *frame)
{
    char path[PATH_MAX];
    struct cairn_file file;
    struct cairn_elf elf;
    uint64_t vaddr = frame->module_off;
    if (snprintf(path, sizeof path, "%s%s", root ? root : "", frame->module) >= PATH_MAX ||
        cairn_file_open(path, &file, NULL) < 0)
        return vaddr;
    if (cairn_elf_open(file.bytes, &elf, NULL) < 0 ||
        !cairn_elf_vaddr_of_mapping(&elf, frame->module_off, (uint64_t)sysconf(_SC_PAGESIZE), true,
                                    &vaddr))
        vaddr = frame->module_off;
    cairn_file_close(&file);
    return vaddr;
}

uint64_t cairn_heap_rel(struct cairn_heap *heap, const char *root,
                        const struct cairn_frame_info *frame)
{
    for (size_t i = 0; i < heap->n_places; i++)
        if (heap->places[i].from == frame->module_start &&
            strcmp(heap->places[i].path, frame->module) == 0)
            return frame->address - frame->module_start + heap->places[i].vaddr;
    uint64_t vaddr = first_vaddr(root, frame);
    char *path = cairn_strdup(frame->module);
    if (path && cairn_grow((void **)&heap->places, &heap->cap_places, heap->n_places + 1,
                           sizeof *heap->places) == CAIRN_OK)
        heap->places[heap->n_places++] =
            (struct cairn_heap_place){.from = frame->module_start, .path = path, .vaddr = vaddr};
    else
        cairn_free(path);
    return frame->address - frame->module_start + vaddr;
}
