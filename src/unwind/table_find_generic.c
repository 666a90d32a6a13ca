/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/page_search.h"

uint32_t cairn_unwind_table_find(const struct cairn_unwind_table *table, uint64_t vaddr)
{
    return cairn_unwind_table_find_by(table, vaddr, cairn_page_count_portable);
}
