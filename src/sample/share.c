/* SPDX-License-Identifier: MIT */
#include "sample/share.h"

enum { PART = 5 };
static const int64_t MOST_NS = 500000000;

bool cairn_share_is_left(struct cairn_share *share, uint64_t now_ns)
{
    if (!share->since_ns)
        share->left_ns = MOST_NS;
    else
        share->left_ns += (int64_t)((now_ns - share->since_ns) / PART);
    if (share->left_ns > MOST_NS)
        share->left_ns = MOST_NS;
    share->since_ns = now_ns;
    return share->left_ns > 0;
}

void cairn_share_spend(struct cairn_share *share, uint64_t cpu_ns)
{
    share->left_ns -= cpu_ns < INT64_MAX ? (int64_t)cpu_ns : INT64_MAX;
}
