/* SPDX-License-Identifier: MIT */
/*
 * Picture: a profile as a flame graph, in one HTML file that needs no network, or in one SVG.
 * Threads: calls on different profiles are independent.
 */
#ifndef CAIRN_PICTURE_H
#define CAIRN_PICTURE_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>
#include <cairn/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cairn_picture_format { CAIRN_PICTURE_HTML, CAIRN_PICTURE_SVG };

/* Gives the text of a source file, named as in the profile's debug information; it is borrowed
 * until the next call. Nonzero: there is no such file. */
typedef int (*cairn_source_fn)(void *ctx, const char *file, const char **ret_text,
                               size_t *ret_size);

/* A number over time, drawn above the flame graph. Lines named "peak" and "mark" are points. */
struct cairn_picture_point {
    uint64_t time_ns; /* since the line's begin */
    int64_t value;
};
struct cairn_picture_line {
    const char *name, *unit; /* "live", "bytes" */
    const struct cairn_picture_point *points;
    size_t n;
};

/* Set .size to sizeof(struct cairn_picture_opts); zero means the default. */
struct cairn_picture_opts {
    size_t size;
    const char *title;      /* NULL: "cairn" and the command of the profile's comments */
    const char *subtitle;   /* e.g. the quality line; NULL: none */
    size_t value_type;      /* index of the value shown first */
    double svg_min_percent; /* SVG only: frames narrower than this share are left out, and the
                               picture says how many; 0: 0.05 */
    uint32_t svg_width;     /* in CSS pixels; 0: 1200 */

    /* HTML only: another profile, of the same value types, that this one is compared with */
    const struct cairn_profile *old;
    const char *old_title;    /* NULL: as `title` is made, of `old` */
    const char *old_subtitle; /* NULL: none */

    cairn_source_fn source; /* HTML only: lines that were sampled are shown; NULL: none */
    void *source_ctx;
    const struct cairn_picture_line *lines; /* HTML only */
    size_t n_lines;
    int64_t lines_start_ns; /* when they begin, on the clock of the samples' times; 0: unknown */

    /* HTML only: which frames of stacks with an interpreter's are seen first. The page has a switch
     * for them if all are in the profile (cairn_profile_view_guests() takes some out). */
    enum cairn_guest_view guest;
};

/* Writes the whole picture. HTML keeps every frame; a profile without samples gives a page that
 * says so. CAIRN_E_NOMEM, CAIRN_E_IO, CAIRN_E_ARG (no such value type; profiles that cannot be
 * compared; a comparison as SVG). */
CAIRN_API int cairn_picture_write(const struct cairn_profile *profile,
                                  enum cairn_picture_format format,
                                  const struct cairn_picture_opts *opts, cairn_write_fn write,
                                  void *ctx, struct cairn_err *err);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_PICTURE_H */
