/* SPDX-License-Identifier: MIT */
#include "picture/column.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/zip.h"

enum {
    SMALL_BYTES = 256 * 1024, /* up to here it costs nothing to look everywhere */
    TRIAL_BYTES = 64 * 1024,
};

void cairn_column_done(struct cairn_column *c)
{
    for (size_t k = 0; k < CAIRN_COLUMN_PLANES; k++)
        cairn_free(c->planes[k]);
    *c = (struct cairn_column){0};
}

/* All planes have the same capacity. */
static bool grow(struct cairn_column *c)
{
    size_t wanted = c->cap ? 2 * c->cap : 64;
    for (size_t k = 0; k < c->n_planes && !c->failed; k++) {
        uint8_t *longer = cairn_realloc(c->planes[k], wanted, 1);
        c->failed = !longer;
        if (longer)
            c->planes[k] = longer;
    }
    if (!c->failed)
        c->cap = wanted;
    return !c->failed;
}

/* Numbers before the first that needs this plane have zeros in it. */
static bool widen(struct cairn_column *c)
{
    uint8_t *plane = cairn_alloc(c->cap, 1);
    c->failed = !plane;
    if (plane)
        c->planes[c->n_planes++] = plane;
    return !c->failed;
}

static bool make_room(struct cairn_column *c, uint64_t value)
{
    if (c->failed || (c->n == c->cap && !grow(c)))
        return false;
    while (c->n_planes == 0 ||
           (c->n_planes < CAIRN_COLUMN_PLANES && value >> (8 * c->n_planes) != 0))
        if (!widen(c))
            return false;
    return true;
}

void cairn_column_add(struct cairn_column *c, uint64_t value)
{
    if (!make_room(c, value))
        return;
    for (size_t k = 0; k < c->n_planes; k++)
        c->planes[k][c->n] = (uint8_t)(value >> (8 * k));
    c->n++;
}

void cairn_column_add_signed(struct cairn_column *c, int64_t value)
{
    cairn_column_add(c, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static size_t size_by(enum cairn_zip_way way, struct cairn_span bytes)
{
    struct cairn_buffer packed = {0};
    int rc = cairn_zip_deflate(bytes, way, &packed, NULL);
    size_t size = rc == CAIRN_OK ? packed.size : SIZE_MAX;
    cairn_buffer_done(&packed);
    return size;
}

/* Which way does a long column best, by a piece from its middle? */
static enum cairn_zip_way choose_way(struct cairn_span bytes)
{
    if (bytes.size <= SMALL_BYTES)
        return CAIRN_ZIP_SMALL;
    struct cairn_span piece = {bytes.data + bytes.size / 2, TRIAL_BYTES};
    enum cairn_zip_way best = CAIRN_ZIP_FAST;
    size_t best_size = size_by(best, piece);
    for (enum cairn_zip_way way = best + 1; way < CAIRN_ZIP_WAYS; way++) {
        size_t size = size_by(way, piece);
        if (size < best_size) {
            best = way;
            best_size = size;
        }
    }
    return best;
}

static int write_packed(struct cairn_span bytes, struct cairn_out *out, struct cairn_err *err)
{
    struct cairn_buffer packed = {0};
    int rc = cairn_zip_deflate(bytes, choose_way(bytes), &packed, err);
    if (rc == CAIRN_OK)
        cairn_out_base64(out, cairn_buffer_span(&packed));
    cairn_buffer_done(&packed);
    return rc;
}

static void open_element(struct cairn_out *out, const char *id)
{
    cairn_buffer_printf(&out->text, "<script type=\"text/plain\" id=\"data-%s\">", id);
}

static void close_element(struct cairn_out *out)
{
    cairn_buffer_str(&out->text, "</script>\n");
}

int cairn_column_write(struct cairn_column *c, struct cairn_out *out, const char *id,
                       struct cairn_err *err)
{
    int rc = c->failed ? cairn_fail_memory(err) : CAIRN_OK;
    open_element(out, id);
    for (size_t k = 0; k < c->n_planes && rc == CAIRN_OK; k++) {
        if (k > 0)
            cairn_buffer_char(&out->text, '.');
        rc = write_packed((struct cairn_span){c->planes[k], c->n}, out, err);
        cairn_free(c->planes[k]); /* here, so that not all of a long column is there twice */
        c->planes[k] = NULL;
    }
    close_element(out);
    cairn_column_done(c);
    return rc;
}

int cairn_column_write_block(struct cairn_span bytes, struct cairn_out *out, const char *id,
                             struct cairn_err *err)
{
    open_element(out, id);
    int rc = write_packed(bytes, out, err);
    close_element(out);
    return rc;
}

int cairn_column_write_texts(const struct cairn_strings *texts, struct cairn_out *out,
                             const char *id, struct cairn_err *err)
{
    struct cairn_buffer all = {0};
    for (uint32_t i = 0; i < texts->n; i++)
        cairn_buffer_add(&all, cairn_strings_get(texts, i), cairn_strings_size(texts, i) + 1);
    int rc = all.failed ? cairn_fail_memory(err)
                        : cairn_column_write_block(cairn_buffer_span(&all), out, id, err);
    cairn_buffer_done(&all);
    return rc;
}
