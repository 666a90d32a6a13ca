/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_PICTURE_HTML_H
#define CAIRN_PICTURE_HTML_H

#include "picture/svg.h"

/* CAIRN_E_NOMEM; trouble with the output shows when `out` is finished. */
int cairn_html_draw(const struct cairn_picture_view *view, struct cairn_out *out,
                    struct cairn_err *err);

#endif /* CAIRN_PICTURE_HTML_H */
