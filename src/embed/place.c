/* SPDX-License-Identifier: MIT */
#include "embed/place.h"

#include <string.h>

#include "base/error.h"
#include "rt/own_maps.h"

struct search {
    uint64_t va;
    struct cairn_embed_place *place;
    uint64_t low, high, inode; /* of the present file's mappings */
    bool found;
};

static void take(struct cairn_embed_place *place, const struct cairn_own_mapping *mapping)
{
    *place = (struct cairn_embed_place){.from = mapping->from,
                                        .to = mapping->to,
                                        .off = mapping->off,
                                        .inode = mapping->inode,
                                        .dev_major = mapping->dev_major,
                                        .dev_minor = mapping->dev_minor};
    memcpy(place->access, mapping->access, sizeof place->access);
    memcpy(place->path, mapping->path, strnlen(mapping->path, sizeof place->path - 1));
}

/* Goes on to the end of the file's mappings. */
static bool look(void *context, const struct cairn_own_mapping *mapping)
{
    struct search *s = context;
    const bool goes_on = mapping->inode == s->inode && mapping->from == s->high && s->inode;
    if (s->found && !goes_on)
        return false;
    if (!goes_on) {
        s->low = mapping->from;
        s->inode = mapping->inode;
    }
    s->high = mapping->to;
    if (s->va >= mapping->from && s->va < mapping->to) {
        take(s->place, mapping);
        s->found = true;
    }
    return true;
}

bool cairn_embed_place_find(uint64_t va, struct cairn_embed_place *ret)
{
    static struct cairn_own_maps_text text; /* under the room's lock */
    struct search s = {.va = va, .place = ret};
    if (!cairn_own_maps_each(&text, look, &s) || !s.found)
        return false;
    ret->module_low = s.low;
    ret->module_high = s.high;
    return true;
}

bool cairn_embed_place_is_same(const struct cairn_embed_place *a, const struct cairn_embed_place *b)
{
    return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor &&
           a->from - a->off == b->from - b->off;
}

static int refuse(struct cairn_err *err, enum cairn_code code, uint64_t va,
                  const struct cairn_embed_place *place, const char *what, const char *hint)
{
    cairn_fail(err, code, "function at 0x%llx: %s (mapping 0x%llx-0x%llx %.4s %s)",
               (unsigned long long)va, what, (unsigned long long)place->from,
               (unsigned long long)place->to, place->access,
               place->path[0] ? place->path : "without a file");
    cairn_hint(err, "%s", hint);
    return code;
}

int cairn_embed_place_check(uint64_t va, struct cairn_embed_place *ret, struct cairn_err *err)
{
    struct cairn_embed_place place;
    if (!cairn_embed_place_find(va, &place)) {
        cairn_fail(err, CAIRN_E_MISSING, "function at 0x%llx: nothing is mapped there",
                   (unsigned long long)va);
        cairn_hint(err, "was its library unloaded? look the function up again");
        return CAIRN_E_MISSING;
    }
    if (place.access[2] != 'x')
        return refuse(err, CAIRN_E_ARG, va, &place, "it points into data, not code",
                      "give the address of a function, not of a pointer to it");
    if (place.access[0] != 'r')
        return refuse(err, CAIRN_E_ACCESS, va, &place, "its instructions cannot be read",
                      "map the code readable, or hook the slots that lead to it");
    if (place.access[1] == 'w' || !place.inode || place.path[0] != '/')
        return refuse(err, CAIRN_E_SUPPORT, va, &place,
                      "code that was made at run time (a JIT's) or is the kernel's",
                      "its owner may move or rewrite it at any time: hook a function of a file");
    if (place.access[3] == 's')
        return refuse(err, CAIRN_E_SUPPORT, va, &place,
                      "a shared mapping: a store would change the file",
                      "map the library private, as the loader does");
    *ret = place;
    return CAIRN_OK;
}
