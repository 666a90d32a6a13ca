/* SPDX-License-Identifier: MIT */
#include "sample/code_pages.h"

static const uint64_t AGE_MAX_NS = 10000000;

void cairn_code_pages_begin(struct cairn_code_pages *pages, const struct cairn_space *space,
                            uint64_t now_ns)
{
    if (pages->version == space->code.version && now_ns - pages->read_ns < AGE_MAX_NS)
        return;
    pages->version = space->code.version;
    pages->read_ns = now_ns;
    for (size_t i = 0; i < CAIRN_CODE_PAGES; i++)
        pages->pages[i].is_read = false;
}

static const struct cairn_code_page *page_of(struct cairn_code_pages *pages,
                                             struct cairn_space *space, uint64_t va)
{
    struct cairn_code_page *page = &pages->pages[va / CAIRN_CODE_PAGE_BYTES % CAIRN_CODE_PAGES];
    if (page->is_read && page->va == va)
        return page;
    page->va = va;
    page->size = (uint32_t)cairn_space_peek(space, va, page->bytes, sizeof page->bytes);
    page->is_read = true;
    pages->n_reads++;
    return page;
}

bool cairn_code_pages_read(struct cairn_code_pages *pages, struct cairn_space *space, uint64_t va,
                           void *to, size_t size)
{
    while (size) {
        const size_t in_page = (size_t)(va % CAIRN_CODE_PAGE_BYTES);
        const struct cairn_code_page *page = page_of(pages, space, va - in_page);
        size_t n = CAIRN_CODE_PAGE_BYTES - in_page < size ? CAIRN_CODE_PAGE_BYTES - in_page : size;
        if (page->size < in_page + n)
            return false;
        memcpy(to, page->bytes + in_page, n);
        to = (uint8_t *)to + n;
        va += n;
        size -= n;
    }
    return true;
}
