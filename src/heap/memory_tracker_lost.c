/* SPDX-License-Identifier: MIT */
/* What the program asks about its lost blocks (<memory_tracker.h>), which another program finds. */
#include <errno.h>

#include "heap/lost_child.h"
#include "heap/memory_tracker.h"
#include "heap/tracker.h"

static const char *why(int failed)
{
    switch (failed) {
    case ENOENT:
        return "the cairn command is missing: it is looked for beside this library, and in the "
               "bin folder above it";
    case EPERM:
        return "the process has locked itself in (seccomp)";
    case EFBIG:
        return "the report is too large";
    case EIO:
        return "cairn heap lost failed";
    default:
        return "no child could be made";
    }
}

static char *report(enum cairn_heap_lost_form form, const char *what)
{
    struct cairn_heap_out out = {.fd = -1};
    if (!cairn_memory_tracker_heap()) {
        errno = ENOTSUP;
        return NULL;
    }
    int failed = cairn_heap_lost_report(form, cairn_memory_tracker_is_loud(), &out);
    if (!failed)
        return cairn_memory_tracker_hand_over(&out);
    cairn_memory_tracker_say(what, why(failed));
    if (failed == EIO && out.text.n && !out.failed) {
        cairn_heap_out_bytes(&out, "", 1);
        cairn_memory_tracker_say(what, out.text.items);
    }
    cairn_heap_out_done(&out);
    errno = failed;
    return NULL;
}

CAIRN_API char *memory_tracker_get_lost_report(void)
{
    return report(CAIRN_HEAP_LOST_TEXT, "get_lost_report: ");
}

CAIRN_API char *memory_tracker_get_lost_json(void)
{
    return report(CAIRN_HEAP_LOST_JSON, "get_lost_json: ");
}
