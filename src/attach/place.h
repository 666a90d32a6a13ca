/* SPDX-License-Identifier: MIT */
/* Place: puts an image into a process, where its system finds room. */
#ifndef CAIRN_ATTACH_PLACE_H
#define CAIRN_ATTACH_PLACE_H

#include "attach/foothold.h"
#include "attach/image.h"

/* Maps the segments out of the file, relocated for where they come to lie; `ret_base` is the va of
 * its vaddr 0. It stays when the foothold is closed. On failure nothing stays. */
int cairn_place_image(struct cairn_foothold *foothold, const struct cairn_image *image,
                      cairn_image_import_fn import, void *ctx, uint64_t *ret_base,
                      struct cairn_err *err);

#endif /* CAIRN_ATTACH_PLACE_H */
