/* SPDX-License-Identifier: MIT */
/* What is lost of each stack, for the report of a process that runs. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/heap_lost.h"

/* A stack by its key, and what is lost of it. */
struct lost_key {
    uint32_t key;
    uint64_t bytes;
};

static int compare_keys(const void *x, const void *y)
{
    const struct lost_key *a = x, *b = y;
    return a->key < b->key ? -1 : a->key > b->key;
}

static uint64_t bytes_of(const struct lost_key *rows, size_t n, uint32_t key)
{
    const struct lost_key wanted = {.key = key}, *found = NULL;
    if (n && key)
        found = bsearch(&wanted, rows, n, sizeof *rows, compare_keys);
    return found ? found->bytes : 0;
}

/* `of_lost` and `of_look`: the keys of both's stacks. */
static void join(struct cli_heap_look *look, const struct cairn_heap_lost *lost,
                 const uint32_t *of_lost, const uint32_t *of_look, struct lost_key *rows)
{
    for (size_t i = 0; i < lost->n_lost; i++)
        rows[i] = (struct lost_key){of_lost[i], lost->lost[i].bytes + lost->lost[i].indirect_bytes};
    if (lost->n_lost)
        qsort(rows, lost->n_lost, sizeof *rows, compare_keys);
    for (size_t i = 0; i < look->n; i++)
        look->lost[i] = bytes_of(rows, lost->n_lost, of_look[i]);
}

static int fill(struct cli_heap_look *look, const struct cairn_heap_lost *lost,
                struct cairn_err *err)
{
    struct cairn_heap_keys *keys = NULL;
    uint32_t *of_lost = cairn_alloc(lost->n_lost + 1, sizeof *of_lost);
    uint32_t *of_look = cairn_alloc(look->n + 1, sizeof *of_look);
    struct lost_key *rows = cairn_alloc(lost->n_lost + 1, sizeof *rows);
    look->lost = cairn_alloc(look->n + 1, sizeof *look->lost);
    int code = of_lost && of_look && rows && look->lost ? cairn_heap_keys_new(NULL, 0, &keys, err)
                                                        : cairn_fail_memory(err);
    if (code == CAIRN_OK)
        code = cairn_heap_keys_of(keys, lost->profile, lost->lost, lost->n_lost, of_lost, err);
    if (code == CAIRN_OK)
        code = cairn_heap_keys_of(keys, look->profile, look->leaks, look->n, of_look, err);
    if (code == CAIRN_OK)
        join(look, lost, of_lost, of_look, rows);
    cairn_heap_keys_free(keys);
    cairn_free(of_lost);
    cairn_free(of_look);
    cairn_free(rows);
    return code;
}

int cli_heap_report_lost(struct cli_heap_wanted *wanted, struct cli_heap_look *look,
                         struct cairn_heap_lost *ret_lost, struct cairn_err *err)
{
    const struct cairn_heap_lost_opts opts = {.size = sizeof opts};
    if (!look->pid) {
        cairn_fail(err, CAIRN_E_ARG, "--lost: a file does not say what was lost");
        cairn_hint(err, "give the PID or the name of a process that runs");
        return CAIRN_E_ARG;
    }
    int code = cli_lost_look(wanted, look->pid, &opts, ret_lost, err);
    return code < 0 ? code : fill(look, ret_lost, err);
}
