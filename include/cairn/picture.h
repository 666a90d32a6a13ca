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
