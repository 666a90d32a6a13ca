/* SPDX-License-Identifier: MIT */
#include "cli/convert_info.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/escape.h"
#include "cli/profiles.h"

/* A frame's module: texts of the profile, borrowed. */
struct module {
    const char *path, *build_id;
    bool is_named; /* the frame is */
};

static void add_text(struct cairn_buffer *out, const char *text)
{
    cairn_escape_terminal(out, text, strlen(text));
}

static void add_comments(struct cairn_buffer *out, const struct cairn_profile *profile)
{
    const char *const *comments;
    size_t n = cairn_profile_comments(profile, &comments);
    for (size_t i = 0; i < n; i++) {
        add_text(out, comments[i]);
        cairn_buffer_char(out, '\n');
    }
}

static int add_values(struct cairn_buffer *out, const struct cairn_profile *profile,
                      struct cairn_err *err)
{
    const struct cairn_value_type *types;
    size_t n = cairn_profile_value_types(profile, &types);
    cairn_buffer_str(out, "values:\n");
    for (size_t i = 0; i < n; i++) {
        struct cairn_top *top;
        int result = cairn_profile_top(profile, i, &top, err);
        if (result < 0)
            return result;
        cairn_buffer_str(out, "  ");
        add_text(out, types[i].type);
        cairn_buffer_printf(out, " %" PRId64 " ", cairn_top_sum(top));
        add_text(out, types[i].unit);
        cairn_buffer_str(out,
                         i == cairn_profile_default_value(profile) ? " (shown first)\n" : "\n");
        cairn_top_free(top);
    }
    return CAIRN_OK;
}

static int compare_modules(const void *a, const void *b)
{
    const struct module *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    return order ? order : strcmp(x->build_id, y->build_id);
}

/* Each module once, with its frames that have a name in the file. */
static int add_modules(struct cairn_buffer *out, const struct cairn_profile *profile,
                       struct cairn_err *err)
{
    struct cairn_frame_info info = {.size = sizeof info};
    size_t n = 0, n_frames = 0;
    while (cairn_profile_frame(profile, (uint32_t)n_frames + 1, &info) == CAIRN_OK)
        n_frames++;
    struct module *modules = calloc(n_frames + 1, sizeof *modules);
    if (!modules)
        return cairn_fail_memory(err);
    for (size_t i = 1; i <= n_frames; i++)
        if (cairn_profile_frame(profile, (uint32_t)i, &info) == CAIRN_OK && *info.module)
            modules[n++] = (struct module){info.module, info.build_id, info.n_lines > 0};
    qsort(modules, n, sizeof *modules, compare_modules);
    cairn_buffer_str(out, "modules:\n");
    for (size_t i = 0; i < n;) {
        const size_t first = i;
        size_t n_named = 0;
        for (; i < n && compare_modules(&modules[first], &modules[i]) == 0; i++)
            n_named += modules[i].is_named;
        cairn_buffer_str(out, "  ");
        add_text(out, modules[first].path);
        cairn_buffer_str(out, *modules[first].build_id ? " build ID " : " without build ID");
        add_text(out, modules[first].build_id);
        cairn_buffer_printf(out, ", %zu of %zu frames named\n", n_named, i - first);
    }
    free(modules);
    return CAIRN_OK;
}

int cli_convert_info_add(struct cairn_buffer *out, const struct cairn_profile *profile,
                         struct cairn_err *err)
{
    struct cairn_buffer quality = {0};
    add_comments(out, profile);
    int result = add_values(out, profile, err);
    if (result == CAIRN_OK)
        result = add_modules(out, profile, err);
    if (result < 0)
        return result;
    cli_add_quality(&quality, profile);
    add_text(out, cairn_buffer_text(&quality));
    cairn_buffer_char(out, '\n');
    out->failed |= quality.failed;
    cairn_buffer_done(&quality);
    return out->failed ? cairn_fail_memory(err) : CAIRN_OK;
}
