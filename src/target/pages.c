/* SPDX-License-Identifier: MIT */
#include "target/pages.h"

#include <string.h>

enum { PAGE = CAIRN_PAGE, SLOTS = CAIRN_PAGE_SLOTS, BANKS = CAIRN_PAGE_BANKS };

static const uint64_t no_page = 1;

void cairn_pages_forget(struct cairn_pages *pages)
{
    pages->now = 0;
    pages->last_va = no_page;
    for (size_t i = 0; i < BANKS; i++) {
        memset(pages->banks[i].used, 0, sizeof pages->banks[i].used);
        pages->banks[i].n_ahead = 0;
    }
}

static size_t slot_of(uint64_t va)
{
    return va / PAGE % SLOTS;
}

/* The bank whose page in that slot was not used for the longest time. */
static struct cairn_page_bank *oldest(struct cairn_pages *pages, size_t slot)
{
    struct cairn_page_bank *bank = &pages->banks[0];
    for (size_t i = 1; i < BANKS; i++)
        if (pages->banks[i].used[slot] < bank->used[slot])
            bank = &pages->banks[i];
    return bank;
}

/* Reads `n` pages from `va` into the bank. Is the one that was asked for among them? */
static bool fill(struct cairn_pages *pages, struct cairn_page_bank *bank, uint64_t va, size_t n,
                 size_t asked)
{
    size_t slot = slot_of(va), got = pages->read(pages->ctx, va, bank->bytes[slot], n, asked);
    for (size_t i = 0; i < n; i++) {
        bank->va[slot + i] = va + i * PAGE;
        bank->used[slot + i] = i < got ? pages->now : 0;
    }
    bank->below = va - PAGE;
    bank->above = va + got * PAGE;
    return got > asked;
}

/* Twice as many pages as the last time, as far as they lie in one piece. */
static size_t ahead(struct cairn_page_bank *bank, size_t room)
{
    bank->n_ahead = bank->n_ahead < SLOTS / 2 ? 2 * bank->n_ahead : SLOTS;
    return bank->n_ahead < room ? bank->n_ahead : room;
}

/* Reads the page; NULL if that fails. */
static const uint8_t *fetch(struct cairn_pages *pages, uint64_t va)
{
    const size_t slot = slot_of(va);
    for (size_t i = 0; i < BANKS; i++) {
        struct cairn_page_bank *bank = &pages->banks[i];
        if (!bank->n_ahead)
            continue;
        if (bank->above == va)
            return fill(pages, bank, va, ahead(bank, SLOTS - slot), 0) ? bank->bytes[slot] : NULL;
        if (bank->below == va) {
            size_t n = ahead(bank, slot + 1);
            if (fill(pages, bank, va - (n - 1) * PAGE, n, n - 1))
                return bank->bytes[slot];
            bank->n_ahead = 1;
            return fill(pages, bank, va, 1, 0) ? bank->bytes[slot] : NULL;
        }
    }
    struct cairn_page_bank *bank = oldest(pages, slot);
    bank->n_ahead = 1;
    return fill(pages, bank, va, 1, 0) ? bank->bytes[slot] : NULL;
}

static const uint8_t *page_at(struct cairn_pages *pages, uint64_t va)
{
    const size_t slot = slot_of(va);
    pages->now++;
    for (size_t i = 0; i < BANKS; i++) {
        struct cairn_page_bank *bank = &pages->banks[i];
        if (bank->used[slot] && bank->va[slot] == va) {
            bank->used[slot] = pages->now;
            return bank->bytes[slot];
        }
    }
    return fetch(pages, va);
}

bool cairn_pages_read(struct cairn_pages *pages, uint64_t va, void *to, size_t size)
{
    const uint64_t start = va - va % PAGE;
    if (pages->last_va != start) {
        pages->last = page_at(pages, start);
        pages->last_va = pages->last ? start : no_page;
        if (!pages->last)
            return false;
    }
    memcpy(to, pages->last + (va - start), size);
    return true;
}
