/* SPDX-License-Identifier: MIT */
/*
 * Target: what is known of a process before anything in it is changed: our right to do so, its
 * mappings, and the address of an instruction that calls the system.
 */
#ifndef CAIRN_ATTACH_TARGET_H
#define CAIRN_ATTACH_TARGET_H

#include <cairn/maps.h>

#include "base/buffer.h"

struct cairn_target_process {
    int pid;
    int mem_fd; /* /proc/PID/mem, bound to the program that runs now: none that exec puts there */
    uint64_t call_va;
    struct cairn_maps *maps;
};

/* CAIRN_E_MISSING: no such process, or no program in it. CAIRN_E_ACCESS: not our right; the hint
 * says what gives it. CAIRN_E_SUPPORT: it runs another CPU's code. */
int cairn_target_open_process(int pid, struct cairn_target_process *ret_target,
                              struct cairn_err *err);
void cairn_target_close_process(struct cairn_target_process *target);

/* Reads the mappings anew. */
int cairn_target_look_again(struct cairn_target_process *target, struct cairn_err *err);

/* A mapping of exactly `bytes` of a nameless file (memfd_create(2)), by that file's name in the
 * mappings; 0: there is none. */
uint64_t cairn_target_find_memory(const struct cairn_target_process *target, const char *path,
                                  uint64_t bytes);

/* Exactly `size` bytes. CAIRN_E_MISSING: they are not there (any more), or the program is not. */
int cairn_target_read(const struct cairn_target_process *target, uint64_t va, void *out,
                      size_t size, struct cairn_err *err);

/* The same, written in spite of the page's protection: the process gets a copy of a file's page. A
 * thread that reads there meanwhile may see any part of it (renew.h is for code that runs). */
int cairn_target_write(const struct cairn_target_process *target, uint64_t va, const void *bytes,
                       size_t size, struct cairn_err *err);

#endif /* CAIRN_ATTACH_TARGET_H */
