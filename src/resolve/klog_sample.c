/* SPDX-License-Identifier: MIT */
/* A dump of a kernel log as one sample of a profile. */
#include "base/address.h"
#include "base/alloc.h"
#include "base/error.h"
#include "profile/label_list.h"
#include "resolve/klog_spaces.h"
#include "resolve/resolver.h"

enum { LINES_MAX = 256, MODULE_BYTES = 1 << 30 };

static uint32_t text_of(struct cairn_profile *p, const char *text)
{
    return text && *text ? cairn_profile_text(p, text, strlen(text)) : 0;
}

static void add_labels(struct cairn_label_list *labels, const struct cairn_klog_dump *dump)
{
    if (dump->tgid >= 0 || dump->pid >= 0)
        cairn_label_list_number(labels, "pid", dump->tgid >= 0 ? dump->tgid : dump->pid);
    if (dump->pid >= 0)
        cairn_label_list_number(labels, "tid", dump->pid);
    cairn_label_list_text(labels, "comm", dump->comm);
    cairn_label_list_text(labels, "tag", dump->title);
    cairn_label_list_text(labels, "section", dump->section);
    cairn_label_list_text(labels, "time", dump->time);
    if (dump->cpu >= 0)
        cairn_label_list_number(labels, "cpu", dump->cpu);
    if (dump->boot > 1)
        cairn_label_list_number(labels, "boot", dump->boot);
    if (dump->is_whose)
        cairn_label_list_text(labels, "thread", "one of several");
}

/* A module by its path; the range is where it would lie if its file were mapped in one piece. */
static uint32_t module_of(struct cairn_profile *p, const struct cairn_resolved_frame *found,
                          bool is_kernel)
{
    if (is_kernel)
        return cairn_profile_add_kernel(p, 0, "");
    if (!found->has_place || !*found->path)
        return CAIRN_PROFILE_NO_MODULE;
    uint64_t start = found->va - found->off;
    const struct cairn_profile_module module = {
        .start = start, .end = start + MODULE_BYTES, .path = text_of(p, found->path)};
    return module.path == UINT32_MAX ? UINT32_MAX : cairn_profile_add_module(p, &module);
}

static uint32_t add_line(struct cairn_profile *p, const char *name, size_t name_size,
                         const struct cairn_symbol_frame *line, struct cairn_profile_line *ret_line)
{
    struct cairn_profile_function function = {.name = cairn_profile_text(p, name, name_size)};
    function.system_name = line && line->linkage ? text_of(p, line->linkage) : function.name;
    function.file = line ? text_of(p, line->file) : 0;
    function.start_line = line ? line->start_line : 0;
    if (function.name == UINT32_MAX || function.system_name == UINT32_MAX ||
        function.file == UINT32_MAX)
        return UINT32_MAX;
    ret_line->function = cairn_profile_add_function(p, &function);
    ret_line->line = line ? line->line : 0;
    return ret_line->function;
}

/* What the log itself calls a kernel function serves where no file has more. */
static bool add_lines(struct cairn_profile *p, const struct cairn_klog_frame *frame,
                      const struct cairn_resolved_frame *found,
                      struct cairn_profile_line lines[LINES_MAX], uint32_t *ret_n)
{
    struct cairn_klog_symbol symbol;
    uint32_t n = 0;
    for (; n < found->n_lines && n < LINES_MAX; n++) {
        const struct cairn_symbol_frame *line = &found->lines[n];
        const char *name = line->function ? line->function : "[unknown]";
        if (add_line(p, name, strlen(name), line, &lines[n]) == UINT32_MAX)
            return false;
    }
    if (!n && frame->part == CAIRN_KLOG_KERNEL &&
        cairn_klog_symbol(frame->text, strlen(frame->text), &symbol)) {
        if (add_line(p, symbol.name, symbol.name_size, NULL, &lines[0]) == UINT32_MAX)
            return false;
        n = 1;
    }
    *ret_n = n;
    return true;
}

/* UINT32_MAX: memory is gone, or the profile is full. */
static uint32_t add_frame(struct cairn_profile *p, const struct cairn_klog_frame *frame,
                          const struct cairn_resolved_frame *found)
{
    struct cairn_profile_line lines[LINES_MAX];
    bool is_kernel = frame->part == CAIRN_KLOG_KERNEL;
    uint32_t n = 0;
    enum cairn_address_kind kind =
        frame->marks & CAIRN_KLOG_EXACT ? CAIRN_ADDRESS_EXACT : CAIRN_ADDRESS_RETURN;
    struct cairn_profile_frame made = {
        .address = cairn_lookup_address(found->va, kind),
        .module = module_of(p, found, is_kernel),
        .what = is_kernel ? CAIRN_WHAT_KERNEL : CAIRN_WHAT_NATIVE,
        .how = CAIRN_HOW_TEXT,
    };
    if (made.module == UINT32_MAX || !add_lines(p, frame, found, lines, &n))
        return UINT32_MAX;
    return cairn_profile_add_frame(p, &made, lines, n);
}

static int add_stack(struct cairn_resolver *resolver, const struct cairn_klog_dump *dump,
                     size_t n_frames, int space, struct cairn_profile *p, uint32_t *ret_stack,
                     struct cairn_err *err)
{
    uint32_t stack = 0;
    for (size_t i = n_frames; i-- > 0;) {
        struct cairn_resolved_frame found = {.size = sizeof found};
        int code = cairn_resolver_klog_frame(resolver, dump, i, space, &found, err);
        if (code < 0)
            return code;
        uint32_t frame = add_frame(p, &dump->frames[i], &found);
        stack = frame == UINT32_MAX ? UINT32_MAX : cairn_profile_add_stack(p, stack, frame);
        if (stack == UINT32_MAX)
            return cairn_fail(err, CAIRN_E_LIMIT, "the profile is full or memory is exhausted");
    }
    *ret_stack = stack;
    return CAIRN_OK;
}

/* The kernel's frames are the inner ones, whatever the log prints first. */
int cairn_resolver_klog_sample(struct cairn_resolver *resolver, const struct cairn_klog_dump *dump,
                               size_t n_frames, int space, struct cairn_profile *profile,
                               struct cairn_err *err)
{
    struct cairn_label_list labels = {.profile = profile};
    uint32_t stack = 0;
    const int64_t one = 1;
    if (!profile->n_types && cairn_profile_add_type(profile, "samples", "count") == UINT32_MAX)
        return cairn_fail_memory(err);
    int code = add_stack(resolver, dump, n_frames < dump->n_frames ? n_frames : dump->n_frames,
                         space, profile, &stack, err);
    if (code < 0)
        return code;
    add_labels(&labels, dump);
    const char *cut = dump->is_mixed ? "lines of several dumps cannot be told apart" : "";
    uint32_t number = cairn_label_list_add(&labels, text_of(profile, cut), 0);
    if (number == UINT32_MAX ||
        cairn_profile_add_sample(profile, stack, number, &one) == UINT32_MAX)
        return cairn_fail_memory(err);
    return CAIRN_OK;
}
