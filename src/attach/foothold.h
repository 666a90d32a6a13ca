/* SPDX-License-Identifier: MIT */
/*
 * Foothold: a thread of our own in another process. One of the program's threads is held for a
 * single system call, which makes it; everything else is done by ours while the program runs on.
 * The thread library does not know it, and its thread pointer leads to zeros: what it runs must not
 * use TLS.
 *
 *     open -> (call | map | hand | run)* -> close
 */
#ifndef CAIRN_ATTACH_FOOTHOLD_H
#define CAIRN_ATTACH_FOOTHOLD_H

#include "attach/hold.h"
#include "attach/target.h"

struct cairn_foothold {
    const struct cairn_target_process *target;
    struct cairn_stilled thread; /* ours, standing still */
    uint64_t code_va;            /* its code (cpu.h); 0: not mapped yet */
    uint64_t page_va;            /* arguments in memory, and its stack; 0: not mapped yet */
    int socket, their_socket;    /* the two ends that descriptors go through; -1: none yet */
    int held_tid;                /* of the program's thread, and how long it stood */
    uint64_t held_ns;
    bool mended;     /* a call of it was */
    bool is_exempt;  /* from the filters of system calls that the process has */
    bool keeps_room; /* what our thread stands on stays when it ends */
};

/* `room_va`: what run() left behind earlier; 0: nothing. CAIRN_E_SUPPORT: no thread can be taken;
 * else as cairn_hold_begin(). Filters of system calls do not hold for what is done here. */
int cairn_foothold_open(const struct cairn_target_process *target, uint64_t room_va,
                        struct cairn_foothold *ret_foothold, struct cairn_err *err);

/* Ends the thread and releases its mapping and sockets. */
int cairn_foothold_close(struct cairn_foothold *foothold, struct cairn_err *err);

/* A call whose refusal is an error: "WHAT: No space left on device". */
int cairn_foothold_call(struct cairn_foothold *foothold, const char *what, long number,
                        const uint64_t args[CAIRN_CALL_ARGS], uint64_t *ret_result,
                        struct cairn_err *err);

/* mmap(2) in the process. `va`: 0, or where it must be: nothing else is replaced. */
struct cairn_foothold_mapping {
    uint64_t va, size, off;
    int prot, flags, fd; /* fd: one of the target's, or -1 */
};
int cairn_foothold_map(struct cairn_foothold *foothold, const struct cairn_foothold_mapping *want,
                       uint64_t *ret_va, struct cairn_err *err);
int cairn_foothold_unmap(struct cairn_foothold *foothold, uint64_t va, uint64_t size,
                         struct cairn_err *err);

/* Gives the process a descriptor of ours, whatever namespaces it lives in; its number there. */
int cairn_foothold_hand(struct cairn_foothold *foothold, int fd, int *ret_their_fd,
                        struct cairn_err *err);
int cairn_foothold_close_fd(struct cairn_foothold *foothold, int their_fd, struct cairn_err *err);
/* A private mapping of a file of ours, from its first byte on. */
int cairn_foothold_map_file(struct cairn_foothold *foothold, int fd, uint64_t size, int prot,
                            uint64_t *ret_va, struct cairn_err *err);

/* Calls a function of the process, int fn(void *arg), in a thread that ours makes, and that ends
 * with it; -128 to 127 come back. What it stood on stays, at code_va: the next open() takes it.
 * CAIRN_E_FORMAT: a fault. CAIRN_E_LIMIT: it did not return in time, and is left to itself: nothing
 * else may be run. */
int cairn_foothold_run(struct cairn_foothold *foothold, uint64_t fn_va, uint64_t arg,
                       int timeout_ms, int *ret_value, struct cairn_err *err);

#endif /* CAIRN_ATTACH_FOOTHOLD_H */
