/* SPDX-License-Identifier: MIT */
#include "base/zstd_writer.h"

#include <zstd.h>

#include "base/error.h"

enum { LEVEL = 3, ROOM = 1 << 17 };

/* 0, or -1. */
static int pack(struct cairn_zstd_writer *w, ZSTD_inBuffer in, ZSTD_EndDirective how)
{
    char room[ROOM];
    size_t left = 1;
    if (!w->context) {
        w->context = ZSTD_createCCtx();
        if (!w->context)
            return -1;
        ZSTD_CCtx_setParameter(w->context, ZSTD_c_compressionLevel, LEVEL);
        ZSTD_CCtx_setParameter(w->context, ZSTD_c_checksumFlag, 1);
    }
    while (how == ZSTD_e_end ? left > 0 : in.pos < in.size) {
        ZSTD_outBuffer out = {room, sizeof room, 0};
        left = ZSTD_compressStream2(w->context, &out, &in, how);
        if (ZSTD_isError(left) || (out.pos && w->write(w->ctx, room, out.pos) != 0))
            return -1;
    }
    return 0;
}

int cairn_zstd_writer_add(void *writer, const void *bytes, size_t size)
{
    return pack(writer, (ZSTD_inBuffer){bytes, size, 0}, ZSTD_e_continue);
}

int cairn_zstd_writer_end(struct cairn_zstd_writer *w, bool is_whole, struct cairn_err *err)
{
    int result = is_whole ? pack(w, (ZSTD_inBuffer){"", 0, 0}, ZSTD_e_end) : 0;
    ZSTD_freeCCtx(w->context);
    w->context = NULL;
    return result < 0 ? cairn_fail(err, CAIRN_E_IO, "the packed bytes cannot be written")
                      : CAIRN_OK;
}
