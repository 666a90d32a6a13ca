/* SPDX-License-Identifier: MIT */
#include "cli/heap_lost_keys.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"

static int compare(const void *x, const void *y)
{
    const struct cli_lost_key *a = x, *b = y;
    return a->key < b->key ? -1 : a->key > b->key;
}

int cli_lost_keys_fill(struct cairn_heap_keys *of, const struct cairn_heap_lost *lost,
                       struct cli_lost_keys *ret_keys, struct cairn_err *err)
{
    struct cli_lost_keys keys = {.n = lost->n_lost};
    uint32_t *numbers = cairn_alloc(lost->n_lost + 1, sizeof *numbers);
    keys.rows = cairn_alloc(lost->n_lost + 1, sizeof *keys.rows);
    int code = numbers && keys.rows ? CAIRN_OK : cairn_fail_memory(err);
    if (code == CAIRN_OK)
        code = cairn_heap_keys_of(of, lost->profile, lost->lost, lost->n_lost, numbers, err);
    for (size_t i = 0; code == CAIRN_OK && i < keys.n; i++)
        keys.rows[i] =
            (struct cli_lost_key){numbers[i], lost->lost[i].bytes + lost->lost[i].indirect_bytes};
    cairn_free(numbers);
    if (code < 0) {
        cli_lost_keys_done(&keys);
        return code;
    }
    qsort(keys.rows, keys.n, sizeof *keys.rows, compare);
    *ret_keys = keys;
    return CAIRN_OK;
}

uint64_t cli_lost_keys_bytes(const struct cli_lost_keys *keys, uint32_t key)
{
    const struct cli_lost_key wanted = {.key = key}, *found = NULL;
    if (keys->n && key)
        found = bsearch(&wanted, keys->rows, keys->n, sizeof *keys->rows, compare);
    return found ? found->bytes : 0;
}

void cli_lost_keys_done(struct cli_lost_keys *keys)
{
    cairn_free(keys->rows);
    *keys = (struct cli_lost_keys){0};
}
