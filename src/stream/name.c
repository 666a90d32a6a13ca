/* SPDX-License-Identifier: MIT */
#include "stream/name.h"

int cairn_stream_set_name(struct cairn_table *names, struct cairn_profile *profile, int tid,
                          const char *name)
{
    uint32_t text = cairn_profile_text(profile, name, strlen(name));
    return text == UINT32_MAX ? CAIRN_E_NOMEM : cairn_table_set(names, (uint32_t)tid, text);
}

int cairn_stream_inherit_name(struct cairn_table *names, int parent_tid, int tid)
{
    uint32_t text;
    if (cairn_table_find(names, (uint32_t)parent_tid, &text))
        return cairn_table_set(names, (uint32_t)tid, text);
    cairn_table_remove(names, (uint32_t)tid); /* it may be another thread's */
    return CAIRN_OK;
}
