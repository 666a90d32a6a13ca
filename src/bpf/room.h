/* SPDX-License-Identifier: MIT */
/*
 * Room: who has which bytes of the segments. Takes the first place that is large enough, gives back
 * what is no longer needed; neighbours that are free become one.
 */
#ifndef CAIRN_BPF_ROOM_H
#define CAIRN_BPF_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cairn_room_piece {
    uint32_t segment, at, bytes;
};

struct cairn_room {
    struct cairn_room_piece *free; /* sorted; none touches the next */
    size_t n, cap;
    uint32_t n_segments;
    uint64_t taken_bytes;
};

void cairn_room_done(struct cairn_room *room);

/* One segment more, all free: the next number. CAIRN_E_NOMEM. */
int cairn_room_add(struct cairn_room *room, uint32_t bytes);

/* False: nowhere are so many free. */
bool cairn_room_take(struct cairn_room *room, uint32_t bytes, struct cairn_room_piece *ret_piece);

/* What was taken before, whole. CAIRN_E_NOMEM: it is lost to others, no more. */
int cairn_room_give(struct cairn_room *room, const struct cairn_room_piece *piece);

#endif /* CAIRN_BPF_ROOM_H */
