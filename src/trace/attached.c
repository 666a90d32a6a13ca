/* SPDX-License-Identifier: MIT */
/* Attached: how the events of a spec were attached, each way once, and what that costs. */
#include <string.h>

#include "trace/spec.h"

static const char attached_raw[] = "tp_btf at sys_enter%s: every system call of every process "
                                   "takes some 0.1 us more";

static const char *const insns[CAIRN_USDT_INSNS] = {
    [CAIRN_USDT_STEPPED] = "on an instruction that the kernel single-steps (some 10 us a hit)",
    [CAIRN_USDT_NOP] = "on a nop that the kernel emulates (some 0.7 us a hit)",
    [CAIRN_USDT_NOP_ARM] = "on a nop, which Linux before 6.13 single-steps",
    [CAIRN_USDT_REPLACED] = "on a nop that the kernel replaces by a call (some 0.5 us a hit)"};

const char *cairn_spec_cost(const struct cairn_spec *spec, const struct cairn_trace_probe_at *at)
{
    const struct cairn_probe *probe = &spec->probes.items[at->number];
    for (size_t i = 0; at->place == CAIRN_TRACE_STATIC && i < probe->n_places; i++)
        if (probe->places[i].off == at->off)
            return insns[probe->places[i].insn];
    return probe->how;
}

/* At how many places static probes are, and what they cost. */
static void say_places(const struct cairn_spec *spec, struct cairn_buffer *out)
{
    const struct cairn_probes *probes = &spec->probes;
    size_t n[CAIRN_USDT_INSNS] = {0}, n_probes = 0, n_all = 0;
    for (size_t i = 0; i < probes->n; i++) {
        if (probes->items[i].at.place != CAIRN_TRACE_STATIC ||
            !spec->calls[CAIRN_TRACE_CALLS + i].is_wanted)
            continue;
        n_probes++;
        n_all += probes->items[i].n_places;
        for (size_t k = 0; k < probes->items[i].n_places; k++)
            n[probes->items[i].places[k].insn]++;
    }
    if (!n_all)
        return;
    cairn_buffer_printf(out, "%susdt at %zu place%s", out->size ? "; " : "", n_all,
                        n_all == 1 ? "" : "s");
    if (n_probes > 1)
        cairn_buffer_printf(out, " of %zu probes", n_probes);
    for (size_t i = 0, n_said = 0; i < CAIRN_USDT_INSNS; i++)
        if (n[i] == n_all)
            cairn_buffer_printf(out, " %s", insns[i]);
        else if (n[i])
            cairn_buffer_printf(out, "%s %zu %s", n_said++ ? "," : ":", n[i], insns[i]);
}

/* What a pattern is, and names that several functions have. */
static void say_functions(const struct cairn_spec *spec, struct cairn_buffer *out)
{
    const struct cairn_probes *probes = &spec->probes;
    for (size_t i = 0; i < probes->n; i++) {
        const struct cairn_probe *probe = &probes->items[i];
        size_t n = 0, n_places = 0;
        if (probe->pattern) {
            for (size_t k = i; k < i + probe->n_matched && k < probes->n; k++) {
                n += spec->calls[CAIRN_TRACE_CALLS + k].is_wanted;
                n_places += probes->items[k].n_places;
            }
            cairn_buffer_printf(out, "; %s is %zu function%s", probe->pattern, n,
                                n == 1 ? "" : "s");
            if (n_places > n && n == probe->n_matched)
                cairn_buffer_printf(out, " at %zu places", n_places);
            i += probe->n_matched - 1;
        } else if (probe->at.place != CAIRN_TRACE_STATIC && probe->n_places > 1) {
            cairn_buffer_printf(out,
                                probe->is_line ? "; %s is at %zu places: all of them"
                                               : "; %s is %zu functions of that name: all of "
                                                 "them",
                                probe->event, probe->n_places);
        }
    }
}

void cairn_spec_say_attached(const struct cairn_spec *spec, bool enter_only,
                             struct cairn_buffer *out)
{
    const struct cairn_probes *probes = &spec->probes;
    if (cairn_trace_has_calls(spec->calls))
        cairn_buffer_printf(out, attached_raw, enter_only ? "" : " and sys_exit");
    for (size_t i = 0; i < probes->n; i++) {
        bool is_said = false;
        for (size_t k = 0; k < i && !is_said; k++)
            is_said = strcmp(probes->items[k].how, probes->items[i].how) == 0;
        if (is_said || probes->items[i].at.place == CAIRN_TRACE_STATIC)
            continue;
        cairn_buffer_str(out, out->size ? "; " : "");
        cairn_buffer_str(out, probes->items[i].how);
    }
    say_places(spec, out);
    say_functions(spec, out);
}
