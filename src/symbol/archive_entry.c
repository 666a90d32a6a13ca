/* SPDX-License-Identifier: MIT */
/* Looks for the archive that a process mapped, and for the file of it that is stored at an offset.
 */
#include "symbol/archive_entry.h"

#include "base/archive.h"
#include "base/error.h"
#include "base/log.h"
#include "debugfile/search.h"
#include "symbol/symbolizer.h"

enum { NAMESAKES_MAX = 64 }; /* archives of one name that are opened */

struct entry_search {
    const char *path, *root; /* the root: NULL for none */
    uint64_t off;
    struct cairn_buffer text; /* the path that is tried */
    struct cairn_buffer *ret_path;
    uint64_t start, end;
    bool found;
};

/* Tries what the text names; a file that is not there, or no archive, is none. */
static void try_archive(struct entry_search *s)
{
    struct cairn_file file;
    struct cairn_archive archive;
    struct cairn_archive_entry entry;
    struct cairn_span data;
    if (s->found || s->text.failed ||
        cairn_file_open_below(s->root, cairn_buffer_text(&s->text), &file, NULL) < 0)
        return;
    if (cairn_archive_open(file.bytes, &archive, NULL) == CAIRN_OK &&
        cairn_archive_find_at(&archive, s->off, &entry, &data)) {
        s->found = true;
        s->start = (uint64_t)(data.data - file.bytes.data);
        s->end = s->start + data.size;
        cairn_buffer_clear(s->ret_path);
        cairn_buffer_printf(s->ret_path, "%s!/", s->path);
        cairn_buffer_add(s->ret_path, entry.name.data, entry.name.size);
        cairn_log(CAIRN_LOG_INFO, "%s: offset 0x%llx is in %.*s, whose bytes begin at 0x%llx",
                  cairn_buffer_text(&s->text), (unsigned long long)s->off, (int)entry.name.size,
                  (const char *)entry.name.data, (unsigned long long)s->start);
    }
    cairn_file_close(&file);
}

static void try_path(struct entry_search *s, const char *folder, const char *path)
{
    cairn_buffer_clear(&s->text);
    cairn_buffer_printf(&s->text, "%s%s", folder, path);
    try_archive(s);
}

static int try_folder(struct entry_search *s, struct cairn_symbol_dir *dir, struct cairn_err *err)
{
    const char *slash = strrchr(s->path, '/'), *name = slash ? slash + 1 : s->path;
    const struct cairn_symbol_file *files;
    size_t n = 0;
    if (s->path[0] == '/' && !strstr(s->path, "/../"))
        try_path(s, dir->path, s->path);
    int code = s->found || !*name ? CAIRN_OK : cairn_symbol_dir_find(dir, name, &files, &n, err);
    for (size_t i = 0; i < n && i < NAMESAKES_MAX; i++)
        try_path(s, "", files[i].path);
    return code;
}

int cairn_symbolizer_find_entry(struct cairn_symbolizer *symbolizer, const char *path, uint64_t off,
                                struct cairn_buffer *ret_path, uint64_t *ret_start,
                                uint64_t *ret_end, struct cairn_err *err)
{
    struct cairn_debugfile_finder *finder = symbolizer->finder;
    struct entry_search s = {.path = path, .root = finder->root, .off = off, .ret_path = ret_path};
    int code = CAIRN_OK;
    for (size_t i = 0; i < finder->dirs.n && code == CAIRN_OK && !s.found; i++)
        code = try_folder(&s, &finder->dirs.dirs[i], err);
    if (finder->root)
        try_path(&s, finder->root, path);
    try_path(&s, "", path);
    bool failed = s.text.failed || ret_path->failed;
    cairn_buffer_done(&s.text);
    if (code < 0)
        return code;
    if (failed)
        return cairn_fail_memory(err);
    if (!s.found)
        return cairn_fail(err, CAIRN_E_MISSING, "%s: no archive with a stored file at 0x%llx", path,
                          (unsigned long long)off);
    *ret_start = s.start;
    *ret_end = s.end;
    return CAIRN_OK;
}
