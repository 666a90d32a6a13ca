/* SPDX-License-Identifier: MIT */
/*
 * Heap ask: how a tracked process asks the `cairn heap run --lost` that it runs under to look for
 * lost blocks. A socket (AF_UNIX, SOCK_SEQPACKET) of this name is in the folder of the states while
 * somebody answers; each connection is one question and one answer. The process waits for it, or
 * for the end of the connection.
 */
#ifndef CAIRN_RT_HEAP_ASK_H
#define CAIRN_RT_HEAP_ASK_H

#include <stdint.h>

#define CAIRN_HEAP_ASK_SOCKET "ask"

enum cairn_heap_ask_kind {
    CAIRN_HEAP_ASK_CHECK = 1,   /* __lsan_do_leak_check(): its end if blocks are lost */
    CAIRN_HEAP_ASK_RECOVERABLE, /* __lsan_do_recoverable_leak_check() */
    CAIRN_HEAP_ASK_EXIT         /* exit(3) has begun, no destructor has run */
};

struct cairn_heap_question {
    uint32_t kind, unused;
};

enum cairn_heap_verdict {
    CAIRN_HEAP_VERDICT_NONE, /* nobody looked, or nothing is sure */
    CAIRN_HEAP_VERDICT_CLEAN,
    CAIRN_HEAP_VERDICT_LOST
};

struct cairn_heap_answer {
    uint32_t verdict;     /* enum cairn_heap_verdict */
    uint32_t exit_status; /* with which CAIRN_HEAP_ASK_CHECK ends it; 0: it goes on */
};

#endif /* CAIRN_RT_HEAP_ASK_H */
