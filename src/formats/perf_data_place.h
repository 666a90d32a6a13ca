/* SPDX-License-Identifier: MIT */
/*
 * Perf data place: where the modules of a profile lie in the address space of a written perf.data.
 *
 * A profile has a module once, at the place that it had in the first process, so that modules of
 * different processes may overlap. A perf.data has places in each process: a module that overlaps
 * one before it is moved to where nothing lies.
 */
#ifndef CAIRN_FORMATS_PERF_DATA_PLACE_H
#define CAIRN_FORMATS_PERF_DATA_PLACE_H

#include "profile/profile.h"

enum cairn_perf_data_place_kind {
    CAIRN_PERF_DATA_PLACE_NONE, /* nothing is known of its range: it is not mapped */
    CAIRN_PERF_DATA_PLACE_USER,
    CAIRN_PERF_DATA_PLACE_KERNEL_IMAGE,
    CAIRN_PERF_DATA_PLACE_KERNEL_MODULE
};

struct cairn_perf_data_place {
    enum cairn_perf_data_place_kind kind;
    uint64_t start, end; /* in the file; of the kernel's: as far as frames reach */
    uint64_t off;
    bool is_mapped; /* a process has it */
};

/* Is it an address of the kernel's half? */
static inline bool cairn_perf_data_is_kernel_va(uint64_t va)
{
    return va >> 63;
}

/* One for each module, number 0 too; cairn_free() frees them. NULL: memory is gone. */
struct cairn_perf_data_place *cairn_perf_data_places(const struct cairn_profile *p);

/* The address of a frame in the file. */
uint64_t cairn_perf_data_placed(const struct cairn_profile *p,
                                const struct cairn_perf_data_place *places, uint32_t frame);

#endif /* CAIRN_FORMATS_PERF_DATA_PLACE_H */
