/* SPDX-License-Identifier: MIT */
/*
 * CPU: what a thread's registers must hold so that it makes one system call, or begins somewhere.
 * cpu_ARCH.c is chosen by meson; cpu_none.c refuses.
 */
#ifndef CAIRN_ATTACH_CPU_H
#define CAIRN_ATTACH_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include <cairn/hook.h>

#include "base/span.h"

/* 32-bit CPUs have another one alone; none of them is entered yet. */
#ifndef SYS_mmap
#define SYS_mmap SYS_mmap2
#endif

enum { CAIRN_CALL_ARGS = 6, CAIRN_STILL_REGS_MAX = 512 };

/* As PTRACE_GETREGSET gives them for NT_PRSTATUS. */
struct cairn_still_regs {
    _Alignas(8) uint8_t raw[CAIRN_STILL_REGS_MAX];
    size_t size;
};

/* The ELF machine of programs that can be attached to; 0: none, this CPU's file is not written. */
extern const uint16_t cairn_cpu_machine;

/* What functions are moved and diverted by. */
extern const enum cairn_hook_cpu cairn_cpu_hook;

/* What filters of system calls know this CPU's by (<linux/audit.h>). */
extern const uint32_t cairn_cpu_audit;

/* The relocations that a library of this CPU has, by their numbers (its psABI). */
struct cairn_cpu_relocs {
    uint32_t relative, absolute, glob_dat, jump_slot;
};
extern const struct cairn_cpu_relocs cairn_cpu_relocs;

/* The instruction of a system call. */
extern const struct cairn_span cairn_cpu_call_insn;

/* What a thread of ours runs: a system call, then exit(RESULT), which it gets to when its tracer is
 * gone. A function returns to cairn_cpu_return_at. */
enum { CAIRN_THREAD_CODE_MAX = 32 };
extern const struct cairn_span cairn_cpu_thread_code;
extern const unsigned cairn_cpu_return_at;

/* False: these registers are of a 32-bit thread, or of no thread that is known here. */
bool cairn_cpu_knows(const struct cairn_still_regs *regs);

/* Makes the thread call the system next: at `va` stands cairn_cpu_call_insn. The kernel will not
 * take it for the end of a call that it has to begin anew. */
void cairn_cpu_set_call(struct cairn_still_regs *regs, uint64_t va, long number,
                        const uint64_t args[CAIRN_CALL_ARGS]);

/* At the end of a call: is it that of the instruction at `va`, and what is the result? */
bool cairn_cpu_called(const struct cairn_still_regs *regs, uint64_t va, int64_t *ret_result);

/* A thread that calls a function, which returns to `back`; that is also at `sp`, 8 below a multiple
 * of 16. */
struct cairn_cpu_entry {
    uint64_t va, arg, sp, back;
    uint64_t thread_pointer;
};
void cairn_cpu_set_entry(struct cairn_still_regs *regs, const struct cairn_cpu_entry *entry);
/* Where that is no register of the above. False: it cannot be set. */
bool cairn_cpu_set_thread_pointer(int tid, uint64_t pointer);

uint64_t cairn_cpu_ip(const struct cairn_still_regs *regs);
uint64_t cairn_cpu_sp(const struct cairn_still_regs *regs);

#endif /* CAIRN_ATTACH_CPU_H */
