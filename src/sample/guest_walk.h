/* SPDX-License-Identifier: MIT */
/*
 * Guest walk: the stacks of one process with an interpreter, such as Lua, in it. Its frames are in
 * memory that changes while the thread runs, so that all is read while the thread is stopped:
 *
 *     stopped   registers ─► cursor over the live memory ─► native frames, frames of interpreters
 *     running   names of functions, from files
 *
 * or a program in the kernel has copied what it takes:
 *
 *     copied    registers ─► cursor over the copy ─► native frames, frames of interpreters
 *     running   lines and texts of functions, which stay where they are, from the live memory
 */
#ifndef CAIRN_SAMPLE_GUEST_WALK_H
#define CAIRN_SAMPLE_GUEST_WALK_H

#include "sample/copy_walk.h"
#include "sample/still_pages.h"
#include "target/guests.h"

struct cairn_guest_walk {
    struct cairn_unwind_space *space;
    struct cairn_target_guests guests;
    struct cairn_user_walk walk; /* the native frames of the last catch */
    struct cairn_still_pages still;
};

/* Looks for interpreters in the process, which takes milliseconds. `*ret_walk` is NULL where there
 * is none, or its memory cannot be read. CAIRN_E_NOMEM. */
int cairn_guest_walk_open(int pid, struct cairn_guest_walk **ret_walk);
void cairn_guest_walk_close(struct cairn_guest_walk *walk); /* NULL is fine */

/* The first one whose functions can be read, as "Lua 5.4.4"; "": none. */
const char *cairn_guest_walk_version(const struct cairn_guest_walk *walk);

/* Walks a thread whose memory stands still. False: an interpreter's frames do not fit the native
 * ones, and a second catch, of the thread at another moment, may. `*ret_code` is CAIRN_OK or
 * CAIRN_E_NOMEM. */
bool cairn_guest_walk_catch(struct cairn_guest_walk *walk, const struct cairn_cursor_regs *regs,
                            int *ret_code);

/* Does code of an interpreter's loop lie there? */
bool cairn_guest_walk_is_in_loop(const struct cairn_guest_walk *walk, uint64_t va);

/* Is one of them in the mapping? */
bool cairn_guest_walk_is_in(const struct cairn_guest_walk *walk, uint64_t start, uint64_t end);

/* What a program in the kernel needs to know of them; returns how many, `max` at most. */
size_t cairn_guest_walk_sketch(const struct cairn_guest_walk *walk,
                               struct cairn_guest_sketch *ret_sketches, size_t max);

/* Walks a thread that runs by what was copied of it. CAIRN_E_NOMEM. */
int cairn_guest_walk_catch_copy(struct cairn_guest_walk *walk, const struct cairn_copy *copy,
                                struct cairn_span pieces);

/* Names the functions of what was caught. The thread may run. CAIRN_E_NOMEM. */
int cairn_guest_walk_name(struct cairn_guest_walk *walk);

/* Of the last catch: why frames of an interpreter may be wrong; NULL: they fit, or are none. */
const char *cairn_guest_walk_doubt(const struct cairn_guest_walk *walk);
/* What the innermost interpreter does, as "compiled"; NULL: not known, or there is none. */
const char *cairn_guest_walk_mode(const struct cairn_guest_walk *walk);
/* Does the stack have frames of an interpreter? */
bool cairn_guest_walk_met(const struct cairn_guest_walk *walk);
/* The same, and all native frames are at hand to put them between. */
bool cairn_guest_walk_is_woven(const struct cairn_guest_walk *walk);

#endif /* CAIRN_SAMPLE_GUEST_WALK_H */
