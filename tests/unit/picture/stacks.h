/* SPDX-License-Identifier: MIT */
/* Profiles out of a few lines of text: "main;get@i;read@k 3", root first; the letter behind @ says
 * how the frame was found (enum cairn_frame_kind), without one nobody said. */
#ifndef CAIRN_TESTS_STACKS_H
#define CAIRN_TESTS_STACKS_H

#include <stdio.h>

#include "profile/frame_kind.h"
#include "profile/profile.h"
#include "support/test.h"

static inline uint32_t stacks_text(struct cairn_profile *p, const char *text)
{
    return cairn_profile_text(p, text, strlen(text));
}

static inline struct cairn_profile_line stacks_line(struct cairn_profile *p, const char *name,
                                                    const char *file, uint32_t line)
{
    struct cairn_profile_function function = {.name = stacks_text(p, name),
                                              .file = stacks_text(p, file)};
    return (struct cairn_profile_line){cairn_profile_add_function(p, &function), line};
}

/* A frame with one line and an address of its own. */
static inline uint32_t stacks_frame(struct cairn_profile *p, const char *name, char kind,
                                    uint64_t address)
{
    struct cairn_profile_line line = stacks_line(p, name, "", 0);
    struct cairn_profile_frame frame = {.address = address};
    assert_true(cairn_frame_set_kind(&frame, (unsigned char)kind));
    return cairn_profile_add_frame(p, &frame, &line, 1);
}

static inline struct cairn_profile *stacks_new(void)
{
    struct cairn_profile *p;
    struct cairn_err err;
    assert_ok(cairn_profile_new(&p, &err), err);
    return p;
}

static inline void stacks_add(struct cairn_profile *p, const char *text)
{
    char copy[512];
    snprintf(copy, sizeof copy, "%s", text);
    char *end = strrchr(copy, ' ');
    int64_t value = strtoll(end + 1, NULL, 10);
    *end = 0;
    uint32_t stack = 0;
    char *rest = copy;
    for (char *name; *copy && (name = strsep(&rest, ";"));) {
        char *at = strchr(name, '@');
        char kind = at ? at[1] : (char)CAIRN_FRAME_UNKNOWN;
        if (at)
            *at = 0;
        stack = cairn_profile_add_stack(p, stack, stacks_frame(p, name, kind, 0));
    }
    assert_int_not_equal(cairn_profile_add_sample(p, stack, 0, &value), UINT32_MAX);
}

/* One value type, samples. */
static inline struct cairn_profile *stacks_of_samples(void)
{
    struct cairn_profile *p = stacks_new();
    cairn_profile_add_type(p, "samples", "count");
    return p;
}

/* The same; `lines` ends with NULL. */
static inline struct cairn_profile *stacks_profile(const char *const *lines)
{
    struct cairn_profile *p = stacks_of_samples();
    for (; *lines; lines++)
        stacks_add(p, *lines);
    return p;
}

#endif /* CAIRN_TESTS_STACKS_H */
