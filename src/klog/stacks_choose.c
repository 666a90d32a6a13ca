/* SPDX-License-Identifier: MIT */
/*
 * A line fits several dumps. None is guessed:
 *
 *     all have equal frames     the frames are known, but not which thread's they are: is_whose
 *     all but one stood still   since before that one began: most likely they have ended. Its
 *                               frames from here on get CAIRN_KLOG_MAYBE, those are is_open_ended
 *     else                      is_mixed: frames from here on are left out; unless two dumps turn
 *                               out to have the same line here, which settles it
 */
#include "klog/stacks.h"

static void add_other(struct cairn_klog_dump *dump, int pid)
{
    size_t n = dump->n_others < CAIRN_KLOG_OTHERS_MAX ? dump->n_others : CAIRN_KLOG_OTHERS_MAX;
    for (size_t i = 0; i < n; i++)
        if (dump->others[i] == pid)
            return;
    if (n < CAIRN_KLOG_OTHERS_MAX)
        dump->others[n] = pid;
    dump->n_others++;
}

static void introduce(struct cairn_klog_stack *stack, const struct cairn_klog_stack *other)
{
    size_t n = other->dump.n_others;
    if (other->dump.pid != stack->dump.pid || other->dump.pid < 0)
        add_other(&stack->dump, other->dump.pid);
    else if (!stack->dump.n_others)
        add_other(&stack->dump, other->dump.pid); /* another dump of the same thread */
    for (size_t i = 0; i < n && i < CAIRN_KLOG_OTHERS_MAX && other->dump.is_whose; i++)
        if (other->dump.others[i] != stack->dump.pid)
            add_other(&stack->dump, other->dump.others[i]);
}

static void introduce_all(struct cairn_klog_stack **choices, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (i != j)
                introduce(choices[i], choices[j]);
}

static bool is_clean(const struct cairn_klog_stack *stack)
{
    return stack->mixed_at == SIZE_MAX && !stack->is_doubtful && !stack->dump.is_headless;
}

static bool are_equal(struct cairn_klog_stack **choices, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_clean(choices[i]) || choices[i]->content != choices[0]->content ||
            choices[i]->n != choices[0]->n)
            return false;
    return true;
}

static struct cairn_klog_stack *most_recent(struct cairn_klog_stack **choices, size_t n)
{
    struct cairn_klog_stack *found = choices[0];
    for (size_t i = 1; i < n; i++)
        if (choices[i]->last_line > found->last_line)
            found = choices[i];
    return found;
}

/* Did all others stand still since before `active` began? */
static bool is_alone(struct cairn_klog_stack **choices, size_t n,
                     const struct cairn_klog_stack *active)
{
    for (size_t i = 0; i < n; i++)
        if (choices[i] != active && choices[i]->last_line >= active->first_line)
            return false;
    return active->mixed_at == SIZE_MAX;
}

static void forget_rival(struct cairn_klog_stack *stack)
{
    if (stack->rival)
        stack->rival->rival = NULL;
    stack->rival = NULL;
}

void cairn_klog_stacks_mix(struct cairn_klog_stack **choices, size_t n)
{
    bool may_settle = n == 2;
    for (size_t i = 0; i < n; i++) {
        forget_rival(choices[i]);
        may_settle = may_settle && is_clean(choices[i]);
        choices[i]->others_before = choices[i]->dump.n_others;
    }
    introduce_all(choices, n);
    for (size_t i = 0; i < n; i++)
        if (choices[i]->mixed_at == SIZE_MAX)
            choices[i]->mixed_at = choices[i]->n;
    if (may_settle) {
        choices[0]->rival = choices[1];
        choices[1]->rival = choices[0];
    }
}

void cairn_klog_stacks_settle(struct cairn_klog_stack *stack)
{
    struct cairn_klog_stack *rival = stack->rival;
    if (!rival)
        return;
    size_t at = stack->mixed_at, rivals_at = rival->mixed_at;
    if (stack->n != at + 1 || rival->n != rivals_at + 1) {
        if (stack->n > at + 1)
            forget_rival(stack); /* it went on: whose lines those were stays unknown */
        return;
    }
    const struct cairn_klog_frame *mine = &stack->frames[at], *its = &rival->frames[rivals_at];
    forget_rival(stack);
    if (mine->va != its->va || mine->text != its->text || mine->marks != its->marks)
        return;
    stack->mixed_at = rival->mixed_at = SIZE_MAX;
    stack->dump.n_others = stack->others_before;
    rival->dump.n_others = rival->others_before;
}

struct cairn_klog_stack *cairn_klog_stacks_choose(struct cairn_klog_stack **choices, size_t n)
{
    struct cairn_klog_stack *active = most_recent(choices, n);
    if (n == 1)
        return active;
    if (are_equal(choices, n)) {
        introduce_all(choices, n);
        for (size_t i = 0; i < n; i++)
            choices[i]->dump.is_whose = 1;
    } else if (is_alone(choices, n, active)) {
        active->is_doubtful = true;
        for (size_t i = 0; i < n; i++) {
            if (choices[i] == active)
                continue;
            introduce(active, choices[i]);
            introduce(choices[i], active);
            choices[i]->dump.is_open_ended = 1;
            choices[i]->is_doubtful = true; /* what it may yet get */
        }
    } else {
        cairn_klog_stacks_mix(choices, n);
    }
    return active;
}
