/* SPDX-License-Identifier: MIT */
/*
 * Index: what makes the things of a profile unique. Two shapes:
 *
 *     modules, functions, frames, label sets,     open addressing: slot ─► number, 0 = free
 *     samples
 *     stacks                                      children of each parent (children.h)
 *
 * Everything here can be thrown away at any time; what is missing is indexed when next needed.
 */
#ifndef CAIRN_PROFILE_INDEX_H
#define CAIRN_PROFILE_INDEX_H

#include "profile/children.h"
#include "profile/profile.h"

struct cairn_profile_slots {
    uint32_t *slots;
    size_t n_slots;
    size_t n_indexed; /* numbers below this are in the slots; 0 is never looked for */
};

struct cairn_profile_index {
    struct cairn_profile_slots modules, functions, frames, label_sets;
    struct cairn_profile_slots samples;     /* numbers one higher; of those that are summed alone */
    struct cairn_profile_children children; /* of stacks, by frame */
    size_t n_linked;                        /* stacks below this are in there */
};

/* How one kind of thing is told apart. */
struct cairn_profile_rule {
    uint64_t (*hash_of)(const struct cairn_profile *p, uint32_t number);
    bool (*is)(const struct cairn_profile *p, uint32_t number, const void *thing);
};

/* The slot of `thing`, or the free one that becomes its slot once it is added as number `n`: write
 * the number there. NULL where memory is gone. */
uint32_t *cairn_profile_slot(const struct cairn_profile *p, struct cairn_profile_slots *slots,
                             const struct cairn_profile_rule *rule, size_t n, uint64_t hash,
                             const void *thing);

/* Samples were removed: they have other numbers. */
void cairn_profile_forget_samples(struct cairn_profile *p);

/* The same of label sets. */
void cairn_profile_forget_label_sets(struct cairn_profile *p);

/* All samples and stacks leave. Their memory stays, for as many will come. */
void cairn_profile_empty(struct cairn_profile *p);

/* The index of the profile, made where there is none; NULL where memory is gone. */
struct cairn_profile_index *cairn_profile_need_index(struct cairn_profile *p);

#endif /* CAIRN_PROFILE_INDEX_H */
