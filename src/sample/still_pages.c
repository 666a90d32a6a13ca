/* SPDX-License-Identifier: MIT */
#include "sample/still_pages.h"

#include <string.h>

#include "base/alloc.h"

enum { PAGE = CAIRN_STILL_PAGE_BYTES, PROBES = 8 };
static const uint64_t AGE_MAX_NS = 1000000000;

struct cairn_still_page {
    uint64_t number;
    size_t size; /* bytes that could be read */
    uint8_t bytes[PAGE];
};

void cairn_still_pages_done(struct cairn_still_pages *pages)
{
    for (size_t i = 0; i < pages->cap; i++)
        cairn_free(pages->pages[i]);
    cairn_free(pages->pages);
    cairn_table_done(&pages->by_number);
    *pages = (struct cairn_still_pages){0};
}

/* Has the process ended? Then no page that could be read can be. */
static bool is_ended(const struct cairn_still_pages *pages)
{
    uint8_t byte;
    bool any = false;
    for (size_t i = 0; i < pages->n && i < PROBES; i++) {
        const struct cairn_still_page *page = pages->pages[i];
        if (page->size && cairn_mem_read(pages->mem, page->number * PAGE, &byte, 1))
            return false;
        any = any || page->size;
    }
    return any;
}

/* The memory of the pages serves for the next ones. */
static void forget(struct cairn_still_pages *pages)
{
    cairn_table_done(&pages->by_number);
    pages->by_number = (struct cairn_table){0};
    pages->n = 0;
}

void cairn_still_pages_renew(struct cairn_still_pages *pages)
{
    if (!is_ended(pages))
        forget(pages);
}

void cairn_still_pages_begin(struct cairn_still_pages *pages, uint64_t now_ns)
{
    if (pages->n && now_ns - pages->read_ns < AGE_MAX_NS)
        return;
    cairn_still_pages_renew(pages);
    pages->read_ns = now_ns;
}

/* NULL: memory is gone. */
static struct cairn_still_page *add(struct cairn_still_pages *pages, uint64_t number)
{
    size_t had = pages->cap;
    if (pages->n == CAIRN_STILL_PAGES_MAX)
        forget(pages);
    if (cairn_grow((void **)&pages->pages, &pages->cap, pages->n + 1, sizeof(void *)) < 0)
        return NULL;
    if (pages->cap > had)
        memset(pages->pages + had, 0, (pages->cap - had) * sizeof(void *));
    struct cairn_still_page **page = &pages->pages[pages->n];
    if (!*page)
        *page = cairn_alloc(1, sizeof **page);
    if (!*page || cairn_table_set(&pages->by_number, number, (uint32_t)pages->n) < 0)
        return NULL;
    pages->n++;
    pages->n_reads++;
    (*page)->number = number;
    (*page)->size = cairn_mem_read(pages->mem, number * PAGE, (*page)->bytes, PAGE);
    return *page;
}

bool cairn_still_pages_read(struct cairn_still_pages *pages, uint64_t va, void *to, size_t size)
{
    while (size) {
        const size_t in_page = (size_t)(va % PAGE),
                     n = PAGE - in_page < size ? PAGE - in_page : size;
        const struct cairn_still_page *page;
        uint32_t at;
        if (cairn_table_find(&pages->by_number, va / PAGE, &at))
            page = pages->pages[at];
        else
            page = add(pages, va / PAGE);
        if (!page || page->size < in_page + n)
            return false;
        memcpy(to, page->bytes + in_page, n);
        to = (uint8_t *)to + n;
        va += n;
        size -= n;
    }
    return true;
}
