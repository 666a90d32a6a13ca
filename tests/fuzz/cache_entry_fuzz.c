/* SPDX-License-Identifier: MIT */
/* An entry of the cache, as another process or a bad disk left it. The checksum of its header is
 * set right first, or nothing behind it would ever be read. */
#include <stdlib.h>

#include "cache/entry.h"

enum { HEADER_SIZE_AT = 16, CHECKSUM_AT = 48, FIXED_SIZE = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sink; /* what is read must be used, or the compiler reads nothing */

static void set_checksum(uint8_t *bytes, size_t size)
{
    uint64_t header_size = 0;
    if (size < FIXED_SIZE)
        return;
    for (unsigned i = 0; i < 8; i++)
        header_size |= (uint64_t)bytes[HEADER_SIZE_AT + i] << 8 * i;
    if (header_size < FIXED_SIZE || header_size > size)
        return;
    memset(bytes + CHECKSUM_AT, 0, 8);
    uint64_t hash = cairn_cache_hash((struct cairn_span){bytes, (size_t)header_size});
    for (unsigned i = 0; i < 8; i++)
        bytes[CHECKSUM_AT + i] = (uint8_t)(hash >> 8 * i);
}

static void read_all(struct cairn_span bytes)
{
    struct cairn_cache_entry_read entry;
    if (cairn_cache_entry_read(bytes, &entry, NULL) < 0)
        return;
    sink += strlen(entry.header.module) + strlen(entry.header.build_id);
    for (size_t i = 0; i < entry.header.n_files; i++)
        sink += strlen(entry.files[i].path) + strlen(entry.files[i].build_id) +
                cairn_cache_file_equal(&entry.files[i], &entry.files[0]);
    for (size_t i = 0; i < entry.payload.size; i++)
        sink += entry.payload.data[i];
    cairn_cache_entry_done(&entry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    read_all((struct cairn_span){copy, size});
    set_checksum(copy, size);
    read_all((struct cairn_span){copy, size});
    free(copy);
    return 0;
}
