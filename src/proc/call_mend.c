/* SPDX-License-Identifier: MIT */
#include "proc/call_mend.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/buffer.h"
#include "proc/process.h"
#include "proc/regs.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

enum { TEXT_BYTES = 512, STATUS_BYTES = 1 << 16 };

bool cairn_call_ends_by_stops(uint64_t number)
{
    switch (number) {
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_read: /* of a socket with SO_RCVTIMEO */
    case SYS_readv:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_rt_sigtimedwait:
    case SYS_io_getevents:
        return true;
    default:
        return false;
    }
}

/* "NUMBER ARG*6 SP IP" of a thread that sleeps in a call (proc(5)). */
void cairn_call_see(int tid, struct cairn_call_seen *ret)
{
    struct cairn_buffer text = {0};
    *ret = (struct cairn_call_seen){.is_known = false};
    if (!cairn_call_abi.decides_early ||
        cairn_process_slurp(tid, "syscall", TEXT_BYTES, &text, NULL) != CAIRN_OK) {
        cairn_buffer_done(&text);
        return;
    }
    char *at;
    const char *begin = cairn_buffer_text(&text), *last = strrchr(begin, ' ');
    ret->number = strtol(begin, &at, 0);
    if (at != begin && *at == ' ' && ret->number >= 0 && last > at) {
        ret->arg = strtoull(at, NULL, 16);
        ret->ip = strtoull(last, NULL, 16);
        ret->is_known = true;
    }
    cairn_buffer_done(&text);
}

bool cairn_call_has_signals(int tid, const uint64_t *blocked)
{
    static const char *const names[] = {"SigPnd", "ShdPnd", "SigBlk"};
    uint64_t sets[3] = {0};
    struct cairn_buffer text = {0};
    bool ok = cairn_process_slurp(tid, "status", STATUS_BYTES, &text, NULL) == CAIRN_OK;
    for (size_t i = 0; ok && i < 3; i++) {
        const char *field = cairn_process_field(cairn_buffer_text(&text), names[i]);
        sets[i] = field ? strtoull(field, NULL, 16) : 0;
    }
    cairn_buffer_done(&text);
    return !ok || (sets[0] | sets[1]) & ~(blocked ? *blocked : sets[2]);
}

bool cairn_call_mend(int tid, const struct cairn_call_seen *seen)
{
    uint8_t raw[CAIRN_PRSTATUS_MAX];
    struct iovec io = {raw, sizeof raw};
    if (!cairn_call_abi.mends || ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io) < 0 ||
        !cairn_call_mend_regs(raw, io.iov_len, seen) ||
        (seen->is_known && cairn_call_has_signals(tid, NULL)))
        return false;
    return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &io) == 0;
}
