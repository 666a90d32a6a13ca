/* SPDX-License-Identifier: MIT */
/* A dump as text: heads and notes begin with '#', frames are lines of their own. */
#include <string.h>

#include "base/error.h"
#include "base/escape.h"
#include "cli/klog.h"

typedef unsigned long long ull;

static void add_clean(struct cairn_buffer *out, const char *text)
{
    cairn_escape_terminal(out, text, strlen(text));
}

static void add_others(struct cairn_buffer *out, const struct cairn_klog_dump *dump)
{
    size_t n = dump->n_others < CAIRN_KLOG_OTHERS_MAX ? dump->n_others : CAIRN_KLOG_OTHERS_MAX;
    for (size_t i = 0; i < n; i++)
        if (dump->others[i] >= 0)
            cairn_buffer_printf(out, "%s%d", i ? ", " : "", dump->others[i]);
        else
            cairn_buffer_printf(out, "%sunknown", i ? ", " : "");
    if (dump->n_others > n)
        cairn_buffer_printf(out, " and %zu more", dump->n_others - n);
}

static void add_head(struct cairn_buffer *out, const struct cairn_klog_dump *dump)
{
    cairn_buffer_str(out, "# ");
    add_clean(out, *dump->title ? dump->title : "stack dump");
    if (*dump->section) {
        cairn_buffer_str(out, ": ");
        add_clean(out, dump->section);
    }
    cairn_buffer_char(out, ':');
    if (dump->pid >= 0)
        cairn_buffer_printf(out, " pid=%d", dump->pid);
    if (*dump->comm) {
        cairn_buffer_str(out, " comm=");
        add_clean(out, dump->comm);
    }
    if (dump->tgid >= 0)
        cairn_buffer_printf(out, " tgid=%d", dump->tgid);
    if (dump->cpu >= 0)
        cairn_buffer_printf(out, " cpu=%d", dump->cpu);
    if (dump->is_32_bit)
        cairn_buffer_str(out, " bits=32");
    if (*dump->time) {
        cairn_buffer_str(out, " time=");
        add_clean(out, dump->time);
    }
    if (dump->boot > 1)
        cairn_buffer_printf(out, " boot=%u", dump->boot);
    cairn_buffer_printf(out, " line=%llu", (ull)dump->line);
    if (dump->printed)
        cairn_buffer_printf(out, " dump=%llu", (ull)dump->printed);
    cairn_buffer_char(out, '\n');
}

static void add_notes(struct cairn_buffer *out, const struct cairn_klog_dump *dump)
{
    if (dump->is_headless)
        cairn_buffer_str(out, "# its head is missing: lines before it were lost\n");
    if (dump->is_whose) {
        cairn_buffer_str(out, "# it may as well be that of pid ");
        add_others(out, dump);
        cairn_buffer_str(out, ": their lines are mixed and alike\n");
    }
    if (dump->is_open_ended) {
        cairn_buffer_str(out, "# it may go on: some lines may be its or those of pid ");
        add_others(out, dump);
        cairn_buffer_char(out, '\n');
    }
    if (dump->same_as)
        cairn_buffer_printf(out, "# same as dump %llu%s\n", (ull)dump->same_as,
                            dump->n_frames ? "" : ", which is not in this log");
}

static void add_end_notes(struct cairn_buffer *out, const struct cairn_klog_dump *dump)
{
    if (dump->is_mixed) {
        cairn_buffer_str(out, "# cut here: the lines that follow fit the dump of pid ");
        add_others(out, dump);
        cairn_buffer_str(out, " as well\n");
    }
    if (dump->is_cut_short)
        cairn_buffer_str(out, "# cut here: too many dumps were open, or it is too long\n");
    if (!dump->is_user_supported)
        cairn_buffer_str(out, "# user stack trace not supported (CONFIG_USER_STACKTRACE_SUPPORT "
                              "is disabled)\n");
    if (*dump->no_user) {
        cairn_buffer_str(out, "# no user stack: ");
        add_clean(out, dump->no_user);
        cairn_buffer_char(out, '\n');
    }
}

static void add_part_head(struct cairn_buffer *out, const struct cairn_klog_dump *dump,
                          uint8_t part)
{
    if (part == CAIRN_KLOG_USER) {
        cairn_buffer_str(out, "# ");
        add_clean(out, *dump->title ? dump->title : "stack dump");
        if (dump->pid >= 0)
            cairn_buffer_printf(out, " user stack for pid=%d\n", dump->pid);
        else
            cairn_buffer_str(out, " user stack\n");
    }
}

/* What is to be known before a frame. */
static void add_frame_notes(struct cairn_buffer *out, const struct cairn_klog_dump *dump, size_t i,
                            size_t first)
{
    const struct cairn_klog_frame *frame = &dump->frames[i];
    if (i == first || dump->frames[i - 1].part != frame->part)
        add_part_head(out, dump, frame->part);
    if (frame->marks & CAIRN_KLOG_HOLE)
        cairn_buffer_str(out, "# lines are missing here\n");
    if ((frame->marks & CAIRN_KLOG_MAYBE) &&
        (i == first || !(dump->frames[i - 1].marks & CAIRN_KLOG_MAYBE))) {
        cairn_buffer_str(out, "# from here on it may be that of pid ");
        add_others(out, dump);
        cairn_buffer_char(out, '\n');
    }
}

static size_t first_shown(const struct cli_klog *klog, const struct cairn_klog_dump *dump)
{
    size_t i = 0;
    while (klog->opts->user_only && i < dump->n_frames && dump->frames[i].part != CAIRN_KLOG_USER)
        i++;
    return i;
}

static int add_frames(struct cli_klog *klog, const struct cairn_klog_dump *dump, int space,
                      struct cairn_err *err)
{
    struct cairn_buffer *out = &klog->out;
    size_t first = first_shown(klog, dump);
    struct cli_klog_text text;
    for (size_t i = first; i < dump->n_frames; i++) {
        int code = cli_klog_frame(klog, dump, i, space, &text, err);
        if (code < 0)
            return code;
        add_frame_notes(out, dump, i, first);
        cairn_buffer_add(out, text.text, text.size);
        if (!text.is_garbage)
            continue;
        cairn_buffer_str(out, "# the stack ends here: this is no address of code");
        if (i + 1 < dump->n_frames)
            cairn_buffer_printf(out, ", %zu more lines are left out", dump->n_frames - i - 1);
        cairn_buffer_char(out, '\n');
        break;
    }
    return CAIRN_OK;
}

int cli_klog_put_text(struct cli_klog *klog, const struct cairn_klog_dump *dump, int space,
                      struct cairn_err *err)
{
    if (klog->n_shown > 1)
        cairn_buffer_char(&klog->out, '\n');
    add_head(&klog->out, dump);
    add_notes(&klog->out, dump);
    int code = add_frames(klog, dump, space, err);
    if (code == CAIRN_OK)
        add_end_notes(&klog->out, dump);
    return code;
}
