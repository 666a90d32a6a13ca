/* SPDX-License-Identifier: MIT */
#include "bpf/room.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

void cairn_room_done(struct cairn_room *room)
{
    cairn_free(room->free);
    *room = (struct cairn_room){0};
}

static int insert(struct cairn_room *room, size_t at, const struct cairn_room_piece *piece)
{
    if (cairn_grow((void **)&room->free, &room->cap, room->n + 1, sizeof *room->free) < 0)
        return CAIRN_E_NOMEM;
    memmove(room->free + at + 1, room->free + at, (room->n - at) * sizeof *room->free);
    room->free[at] = *piece;
    room->n++;
    return CAIRN_OK;
}

static void drop(struct cairn_room *room, size_t at)
{
    room->n--;
    memmove(room->free + at, room->free + at + 1, (room->n - at) * sizeof *room->free);
}

int cairn_room_add(struct cairn_room *room, uint32_t bytes)
{
    const struct cairn_room_piece piece = {.segment = room->n_segments, .bytes = bytes};
    int code = insert(room, room->n, &piece);
    room->n_segments += code == CAIRN_OK;
    return code;
}

bool cairn_room_take(struct cairn_room *room, uint32_t bytes, struct cairn_room_piece *ret_piece)
{
    for (size_t i = 0; i < room->n; i++) {
        struct cairn_room_piece *piece = &room->free[i];
        if (piece->bytes < bytes)
            continue;
        *ret_piece = (struct cairn_room_piece){piece->segment, piece->at, bytes};
        piece->at += bytes;
        piece->bytes -= bytes;
        if (!piece->bytes)
            drop(room, i);
        room->taken_bytes += bytes;
        return true;
    }
    return false;
}

static bool touches(const struct cairn_room_piece *a, const struct cairn_room_piece *b)
{
    return a->segment == b->segment && a->at + a->bytes == b->at;
}

int cairn_room_give(struct cairn_room *room, const struct cairn_room_piece *piece)
{
    size_t at = 0;
    room->taken_bytes -= piece->bytes;
    while (at < room->n &&
           (room->free[at].segment < piece->segment ||
            (room->free[at].segment == piece->segment && room->free[at].at < piece->at)))
        at++;
    bool before = at && touches(&room->free[at - 1], piece);
    bool behind = at < room->n && touches(piece, &room->free[at]);
    if (before && behind) {
        room->free[at - 1].bytes += piece->bytes + room->free[at].bytes;
        drop(room, at);
    } else if (before) {
        room->free[at - 1].bytes += piece->bytes;
    } else if (behind) {
        room->free[at].at = piece->at;
        room->free[at].bytes += piece->bytes;
    } else {
        return insert(room, at, piece);
    }
    return CAIRN_OK;
}
