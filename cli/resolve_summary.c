/* SPDX-License-Identifier: MIT */
#include "cli/resolve_summary.h"

#include <stdio.h>

#include "base/json.h"
#include "cli/term.h"

typedef unsigned long long ull;

static struct cairn_resolve_summary summary_of(const struct cairn_resolver *resolver)
{
    struct cairn_resolve_summary summary = {.size = sizeof summary};
    cairn_resolver_summary(resolver, &summary);
    return summary;
}

static void add_count(struct cairn_buffer *text, uint64_t n, const char *what, const char *many)
{
    cairn_buffer_printf(text, "%llu %s%s", (ull)n, what, n == 1 ? "" : many);
}

void cli_resolve_say_summary(const struct cairn_resolver *resolver)
{
    struct cairn_resolve_summary s = summary_of(resolver);
    struct cairn_buffer text = {0};
    if (s.n_lines || !s.n_samples)
        add_count(&text, s.n_lines, "line", "s");
    else
        add_count(&text, s.n_samples, "sample", "s");
    if (s.n_malformed)
        cairn_buffer_printf(&text, " (%llu of them no stacks)", (ull)s.n_malformed);
    cairn_buffer_printf(&text, ", ");
    add_count(&text, s.n_frames, "frame", "s");
    cairn_buffer_printf(&text, ", %llu of them named now; ", (ull)s.n_named);
    add_count(&text, s.n_unique, "unique address", "es");
    cli_say("%s, %llu of them named", cairn_buffer_text(&text), (ull)s.n_unique_named);
    if (s.n_modules_found || s.n_modules_missing)
        cli_say("modules: %llu found (%llu of them unverified), %llu missing",
                (ull)s.n_modules_found, (ull)s.n_modules_unverified, (ull)s.n_modules_missing);
    cairn_buffer_clear(&text);
    for (int i = 0; i < CAIRN_N_CAUSES; i++)
        if (s.frames_by_cause[i])
            cairn_buffer_printf(&text, "%s%llu %s", text.size ? ", " : "",
                                (ull)s.frames_by_cause[i], cairn_cause_text((enum cairn_cause)i));
    if (text.size)
        cli_say("frames without a name: %s", cairn_buffer_text(&text));
    cairn_buffer_done(&text);
}

static const char *const cause_keys[CAIRN_N_CAUSES] = {
    [CAIRN_CAUSE_NO_MAPPING] = "no_mapping",
    [CAIRN_CAUSE_NOT_A_FILE] = "not_a_file",
    [CAIRN_CAUSE_ANONYMOUS] = "anonymous_memory",
    [CAIRN_CAUSE_NO_KERNEL] = "no_kernel_symbols",
    [CAIRN_CAUSE_KERNEL_HIDDEN] = "kernel_symbols_hidden",
    [CAIRN_CAUSE_BEFORE_SEGMENT] = "in_no_segment",
    [CAIRN_CAUSE_NO_BINARY] = "no_binary",
    [CAIRN_CAUSE_MISMATCH] = "build_id_mismatch",
    [CAIRN_CAUSE_NO_SYMBOL] = "no_symbol",
};

static void put_causes(struct cairn_json *json, const char *name, const uint64_t *counts)
{
    cairn_json_open(json, name, '{');
    for (int i = 0; i < CAIRN_N_CAUSES; i++)
        cairn_json_u64(json, cause_keys[i], counts[i]);
    cairn_json_close(json, '}');
}

static void put_module(struct cairn_json *json, const struct cairn_resolved_module *module)
{
    cairn_json_open(json, NULL, '{');
    cairn_json_str(json, "path", module->path);
    cairn_json_str(json, "state",
                   module->missing == CAIRN_CAUSE_NONE ? "found" : cause_keys[module->missing]);
    cairn_json_str(json, "file", module->file);
    cairn_json_str(json, "debug_file", module->debug_file);
    cairn_json_str(json, "build_id", module->build_id[0] ? module->build_id : NULL);
    cairn_json_bool(json, "verified", module->verified);
    cairn_json_bool(json, "mismatch", module->mismatch);
    cairn_json_u64(json, "unique_addresses", module->n_unique);
    cairn_json_u64(json, "unique_named", module->n_unique_named);
    put_causes(json, "unique_unnamed", module->unique_by_cause);
    cairn_json_close(json, '}');
}

void cli_resolve_print_json(const struct cairn_resolver *resolver, bool stdout_is_taken)
{
    struct cairn_resolve_summary s = summary_of(resolver);
    struct cairn_buffer text = {0};
    struct cairn_json json = {.out = &text};
    cairn_json_open(&json, NULL, '{');
    cairn_json_u64(&json, "lines", s.n_lines);
    cairn_json_u64(&json, "malformed_lines", s.n_malformed);
    cairn_json_u64(&json, "samples", s.n_samples);
    cairn_json_u64(&json, "frames", s.n_frames);
    cairn_json_u64(&json, "frames_named", s.n_named);
    put_causes(&json, "frames_unnamed", s.frames_by_cause);
    cairn_json_u64(&json, "unique_addresses", s.n_unique);
    cairn_json_u64(&json, "unique_named", s.n_unique_named);
    put_causes(&json, "unique_unnamed", s.unique_by_cause);
    cairn_json_u64(&json, "modules_found", s.n_modules_found);
    cairn_json_u64(&json, "modules_missing", s.n_modules_missing);
    cairn_json_u64(&json, "modules_unverified", s.n_modules_unverified);
    cairn_json_open(&json, "modules", '[');
    struct cairn_resolved_module module = {.size = sizeof module};
    for (size_t i = 0; cairn_resolver_module(resolver, i, &module); i++)
        put_module(&json, &module);
    cairn_json_close(&json, ']');
    cairn_json_close(&json, '}');
    FILE *out = stdout_is_taken ? stderr : stdout;
    fwrite(cairn_buffer_text(&text), 1, text.size, out);
    cairn_buffer_done(&text);
}
