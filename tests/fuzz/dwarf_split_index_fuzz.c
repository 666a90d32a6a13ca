/* SPDX-License-Identifier: MIT */
/* The index of a .dwp. The first byte says in which order its numbers are. */
#include "dwarf/split_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sink; /* what is read must be used, or the compiler reads nothing */

static void look_up(const struct cairn_dwarf_split_index *index, uint64_t signature)
{
    struct cairn_dwarf_contribution c;
    if (!cairn_dwarf_split_index_find(index, signature, &c))
        return;
    for (int i = 0; i < CAIRN_DWARF_N_PARTS; i++) {
        if (c.part[i].off > UINT32_MAX || c.part[i].size > UINT32_MAX)
            __builtin_trap(); /* so that their sum cannot overflow */
        sink += c.part[i].off + c.part[i].size;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_dwarf_split_index index;
    struct cairn_err err;
    if (!size || cairn_dwarf_split_index_read((struct cairn_span){data + 1, size - 1}, data[0] & 1,
                                              &index, &err) < 0)
        return 0;
    uint32_t cursor = 0, n = 0;
    for (uint64_t signature; cairn_dwarf_split_index_next(&index, &cursor, &signature); n++)
        look_up(&index, signature);
    if (n > index.n_slots)
        __builtin_trap();
    look_up(&index, 0);
    look_up(&index, UINT64_MAX);
    return 0;
}
