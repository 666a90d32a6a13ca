/* SPDX-License-Identifier: MIT */
/* Which dumps a line can belong to. */
#include "klog/stacks.h"

struct choices {
    struct cairn_klog_stack *list[CAIRN_KLOG_CHOICES_MAX];
    size_t n;
};

bool cairn_klog_stacks_ends_chain(const char *symbol)
{
    static const char *const names[] = {
        "entry_SYSCALL_64_after_hwframe",
        "entry_SYSCALL_64_safe_stack",
        "entry_SYSCALL_64",
        "entry_SYSCALL_compat_after_hwframe",
        "entry_SYSENTER_compat_after_hwframe",
        "entry_INT80_32",
        "asm_int80_emulation",
        "entry_SYSENTER_32",
        "ret_from_fork",
        "ret_from_fork_asm",
        "el0t_64_sync",
        "el0t_32_sync",
        "el0_sync",
        "el0_svc_naked",
        "ret_fast_syscall",
        "__ret_fast_syscall",
        "ret_from_syscall",
    };
    size_t size = strcspn(symbol, "+");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == size && memcmp(symbol, names[i], size) == 0)
            return true;
    return false;
}

/* x86 from Linux 6.5 on: the entry code of a new thread is two functions. */
static bool goes_behind_end(const struct cairn_klog_frame *frame)
{
    return frame && strncmp(frame->text, "ret_from_fork_asm+", 18) == 0;
}

static void gather(struct cairn_klog_stacks *stacks, const struct cairn_klog_where *where,
                   enum cairn_klog_phase phase, uint32_t index,
                   const struct cairn_klog_frame *frame, struct choices *choices)
{
    struct cairn_klog_stack *stack = cairn_klog_stacks_bucket(stacks, where->key, phase, index);
    for (struct cairn_klog_stack *next; stack; stack = next) {
        next = stack->links[CAIRN_KLOG_BY_LINE].next;
        if (stack->key != where->key || stack->phase != phase || stack->next != index ||
            (phase == CAIRN_KLOG_IN_KERNEL && stack->is_at_chain_end && !goes_behind_end(frame)))
            continue;
        if (choices->n < CAIRN_KLOG_CHOICES_MAX) {
            choices->list[choices->n++] = stack;
            continue;
        }
        stack->dump.is_cut_short = 1;
        stacks->counts->n_closed++;
        cairn_klog_stacks_close(stacks, stack);
    }
}

/* Of several, the one that goes on with this frame as a known chain does, where all others stand in
 * known chains that do not. */
static void follow_chains(const struct cairn_klog_stacks *stacks,
                          const struct cairn_klog_frame *frame, struct choices *choices)
{
    struct cairn_klog_stack *found = NULL;
    uint32_t ignored;
    for (size_t i = 0; i < choices->n; i++) {
        struct cairn_klog_stack *stack = choices->list[i];
        uint64_t next = cairn_klog_stacks_content(stack->content, frame);
        bool goes_on = cairn_table_find(&stacks->known, next, &ignored);
        bool is_known = !stack->n || cairn_table_find(&stacks->known, stack->content, &ignored);
        if ((goes_on && found) || (!goes_on && !is_known) || stack->mixed_at != SIZE_MAX ||
            stack->is_doubtful)
            return;
        if (goes_on)
            found = stack;
    }
    if (found)
        *choices = (struct choices){.list = {found}, .n = 1};
}

struct cairn_klog_stack *cairn_klog_stacks_find(struct cairn_klog_stacks *stacks,
                                                const struct cairn_klog_where *where,
                                                enum cairn_klog_phase phase, uint32_t index,
                                                const struct cairn_klog_frame *frame)
{
    struct choices choices;
    choices.n = 0;
    gather(stacks, where, phase, index, frame, &choices);
    if (choices.n > 1 && phase == CAIRN_KLOG_IN_KERNEL && frame)
        follow_chains(stacks, frame, &choices);
    return choices.n ? cairn_klog_stacks_choose(choices.list, choices.n) : NULL;
}

/* Those that are not in a user part yet. False: there are too many to look at. */
static bool gather_kernel(struct cairn_klog_stacks *stacks, const struct cairn_klog_where *where,
                          struct choices *ret_begun, struct choices *ret_ended)
{
    struct cairn_klog_stack *stack = cairn_klog_stacks_before(stacks, NULL);
    for (int i = 0; stack; stack = cairn_klog_stacks_before(stacks, stack), i++) {
        if (i == CAIRN_KLOG_LATE_MAX || ret_begun->n == CAIRN_KLOG_CHOICES_MAX)
            return false;
        if (stack->key != where->key || stack->phase != CAIRN_KLOG_IN_KERNEL || !stack->n)
            continue;
        ret_begun->list[ret_begun->n++] = stack;
        if (stack->is_at_chain_end)
            ret_ended->list[ret_ended->n++] = stack;
    }
    return true;
}

struct cairn_klog_stack *cairn_klog_stacks_find_user(struct cairn_klog_stacks *stacks,
                                                     const struct cairn_klog_where *where)
{
    struct choices begun = {.n = 0}, ended = {.n = 0};
    bool saw_all = gather_kernel(stacks, where, &begun, &ended);
    if (saw_all && ended.n)
        return cairn_klog_stacks_choose(ended.list, ended.n);
    if (!begun.n) {
        struct cairn_klog_stack *bare =
            cairn_klog_stacks_find(stacks, where, CAIRN_KLOG_AT_HEAD, 0, NULL);
        return bare ? bare : cairn_klog_stacks_find(stacks, where, CAIRN_KLOG_IN_KERNEL, 0, NULL);
    }
    if (begun.n == 1 && saw_all)
        return begun.list[0];
    struct cairn_klog_stack *active = cairn_klog_stacks_choose(begun.list, begun.n);
    if (saw_all && active->mixed_at == SIZE_MAX)
        return active;
    /* Where each of them stands is unknown from here on. They end as far as they are known. */
    cairn_klog_stacks_mix(begun.list, begun.n);
    for (size_t i = 0; i < begun.n; i++)
        cairn_klog_stacks_close(stacks, begun.list[i]);
    return NULL;
}

static bool may_be_late(const struct cairn_klog_stack *stack, enum cairn_klog_phase phase,
                        uint32_t index)
{
    if (stack->phase == CAIRN_KLOG_DONE)
        return false;
    if (phase == CAIRN_KLOG_IN_KERNEL)
        return stack->phase == CAIRN_KLOG_AT_HEAD ||
               (stack->phase == CAIRN_KLOG_IN_KERNEL && stack->next < index &&
                !stack->is_at_chain_end);
    if (phase == CAIRN_KLOG_IN_USER)
        return stack->phase != CAIRN_KLOG_IN_USER || stack->next < index;
    return false;
}

struct cairn_klog_stack *cairn_klog_stacks_find_late(struct cairn_klog_stacks *stacks,
                                                     const struct cairn_klog_where *where,
                                                     enum cairn_klog_phase phase, uint32_t index,
                                                     bool *ret_several)
{
    struct choices choices = {.n = 0};
    struct cairn_klog_stack *stack = cairn_klog_stacks_before(stacks, NULL);
    for (int i = 0; stack && i < CAIRN_KLOG_LATE_MAX && choices.n < CAIRN_KLOG_CHOICES_MAX;
         stack = cairn_klog_stacks_before(stacks, stack), i++) {
        bool is_still = choices.n && stack->last_line < choices.list[0]->first_line;
        if (stack->key == where->key && !is_still && may_be_late(stack, phase, index))
            choices.list[choices.n++] = stack;
    }
    *ret_several = choices.n > 1;
    if (choices.n > 1)
        cairn_klog_stacks_mix(choices.list, choices.n);
    return choices.n == 1 ? choices.list[0] : NULL;
}
