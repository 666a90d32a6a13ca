/* SPDX-License-Identifier: MIT */
/*
 * Blocks and kinds as a core file may have them, hostile ones too: a state is made of them, and
 * read again. What comes back are the blocks that went in.
 *
 *     u8 what | kind: u8 n, n bytes of its text; block: u16 gap, u64 size, u8 kind | ...
 */
#include <elf.h>

#include "base/reader.h"
#include "formats/heap_make.h"
#include "formats/heap_view.h"

enum { ITEMS_MAX = 512, KIND = 1, FAR = 2, GRANULE = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cairn_heap_block blocks[ITEMS_MAX];
static size_t n_blocks, n_seen;

static void fail_unless(bool holds)
{
    if (!holds)
        __builtin_trap();
}

static void see(void *ctx, const struct cairn_heap_block *block)
{
    const struct cairn_heap_block *expected = &blocks[n_seen++];
    (void)ctx;
    fail_unless(n_seen <= n_blocks && block->va == expected->va && block->size == expected->size &&
                block->stack == expected->stack);
}

static void add_kind(struct cairn_heap_make *make, struct cairn_reader *in)
{
    char text[256] = "";
    size_t n = cairn_reader_u8(in);
    struct cairn_span bytes = cairn_reader_take(in, n);
    if (bytes.size)
        memcpy(text, bytes.data, bytes.size);
    (void)cairn_heap_make_kind(make, text);
}

/* Ascending, and a granule apart at least, as the room that lists them has it. */
static void add_block(struct cairn_heap_make *make, struct cairn_reader *in, bool is_far,
                      uint64_t *va)
{
    uint64_t gap = ((uint64_t)cairn_reader_u16(in) + GRANULE / 16) * 16 << (is_far ? 24 : 0);
    uint64_t bytes = cairn_reader_u64(in);
    uint32_t kind = cairn_reader_u8(in) % make->n_stacks;
    if (in->failed || gap > (UINT64_C(1) << 47) - *va)
        return;
    *va += gap;
    blocks[n_blocks++] = (struct cairn_heap_block){.va = *va, .size = bytes, .stack = kind};
    cairn_heap_make_block(make, *va, bytes, kind);
}

static void read_again(const struct cairn_buffer *bytes)
{
    struct cairn_heap_view view;
    size_t end;
    fail_unless(cairn_heap_view_open(cairn_buffer_span(bytes), &view, &end, NULL) == CAIRN_OK &&
                end == bytes->size);
    n_seen = 0;
    fail_unless(cairn_heap_view_sorted_blocks(&view, see, NULL) == CAIRN_OK);
    fail_unless(n_seen == n_blocks && view.n_damaged == 0);
    cairn_heap_view_close(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_reader in = cairn_reader_of((struct cairn_span){data, size}, false);
    struct cairn_heap_make make;
    struct cairn_buffer bytes = {0};
    uint64_t va = 0;
    n_blocks = 0;
    cairn_heap_make_begin(&make, EM_X86_64, 1, "fuzz");
    for (int i = 0; i < ITEMS_MAX && cairn_reader_more(&in); i++) {
        unsigned what = cairn_reader_u8(&in);
        if (what & KIND)
            add_kind(&make, &in);
        else
            add_block(&make, &in, what & FAR, &va);
    }
    fail_unless(cairn_heap_make_end(&make, &bytes, NULL) == CAIRN_OK);
    read_again(&bytes);
    cairn_buffer_done(&bytes);
    cairn_heap_make_done(&make);
    return 0;
}
