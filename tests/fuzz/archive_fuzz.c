/* SPDX-License-Identifier: MIT */
/* A zip archive: its directory, where its stored entries lie, and what packed ones unpack to. */
#include "base/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sink; /* what is read must be used, or the compiler reads nothing */

enum { UNPACKED_MAX = 1 << 16 };

/* Never more than is allowed, whatever the directory claims. */
static void unpack(const struct cairn_archive *archive, const struct cairn_archive_entry *entry)
{
    struct cairn_buffer plain = {0};
    int code = cairn_archive_unpack(archive, entry, UNPACKED_MAX, &plain, NULL);
    if (plain.size > UNPACKED_MAX || (code == CAIRN_OK && plain.size != entry->plain_bytes))
        __builtin_trap();
    for (size_t i = 0; i < plain.size; i++)
        sink += plain.data[i];
    cairn_buffer_done(&plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_archive archive;
    struct cairn_archive_entry entry, found;
    struct cairn_span bytes, held;
    if (cairn_archive_open((struct cairn_span){data, size}, &archive, NULL) < 0)
        return 0;
    int n = 0;
    for (size_t pos = 0; n < 100 && cairn_archive_next(&archive, &pos, &entry); n++) {
        unpack(&archive, &entry);
        if (cairn_archive_data(&archive, &entry, &bytes, NULL) < 0 || !bytes.size)
            continue;
        if (bytes.data < data || bytes.data + bytes.size > data + size)
            __builtin_trap();
        sink += bytes.data[0] + bytes.data[bytes.size - 1] + entry.name.data[0];
        if (!cairn_archive_find_at(&archive, (uint64_t)(bytes.data - data), &found, &held))
            __builtin_trap(); /* an entry that has bytes is found by them */
    }
    return 0;
}
