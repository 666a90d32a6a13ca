/* SPDX-License-Identifier: MIT */
/*
 * Tracker: the functions of <memory_tracker.h> as those who have them tell those who have not:
 * libcairn-heap has them all, libcairn only what looks for them (absent.c).
 */
#ifndef CAIRN_HEAP_TRACKER_H
#define CAIRN_HEAP_TRACKER_H

#include <memory_tracker.h>

/* Grows at its end. */
struct cairn_tracker {
    uint32_t size; /* of what there is of it */
    int (*init)(bool debug, bool enable_backtrace);
    void (*set_backtrace_enabled)(bool enabled);
    bool (*is_backtrace_enabled)(void);
    int (*set_depth)(unsigned depth);
    int (*hook)(const char *const *libraries, size_t n);
    int (*unhook)(const char *const *libraries, size_t n);
    int (*get_stats)(struct memory_stats *ret_stats);
    void (*reset_stats)(void);
    char *(*get_leak_report)(void);
    char *(*get_leaks_json)(void);
    int (*dump_leak_report)(const char *path);
    int (*mark)(void);
    char *(*get_leak_report_since)(int mark);
    char *(*get_leaks_json_since)(int mark);
    char *(*get_lost_report)(void);
    char *(*get_lost_json)(void);
};

/* memory_tracker_strerror() */
const char *cairn_tracker_text(int code);

/* libcairn-heap's. */
CAIRN_API const struct cairn_tracker *cairn_tracker(void);

#endif /* CAIRN_HEAP_TRACKER_H */
