/* SPDX-License-Identifier: MIT */
/*
 * Start: where stacks truly begin. A stack is whole when its outermost frame lies in the code that
 * starts the program or the thread; this finds that code without symbols, by what it did:
 *
 *     program  AT_ENTRY .. +64 bytes, and on the main thread's stack, from its top downwards, the
 *              return address into it; then, link by link, the return address that lies in the
 *              function called there (libc's, which in the end calls main())
 *     loader   64 bytes from the entry of the one that cairn itself was started by
 *     thread   from a thread's stack pointer upwards, the return address behind which the thread
 *              ends by exit(2) (clone's); below it the one of the indirect call that runs the
 *              thread's function, in the same file; and below that the C++ library's trampoline
 *
 * What was found is remembered as (file, offset), so one process teaches us about all that use the
 * same libc, those included that live too briefly to be looked at, or may not be read: cairn looks
 * at itself first.
 */
#ifndef CAIRN_SAMPLE_START_H
#define CAIRN_SAMPLE_START_H

#include "sample/space.h"

struct cairn_starts {
    struct cairn_table known;    /* hash of file and offset */
    struct cairn_table searched; /* tid -> 1 */
};

void cairn_starts_done(struct cairn_starts *starts);

/* Learns from this very process. What fails here only costs whole stacks later. */
void cairn_starts_learn_self(struct cairn_starts *starts);

/* Learns from the main thread's stack, where that was not done yet; a program that has just begun
 * has nothing there, so call it again with each sample: it bounds how often it looks. */
void cairn_starts_learn_program(struct cairn_starts *starts, struct cairn_space *space,
                                uint64_t now_ns);

/* Learns from a thread whose stack pointer is known; once for each thread. True where it looked. */
bool cairn_starts_learn_thread(struct cairn_starts *starts, struct cairn_space *space, int tid,
                               uint64_t sp);

/* Is `va` in code that starts programs or threads? */
bool cairn_starts_hold(const struct cairn_starts *starts, struct cairn_space *space, uint64_t va);

#endif /* CAIRN_SAMPLE_START_H */
