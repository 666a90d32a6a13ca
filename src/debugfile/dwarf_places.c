/* SPDX-License-Identifier: MIT */
#include "debugfile/dwarf_places.h"

#include <stdlib.h>

#include "base/error.h"
#include "debugfile/by_id.h"
#include "debugfile/symbol_dir.h"

enum { NAMESAKES_MAX = 64 }; /* files of one name below one folder that are tried */

/* One search: the path that is tried, and how it went so far. */
struct search {
    const struct cairn_dwarf_places *places;
    struct cairn_buffer text;
    int code; /* of the last try; anything but 0 ends the search */
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool ends_with(const char *path, const char *ending)
{
    size_t n = strlen(path), n_ending = strlen(ending);
    return n > n_ending && strcmp(path + n - n_ending, ending) == 0;
}

/* A path out of a file may not climb out of the folder that it is looked for in. */
static bool climbs(const char *path)
{
    return strncmp(path, "../", 3) == 0 || strstr(path, "/../") || ends_with(path, "/..");
}

static void try_text(struct search *s)
{
    s->code = s->text.failed ? CAIRN_E_NOMEM
                             : s->places->try_path(s->places->ctx, cairn_buffer_text(&s->text));
}

/* The three texts, one behind the other. */
static void try_path(struct search *s, const char *a, const char *b, const char *c)
{
    if (s->code)
        return;
    cairn_buffer_clear(&s->text);
    cairn_buffer_printf(&s->text, "%s%s%s", a, b, c);
    try_text(s);
}

/* An absolute path: below the root, then as it is. */
static void try_absolute(struct search *s, const char *path)
{
    const char *root = cairn_debugfile_finder_root(s->places->finder);
    if (root)
        try_path(s, root, path, "");
    try_path(s, path, "", "");
}

static void try_in_folder_of(struct search *s, const char *path, const char *name)
{
    if (s->code)
        return;
    cairn_buffer_clear(&s->text);
    cairn_buffer_add(&s->text, path, (size_t)(base_name(path) - path));
    cairn_buffer_str(&s->text, name);
    try_text(s);
}

/* `name` in the folder of the file at `beside`; where that is a link, as those in .build-id are, in
 * the folder of what it points to as well. */
static void try_beside(struct search *s, const char *beside, const char *name)
{
    if (!beside || s->code)
        return;
    try_in_folder_of(s, beside, name);
    char *real = s->code ? NULL : realpath(beside, NULL);
    if (real && strcmp(real, beside) != 0)
        try_in_folder_of(s, real, name);
    free(real);
}

static void try_anywhere(struct search *s, struct cairn_symbol_dir *dir, const char *name)
{
    const struct cairn_symbol_file *files;
    size_t n = 0;
    if (s->code)
        return;
    s->code = cairn_symbol_dir_find(dir, name, &files, &n, NULL);
    for (size_t i = 0; i < n && i < NAMESAKES_MAX; i++)
        try_path(s, files[i].path, "", "");
}

/* In each symbol folder: `path` below it, the name alone, and the name anywhere below. */
static void try_symbol_dirs(struct search *s, const char *path)
{
    struct cairn_symbol_dirs *dirs = cairn_debugfile_finder_dirs(s->places->finder);
    const char *name = base_name(path);
    for (size_t i = 0; i < dirs->n && !s->code && *name; i++) {
        if (name != path && !climbs(path))
            try_path(s, dirs->dirs[i].path, path[0] == '/' ? "" : "/", path);
        try_path(s, dirs->dirs[i].path, "/", name);
        try_anywhere(s, &dirs->dirs[i], name);
    }
}

static int end(struct search *s)
{
    cairn_buffer_done(&s->text);
    return s->code;
}

int cairn_dwarf_places_dwo(const struct cairn_dwarf_places *places, const char *comp_dir,
                           const char *name)
{
    struct search s = {.places = places};
    struct cairn_buffer whole = {0};
    if (!places->finder || !*name)
        return 0;
    bool is_absolute = name[0] == '/';
    const char *folder = is_absolute || !comp_dir ? "" : comp_dir;
    cairn_buffer_printf(&whole, "%s%s%s", folder, *folder ? "/" : "", name);
    if (whole.failed)
        s.code = CAIRN_E_NOMEM;
    const char *path = cairn_buffer_text(&whole);
    if (path[0] == '/')
        try_absolute(&s, path);
    if (!is_absolute) {
        try_beside(&s, places->image_path, name);
        try_beside(&s, places->debug_path, name);
    }
    if (base_name(name) != name) {
        try_beside(&s, places->image_path, base_name(name));
        try_beside(&s, places->debug_path, base_name(name));
    }
    struct cairn_symbol_dirs *dirs = cairn_debugfile_finder_dirs(places->finder);
    for (size_t i = 0; i < dirs->n && !is_absolute && path != name && !climbs(path); i++)
        try_path(&s, dirs->dirs[i].path, path[0] == '/' ? "" : "/", path);
    try_symbol_dirs(&s, name);
    cairn_buffer_done(&whole);
    return end(&s);
}

/* FILE.dwp beside FILE, and for a debug file the binary's name too. */
static void try_packages(struct search *s, const char *path, bool in_dirs)
{
    static const char debug[] = ".debug";
    struct cairn_buffer name = {0};
    if (!path)
        return;
    for (int cut = 0; cut <= ends_with(path, debug); cut++) {
        cairn_buffer_clear(&name);
        cairn_buffer_add(&name, path, strlen(path) - (cut ? strlen(debug) : 0));
        cairn_buffer_str(&name, ".dwp");
        if (name.failed)
            s->code = CAIRN_E_NOMEM;
        else if (in_dirs)
            try_symbol_dirs(s, cairn_buffer_text(&name));
        else
            try_path(s, cairn_buffer_text(&name), "", "");
    }
    cairn_buffer_done(&name);
}

/* The same for what a link points to. */
static void try_real_packages(struct search *s, const char *path)
{
    char *real = path && !s->code ? realpath(path, NULL) : NULL;
    if (real && strcmp(real, path) != 0)
        try_packages(s, real, false);
    free(real);
}

int cairn_dwarf_places_package(const struct cairn_dwarf_places *places)
{
    struct search s = {.places = places};
    if (!places->finder)
        return 0;
    try_packages(&s, places->image_path, false);
    try_packages(&s, places->debug_path, false);
    try_real_packages(&s, places->image_path);
    try_real_packages(&s, places->debug_path);
    try_packages(&s, places->image_path, true);
    try_packages(&s, places->debug_path, true);
    return end(&s);
}

static void try_build_id(struct search *s, const char *dir, const char *id)
{
    static const char *const endings[] = {".debug", "/debug"}; /* the second is in perf's folder */
    for (size_t i = 0; i < 2 && strlen(id) >= 3 && !s->code; i++) {
        cairn_buffer_clear(&s->text);
        cairn_buffer_printf(&s->text, "%s/.build-id/%.2s/%s%s", dir, id, id + 2, endings[i]);
        try_text(s);
    }
}

int cairn_dwarf_places_sup(const struct cairn_dwarf_places *places, const char *from,
                           const char *link, const char *id)
{
    struct search s = {.places = places};
    if (!places->finder || !*link)
        return 0;
    struct cairn_symbol_dirs *dirs = cairn_debugfile_finder_dirs(places->finder);
    const char *debug_dir = cairn_debugfile_finder_debug_dir(places->finder);
    if (link[0] == '/')
        try_absolute(&s, link);
    else
        try_beside(&s, from, link);
    for (size_t i = 0; i < dirs->n; i++)
        try_build_id(&s, dirs->dirs[i].path, id);
    try_build_id(&s, debug_dir, id);
    for (unsigned i = 0; !s.code && cairn_by_id_put_path(&s.text, i, id); i++)
        if (s.text.size)
            try_text(&s);
    try_path(&s, debug_dir, "/.dwz/", base_name(link));
    try_symbol_dirs(&s, link);
    return end(&s);
}
