/* SPDX-License-Identifier: MIT */
/* Label list: the labels of one set, put together one by one. What fails is known at the end. */
#ifndef CAIRN_PROFILE_LABEL_LIST_H
#define CAIRN_PROFILE_LABEL_LIST_H

#include "profile/profile.h"

enum { CAIRN_LABEL_LIST_MAX = 32 };

/* All-zero but for `profile` is an empty one. */
struct cairn_label_list {
    struct cairn_profile *profile; /* borrowed */
    struct cairn_profile_label items[CAIRN_LABEL_LIST_MAX];
    uint32_t n;
    bool failed; /* memory is gone, or there are too many */
};

void cairn_label_list_number(struct cairn_label_list *list, const char *key, int64_t number);
/* NULL and "" are no label. */
void cairn_label_list_text(struct cairn_label_list *list, const char *key, const char *text);
/* The same of a string of the profile; UINT32_MAX: memory was gone for it. */
void cairn_label_list_string(struct cairn_label_list *list, const char *key, uint32_t string);
/* All labels of a set of the profile. */
void cairn_label_list_set(struct cairn_label_list *list, uint32_t set);

/* The set of these labels, as of cairn_profile_add_label_set(); UINT32_MAX too where one of them
 * failed, or `cut` is that. */
uint32_t cairn_label_list_add(const struct cairn_label_list *list, uint32_t cut, int64_t time_ns);

#endif /* CAIRN_PROFILE_LABEL_LIST_H */
