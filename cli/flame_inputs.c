/* SPDX-License-Identifier: MIT */
#include "cli/flame_inputs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/numbers.h"
#include "cli/profiles.h"
#include "cli/term.h"

const char *cli_flame_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (strcmp(path, "-") == 0)
        return "stdin";
    return slash && slash[1] ? slash + 1 : path;
}

/* The name alone where it says which input it is, else the path as it was given. */
static const char *label_of(char *const *paths, size_t which)
{
    const char *name = cli_flame_name(paths[which]);
    for (size_t i = 0; paths[i]; i++)
        if (i != which && strcmp(cli_flame_name(paths[i]), name) == 0)
            return paths[which];
    return name;
}

static int add_labelled(char *const *paths, size_t which, const struct cli_reading *reading,
                        struct cairn_profile *all, struct cairn_err *err)
{
    struct cairn_profile *one = NULL;
    int rc = cli_read_input(paths[which], reading, &one, err);
    if (rc == CAIRN_OK)
        rc = cairn_profile_label_all(one, "input", label_of(paths, which), err);
    if (rc == CAIRN_OK) {
        rc = cairn_profile_merge(all, one, err);
        rc = rc < 0 ? cairn_fail_in(err, rc, paths[which]) : rc;
    }
    cairn_profile_free(one);
    return rc;
}

int cli_flame_read(char *const *paths, const struct cli_reading *reading,
                   struct cairn_profile **ret_profile, struct cairn_err *err)
{
    struct cairn_profile *all = NULL;
    bool stdin_used = false;
    if (!paths[1])
        return cli_read_profiles(paths, reading, ret_profile, err);
    int rc = cairn_profile_new(&all, err);
    for (size_t i = 0; paths[i] && rc == CAIRN_OK; i++) {
        bool is_stdin = strcmp(paths[i], "-") == 0;
        if (is_stdin && stdin_used)
            rc = cairn_fail(err, CAIRN_E_ARG, "stdin can be read once, it was named twice");
        else
            rc = add_labelled(paths, i, reading, all, err);
        stdin_used |= is_stdin;
    }
    if (rc < 0)
        cairn_profile_free(all);
    else
        *ret_profile = all;
    return rc;
}

/* What the recorder said of its own samples; NULL where they were joined or filtered since. */
static const char *recorded_quality(const struct cairn_profile *profile,
                                    const struct cairn_profile_stats *stats)
{
    const char *quality = cairn_profile_note(profile, CAIRN_NOTE_QUALITY, 0);
    return quality && strtoull(quality, NULL, 10) == stats->n_samples ? quality : NULL;
}

static void add_seen(struct cairn_buffer *b, const struct cairn_profile *profile,
                     const struct cairn_profile_stats *stats)
{
    cli_add_counted(b, stats->n_samples, "sample");
    if (stats->duration_ns)
        cairn_buffer_printf(b, " in %.1f s", (double)stats->duration_ns / 1e9);
    cairn_buffer_str(b, " · ");
    cli_add_counted(b, stats->n_functions, "function");
    if (stats->n_modules) {
        cairn_buffer_str(b, " in ");
        cli_add_counted(b, stats->n_modules, "module");
    }
    if (stats->n_judged) {
        cairn_buffer_str(b, " · ");
        cli_add_whole(b, profile, stats);
    }
}

void cli_flame_describe(const struct cairn_profile *profile, bool joined, const char *told,
                        struct cairn_buffer *b)
{
    struct cairn_profile_stats stats = {.size = sizeof stats};
    cairn_profile_stats(profile, &stats);
    const char *quality = *told ? told : joined ? NULL : recorded_quality(profile, &stats);
    if (quality)
        cairn_buffer_str(b, quality);
    else
        add_seen(b, profile, &stats);
    if (stats.n_unnamed)
        cairn_buffer_printf(b, " · %" PRIu64 " of %" PRIu64 " frames without a name",
                            stats.n_unnamed, stats.n_frames);
}

int cli_flame_find_value(const struct cairn_profile *profile, const char *path, const char *type,
                         size_t *ret_number, struct cairn_err *err)
{
    const struct cairn_value_type *types;
    size_t n = cairn_profile_value_types(profile, &types);
    int rc = cli_find_value(profile, path, type, ret_number, err);
    if (rc == CAIRN_OK && !type && n && strcmp(types[*ret_number].type, "inuse_space") == 0)
        (void)cli_find_value(profile, path, "peak_space", ret_number, NULL);
    return rc;
}

void cli_flame_say_left_out(const struct cairn_profile *profile, const char *output)
{
    struct cairn_profile_stats stats = {.size = sizeof stats};
    struct cairn_buffer count = {0};
    cairn_profile_stats(profile, &stats);
    cli_add_counted(&count, stats.n_events, "event");
    if (stats.n_events)
        cli_say("%s: SVG has no timeline; left out: %s. The page has it: -o FILE.html", output,
                cairn_buffer_text(&count));
    cairn_buffer_done(&count);
}
