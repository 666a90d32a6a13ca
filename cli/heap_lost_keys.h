/* SPDX-License-Identifier: MIT */
/* What is lost of each stack, by the stack's key: beside what lives of it. */
#ifndef CAIRN_CLI_HEAP_LOST_KEYS_H
#define CAIRN_CLI_HEAP_LOST_KEYS_H

#include <cairn/heap.h>

struct cli_lost_key {
    uint32_t key;   /* cairn_heap_keys_of() */
    uint64_t bytes; /* lost, with what hangs on that */
};

/* Begins all-zero. */
struct cli_lost_keys {
    struct cli_lost_key *rows; /* ascending */
    size_t n;
};

/* The keys of `lost`, as `of` numbers them. */
int cli_lost_keys_fill(struct cairn_heap_keys *of, const struct cairn_heap_lost *lost,
                       struct cli_lost_keys *ret_keys, struct cairn_err *err);
/* 0: nothing of it is lost. */
uint64_t cli_lost_keys_bytes(const struct cli_lost_keys *keys, uint32_t key);
void cli_lost_keys_done(struct cli_lost_keys *keys);

#endif /* CAIRN_CLI_HEAP_LOST_KEYS_H */
