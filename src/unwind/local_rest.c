/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/local_rest.h"

#include "unwind/local_slow.h"

enum { N = CAIRN_LOCAL_FRAMES };

/* The frame pointer of the outermost remembered frame, where the walk met the last one. */
CAIRN_WALKS_FRAMES static bool find_last_fp(const struct cairn_local_walk *w, uintptr_t *ret_fp)
{
    const struct cairn_local_state *s = w->state;
    for (uint32_t place = w->rest - 1; place-- > w->place;) {
        uint32_t rule = cairn_local_rule(&s->frames[place]);
        uintptr_t below = cairn_fast_fp(rule);
        uintptr_t slot = cairn_local_sp_at(s, place + 1) - below;
        if (cairn_fast_fp_is_at_fp(rule) || (below && !cairn_local_may_read(s, slot)))
            return false;
        if (below) {
            *ret_fp = cairn_local_word_at(slot);
            return true;
        }
    }
    return cairn_local_frame_pointer(w, ret_fp);
}

/* The slow walk may have ended because it began without all registers: it asks rows of CFI, which
 * want more of them, also where it finds that the rule of an exact frame was wrong. */
CAIRN_WALKS_FRAMES static bool needs_registers(const struct cairn_local_out *out)
{
    bool has_exact = false;
    for (size_t i = 1; i < out->n; i++)
        has_exact |= cairn_frame_is_exact(out->how[i]);
    return out->end == CAIRN_END_NO_REGISTER ||
           (has_exact && out->end != CAIRN_END_OUTERMOST && out->end != CAIRN_END_MAX_FRAMES);
}

CAIRN_WALKS_FRAMES bool cairn_local_rest_from(const struct cairn_local_walk *w)
{
    struct cairn_local_state *s = w->state;
    uint32_t room = CAIRN_MAX_FRAMES - w->n - (w->rest - w->place);
    struct cairn_local_start start = {.ret = w->ret, .sp = w->sp};
    if (w->joins) {
        start.ret = s->frames[w->rest - 1].ret;
        start.sp = cairn_local_sp_at(s, w->rest - 1);
    }
    if (!(w->joins ? find_last_fp(w, &start.fp) : cairn_local_frame_pointer(w, &start.fp)))
        return false;
    s->rest_start = start;
    s->rest = (struct cairn_local_out){.ips = s->rest_ips, .how = s->rest_how, .max = room + 1};
    /* What was cut off is walked faster anew, if it is much. */
    return w->open != CAIRN_LOCAL_CUT || room <= CAIRN_LOCAL_SPARE / 2;
}

/* Puts the rest to the others. */
CAIRN_THREAD_BLOCK_ACCESS static void put_rest(struct cairn_local_state *s)
{
    for (uint32_t place = s->hot.rest; place < N; place++) {
        uintptr_t ip = s->rest_ips[place - s->hot.rest + 1];
        if (s->frames[place].ret != ip)
            cairn_local_keep_from(s, place + 1);
        s->frames[place] = (struct cairn_local_frame){.ret = ip};
    }
}

/* Makes the remembered frames end before `rest`; what was between them and the end is no more. */
CAIRN_WALKS_FRAMES static void end_at(struct cairn_local_walk *w, uint32_t n_rest)
{
    struct cairn_local_state *s = w->state;
    uint32_t total = w->n + (w->rest - w->place);
    uint32_t beyond = total + n_rest > N ? total - CAIRN_MAX_FRAMES : 0;
    int32_t by = (int32_t)(N - n_rest + beyond) - (int32_t)w->rest;
    s->hot.is_open = beyond ? CAIRN_LOCAL_CUT : w->open;
    if (w->joins && by) {
        cairn_local_move(w, by);
    } else if (by) {
        w->place = w->rest = s->hot.top = N - n_rest;
        s->hot.n_words = 0;
    }
    if (by)
        cairn_local_keep_from(s, w->rest);
    s->hot.rest = w->rest;
}

CAIRN_WALKS_FRAMES enum cairn_local_fast cairn_local_settle(struct cairn_local_walk *w,
                                                            uintptr_t *ips,
                                                            struct cairn_local_result *ret_result)
{
    struct cairn_local_state *s = w->state;
    const struct cairn_local_out *rest = &s->rest;
    uint32_t n_rest = rest->n > 0 ? (uint32_t)rest->n - 1 : 0;
    bool can = !needs_registers(rest);
    if (can) {
        end_at(w, n_rest);
        can = cairn_local_put(w);
    }
    if (!can) {
        cairn_local_state_void(s, w->sp);
        return CAIRN_LOCAL_FAST_NOT;
    }
    cairn_local_keep_from(s, w->place);
    put_rest(s);
    ret_result->end = (uint8_t)rest->end;
    ret_result->n_rest = n_rest;
    ret_result->n_guessed = rest->n_guessed;
    cairn_local_give(w, ips, ret_result);
    return CAIRN_LOCAL_FAST_DONE;
}
