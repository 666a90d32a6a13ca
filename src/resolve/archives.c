/* SPDX-License-Identifier: MIT */
#include "resolve/archives.h"

#include <strings.h>

#include "base/archive.h"
#include "base/error.h"
#include "symbol/archive_entry.h"

enum { ASKED_MAX = 1024 }; /* searches of one address space; real ones have some ten */

/* The entry that was found last: its next segment is most often the next region. */
struct last {
    uint32_t archive, entry; /* paths; entry 0: nothing is stored there */
    uint64_t start, end;     /* in the archive */
    unsigned n_asked;
};

static bool is_archive(const char *path)
{
    static const char *const endings[] = {".apk", ".zip", ".jar", ".apex"};
    size_t size = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t ending = strlen(endings[i]);
        if (size > ending && strcasecmp(path + size - ending, endings[i]) == 0)
            return !cairn_archive_split(path);
    }
    return false;
}

static int find_entry(struct cairn_modules *m, uint32_t path, uint64_t off, struct last *last,
                      struct cairn_err *err)
{
    struct cairn_buffer entry = {0};
    struct last found = {.archive = path, .start = off, .end = off, .n_asked = last->n_asked + 1};
    int code = cairn_symbolizer_find_entry(m->symbolizer, cairn_strings_get(&m->strings, path), off,
                                           &entry, &found.start, &found.end, err);
    if (code == CAIRN_OK)
        found.entry = cairn_strings_add(&m->strings, (const char *)entry.data, entry.size);
    cairn_buffer_done(&entry);
    if (code == CAIRN_E_NOMEM || found.entry == UINT32_MAX)
        return cairn_fail_memory(err);
    *last = found;
    return CAIRN_OK;
}

int cairn_archives_enter(struct cairn_address_space *space, struct cairn_modules *modules,
                         struct cairn_err *err)
{
    struct last last = {0};
    for (size_t i = 0; i < space->n && last.n_asked < ASKED_MAX; i++) {
        struct cairn_region *region = &space->regions[i];
        if (!is_archive(cairn_strings_get(&modules->strings, region->path)))
            continue;
        bool is_last = last.entry && region->path == last.archive && region->off >= last.start &&
                       region->off < last.end;
        int code = is_last ? CAIRN_OK : find_entry(modules, region->path, region->off, &last, err);
        if (code < 0)
            return code;
        if (!last.entry)
            continue;
        region->path = last.entry;
        region->off -= last.start;
    }
    return CAIRN_OK;
}
