/* SPDX-License-Identifier: MIT */
#include "guest/pages.h"

#include <string.h>

/* NULL: it cannot be read. */
static const uint8_t *page_of(struct cairn_guest_pages *pages, uint64_t va)
{
    size_t i = va / CAIRN_GUEST_PAGE % CAIRN_GUEST_PAGES;
    if (pages->va[i] == va + 1)
        return pages->bytes[i];
    pages->va[i] = 0;
    if (!pages->memory.read(pages->memory.ctx, va, pages->bytes[i], CAIRN_GUEST_PAGE))
        return NULL;
    pages->va[i] = va + 1;
    return pages->bytes[i];
}

static bool read_pages(void *ctx, uint64_t va, void *to, size_t size)
{
    struct cairn_guest_pages *pages = ctx;
    uint8_t *out = to;
    if (size > UINT64_MAX - va)
        return false;
    while (size) {
        uint64_t begin = va & ~(uint64_t)(CAIRN_GUEST_PAGE - 1);
        size_t skip = (size_t)(va - begin);
        size_t n = CAIRN_GUEST_PAGE - skip < size ? CAIRN_GUEST_PAGE - skip : size;
        const uint8_t *bytes = page_of(pages, begin);
        if (!bytes)
            return false;
        memcpy(out, bytes + skip, n);
        out += n;
        va += n;
        size -= n;
    }
    return true;
}

struct cairn_memory cairn_guest_pages_begin(struct cairn_guest_pages *pages,
                                            struct cairn_memory memory)
{
    pages->memory = memory;
    memset(pages->va, 0, sizeof pages->va);
    return (struct cairn_memory){.read = read_pages, .ctx = pages};
}

bool cairn_guest_u64(struct cairn_memory memory, uint64_t va, uint64_t *ret_value)
{
    return memory.read(memory.ctx, va, ret_value, sizeof *ret_value);
}

bool cairn_guest_u32(struct cairn_memory memory, uint64_t va, uint32_t *ret_value)
{
    return memory.read(memory.ctx, va, ret_value, sizeof *ret_value);
}

bool cairn_guest_text(struct cairn_memory memory, uint64_t va, char *to, size_t max,
                      size_t *ret_size)
{
    size_t size = 0;
    while (size < max) {
        size_t n = CAIRN_GUEST_PAGE - (size_t)((va + size) % CAIRN_GUEST_PAGE);
        n = n < max - size ? n : max - size;
        if (!memory.read(memory.ctx, va + size, to + size, n))
            return false;
        const char *nul = memchr(to + size, 0, n);
        if (nul) {
            *ret_size = (size_t)(nul - to);
            return true;
        }
        size += n;
    }
    *ret_size = size;
    return true;
}
