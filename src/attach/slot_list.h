/* SPDX-License-Identifier: MIT */
/*
 * Slot list: which slots of a process were changed for chosen modules, and what they held. It is
 * kept in the process, in a private mapping of a nameless file that its maps call
 * "/memfd:cairn-slots", so that the next cairn finishes or undoes what a killed one began. The
 * process may have written over it, or fake it: every number is checked against the mappings.
 */
#ifndef CAIRN_ATTACH_SLOT_LIST_H
#define CAIRN_ATTACH_SLOT_LIST_H

#include "attach/job.h"

enum { CAIRN_SLOT_LIST_MAX = 1 << 16 };

/* A slot keeps its place in the list as long as the process lives: a list that is half written is
 * sound. */
struct cairn_slot_list {
    uint64_t va; /* 0: the process has none */
    struct cairn_late_slot *slots;
    size_t n, cap;
    struct cairn_slot_place *places; /* of the first ones, by their addresses */
    size_t n_places;
};

/* All as if none were wanted; those whose module has gone are not active. CAIRN_E_FORMAT: what is
 * there was not written by a cairn of this version, or was damaged. */
int cairn_slot_list_read(const struct cairn_attach_job *job, struct cairn_slot_list *list,
                         struct cairn_err *err);
void cairn_slot_list_done(struct cairn_slot_list *list);

/* NULL: it has none there. */
struct cairn_late_slot *cairn_slot_list_find(struct cairn_slot_list *list, uint64_t va);
/* NULL: it is full, or there is no memory. */
struct cairn_late_slot *cairn_slot_list_add(struct cairn_slot_list *list, uint64_t va);

/* Writes the list, and has a thread of ours in the process store what each slot is to hold
 * (heap/late_apply.c), so that no thread of the program's sees half an address. What came of it is
 * in the slots' states. The tracker's table was read, and we are in the process. */
int cairn_slot_list_store(struct cairn_attach_job *job, struct cairn_slot_list *list,
                          struct cairn_err *err);

struct cairn_slot_counts {
    uint32_t n_wanted;  /* slots that are to lead to the tracker; their module may have gone */
    uint32_t n_leading; /* that do */
};
int cairn_slot_list_count(const struct cairn_attach_job *job, struct cairn_slot_counts *ret,
                          struct cairn_err *err);

/* The mapping that a slot at `va` can be in; NULL: none can be there. */
const struct cairn_map *cairn_slot_list_data(const struct cairn_attach_job *job, uint64_t va);

#endif /* CAIRN_ATTACH_SLOT_LIST_H */
