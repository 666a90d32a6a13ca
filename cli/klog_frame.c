/* SPDX-License-Identifier: MIT */
/*
 * The line of one frame, as people know it from the scripts before us:
 *
 *     0x00007f592a8da5b9 /lib/libx.so+0x5b9 => work_inner @ libwork.c:6
 *         (inlined by) work_outer @ libwork.c:9
 *     misc_open+0xc4/0x180 => misc_open @ drivers/char/misc.c:165
 *
 * Each is made once: a log prints the same few thousand addresses again and again.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/escape.h"
#include "cli/klog.h"

static void add_text(struct cairn_buffer *out, const char *text)
{
    cairn_escape_terminal(out, text, strlen(text));
}

static void add_names(struct cairn_buffer *out, const struct cairn_resolved_frame *found)
{
    for (uint32_t i = 0; i < found->n_lines; i++) {
        const struct cairn_symbol_frame *line = &found->lines[i];
        cairn_buffer_str(out, i ? "\n    (inlined by) " : " => ");
        add_text(out, line->function ? line->function : "??");
        cairn_buffer_str(out, " @ ");
        add_text(out, line->file ? line->file : "??");
        if (line->line)
            cairn_buffer_printf(out, ":%u", (unsigned)line->line);
        else
            cairn_buffer_str(out, ":?");
    }
}

/* What stands in place of names. */
static void add_reason(struct cairn_buffer *out, const struct cairn_resolved_frame *found)
{
    switch (found->cause) {
    case CAIRN_CAUSE_NO_BINARY:
        cairn_buffer_str(out, " (ELF not found: ");
        add_text(out, found->path);
        cairn_buffer_char(out, ')');
        break;
    case CAIRN_CAUSE_NO_SYMBOL:
        cairn_buffer_str(out, " (no symbol)");
        break;
    default:
        cairn_buffer_printf(out, " (%s)", cairn_cause_text(found->cause));
        break;
    }
}

static void add_user(struct cairn_buffer *out, const struct cairn_klog_frame *frame,
                     const struct cairn_resolved_frame *found)
{
    if (frame->marks & CAIRN_KLOG_CUT) {
        cairn_buffer_str(out, "# cut line");
        if (*frame->text) {
            cairn_buffer_str(out, ": ");
            add_text(out, frame->text);
        }
        return;
    }
    cairn_buffer_printf(out, "0x%016llx", (unsigned long long)found->va);
    if (!found->has_place) {
        cairn_buffer_str(out, " <no mapping>");
        return;
    }
    cairn_buffer_char(out, ' ');
    add_text(out, *found->path ? found->path : "[anon]");
    cairn_buffer_printf(out, "+0x%llx", (unsigned long long)found->off);
    if (found->n_lines)
        add_names(out, found);
    else
        add_reason(out, found);
}

static void add_kernel(struct cairn_buffer *out, const struct cairn_klog_frame *frame,
                       const struct cairn_resolved_frame *found)
{
    if (frame->marks & CAIRN_KLOG_UNPROVEN)
        cairn_buffer_str(out, "? ");
    if (*frame->text)
        add_text(out, frame->text);
    else
        cairn_buffer_printf(out, "0x%016llx", (unsigned long long)frame->va);
    if (found->n_lines)
        add_names(out, found);
}

static int make(struct cli_klog *klog, const struct cairn_klog_dump *dump, size_t index, int space,
                struct cli_klog_text *ret_text, struct cairn_err *err)
{
    struct cairn_resolved_frame found = {.size = sizeof found};
    struct cairn_buffer text = {0};
    const struct cairn_klog_frame *frame = &dump->frames[index];
    int code = cairn_resolver_klog_frame(klog->resolver, dump, index, space, &found, err);
    if (code < 0)
        return code;
    if (frame->part == CAIRN_KLOG_USER)
        add_user(&text, frame, &found);
    else
        add_kernel(&text, frame, &found);
    cairn_buffer_char(&text, '\n');
    const char *kept =
        text.failed ? NULL : cairn_arena_text(&klog->arena, cairn_buffer_text(&text), text.size);
    *ret_text = (struct cli_klog_text){kept, (uint32_t)text.size, found.is_garbage != 0};
    cairn_buffer_done(&text);
    return kept ? CAIRN_OK : cairn_fail_memory(err);
}

/* What the line depends on; texts of a log are one pointer each. */
static uint64_t key_of(const struct cairn_klog_dump *dump, const struct cairn_klog_frame *frame,
                       int space)
{
    uint64_t marks = frame->marks &
                     (CAIRN_KLOG_EXACT | CAIRN_KLOG_UNPROVEN | CAIRN_KLOG_CUT | CAIRN_KLOG_NO_CODE);
    uint64_t key = cairn_hash_u64(frame->va ^ marks << 57);
    key = cairn_hash_u64(key ^ (uint64_t)(uintptr_t)frame->text);
    return frame->part == CAIRN_KLOG_USER ? key ^ ((uint64_t)(uint32_t)space + 1) << 1
                                          : key ^ (uint64_t)(uintptr_t)dump->build_id;
}

int cli_klog_frame(struct cli_klog *klog, const struct cairn_klog_dump *dump, size_t index,
                   int space, struct cli_klog_text *ret_text, struct cairn_err *err)
{
    uint32_t number;
    uint64_t key = key_of(dump, &dump->frames[index], space);
    if (cairn_table_find(&klog->texts, key, &number)) {
        *ret_text = klog->known[number];
        return CAIRN_OK;
    }
    if (cairn_grow((void **)&klog->known, &klog->cap_known, klog->n_known + 1,
                   sizeof *klog->known) < 0)
        return cairn_fail_memory(err);
    int code = make(klog, dump, index, space, &klog->known[klog->n_known], err);
    if (code < 0)
        return code;
    if (cairn_table_set(&klog->texts, key, (uint32_t)klog->n_known) < 0)
        return cairn_fail_memory(err);
    *ret_text = klog->known[klog->n_known++];
    return CAIRN_OK;
}

int cli_klog_usable(struct cli_klog *klog, const struct cairn_klog_dump *dump, int space,
                    size_t *ret_n, size_t *ret_left, struct cairn_err *err)
{
    struct cli_klog_text text;
    *ret_n = dump->n_frames;
    *ret_left = 0;
    for (size_t i = 0; i < dump->n_frames; i++) {
        if (dump->frames[i].part != CAIRN_KLOG_USER)
            continue;
        int code = cli_klog_frame(klog, dump, i, space, &text, err);
        if (code < 0)
            return code;
        if (text.is_garbage) {
            *ret_n = i;
            *ret_left = dump->n_frames - i;
            break;
        }
    }
    return CAIRN_OK;
}
