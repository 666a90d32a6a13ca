/* SPDX-License-Identifier: MIT */
/*
 * Rounds, each with fewer words to agree in. A pair is made where one row of
 * either side, and no more, has these words and is not in a pair yet.
 */
#include "profile/pair.h"

#include "base/alloc.h"
#include "base/buffer.h"

enum words { NAME = 1, FILE_PATH = 2, FILE_NAME = 4, MODULE = 8 };

static const unsigned rounds[] = {
    NAME | FILE_PATH | MODULE, NAME | FILE_NAME | MODULE, NAME | FILE_NAME, NAME | MODULE, NAME,
};

/* The rows with the same words. */
struct same {
    uint32_t rows[2];
    size_t n[2];
};

struct pairing {
    const struct cairn_profile_rows *sides;
    struct cairn_profile_pairs *pairs;
    struct cairn_strings keys; /* of one round */
    struct same *same;         /* by key */
    struct cairn_buffer key;
};

static uint32_t key_of(struct pairing *p, const struct cairn_top_row *row, unsigned words)
{
    const char *slash = strrchr(row->file, '/');
    cairn_buffer_clear(&p->key);
    cairn_buffer_str(&p->key, row->function);
    cairn_buffer_char(&p->key, '\n');
    if (words & (FILE_PATH | FILE_NAME))
        cairn_buffer_str(&p->key, words & FILE_NAME && slash ? slash + 1 : row->file);
    cairn_buffer_char(&p->key, '\n');
    if (words & MODULE)
        cairn_buffer_str(&p->key, row->module);
    if (p->key.failed)
        return UINT32_MAX;
    return cairn_strings_add(&p->keys, cairn_buffer_text(&p->key), p->key.size);
}

static bool is_left(const struct pairing *p, size_t side, size_t row)
{
    return p->sides[side].used[row] && p->pairs->of_rows[side][row] == CAIRN_PAIR_NONE;
}

static void add_pair(struct pairing *p, uint32_t old_row, uint32_t new_row)
{
    uint32_t number = (uint32_t)p->pairs->n++;
    p->pairs->items[number] = (struct cairn_profile_pair){{old_row, new_row}};
    if (old_row != CAIRN_PAIR_NONE)
        p->pairs->of_rows[0][old_row] = number;
    if (new_row != CAIRN_PAIR_NONE)
        p->pairs->of_rows[1][new_row] = number;
}

static bool run_round(struct pairing *p, unsigned words)
{
    size_t n_all = p->sides[0].n + p->sides[1].n;
    memset(p->same, 0, (n_all + 1) * sizeof *p->same);
    for (size_t side = 0; side < 2; side++) {
        for (size_t row = 0; row < p->sides[side].n; row++) {
            if (!is_left(p, side, row))
                continue;
            uint32_t key = key_of(p, &p->sides[side].items[row], words);
            if (key == UINT32_MAX)
                return false;
            p->same[key].rows[side] = (uint32_t)row;
            p->same[key].n[side]++;
        }
    }
    for (size_t key = 0; key < p->keys.n; key++)
        if (p->same[key].n[0] == 1 && p->same[key].n[1] == 1)
            add_pair(p, p->same[key].rows[0], p->same[key].rows[1]);
    cairn_strings_done(&p->keys);
    p->keys = (struct cairn_strings){0};
    return true;
}

static bool pair(struct pairing *p)
{
    size_t n_all = p->sides[0].n + p->sides[1].n;
    p->pairs->items = cairn_alloc(n_all + 1, sizeof *p->pairs->items);
    p->same = cairn_alloc(n_all + 1, sizeof *p->same);
    for (size_t side = 0; side < 2; side++) {
        size_t bytes = (p->sides[side].n + 1) * sizeof(uint32_t);
        p->pairs->of_rows[side] = cairn_alloc(bytes, 1);
        if (p->pairs->of_rows[side])
            memset(p->pairs->of_rows[side], 0xff, bytes);
    }
    if (!p->pairs->items || !p->same || !p->pairs->of_rows[0] || !p->pairs->of_rows[1])
        return false;
    for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++)
        if (!run_round(p, rounds[i]))
            return false;
    for (size_t side = 0; side < 2; side++)
        for (uint32_t row = 0; row < p->sides[side].n; row++)
            if (is_left(p, side, row))
                add_pair(p, side == 0 ? row : CAIRN_PAIR_NONE, side == 1 ? row : CAIRN_PAIR_NONE);
    return true;
}

bool cairn_profile_pairs_make(const struct cairn_profile_rows sides[2],
                              struct cairn_profile_pairs *ret_pairs)
{
    struct cairn_profile_pairs pairs = {0};
    struct pairing p = {.sides = sides, .pairs = &pairs};
    bool ok = pair(&p);
    cairn_strings_done(&p.keys);
    cairn_buffer_done(&p.key);
    cairn_free(p.same);
    if (ok)
        *ret_pairs = pairs;
    else
        cairn_profile_pairs_done(&pairs);
    return ok;
}

void cairn_profile_pairs_done(struct cairn_profile_pairs *pairs)
{
    cairn_free(pairs->items);
    cairn_free(pairs->of_rows[0]);
    cairn_free(pairs->of_rows[1]);
    *pairs = (struct cairn_profile_pairs){0};
}
