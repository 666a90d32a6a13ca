/* SPDX-License-Identifier: MIT */
/* Addresses as their ELF files count them: what segments are mapped at other places than they have
 * in the file, and only the file's headers tell. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "elf/image.h"
#include "elf/note.h"
#include "watch/heap.h"

/* Where nobody says which one is meant, it may be. */
bool cairn_heap_is_of_build(const struct cairn_elf *elf, const char *hex)
{
    static const char digits[] = "0123456789abcdef";
    struct cairn_span id;
    if (!*hex || cairn_elf_build_id(elf, &id, NULL) < 0 || id.size == 0)
        return true;
    for (size_t i = 0; i < id.size; i++, hex += 2)
        if (hex[0] != digits[id.data[i] >> 4] || hex[1] != digits[id.data[i] & 15])
            return false;
    return !*hex;
}

/* The vaddr of the first byte of a mapping, by the file as it is now: where it is gone or another
 * one, what linkers do that leave no gaps, vaddr = off. */
static void look_into(const char *root, const struct cairn_frame_info *frame,
                      struct cairn_heap_place *place)
{
    char path[PATH_MAX];
    struct cairn_elf elf;
    place->vaddr = frame->module_off;
    if (snprintf(path, sizeof path, "%s%s", root ? root : "", frame->module) >= PATH_MAX ||
        cairn_file_open(path, &place->file, NULL) < 0)
        return;
    place->has_file = cairn_elf_open(place->file.bytes, &elf, NULL) == CAIRN_OK &&
                      cairn_heap_is_of_build(&elf, frame->build_id);
    if (!place->has_file)
        cairn_file_close(&place->file);
    else if (!cairn_elf_vaddr_of_mapping(&elf, frame->module_off, (uint64_t)sysconf(_SC_PAGESIZE),
                                         true, &place->vaddr))
        place->vaddr = frame->module_off;
}

void cairn_heap_place_done(struct cairn_heap_place *place)
{
    cairn_free(place->path);
    cairn_elf_symtab_done(&place->symtab);
    if (place->has_file)
        cairn_file_close(&place->file);
}

/* NULL: no memory for it. */
static struct cairn_heap_place *place_of(struct cairn_heap *heap, const char *root,
                                         const struct cairn_frame_info *frame)
{
    for (size_t i = 0; i < heap->n_places; i++)
        if (heap->places[i].from == frame->module_start &&
            strcmp(heap->places[i].path, frame->module) == 0)
            return &heap->places[i];
    struct cairn_heap_place place = {.from = frame->module_start,
                                     .path = cairn_strdup(frame->module)};
    if (!place.path || cairn_grow((void **)&heap->places, &heap->cap_places, heap->n_places + 1,
                                  sizeof *heap->places) < 0) {
        cairn_free(place.path);
        return NULL;
    }
    look_into(root, frame, &place);
    heap->places[heap->n_places] = place;
    return &heap->places[heap->n_places++];
}

static uint64_t rel_in(const struct cairn_heap_place *place, const struct cairn_frame_info *frame)
{
    uint64_t vaddr = place ? place->vaddr : frame->module_off;
    return frame->address - frame->module_start + vaddr;
}

uint64_t cairn_heap_rel(struct cairn_heap *heap, const char *root,
                        const struct cairn_frame_info *frame)
{
    return rel_in(place_of(heap, root, frame), frame);
}

/* .symtab, or .dynsym where that was stripped. */
static bool open_symtab(struct cairn_heap_place *place)
{
    struct cairn_elf elf;
    if (cairn_elf_open(place->file.bytes, &elf, NULL) < 0 ||
        cairn_elf_symtab_open(&elf, CAIRN_ELF_SYMTAB, &elf, &place->symtab, NULL) < 0)
        return false;
    if (!cairn_elf_symtab_is_empty(&place->symtab))
        return true;
    cairn_elf_symtab_done(&place->symtab);
    place->symtab = (struct cairn_elf_symtab){0};
    return cairn_elf_symtab_open(&elf, CAIRN_ELF_DYNSYM, &elf, &place->symtab, NULL) == CAIRN_OK;
}

static bool have_symtab(struct cairn_heap_place *place)
{
    if (place->has_file && !place->has_symtab)
        place->has_symtab = open_symtab(place);
    return place->has_symtab;
}

int cairn_heap_function_off(struct cairn_heap *heap, const char *root,
                            const struct cairn_frame_info *frame, uint64_t *ret_off)
{
    const struct cairn_elf_symbol *symbol;
    struct cairn_heap_place *place = place_of(heap, root, frame);
    if (!place || !have_symtab(place) ||
        cairn_elf_symtab_ask(&place->symtab, rel_in(place, frame), &symbol, NULL) < 0 || !symbol)
        return 0;
    *ret_off = rel_in(place, frame) - symbol->vaddr;
    return 1;
}
