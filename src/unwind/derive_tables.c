/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/below.h"
#include "base/error.h"
#include "unwind/derive_flow.h"

/* TABLE_BYTES: of an entry that counts from its table. */
enum { TABLE_MAX = 1024, TABLE_BYTES = 4 };

static bool word_at(const struct cairn_deriving *d, uint64_t vaddr, size_t size, uint64_t *ret_word)
{
    struct cairn_span bytes;
    if (!cairn_elf_bytes_at(d->input->elf, vaddr, &bytes) || bytes.size < size)
        return false;
    uint32_t half;
    if (size == sizeof half) {
        memcpy(&half, bytes.data, sizeof half);
        *ret_word = (uint64_t)(int64_t)(int32_t)half;
    } else {
        memcpy(ret_word, bytes.data, sizeof *ret_word);
    }
    return true;
}

/* Entries of 4 bytes that count from the table, or addresses, up to the first that does not lead
 * into the function; how many. */
static size_t count_entries(struct cairn_deriving *d, const struct cairn_derive_place *jump,
                            uint64_t table, size_t size)
{
    uint64_t from, to, word;
    size_t n = 0, next = cairn_count_below(d->tables, d->n_tables, sizeof *d->tables, 0, table);
    uint64_t end = next < d->n_tables ? d->tables[next] : UINT64_MAX;
    uint64_t most = jump->bound && jump->bound < TABLE_MAX ? jump->bound : TABLE_MAX;
    cairn_derive_bounds(d, jump, &from, &to);
    for (; n < most && table + n * size < end && word_at(d, table + n * size, size, &word); n++) {
        uint64_t target = size == TABLE_BYTES ? table + word : word;
        if (target < from || target >= to)
            break;
    }
    cairn_derive_spend(d, n + 1);
    return n;
}

static size_t take_table(struct cairn_deriving *d, const struct cairn_derive_place *jump,
                         uint64_t table, size_t size, size_t least)
{
    size_t n = count_entries(d, jump, table, size);
    uint64_t word;
    if (n < least)
        return 0;
    for (size_t i = 0; i < n && word_at(d, table + i * size, size, &word); i++)
        cairn_derive_go_to(d, jump, size == TABLE_BYTES ? table + word : word,
                           &d->known[jump->state - 1]);
    return n;
}

/* By what was taken last, or, where the number of entries is known, anywhere in the function. */
static bool take_tables(struct cairn_deriving *d, const struct cairn_derive_place *jump)
{
    uint64_t from, to;
    for (size_t p = 0; p < CAIRN_DERIVE_PLACES && jump->places[p]; p++)
        if (take_table(d, jump, jump->places[p], TABLE_BYTES, 1) ||
            take_table(d, jump, jump->places[p], sizeof(uint64_t), 1))
            return true;
    if (jump->bound < 2 || jump->bound > TABLE_MAX)
        return false;
    cairn_derive_bounds(d, jump, &from, &to);
    for (size_t i = 0; i < d->n_taken && cairn_derive_spend(d, 1); i++)
        if (d->taken[i].from >= from && d->taken[i].from < to &&
            take_table(d, jump, d->taken[i].to, TABLE_BYTES, (size_t)jump->bound))
            return true;
    return false;
}

static int compare_vaddrs(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

/* All places that may be tables bound each other. */
static void sort_tables(struct cairn_deriving *d)
{
    for (size_t i = 0; i < d->n_jumps && d->code == CAIRN_OK; i++)
        for (size_t p = 0; p < CAIRN_DERIVE_PLACES; p++) {
            uint64_t table = d->jumps[i].places[p];
            if (!table || cairn_derive_gap_of(d, table))
                continue;
            if (cairn_grow((void **)&d->tables, &d->cap_tables, d->n_tables + 1,
                           sizeof *d->tables) < 0)
                d->code = CAIRN_E_NOMEM;
            else
                d->tables[d->n_tables++] = table;
        }
    if (d->n_tables)
        qsort(d->tables, d->n_tables, sizeof *d->tables, compare_vaddrs);
}

/* A jump that no table is found for may lead anywhere in its function. */
void cairn_derive_follow_jumps(struct cairn_deriving *d)
{
    while (d->code == CAIRN_OK && d->n_jumps) {
        sort_tables(d);
        size_t n = d->n_jumps;
        for (size_t i = 0; i < n && d->code == CAIRN_OK; i++) {
            struct cairn_derive_place jump = d->jumps[i];
            bool found = take_tables(d, &jump);
            size_t byte =
                cairn_derive_byte_of(cairn_derive_gap_of(d, jump.vaddr - 1), jump.vaddr - 1);
            if (!found && !jump.guess && cairn_derive_is_unchanged(&d->known[jump.state - 1]))
                d->marks[byte] |= CAIRN_DERIVE_RETURNS;
            else if (!found)
                cairn_derive_spoil(d, &jump, byte);
        }
        memmove(d->jumps, d->jumps + n, (d->n_jumps - n) * sizeof *d->jumps);
        d->n_jumps -= n;
        cairn_derive_follow_all(d);
    }
}
