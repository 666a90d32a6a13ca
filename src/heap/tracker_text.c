/* SPDX-License-Identifier: MIT */
#include "heap/tracker.h"

const char *cairn_tracker_text(int code)
{
    switch (code) {
    case MEMORY_TRACKER_OK:
        return "no error";
    case MEMORY_TRACKER_E_NOMEM:
        return "out of memory";
    case MEMORY_TRACKER_E_IO:
        return "the file cannot be written: errno says why";
    case MEMORY_TRACKER_E_NOT_LIVE:
        return "the heap tracker is not live: link the program with -lcairn-heap or preload "
               "libcairn-heap.so, and let no other malloc come before it";
    case MEMORY_TRACKER_E_STATE:
        return "the heap tracker has no room for its state: CAIRN_HEAP_DIR names a folder of this "
               "user alone (mode 0700) with space";
    case MEMORY_TRACKER_E_ARG:
        return "an argument is out of range";
    case MEMORY_TRACKER_E_SUPPORT:
        return "a linked or preloaded tracker records the whole program: load libcairn-track.so "
               "to choose libraries";
    default:
        return "unknown error";
    }
}
