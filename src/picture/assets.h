/* SPDX-License-Identifier: MIT */
/* Scripts and styles of the pictures, as embed.py turns them into C when cairn is built. */
#ifndef CAIRN_PICTURE_ASSETS_H
#define CAIRN_PICTURE_ASSETS_H

#include "base/span.h"

struct cairn_asset {
    struct cairn_span text;
    const char *hash; /* "sha256-...", as a Content-Security-Policy names it */
};

/* cairn_asset_page_script is deflated and in base64; its hash is of what it was. */
extern const struct cairn_asset cairn_asset_page_script, cairn_asset_page_boot,
    cairn_asset_page_style, cairn_asset_page_body, cairn_asset_svg_script, cairn_asset_svg_style;

#endif /* CAIRN_PICTURE_ASSETS_H */
