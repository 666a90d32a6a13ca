/* SPDX-License-Identifier: MIT */
#include "profile/label_list.h"

static void put(struct cairn_label_list *list, struct cairn_profile_label label)
{
    list->failed |=
        label.key == UINT32_MAX || label.text == UINT32_MAX || list->n == CAIRN_LABEL_LIST_MAX;
    if (!list->failed)
        list->items[list->n++] = label;
}

static uint32_t string_of(const struct cairn_label_list *list, const char *text)
{
    return cairn_profile_text(list->profile, text, strlen(text));
}

void cairn_label_list_number(struct cairn_label_list *list, const char *key, int64_t number)
{
    put(list, (struct cairn_profile_label){.key = string_of(list, key), .number = number});
}

void cairn_label_list_text(struct cairn_label_list *list, const char *key, const char *text)
{
    if (text && *text)
        cairn_label_list_string(list, key, string_of(list, text));
}

void cairn_label_list_string(struct cairn_label_list *list, const char *key, uint32_t string)
{
    if (string)
        put(list, (struct cairn_profile_label){.key = string_of(list, key), .text = string});
}

void cairn_label_list_set(struct cairn_label_list *list, uint32_t set)
{
    const struct cairn_profile_label_set *labels = &list->profile->label_sets[set];
    for (uint32_t i = 0; i < labels->n; i++)
        put(list, list->profile->labels[labels->first + i]);
}

uint32_t cairn_label_list_add(const struct cairn_label_list *list, uint32_t cut, int64_t time_ns)
{
    return list->failed || cut == UINT32_MAX
               ? UINT32_MAX
               : cairn_profile_add_label_set(list->profile, list->items, list->n, cut, time_ns);
}
