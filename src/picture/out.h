/* SPDX-License-Identifier: MIT */
/* Out: text on its way to a cairn_write_fn, handed on in pieces. What fails is asked for once, at
 * the end. */
#ifndef CAIRN_PICTURE_OUT_H
#define CAIRN_PICTURE_OUT_H

#include <cairn/profile.h>

#include "base/buffer.h"

struct cairn_out {
    struct cairn_buffer text; /* append here, then call cairn_out_pass() */
    cairn_write_fn write;
    void *ctx;
    bool refused;
};

/* Hands on what is there, once it is worth a call. */
void cairn_out_pass(struct cairn_out *out);

void cairn_out_base64(struct cairn_out *out, struct cairn_span bytes);

/* Hands on the rest and frees. CAIRN_E_NOMEM, or CAIRN_E_IO where `write` refused. */
int cairn_out_finish(struct cairn_out *out, struct cairn_err *err);

#endif /* CAIRN_PICTURE_OUT_H */
