/* SPDX-License-Identifier: MIT */
/*
 * Guest: an interpreter that runs inside a native process, such as Lua, and its frames, which stand
 * between the native ones where they ran. Nothing is loaded into the process: its memory is read.
 */
#ifndef CAIRN_GUEST_H
#define CAIRN_GUEST_H

#ifdef __cplusplus
extern "C" {
#endif

/* What a frame of an interpreter is. Later versions add values at the end. */
enum cairn_guest_kind {
    CAIRN_GUEST_FUNCTION,
    CAIRN_GUEST_CHUNK,     /* the outermost code of a file or a text */
    CAIRN_GUEST_C,         /* a native function that the interpreter called */
    CAIRN_GUEST_HOOK,      /* called by the interpreter for debug.sethook() */
    CAIRN_GUEST_FINALIZER, /* called for an object that is collected */
    CAIRN_GUEST_TRACE      /* code that was compiled at run time */
};

/* Which frames are shown of a stack that has frames of an interpreter. */
enum cairn_guest_view {
    CAIRN_GUEST_FOLD, /* all but the interpreter's own native ones */
    CAIRN_GUEST_ALL,
    CAIRN_GUEST_ONLY, /* those of the interpreter, and whole stacks that have none */
    CAIRN_GUEST_OFF   /* native ones alone */
};

/* Does the view show a frame? `is_guest`: of an interpreter; `own`: its native code; `has_guest`:
 * its stack has frames of one. */
static inline int cairn_guest_shows(enum cairn_guest_view view, int is_guest, int own,
                                    int has_guest)
{
    switch (view) {
    case CAIRN_GUEST_FOLD:
        return !own;
    case CAIRN_GUEST_ONLY:
        return is_guest || !has_guest;
    case CAIRN_GUEST_OFF:
        return !is_guest;
    default:
        return 1;
    }
}

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_GUEST_H */
