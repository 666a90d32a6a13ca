/* SPDX-License-Identifier: MIT */
/*
 * The state of a heap tracker. A chunk is 64 KiB and most of it zeros, so the input says what is
 * not: the header's bytes behind its first 16, then for each chunk its row and how its bytes begin.
 *
 *     u16 n, n bytes of the header | row of 16 bytes, u16 n, n bytes of the chunk | ...
 */
#include "base/reader.h"
#include "rt/heap_state.h"
#include "support/profile_fuzz.h"

enum { CHUNKS_MAX = 24, FIRST = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cairn_span take(struct cairn_reader *r, size_t limit)
{
    size_t n = cairn_reader_u16(r);
    n = n < limit ? n : limit;
    return cairn_reader_take(r, n < cairn_reader_left(r) ? n : cairn_reader_left(r));
}

static void put(uint8_t *to, struct cairn_span bytes)
{
    if (bytes.size)
        memcpy(to, bytes.data, bytes.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t state[CHUNKS_MAX * CAIRN_HEAP_CHUNK];
    static const uint8_t begin[FIRST] = CAIRN_HEAP_MAGIC "\x03\x00\x3e\x00\x08";
    struct cairn_reader r = cairn_reader_of((struct cairn_span){data, size}, false);
    struct cairn_profile *profile;
    struct cairn_err err;
    size_t n = 1;
    memset(state, 0, CAIRN_HEAP_CHUNK);
    memcpy(state, begin, FIRST);
    put(state + FIRST, take(&r, sizeof(struct cairn_heap_header) - FIRST));
    for (; n < CHUNKS_MAX && cairn_reader_more(&r); n++) {
        memset(state + n * CAIRN_HEAP_CHUNK, 0, CAIRN_HEAP_CHUNK);
        put(state + CAIRN_HEAP_HEADER_BYTES + n * 16,
            cairn_reader_take(&r, cairn_reader_left(&r) < 16 ? cairn_reader_left(&r) : 16));
        put(state + n * CAIRN_HEAP_CHUNK, take(&r, CAIRN_HEAP_CHUNK));
    }
    if (test_read_profile((struct cairn_span){state, n * CAIRN_HEAP_CHUNK}, CAIRN_FORMAT_HEAP,
                          &profile, &err) == CAIRN_OK)
        fuzz_profile(profile);
    fuzz_kept((struct cairn_span){state, n * CAIRN_HEAP_CHUNK}, CAIRN_FORMAT_HEAP);
    return 0;
}
