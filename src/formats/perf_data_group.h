/* SPDX-License-Identifier: MIT */
/*
 * Perf data group: values of counters that a sample carries, as what was counted since the sample
 * before. A sample of `perf record -e '{a,b}:S'` carries those of the whole group; members of it
 * have no samples of their own.
 *
 * Counters only grow. Those of events that children inherit are counted for each thread apart.
 */
#ifndef CAIRN_FORMATS_PERF_DATA_GROUP_H
#define CAIRN_FORMATS_PERF_DATA_GROUP_H

#include "base/table.h"
#include "formats/perf_data_sample.h"

struct cairn_perf_data_group {
    struct cairn_table by_counter; /* hash of a counter's number and a thread -> last */
    uint64_t *last;                /* values so far */
    size_t n, cap;
};

void cairn_perf_data_group_done(struct cairn_perf_data_group *group); /* all-zero is fine */

/* What the counter with that number went on by. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_perf_data_group_since(struct cairn_perf_data_group *group, uint64_t number, int tid,
                                uint64_t value, uint64_t *ret_since);

/* One value of a sample's, and the number of its counter; false: `index` is behind the last one. */
bool cairn_perf_data_reading(const struct cairn_perf_data_readings *readings, bool swap,
                             size_t index, uint64_t *ret_value, uint64_t *ret_number);

#endif /* CAIRN_FORMATS_PERF_DATA_GROUP_H */
