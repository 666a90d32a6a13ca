/* SPDX-License-Identifier: MIT */
#include "sample/pack.h"

#include "base/error.h"
#include "base/log.h"

/* A stack that is as deep as they come has a thousand nodes of its own. Whatever is met again after
 * it was packed comes from the kernel once more: of a load that has more stacks than are wanted
 * here all would come all the time. */
enum { STACKS_PER_ROW = 4, TURNS = 10, TIMES_AT_ONCE = 8 };

/* Where memory has a bound new stacks are refused in the end, and those that are there are found
 * yet: that they are there is to be known long before. */
static bool is_near_bound(const struct cairn_collect *collect)
{
    return collect->memory_max && cairn_collect_bytes(collect) > collect->memory_max / 2;
}

bool cairn_collect_is_crowded(const struct cairn_collect *collect)
{
    const struct cairn_profile *p = collect->profile;
    size_t most = collect->pack_rows * (collect->pack_turns ? TIMES_AT_ONCE : 1);
    return most && !p->closed && !is_near_bound(collect) &&
           (p->n_samples >= most || p->n_stacks / STACKS_PER_ROW >= most);
}

void cairn_collect_pack(struct cairn_collect *collect)
{
    const size_t n = collect->profile->n_samples;
    if (!cairn_collect_is_crowded(collect) ||
        cairn_packed_take(&collect->packed, collect->profile) < 0)
        return;
    collect->last = CAIRN_COLLECT_UNKEPT;
    collect->pack_turns = TURNS;
    cairn_log(CAIRN_LOG_DEBUG, "%zu rows of samples were packed, %zu are now", n,
              cairn_packed_rows(&collect->packed));
}

int cairn_collect_unpack(struct cairn_collect *collect)
{
    collect->last = CAIRN_COLLECT_UNKEPT;
    return cairn_packed_give(&collect->packed, collect->profile);
}
