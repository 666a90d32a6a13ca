/* SPDX-License-Identifier: MIT */
/*
 * Guests of a space: the interpreters in a process or core file, as a walk meets them.
 *
 *     cairn_target_guests_begin()      a cursor stands at the innermost frame
 *     cairn_target_guests_step()       to the next frame, through code that an interpreter made
 *     cairn_target_guests_read()       the frames of the interpreters, for guest/weave.h
 *     cairn_target_guests_name()       and their names
 *
 * The memory must not change from begin to read.
 */
#ifndef CAIRN_TARGET_GUESTS_H
#define CAIRN_TARGET_GUESTS_H

#include "base/table.h"
#include "guest/guest.h"
#include "target/guest_names.h"
#include "unwind/space.h"

struct cairn_guest_known_file;

struct cairn_target_guests {
    struct cairn_unwind_space *space;
    uint32_t generation; /* of the space, for `modules` and `files` */
    bool looked_at_all;  /* `modules` has all of the process */
    struct cairn_guest_known_file **files;
    size_t n_files, cap_files;
    struct cairn_guest_module *modules; /* with an interpreter */
    size_t n_modules, cap_modules;
    struct cairn_guest_native *natives;
    size_t n_natives, cap_natives;
    struct cairn_guest_regs *regs;
    size_t n_regs, cap_regs;
    uint16_t machine;
    bool is_met; /* a frame was in an interpreter's loop, or in what one made */
    struct cairn_target_guest_names names;
    struct cairn_guest_constant constant; /* all-zero: the space's memory */
    struct cairn_guest_result result;     /* of the last read */
};

/* `pid`: of a process; 0: of a core file, whose sources are nowhere. */
void cairn_target_guests_init(struct cairn_target_guests *guests, struct cairn_unwind_space *space,
                              int pid);
void cairn_target_guests_done(struct cairn_target_guests *guests);

/* Looks for interpreters in all modules of the process. Without this call a module is examined when
 * the first frame is in it. Call it before threads are stopped together. CAIRN_E_NOMEM. */
int cairn_target_guests_load(struct cairn_target_guests *guests);

/* The path of the file that holds the interpreter; "": unknown. Borrowed from the space. */
const char *cairn_target_guests_path(const struct cairn_target_guests *guests,
                                     const struct cairn_guest_module *module);

/* CAIRN_E_NOMEM. */
int cairn_target_guests_begin(struct cairn_target_guests *guests, struct cairn_cursor *cursor);

/* As cairn_cursor_step(). CAIRN_E_NOMEM. */
int cairn_target_guests_step(struct cairn_target_guests *guests, struct cairn_cursor *cursor);

/* Fills guests->result for the walked frames. It is empty if no frame is in an interpreter's loop.
 * CAIRN_E_NOMEM. */
int cairn_target_guests_read(struct cairn_target_guests *guests);

/* Does a state of the last read not fit the native stack? A second read may fit. */
bool cairn_target_guests_doubts(const struct cairn_target_guests *guests);

/* Names the functions of the last read. It reads files and no memory, so that threads may run.
 * CAIRN_E_NOMEM. */
int cairn_target_guests_name(struct cairn_target_guests *guests);

#endif /* CAIRN_TARGET_GUESTS_H */
