/* SPDX-License-Identifier: MIT */
/*
 * What makes the things of a profile unique: one open-addressing set of numbers for each kind. A
 * slot holds a number + 1; what it stands for is compared in the profile's own arrays, so that a
 * set costs four bytes a slot and nothing is kept twice.
 */
#ifndef CAIRN_PROFILE_INDEX_H
#define CAIRN_PROFILE_INDEX_H

#include "profile/profile.h"

struct cairn_profile_set {
    uint32_t *slots; /* number + 1; 0: free */
    size_t cap, n;
};

struct cairn_profile_index {
    struct cairn_profile_set modules, functions, frames, stacks, label_sets;
};

/* Does the thing of this number equal the one that is looked for? */
typedef bool (*cairn_profile_equal_fn)(const struct cairn_profile *p, uint32_t number,
                                       const void *wanted);
typedef uint64_t (*cairn_profile_hash_fn)(const struct cairn_profile *p, uint32_t number);

/* The index, built out of what the profile holds where it was dropped; NULL where memory is gone.
 */
struct cairn_profile_index *cairn_profile_need_index(struct cairn_profile *p);

/* The number found, or UINT32_MAX. */
uint32_t cairn_profile_set_find(const struct cairn_profile_set *set, const struct cairn_profile *p,
                                uint64_t hash, cairn_profile_equal_fn equal, const void *wanted);

/* Room for one more, so that cairn_profile_set_put() cannot fail. */
bool cairn_profile_set_reserve(struct cairn_profile_set *set, const struct cairn_profile *p,
                               cairn_profile_hash_fn hash_of);
void cairn_profile_set_put(struct cairn_profile_set *set, uint64_t hash, uint32_t number);

/* The hashes by which each kind is found. */
uint64_t cairn_profile_hash_module(const struct cairn_profile *p, uint32_t number);
uint64_t cairn_profile_hash_function(const struct cairn_profile *p, uint32_t number);
uint64_t cairn_profile_hash_frame(const struct cairn_profile *p, uint32_t number);
uint64_t cairn_profile_hash_stack(const struct cairn_profile *p, uint32_t number);
uint64_t cairn_profile_hash_labels(const struct cairn_profile *p, uint32_t number);

#endif /* CAIRN_PROFILE_INDEX_H */
