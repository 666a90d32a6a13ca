/* SPDX-License-Identifier: MIT */
#include "embed/frames_entry.h"

#include <string.h>

enum { ADVANCE_1 = 0x02, ADVANCE_2 = 0x03, DEF_CFA_OFFSET = 0x0e, OFFSET = 0x80, ALIGNMENT = 8 };

static void put(struct cairn_embed_frames *f, const void *bytes, size_t n)
{
    if (f->n + n <= CAIRN_EMBED_FRAMES_MAX)
        memcpy(f->bytes + f->n, bytes, n);
    f->n += n;
}

static void put_u32(struct cairn_embed_frames *f, uint32_t value)
{
    put(f, &value, sizeof value);
}

static void put_uleb(struct cairn_embed_frames *f, uint32_t value)
{
    for (; value >= 0x80; value >>= 7)
        cairn_embed_frames_byte(f, value | 0x80);
    cairn_embed_frames_byte(f, value);
}

/* Up to a multiple of 8, counted from the length at `at`, which is then known. */
static void close_entry(struct cairn_embed_frames *f, size_t at)
{
    while ((f->n - at) % ALIGNMENT != sizeof(uint32_t))
        cairn_embed_frames_byte(f, 0);
    const uint32_t length = (uint32_t)(f->n - at - sizeof length);
    if (f->n <= CAIRN_EMBED_FRAMES_MAX)
        memcpy(f->bytes + at, &length, sizeof length);
}

void cairn_embed_frames_begin(struct cairn_embed_frames *f, uint8_t bytes[CAIRN_EMBED_FRAMES_MAX],
                              const uint8_t *cie, size_t n_cie, uint64_t low, uint64_t n_bytes)
{
    *f = (struct cairn_embed_frames){.bytes = bytes};
    put_u32(f, 0); /* the length comes later */
    put_u32(f, 0);
    put(f, cie, n_cie);
    close_entry(f, 0);
    f->fde = f->n;
    put_u32(f, 0);
    put_u32(f, (uint32_t)f->n); /* back to the CIE */
    put(f, &low, sizeof low);
    put(f, &n_bytes, sizeof n_bytes);
    cairn_embed_frames_byte(f, 0); /* no augmentation */
}

size_t cairn_embed_frames_end(struct cairn_embed_frames *f)
{
    close_entry(f, f->fde);
    put_u32(f, 0);
    return f->n <= CAIRN_EMBED_FRAMES_MAX ? f->n : 0;
}

void cairn_embed_frames_byte(struct cairn_embed_frames *f, unsigned byte)
{
    put(f, &(uint8_t){(uint8_t)byte}, 1);
}

void cairn_embed_frames_advance(struct cairn_embed_frames *f, size_t distance)
{
    f->at += distance;
    if (distance < 256) {
        cairn_embed_frames_byte(f, ADVANCE_1);
        cairn_embed_frames_byte(f, (unsigned)distance);
    } else {
        cairn_embed_frames_byte(f, ADVANCE_2);
        put(f, &(uint16_t){(uint16_t)distance}, 2);
    }
}

void cairn_embed_frames_to(struct cairn_embed_frames *f, size_t off)
{
    cairn_embed_frames_advance(f, off - f->at);
}

void cairn_embed_frames_cfa(struct cairn_embed_frames *f, uint32_t offset)
{
    cairn_embed_frames_byte(f, DEF_CFA_OFFSET);
    put_uleb(f, offset);
}

void cairn_embed_frames_saved(struct cairn_embed_frames *f, unsigned reg, uint32_t words)
{
    cairn_embed_frames_byte(f, OFFSET | reg);
    put_uleb(f, words);
}
