/* SPDX-License-Identifier: MIT */
/* From the state of a heap tracker to a profile: a sample for each stack. */
#ifndef CAIRN_FORMATS_HEAP_PROFILE_H
#define CAIRN_FORMATS_HEAP_PROFILE_H

#include "formats/heap_births.h"
#include "formats/heap_view.h"
#include "profile/profile.h"

/* What a sample's values are, in this order. The first four are called as pprof calls them. */
enum cairn_heap_value {
    CAIRN_HEAP_INUSE_OBJECTS,
    CAIRN_HEAP_INUSE_SPACE, /* the one to show first */
    CAIRN_HEAP_ALLOC_OBJECTS,
    CAIRN_HEAP_ALLOC_SPACE,
    CAIRN_HEAP_PEAK_OBJECTS,
    CAIRN_HEAP_PEAK_SPACE,
    CAIRN_HEAP_TEMPORARY_OBJECTS,
    CAIRN_HEAP_MAPPED_OBJECTS, /* mappings that live, but for the allocator's own */
    CAIRN_HEAP_MAPPED_SPACE,
    CAIRN_HEAP_VALUES
};

/* Live blocks that were born in the epochs [first, last] are counted; the other values are of the
 * whole run, whatever is asked here. */
struct cairn_heap_select {
    uint32_t first, last;
};
static const struct cairn_heap_select CAIRN_HEAP_ALL = {0, CAIRN_HEAP_MAX_EPOCHS - 1};

/* What each stack has, by its number. */
struct cairn_heap_sums {
    int64_t (*values)[CAIRN_HEAP_VALUES];
    uint32_t *oldest, *youngest; /* epochs that its counted live blocks were born in */
    uint32_t n;
    /* If these are not empty, a stack has one sample for each epoch with a birth, whose time is the
     * epoch's, and one without a time for its other values. */
    struct cairn_heap_births births;
};
int cairn_heap_sums_make(struct cairn_heap_view *view, const struct cairn_heap_select *select,
                         struct cairn_heap_sums *ret_sums, struct cairn_err *err);
void cairn_heap_sums_done(struct cairn_heap_sums *sums); /* all-zero is fine */

/* A profile without samples, of these value types; NULL where it fails. */
int cairn_heap_profile_new(struct cairn_profile **ret_profile, struct cairn_err *err);

/* One sample for each stack that has a value, with labels for its end, into a profile that has
 * these types: a second state is added to the first. `ret_stacks`, NULL or room for sums->n
 * numbers: which stack of the profile each is; UINT32_MAX where its record is damaged or not there.
 */
int cairn_heap_profile_add(struct cairn_heap_view *view, const struct cairn_heap_sums *sums,
                           struct cairn_profile *profile, uint32_t *ret_stacks,
                           struct cairn_err *err);

#endif /* CAIRN_FORMATS_HEAP_PROFILE_H */
