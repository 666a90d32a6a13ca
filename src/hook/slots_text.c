/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include <string.h>

#include "hook/slots.h"

const char *cairn_slots_reason_text(enum cairn_slots_reason reason)
{
    static const char *const texts[] = {
        [CAIRN_SLOTS_FINE] = "nothing is wrong",
        [CAIRN_SLOTS_MACHINE] = "relocations of this CPU are not known",
        [CAIRN_SLOTS_NO_DYNAMIC] = "no dynamic section: a static program has no slots",
        [CAIRN_SLOTS_DYNAMIC] = "the dynamic section lies outside of the segments, or has no end",
        [CAIRN_SLOTS_TABLE] = "a table of relocations lies outside of the segments",
        [CAIRN_SLOTS_SYMBOLS] = "relocations, but no table of symbols or names",
        [CAIRN_SLOTS_PACKED] = "packed relocations without APS2, or cut off",
        [CAIRN_SLOTS_LIMIT] = "more than 16,777,216 relocations",
        [CAIRN_SLOTS_VERSIONS] = "too many versions of symbols to look through",
        [CAIRN_SLOTS_STOPPED] = "stopped",
    };
    return (size_t)reason < sizeof(texts) / sizeof(texts[0]) ? texts[reason] : "unknown reason";
}

/* Each `*` forgets the one before: linear in the text for each. */
static bool match(const char *pattern, const char *text)
{
    const char *star = NULL, *resume = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            resume = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == 0;
}

static const char *last_part(const char *path)
{
    size_t n = strlen(path);
    while (n > 0 && path[n - 1] != '/')
        n--;
    return path + n;
}

bool cairn_slots_match(const char *pattern, const char *path)
{
    bool is_path = *last_part(pattern) == 0 || last_part(pattern) != pattern;
    return match(pattern, is_path ? path : last_part(path));
}
