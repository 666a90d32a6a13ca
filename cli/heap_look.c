/* SPDX-License-Identifier: MIT */
/* A look at what lives: read, filtered, named, and without what is known. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/heap.h"
#include "cli/numbers.h"
#include "cli/term.h"

enum { QUALITY_BYTES = 4096 };

int cli_heap_wanted_open(struct cli_heap_wanted *wanted, struct cairn_err *err)
{
    int result =
        wanted->suppressions_file
            ? cairn_heap_suppressions_read(wanted->suppressions_file, &wanted->suppressions, err)
            : cairn_heap_suppressions_new(&wanted->suppressions, err);
    if (result == CAIRN_OK && !wanted->no_defaults)
        cairn_heap_suppressions_add_defaults(wanted->suppressions);
    return result;
}

void cli_heap_wanted_done(struct cli_heap_wanted *wanted)
{
    cairn_resolver_free(wanted->resolver);
    cairn_heap_suppressions_free(wanted->suppressions);
    cli_list_done(&wanted->modules);
    cli_list_done(&wanted->names.symbol_dirs);
}

/* One resolver for all looks at a process: it opens each module once. */
static int name_look(struct cli_heap_wanted *wanted, struct cli_heap_look *look,
                     struct cairn_err *err)
{
    int result = CAIRN_OK;
    if (wanted->resolver && wanted->resolver_pid != look->pid) {
        cairn_resolver_free(wanted->resolver);
        wanted->resolver = NULL;
    }
    if (!wanted->resolver)
        result = cli_heap_resolver(&wanted->names, look->pid, &wanted->resolver, err);
    wanted->resolver_pid = look->pid;
    return result < 0 ? result : cairn_resolve_profile(wanted->resolver, look->profile, err);
}

/* A bound for bytes is for what all processes have of a stack. */
static int list(const struct cli_heap_wanted *wanted, struct cli_heap_look *look,
                struct cairn_err *err)
{
    struct cairn_heap_process second = {.size = sizeof second};
    struct cairn_heap_filter filter = wanted->filter;
    bool is_many = cairn_heap_process(look->heap, 1, &second);
    if (is_many)
        filter.min_bytes = 0;
    int result = cairn_heap_leaks(look->heap, &filter, &look->profile, &look->leaks, &look->n, err);
    if (result == CAIRN_OK && is_many)
        result = cairn_heap_merge_leaks(look->profile, look->leaks, &look->n, err);
    while (result == CAIRN_OK && look->n &&
           look->leaks[look->n - 1].bytes < wanted->filter.min_bytes)
        look->n--;
    return result;
}

static int list_and_name(struct cli_heap_wanted *wanted, struct cli_heap_look *look,
                         struct cairn_err *err)
{
    int result = list(wanted, look, err);
    if (result < 0)
        return result;
    cli_heap_keep_modules(&wanted->modules, look->profile, look->leaks, &look->n);
    result = name_look(wanted, look, err);
    if (result < 0 || !wanted->suppressions)
        return result;
    if (!wanted->no_defaults && !wanted->has_programs) /* once: looks follow each other */
        result = cairn_heap_suppressions_add_programs(wanted->suppressions, look->profile, err);
    wanted->has_programs = true;
    return result < 0 ? result
                      : cairn_heap_suppress(wanted->suppressions, look->profile, look->leaks,
                                            &look->n, err);
}

int cli_heap_look_at(struct cli_heap_wanted *wanted, struct cairn_heap *heap, int pid,
                     struct cli_heap_look *ret_look, struct cairn_err *err)
{
    struct cli_heap_look look = {.pid = pid, .heap = heap};
    int result = list_and_name(wanted, &look, err);
    if (result < 0)
        cli_heap_look_done(&look);
    else
        *ret_look = look;
    return result;
}

int cli_heap_look(struct cli_heap_wanted *wanted, const char *input, struct cli_heap_look *ret_look,
                  struct cairn_err *err)
{
    struct cairn_heap *heap = NULL;
    int pid, result = cli_heap_read(input, &heap, &pid, err);
    return result < 0 ? result : cli_heap_look_at(wanted, heap, pid, ret_look, err);
}

void cli_heap_look_done(struct cli_heap_look *look)
{
    cairn_heap_leaks_free(look->leaks);
    cairn_free(look->lost);
    cairn_profile_free(look->profile);
    cairn_heap_free(look->heap);
    *look = (struct cli_heap_look){0};
}

void cli_heap_sum_look(const struct cli_heap_look *look, uint64_t *ret_bytes, uint64_t *ret_blocks)
{
    *ret_bytes = *ret_blocks = 0;
    for (size_t i = 0; i < look->n; i++) {
        *ret_bytes += look->leaks[i].bytes;
        *ret_blocks += look->leaks[i].n_blocks;
    }
}

static void add_suppressed(struct cairn_buffer *out, const struct cairn_heap_suppressed *s)
{
    cairn_buffer_str(out, "suppressed: ");
    cli_add_size(out, s->bytes);
    cairn_buffer_str(out, " in ");
    cli_add_counted(out, s->n_blocks, "block");
    cairn_buffer_str(out, " from ");
    cli_add_counted(out, s->n_stacks, "stack");
    cairn_buffer_printf(out, " by leak:%s", s->pattern);
}

/* One line for all default rules: nobody has to do anything about them. */
static void say_defaults(const struct cli_heap_wanted *wanted)
{
    struct cairn_heap_suppressed s = {.size = sizeof s}, sum = {0};
    struct cairn_buffer out = {0}, parts = {0};
    for (size_t i = 0; cairn_heap_suppressed(wanted->suppressions, i, &s); i++) {
        if (!s.is_default || s.n_stacks == 0)
            continue;
        sum.bytes += s.bytes;
        sum.n_blocks += s.n_blocks;
        cairn_buffer_printf(&parts, "%s%s ", parts.size ? ", " : "", s.pattern);
        cli_add_size(&parts, s.bytes);
    }
    if (sum.n_blocks) {
        cli_add_size(&out, sum.bytes);
        cairn_buffer_str(&out, " in ");
        cli_add_counted(&out, sum.n_blocks, "block");
        cli_say("left out, as in every program: %s (%s); --no-default-suppressions lists it",
                cairn_buffer_text(&out), cairn_buffer_text(&parts));
    }
    cairn_buffer_done(&out);
    cairn_buffer_done(&parts);
}

void cli_heap_say_suppressed(const struct cli_heap_wanted *wanted)
{
    struct cairn_heap_suppressed s = {.size = sizeof s};
    struct cairn_buffer out = {0};
    if (!wanted->suppressions)
        return;
    for (size_t i = 0; cairn_heap_suppressed(wanted->suppressions, i, &s); i++) {
        if (s.n_stacks == 0 || s.is_default)
            continue;
        cairn_buffer_clear(&out);
        add_suppressed(&out, &s);
        cli_say("%s", cairn_buffer_text(&out));
    }
    cairn_buffer_done(&out);
    say_defaults(wanted);
}

void cli_heap_put_suppressed(struct cairn_json *json, const struct cli_heap_wanted *wanted)
{
    struct cairn_heap_suppressed s = {.size = sizeof s};
    if (!wanted->suppressions)
        return;
    cairn_json_open(json, "suppressed", '[');
    for (size_t i = 0; cairn_heap_suppressed(wanted->suppressions, i, &s); i++) {
        if (s.n_stacks == 0)
            continue;
        cairn_json_open(json, NULL, '{');
        cairn_json_str(json, "pattern", s.pattern);
        cairn_json_bool(json, "default", s.is_default);
        cairn_json_u64(json, "bytes", s.bytes);
        cairn_json_u64(json, "blocks", s.n_blocks);
        cairn_json_u64(json, "stacks", s.n_stacks);
        cairn_json_close(json, '}');
    }
    cairn_json_close(json, ']');
}

void cli_heap_say_quality(const struct cli_heap_look *look, const char *who)
{
    char quality[QUALITY_BYTES];
    cairn_heap_quality_text(look->heap, look->profile, quality, sizeof quality);
    if (who)
        cli_say("%s: %s", who, quality);
    else
        cli_say("%s", quality);
}
