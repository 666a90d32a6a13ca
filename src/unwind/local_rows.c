/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/local_rows.h"

#include <stdatomic.h>

#include "rt/pages.h"

enum { ROWS = 32, ROW_BYTES = CAIRN_LOCAL_ROW_BYTES };
_Static_assert(sizeof(struct cairn_local_row) <= ROW_BYTES, "a row is a page");

static _Atomic(char *) pool;    /* ROWS rows; NULL until one is asked for */
static _Atomic(uint32_t) taken; /* a bit a row */

static char *get_pool(void)
{
    char *rows = atomic_load_explicit(&pool, memory_order_acquire), *none = NULL;
    if (rows)
        return rows;
    rows = cairn_pages_map(ROWS * ROW_BYTES);
    if (!rows || atomic_compare_exchange_strong(&pool, &none, rows))
        return rows;
    cairn_pages_unmap(rows, ROWS * ROW_BYTES);
    return none;
}

struct cairn_local_row *cairn_local_rows_take(void)
{
    char *rows = get_pool();
    uint32_t bits = atomic_load_explicit(&taken, memory_order_relaxed);
    while (rows && ~bits) {
        unsigned i = (unsigned)__builtin_ctz(~bits);
        if (atomic_compare_exchange_weak_explicit(&taken, &bits, bits | UINT32_C(1) << i,
                                                  memory_order_acquire, memory_order_relaxed))
            return (struct cairn_local_row *)(void *)(rows + (size_t)i * ROW_BYTES);
    }
    return cairn_pages_map(ROW_BYTES);
}

void cairn_local_rows_give(struct cairn_local_row *row)
{
    const char *rows = atomic_load_explicit(&pool, memory_order_relaxed);
    uintptr_t at = (uintptr_t)row - (uintptr_t)rows;
    if (rows && at < ROWS * ROW_BYTES)
        atomic_fetch_and_explicit(&taken, ~(UINT32_C(1) << at / ROW_BYTES), memory_order_release);
    else
        cairn_pages_unmap(row, ROW_BYTES);
}
