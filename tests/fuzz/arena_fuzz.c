/* SPDX-License-Identifier: MIT */
/*
 * The heap of a process, as the program may have overwritten it: an image whose blocks are known,
 * then what the input writes over it. Blocks must lie in the memory that there is, each once, and
 * what is read is bounded.
 *
 *     u8 flags | u8 part, u16 word, u8 kind, u64 value | ...
 */
#include <stdlib.h>

#include "base/reader.h"
#include "support/arenaimage.h"

enum { OLD = 1, KINDS = 4, READS_MOST = 1 << 22 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail_unless(bool holds)
{
    if (!holds)
        __builtin_trap();
}

/* A word as it stands in the input, or one that leads into the image. */
static uint64_t word_of(const struct test_arena *t, unsigned kind, uint64_t value)
{
    const struct cairn_arena_region *region = &t->regions[value >> 16 & 3];
    switch (kind % KINDS) {
    case 0:
        return value;
    case 1:
        return region->low + value % 0x4000 / 16 * 16;
    case 2: /* a size with its flags */
        return value % 0x4000 / 16 * 16 | (value >> 32 & 7);
    default: /* a link that is masked */
        return (region->low + value % 0x4000 / 16 * 16) ^ region->low >> 12;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct test_arena *t = calloc(1, sizeof *t);
    struct cairn_reader in = cairn_reader_of((struct cairn_span){data, size}, false);
    struct cairn_arena_walk walk = {0};
    if (!t)
        return 0;
    test_arena_make(t, cairn_reader_u8(&in) & OLD);
    while (!in.failed && in.pos < size) {
        unsigned part = cairn_reader_u8(&in) % TEST_ARENA_PARTS, at = cairn_reader_u16(&in);
        unsigned kind = cairn_reader_u8(&in);
        uint64_t value = cairn_reader_u64(&in);
        const struct cairn_arena_region *region = &t->regions[part];
        uint64_t va = region->low + at % (region->high - region->low) / 8 * 8;
        if (!in.failed)
            test_arena_put(t, va, word_of(t, kind, value));
    }
    int result = test_arena_walk(t, &walk, NULL);
    fail_unless(result == CAIRN_OK || result == CAIRN_E_MISSING);
    fail_unless(t->n_reads < READS_MOST);
    for (size_t i = 0; i < walk.n; i++) {
        const struct cairn_arena_block *block = &walk.blocks[i];
        fail_unless(i == 0 || walk.blocks[i - 1].va < block->va);
        fail_unless(block->bytes < TEST_ARENA_PART && test_arena_at(t, block->va, 1) != NULL);
    }
    cairn_arena_walk_done(&walk);
    free(t);
    return 0;
}
