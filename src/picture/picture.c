/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include <cairn/picture.h>

#include "base/error.h"
#include "picture/html.h"
#include "picture/layout.h"
#include "picture/svg.h"
#include "profile/profile.h"

static const double default_min_percent = 0.05;
enum { DEFAULT_WIDTH = 1200, WIDTH_MIN = 200, WIDTH_MAX = 100000 };

static void make_title(const struct cairn_profile *profile, char *ret_title, size_t size)
{
    const char *command = cairn_profile_note(profile, CAIRN_NOTE_COMMAND, 0);
    snprintf(ret_title, size, "cairn%s%s", command ? ": " : "", command ? command : "");
}

static int check(const struct cairn_profile *profile, enum cairn_picture_format format,
                 const struct cairn_picture_opts *opts, struct cairn_err *err)
{
    if ((unsigned)opts->guest > CAIRN_GUEST_OFF)
        return cairn_fail(err, CAIRN_E_ARG, "picture: no view of guests has the number %d",
                          (int)opts->guest);
    if (opts->old && format != CAIRN_PICTURE_HTML)
        return cairn_fail(err, CAIRN_E_ARG, "picture: a comparison can be drawn as html alone");
    if (opts->value_type >= profile->n_types && opts->value_type > 0)
        return cairn_fail(err, CAIRN_E_ARG, "picture: value type %zu, the profile has %zu",
                          opts->value_type, profile->n_types);
    if (opts->svg_width && (opts->svg_width < WIDTH_MIN || opts->svg_width > WIDTH_MAX))
        return cairn_fail(err, CAIRN_E_ARG, "picture: %u pixels wide, expected %d to %d",
                          opts->svg_width, WIDTH_MIN, WIDTH_MAX);
    if (!(opts->svg_min_percent >= 0 && opts->svg_min_percent <= 100))
        return cairn_fail(err, CAIRN_E_ARG, "picture: smallest share %g, expected 0 to 100",
                          opts->svg_min_percent);
    return CAIRN_OK;
}

static int draw(const struct cairn_picture_view *view, enum cairn_picture_format format,
                const struct cairn_picture_opts *opts, struct cairn_out *out, struct cairn_err *err)
{
    if (format == CAIRN_PICTURE_HTML)
        return cairn_html_draw(view, out, err);
    return cairn_svg_draw(view,
                          opts->svg_min_percent > 0 ? opts->svg_min_percent : default_min_percent,
                          opts->svg_width ? opts->svg_width : DEFAULT_WIDTH, out, err);
}

/* One tree for both: what the old one adds stands behind the new one's samples. */
static int join(const struct cairn_profile *new, const struct cairn_profile *old,
                struct cairn_profile **ret_both, struct cairn_err *err)
{
    struct cairn_profile *both = NULL;
    int rc = cairn_profile_new(&both, err);
    if (rc == CAIRN_OK)
        rc = cairn_profile_merge(both, new, err);
    if (rc == CAIRN_OK)
        rc = cairn_profile_merge(both, old, err);
    if (rc < 0)
        cairn_profile_free(both);
    else
        *ret_both = both;
    return rc;
}

static int write_of(const struct cairn_profile *shown, const struct cairn_profile *profile,
                    enum cairn_picture_format format, const struct cairn_picture_opts *o,
                    cairn_write_fn write, void *ctx, struct cairn_err *err)
{
    char title[512], old_title[512] = "";
    make_title(profile, title, sizeof title);
    if (o->old)
        make_title(o->old, old_title, sizeof old_title);
    size_t n_new = o->old ? profile->n_samples : SIZE_MAX;
    struct cairn_looks looks = {0};
    struct cairn_layout layout = {0};
    int rc = cairn_looks_build(shown, &looks, err);
    if (rc == CAIRN_OK)
        rc = cairn_layout_build(shown, &looks, n_new, &layout, err);
    if (rc == CAIRN_OK) {
        struct cairn_picture_view view = {.profile = shown,
                                          .n_new = n_new,
                                          .of_side = {profile, o->old},
                                          .looks = &looks,
                                          .layout = &layout,
                                          .title = o->title ? o->title : title,
                                          .subtitle = o->subtitle ? o->subtitle : "",
                                          .old_title = o->old_title ? o->old_title : old_title,
                                          .old_subtitle = o->old_subtitle ? o->old_subtitle : "",
                                          .source = o->source,
                                          .source_ctx = o->source_ctx,
                                          .lines = o->lines,
                                          .n_lines = o->n_lines,
                                          .lines_start_ns = o->lines_start_ns,
                                          .guest = o->guest,
                                          .value_type = o->value_type};
        struct cairn_out out = {.write = write, .ctx = ctx};
        rc = draw(&view, format, o, &out, err);
        int finished = cairn_out_finish(&out, err);
        rc = rc < 0 ? rc : finished;
    }
    cairn_layout_done(&layout);
    cairn_looks_done(&looks);
    return rc;
}

int cairn_picture_write(const struct cairn_profile *profile, enum cairn_picture_format format,
                        const struct cairn_picture_opts *opts, cairn_write_fn write, void *ctx,
                        struct cairn_err *err)
{
    struct cairn_picture_opts o = {0};
    if (opts)
        memcpy(&o, opts, opts->size < sizeof o ? opts->size : sizeof o);
    int rc = check(profile, format, &o, err);
    if (rc < 0)
        return rc;

    struct cairn_profile *both = NULL;
    if (o.old)
        rc = join(profile, o.old, &both, err);
    if (rc == CAIRN_OK)
        rc = write_of(both ? both : profile, profile, format, &o, write, ctx, err);
    cairn_profile_free(both);
    return rc;
}
