/* SPDX-License-Identifier: MIT */
/*
 * What a program asks LeakSanitizer to do (sanitizer/lsan_interface.h): to look for lost blocks
 * now. The cairn heap run --lost that it runs under looks, prints what it finds and answers;
 * without one nothing is known, which is counted and said by every report. In libcairn-heap alone.
 */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cairn/api.h>

#include "heap/ask.h"
#include "heap/start.h"

CAIRN_API void __lsan_do_leak_check(void);
CAIRN_API int __lsan_do_recoverable_leak_check(void);

/* A child of fork(2) has a state from its first block or question on. */
CAIRN_THREAD_BLOCK_ACCESS static struct cairn_tracked_heap *have_state(void)
{
    struct cairn_tracked_heap *heap = cairn_heap_present();
    struct cairn_heap_own *own = heap ? NULL : cairn_heap_start_thread(&heap, cairn_heap_sp());
    if (own)
        cairn_heap_call_end(own);
    return heap;
}

static struct cairn_heap_answer check(enum cairn_heap_ask_kind kind)
{
    struct cairn_heap_answer answer = {.verdict = CAIRN_HEAP_VERDICT_NONE};
    struct cairn_tracked_heap *heap = have_state();
    if (heap && !cairn_heap_ask(kind, &answer))
        cairn_heap_state_lose(&heap->state, CAIRN_HEAP_LOSS_CHECK, 0);
    return answer;
}

/* Once: a second call has no effect. */
CAIRN_API void __lsan_do_leak_check(void)
{
    static atomic_bool is_done;
    if (atomic_exchange(&is_done, true))
        return;
    struct cairn_heap_answer answer = check(CAIRN_HEAP_ASK_CHECK);
    if (answer.verdict == CAIRN_HEAP_VERDICT_LOST && answer.exit_status)
        syscall(SYS_exit_group, (int)answer.exit_status);
}

CAIRN_API int __lsan_do_recoverable_leak_check(void)
{
    return check(CAIRN_HEAP_ASK_RECOVERABLE).verdict == CAIRN_HEAP_VERDICT_LOST;
}
