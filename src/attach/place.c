/* SPDX-License-Identifier: MIT */
/*
 * As the loader of the program would do it (gABI, "Program Loading"):
 *
 *     file      │ text  │ data   │
 *     memory    │ text  │ data   0000│ 0000 │       what is behind the file's bytes is zero: up to
 *     pages     │   │   │   │   │    │   │   │       the page's end by writing, then by other pages
 */
#include "attach/place.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "base/error.h"

struct placing {
    struct cairn_foothold *foothold;
    const struct cairn_image *image;
    cairn_image_import_fn import;
    void *ctx;
    uint64_t base;
    int their_fd;
};

static uint64_t page_of(uint64_t va)
{
    return va / CAIRN_IMAGE_PAGE * CAIRN_IMAGE_PAGE;
}

static uint64_t page_behind(uint64_t va)
{
    return page_of(va + CAIRN_IMAGE_PAGE - 1);
}

static int prot_of(const struct cairn_elf_segment *segment)
{
    return (segment->flags & PF_R ? PROT_READ : 0) | (segment->flags & PF_W ? PROT_WRITE : 0) |
           (segment->flags & PF_X ? PROT_EXEC : 0);
}

/* Over the pages that were reserved. */
static int map_file(const struct placing *p, const struct cairn_elf_segment *segment,
                    struct cairn_err *err)
{
    uint64_t low = page_of(segment->vaddr), ignored;
    const struct cairn_foothold_mapping want = {
        .va = p->base + low,
        .size = page_behind(segment->vaddr + segment->file_size) - low,
        .off = page_of(segment->off),
        .prot = prot_of(segment),
        .flags = MAP_PRIVATE | MAP_FIXED,
        .fd = p->their_fd};
    return want.size ? cairn_foothold_map(p->foothold, &want, &ignored, err) : CAIRN_OK;
}

static int map_zeros(const struct placing *p, const struct cairn_elf_segment *segment,
                     struct cairn_err *err)
{
    uint64_t low = page_behind(segment->vaddr + segment->file_size), ignored;
    uint64_t high = page_behind(segment->vaddr + segment->mem_size);
    const struct cairn_foothold_mapping want = {.va = p->base + low,
                                                .size = high - low,
                                                .prot = prot_of(segment),
                                                .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                                                .fd = -1};
    return low < high ? cairn_foothold_map(p->foothold, &want, &ignored, err) : CAIRN_OK;
}

static int write_segment(const struct placing *p, const struct cairn_elf_segment *segment,
                         struct cairn_err *err)
{
    static const uint8_t zeros[CAIRN_IMAGE_PAGE];
    const struct cairn_target_process *target = p->foothold->target;
    uint64_t end = segment->vaddr + segment->file_size;
    uint8_t *bytes = NULL;
    int result = cairn_image_relocate(p->image, segment, p->base, p->import, p->ctx, &bytes, err);
    if (result == CAIRN_OK && segment->file_size)
        result = cairn_target_write(target, p->base + segment->vaddr, bytes,
                                    (size_t)segment->file_size, err);
    if (result == CAIRN_OK && segment->file_size && page_behind(end) > end)
        result =
            cairn_target_write(target, p->base + end, zeros, (size_t)(page_behind(end) - end), err);
    cairn_free(bytes);
    return result;
}

/* What the loader would make read-only again. */
static int protect(const struct placing *p, const struct cairn_elf_segment *segment,
                   struct cairn_err *err)
{
    uint64_t low = page_of(segment->vaddr), high = page_of(segment->vaddr + segment->mem_size);
    const uint64_t args[CAIRN_CALL_ARGS] = {p->base + low, high - low, PROT_READ};
    uint64_t ignored;
    return low < high ? cairn_foothold_call(p->foothold, "cannot protect our data (mprotect)",
                                            SYS_mprotect, args, &ignored, err)
                      : CAIRN_OK;
}

static int place_segments(const struct placing *p, struct cairn_err *err)
{
    struct cairn_elf_segment segment;
    int result = CAIRN_OK;
    for (uint32_t i = 0; result == CAIRN_OK && cairn_elf_segment(&p->image->elf, i, &segment);
         i++) {
        if (segment.type != PT_LOAD)
            continue;
        result = map_file(p, &segment, err);
        if (result == CAIRN_OK)
            result = map_zeros(p, &segment, err);
        if (result == CAIRN_OK && segment.flags & PF_W)
            result = write_segment(p, &segment, err);
    }
    for (uint32_t i = 0; result == CAIRN_OK && cairn_elf_segment(&p->image->elf, i, &segment); i++)
        if (segment.type == PT_GNU_RELRO)
            result = protect(p, &segment, err);
    return result;
}

int cairn_place_image(struct cairn_foothold *foothold, const struct cairn_image *image,
                      cairn_image_import_fn import, void *ctx, uint64_t *ret_base,
                      struct cairn_err *err)
{
    struct placing p = {
        .foothold = foothold, .image = image, .import = import, .ctx = ctx, .their_fd = -1};
    const struct cairn_foothold_mapping reserve = {
        .size = image->bytes, .prot = PROT_NONE, .flags = MAP_PRIVATE | MAP_ANONYMOUS, .fd = -1};
    struct cairn_err later;
    int result = cairn_foothold_map(foothold, &reserve, &p.base, err);
    if (result < 0)
        return result;
    result = cairn_foothold_hand(foothold, image->fd, &p.their_fd, err);
    if (result == CAIRN_OK)
        result = place_segments(&p, err);
    if (p.their_fd >= 0)
        cairn_foothold_close_fd(foothold, p.their_fd, &later);
    if (result < 0)
        cairn_foothold_unmap(foothold, p.base, image->bytes, &later);
    else
        *ret_base = p.base;
    return result;
}
