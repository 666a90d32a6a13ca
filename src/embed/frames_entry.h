/* SPDX-License-Identifier: MIT */
/* Frames entry: one CIE and one FDE, byte by byte (DWARF 5, 6.4 and 7.24; LSB Core, Exception
 * Frames). What a CPU's instructions do is its own business (frames_CPU.c). */
#ifndef CAIRN_EMBED_FRAMES_ENTRY_H
#define CAIRN_EMBED_FRAMES_ENTRY_H

#include "embed/frames.h"

struct cairn_embed_frames {
    uint8_t *bytes;
    size_t n;   /* more than CAIRN_EMBED_FRAMES_MAX: not all of it was written */
    size_t fde; /* where it begins */
    size_t at;  /* of the code, that the rows have come to */
};

/* `cie`: from its version on. The code is [low, low + n_bytes). */
void cairn_embed_frames_begin(struct cairn_embed_frames *f, uint8_t bytes[CAIRN_EMBED_FRAMES_MAX],
                              const uint8_t *cie, size_t n_cie, uint64_t low, uint64_t n_bytes);
/* Its bytes; 0: there was no room. */
size_t cairn_embed_frames_end(struct cairn_embed_frames *f);

void cairn_embed_frames_byte(struct cairn_embed_frames *f, unsigned byte);
/* What follows holds from there on. */
void cairn_embed_frames_advance(struct cairn_embed_frames *f, size_t distance);
void cairn_embed_frames_to(struct cairn_embed_frames *f, size_t off);
/* The CFA is so far above the stack pointer. */
void cairn_embed_frames_cfa(struct cairn_embed_frames *f, uint32_t offset);
/* The register is kept so many words below the CFA. */
void cairn_embed_frames_saved(struct cairn_embed_frames *f, unsigned reg, uint32_t words);

#endif /* CAIRN_EMBED_FRAMES_ENTRY_H */
