/* SPDX-License-Identifier: MIT */
#include "sample/guest_look.h"

#include "base/clock.h"

enum { LOOKS_MAX = 8 /* through the mappings of one program */ };

void cairn_guest_looks_done(struct cairn_guest_looks *looks)
{
    cairn_table_done(&looks->files);
    *looks = (struct cairn_guest_looks){0};
}

static bool has_interpreter(struct cairn_span image)
{
    struct cairn_elf elf;
    struct cairn_guest_file files[CAIRN_GUEST_OF_FILE_MAX];
    return image.size && cairn_elf_open(image, &elf, NULL) == CAIRN_OK &&
           cairn_guest_look(&elf, files) > 0;
}

/* Has one of the process's files an interpreter in it? CAIRN_E_NOMEM. */
static int look_at_files(struct cairn_guest_looks *looks, const struct cairn_spaces *spaces,
                         struct cairn_space *space, bool *ret_has)
{
    struct cairn_copy_files images = {0};
    int code = CAIRN_OK;
    *ret_has = false;
    for (size_t i = 0; i < space->code.n && code == CAIRN_OK; i++) {
        const struct cairn_stream_map *map = &space->code.maps[i];
        const uint64_t file = cairn_copy_files_identity(space, map);
        uint32_t has;
        if (!map->file)
            continue;
        if (!cairn_table_find(&looks->files, file, &has)) {
            has = has_interpreter(cairn_copy_files_get(&images, spaces, space, map).image);
            code = cairn_table_set(&looks->files, file, has);
        }
        *ret_has |= has != 0;
    }
    cairn_copy_files_done(&images);
    return code;
}

static int look(struct cairn_guest_looks *looks, const struct cairn_spaces *spaces,
                struct cairn_space *space)
{
    uint64_t before_ns = cairn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    bool has;
    space->guests_version = space->code.version;
    space->n_guest_looks++;
    int code = look_at_files(looks, spaces, space, &has);
    if (code == CAIRN_OK && has)
        code = cairn_guest_walk_open(space->code.pid, &space->guests);
    cairn_share_spend(&looks->share, cairn_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns);
    return code;
}

int cairn_guest_looks_find(struct cairn_guest_looks *looks, const struct cairn_spaces *spaces,
                           struct cairn_space *space, struct cairn_guest_walk **ret_guests)
{
    int code = CAIRN_OK;
    if (!space->guests && space->guests_version != space->code.version &&
        space->n_guest_looks < LOOKS_MAX && cairn_share_is_left(&looks->share, cairn_now_ns()))
        code = look(looks, spaces, space);
    *ret_guests = space->guests;
    return code;
}
