/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "proc/call_abi.h"
#include "proc/process.h"

enum { TEXT_BYTES = 512, STATUS_BYTES = 1 << 16 };

/* "NUMBER ARG*6 SP IP" of a thread that sleeps in a call (proc(5)). */
void cairn_call_see(int tid, struct cairn_call_seen *ret)
{
    struct cairn_buffer text = {0};
    *ret = (struct cairn_call_seen){.is_known = false};
    if (!cairn_call_decides_early ||
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

bool cairn_call_has_signals(int tid, uint64_t blocked)
{
    static const char *const names[] = {"SigPnd", "ShdPnd"};
    struct cairn_buffer text = {0};
    uint64_t waiting = 0;
    bool ok = cairn_process_slurp(tid, "status", STATUS_BYTES, &text, NULL) == CAIRN_OK;
    for (size_t i = 0; ok && i < sizeof names / sizeof *names; i++) {
        const char *field = cairn_process_field(cairn_buffer_text(&text), names[i]);
        waiting |= field ? strtoull(field, NULL, 16) : 0;
    }
    cairn_buffer_done(&text);
    return !ok || waiting & ~blocked;
}

bool cairn_call_is_signalled(int tid)
{
    struct cairn_buffer text = {0};
    bool ok = cairn_process_slurp(tid, "status", STATUS_BYTES, &text, NULL) == CAIRN_OK;
    const char *field = ok ? cairn_process_field(cairn_buffer_text(&text), "SigBlk") : NULL;
    const uint64_t blocked = field ? strtoull(field, NULL, 16) : 0;
    cairn_buffer_done(&text);
    return !ok || cairn_call_has_signals(tid, blocked);
}
