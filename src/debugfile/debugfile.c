/* SPDX-License-Identifier: MIT */
#include "debugfile/debugfile.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/archive.h"
#include "base/budget.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/log.h"
#include "base/path.h"
#include "debugfile/by_id.h"
#include "debugfile/search.h"
#include "debugfile/symbol_dir.h"
#include "elf/note.h"

enum { NAMESAKES_MAX = 1024 }; /* files of one name below one folder that are opened */

/* The part behind the last slash. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Length of the folder of an absolute path, without the slash behind it. */
static int folder_size(const char *path)
{
    return (int)(base_name(path) - path) - 1;
}

/* The file may have terabytes of holes. */
static bool read_crc(const struct cairn_candidate *c, uint32_t *ret_crc)
{
    enum { PIECE = 16 << 20 };
    struct cairn_budget_turn turn;
    struct cairn_span piece;
    uint32_t crc = 0;
    int code = cairn_budget_begin(0, c->path, &turn, NULL);
    for (size_t at = 0; at < c->stored.size && code == CAIRN_OK; at += PIECE) {
        size_t left = c->stored.size - at;
        (void)cairn_span_slice(c->stored, at, left < PIECE ? left : PIECE, &piece);
        crc = cairn_elf_debuglink_crc(crc, piece);
        cairn_file_was_read(&c->file, piece);
        code = c->elf.is_vouched ? CAIRN_OK : cairn_budget_check(&turn, c->path, NULL);
    }
    if (!c->elf.is_vouched)
        cairn_budget_end(&turn);
    *ret_crc = crc;
    return code == CAIRN_OK;
}

static bool crc_is_right(struct cairn_search *s, struct cairn_candidate *c, uint32_t wanted)
{
    uint32_t crc;
    if (!read_crc(c, &crc))
        return false;
    if (crc == wanted)
        return true;
    c->other_build = true;
    if (s->takes_others)
        return true;
    cairn_log(CAIRN_LOG_WARNING,
              "%s: its CRC is %08x, expected %08x as %s says; passed over "
              "(--allow-mismatch takes it)",
              c->path, crc, wanted, s->image.path);
    s->n_refused++;
    return false;
}

/* The link and its checksum lead to the file, and yet it is of another build: a tool has written
 * the build ID of one of the two anew, or the link. Whoever misses the lines should know. */
static void tell_other_build(const struct cairn_search *s, const struct cairn_candidate *c,
                             uint32_t crc)
{
    const char *wanted = s->wanted[0] ? s->wanted : s->image.build_id;
    uint32_t found;
    if (wanted[0] && c->build_id[0] && strcmp(wanted, c->build_id) != 0 &&
        c->elf.machine == s->image.elf.machine && read_crc(c, &found) && found == crc)
        cairn_log(
            CAIRN_LOG_WARNING,
            "%s: its CRC is that of the debuglink of %s, but its build ID is %s, expected %s; "
            "passed over (--allow-mismatch takes it)",
            c->path, s->image.path, c->build_id, wanted);
}

static void try_debuglink_at(struct cairn_search *s, uint32_t crc)
{
    struct cairn_candidate c;
    if (cairn_search_has_lines(s) || !cairn_search_open(s, &c))
        return;
    bool is_other = !cairn_candidate_is_same_file(&c, &s->image);
    bool is_right = is_other && cairn_search_is_right_build(s, &c);
    if (is_other && !is_right)
        tell_other_build(s, &c, crc);
    if (is_right && crc_is_right(s, &c, crc))
        cairn_search_settle(s, &c);
    else
        cairn_candidate_close(&c);
}

static void try_debug_dir(struct cairn_search *s, const char *installed, const char *name,
                          uint32_t crc)
{
    const char *const roots[] = {s->finder->root, ""};
    for (size_t i = 0; i < 2; i++) {
        if (installed[0] != '/' || !roots[i])
            continue;
        cairn_buffer_clear(&s->text);
        cairn_buffer_printf(&s->text, "%s%s%.*s/%s", roots[i], s->finder->debug_dir,
                            folder_size(installed), installed, name);
        try_debuglink_at(s, crc);
    }
}

/* Beside the image, in .debug/ there, and in the debug folder below the path of the process, for an
 * image out of a symbol folder stands for the installed one; then below its own real path. */
static void try_debuglink(struct cairn_search *s)
{
    const char *name, *image = s->image.path;
    uint32_t crc;
    if (!cairn_elf_debuglink(&s->image.elf, &name, &crc))
        return;
    if (strchr(name, '/')) {
        cairn_log(CAIRN_LOG_WARNING, "%s: its debuglink is a path, expected a name; passed over",
                  image);
        return;
    }
    static const char *const beside[] = {"", ".debug/"};
    for (size_t i = 0; i < 2; i++) {
        cairn_buffer_clear(&s->text);
        cairn_buffer_printf(&s->text, "%.*s%s%s", (int)(base_name(image) - image), image, beside[i],
                            name);
        try_debuglink_at(s, crc);
    }
    try_debug_dir(s, s->path, name, crc);
    char *real = realpath(image, NULL);
    if (real && strcmp(real, s->path) != 0)
        try_debug_dir(s, real, name, crc);
    free(real);
}

/* A binary without lines leads to its debug file by its own build ID and link. */
static void follow(struct cairn_search *s)
{
    if (cairn_search_has_lines(s) || !s->image.path || s->followed)
        return;
    s->followed = true;
    if (!s->wanted[0])
        cairn_by_id_try_debug(s, s->image.build_id);
    if (!cairn_search_has_lines(s))
        try_debuglink(s);
}

static void try_named(struct cairn_search *s)
{
    if (!cairn_search_is_over(s) && cairn_search_try(s))
        follow(s);
}

static void try_anywhere(struct cairn_search *s, struct cairn_symbol_dir *dir, const char *name)
{
    const struct cairn_symbol_file *files;
    size_t n;
    if (cairn_search_is_over(s))
        return;
    int code = cairn_symbol_dir_find(dir, name, &files, &n, s->err);
    if (code < 0) {
        s->code = code;
        return;
    }
    if (n > NAMESAKES_MAX)
        cairn_log(CAIRN_LOG_WARNING, "%s: %zu files are called %s, only %d are looked at",
                  dir->path, n, name, NAMESAKES_MAX);
    for (size_t i = 0; i < n && i < NAMESAKES_MAX && !cairn_search_is_over(s); i++) {
        cairn_buffer_clear(&s->text);
        cairn_buffer_str(&s->text, files[i].path);
        try_named(s);
    }
}

/* A path of the process may not climb out of the folder that it is looked for in. */
static bool is_plain_path(const char *path)
{
    return path[0] == '/' && !strstr(path, "/../");
}

static void try_symbol_dir(struct cairn_search *s, struct cairn_symbol_dir *dir)
{
    static const char *const endings[] = {"", ".debug"};
    const char *name = base_name(s->path);
    for (size_t i = 0; i < 2; i++) {
        cairn_buffer_clear(&s->text);
        cairn_buffer_printf(&s->text, "%s/%s%s", dir->path, name, endings[i]);
        try_named(s);
    }
    for (size_t i = 0; i < 2 && is_plain_path(s->path); i++) {
        cairn_buffer_clear(&s->text);
        cairn_buffer_printf(&s->text, "%s%s%s", dir->path, s->path, endings[i]);
        try_named(s);
    }
    for (size_t i = 0; i < 2 && !cairn_search_is_over(s); i++) {
        struct cairn_buffer whole = {0};
        cairn_buffer_printf(&whole, "%s%s", name, endings[i]);
        if (whole.failed)
            s->code = cairn_fail_memory(s->err);
        else
            try_anywhere(s, dir, cairn_buffer_text(&whole));
        cairn_buffer_done(&whole);
    }
}

/* The entry of an archive of that name, in the folder or anywhere below. */
static void try_archives(struct cairn_search *s, struct cairn_symbol_dir *dir, const char *split)
{
    const struct cairn_symbol_file *files;
    size_t n = 0, size = (size_t)(split - s->path);
    char *archive = cairn_strdup(s->path);
    if (!archive) {
        s->code = cairn_fail_memory(s->err);
        return;
    }
    archive[size] = 0;
    int code = cairn_symbol_dir_find(dir, base_name(archive), &files, &n, s->err);
    if (code < 0)
        s->code = code;
    for (size_t i = 0; i < n && i < NAMESAKES_MAX && !cairn_search_is_over(s); i++) {
        cairn_buffer_clear(&s->text);
        cairn_buffer_printf(&s->text, "%s%s", files[i].path, split);
        try_named(s);
    }
    cairn_free(archive);
}

static void try_symbol_dirs(struct cairn_search *s)
{
    if (!*base_name(s->path) || strcmp(base_name(s->path), "..") == 0)
        return;
    const char *split = cairn_archive_split(s->path);
    for (size_t i = 0; i < s->finder->dirs.n && !cairn_search_is_over(s); i++) {
        try_symbol_dir(s, &s->finder->dirs.dirs[i]);
        if (split && !cairn_search_is_over(s))
            try_archives(s, &s->finder->dirs.dirs[i], split);
    }
}

/* Below the root, then as it stands. `known`: only where its build ID is the one asked for. */
static void try_local(struct cairn_search *s, bool known)
{
    const char *const roots[] = {s->finder->root, ""};
    for (size_t i = 0; i < 2 && !s->image.path && s->code == CAIRN_OK; i++) {
        if (!roots[i])
            continue;
        cairn_buffer_clear(&s->text);
        cairn_buffer_printf(&s->text, "%s%s", roots[i], s->path);
        struct cairn_candidate c;
        if (!cairn_search_open(s, &c))
            continue;
        bool right =
            known ? strcmp(c.build_id, s->wanted) == 0 : cairn_search_is_right_build(s, &c);
        if (right)
            cairn_search_settle(s, &c);
        else
            cairn_candidate_close(&c);
    }
}

static void search_once(struct cairn_search *s)
{
    if (s->wanted[0]) {
        cairn_by_id_try_debug(s, s->wanted);
        try_local(s, true);
        follow(s);
        if (!cairn_search_is_over(s))
            cairn_by_id_try_images(s, s->wanted);
        follow(s);
    }
    if (!cairn_search_is_over(s))
        try_symbol_dirs(s);
    if (!s->image.path && s->code == CAIRN_OK && !s->finder->no_local_files)
        try_local(s, false);
    follow(s);
    cairn_by_id_try_fetched(s);
}

static enum cairn_candidate_worth best_worth(const struct cairn_search *s)
{
    return s->debug.path ? s->debug.worth : s->image.worth;
}

static int fail_search(struct cairn_search *s)
{
    if (s->code < 0)
        return s->code;
    if (s->refusal.code) {
        if (s->err)
            *s->err = s->refusal;
        return CAIRN_E_ARG;
    }
    if (s->damage.code) {
        if (s->err)
            *s->err = s->damage;
        return s->damage.code;
    }
    cairn_fail(s->err, CAIRN_E_MISSING,
               "%s: no such file, nor one of its name or build ID in %zu "
               "symbol folders and %s",
               s->path, s->finder->dirs.n, s->finder->debug_dir);
    cairn_hint(s->err, "give the folder that holds it, or its debug file, with --symbols DIR");
    return CAIRN_E_MISSING;
}

static bool is_id(const struct cairn_search *s, const struct cairn_candidate *c)
{
    return c->path && s->wanted[0] && strcmp(c->build_id, s->wanted) == 0;
}

static void tell_found(const struct cairn_search *s, const struct cairn_debugfile_found *found)
{
    const char *how = found->verified   ? "verified"
                      : found->mismatch ? "another build"
                                        : "unverified";
    cairn_log(CAIRN_LOG_INFO, "%s: binary %s, debug file %s (%s)", s->path,
              found->image_path ? found->image_path : "none",
              found->debug_path ? found->debug_path : "none", how);
    if (s->wanted[0] && !s->took_other && s->n_refused && best_worth(s) == CAIRN_WORTH_EXPORTS &&
        s->refusal.code)
        cairn_log_err(CAIRN_LOG_WARNING, &s->refusal);
}

static void hand_over(struct cairn_search *s, struct cairn_debugfile_found *ret_found)
{
    struct cairn_debugfile_found found = {
        .image_path = s->image.path,
        .image = s->image.file,
        .debug_path = s->debug.path,
        .debug = s->debug.file,
        .verified = is_id(s, s->image.path ? &s->image : &s->debug),
        .mismatch = s->took_other,
        .is_relocatable = s->image.path ? s->image.is_relocatable : s->debug.is_relocatable,
        .image_vouched = s->image.elf.is_vouched,
        .debug_vouched = s->debug.elf.is_vouched,
    };
    found.verified = found.verified && !found.mismatch;
    if (!s->asks_nobody)
        tell_found(s, &found);
    s->image = s->debug = (struct cairn_candidate){0}; /* handed over */
    *ret_found = found;
}

static int end_search(struct cairn_search *s, struct cairn_debugfile_found *ret_found)
{
    int code = CAIRN_OK;
    if (s->code < 0 || (!s->image.path && !s->debug.path))
        code = fail_search(s);
    else
        hand_over(s, ret_found);
    cairn_candidate_close(&s->image);
    cairn_candidate_close(&s->debug);
    cairn_buffer_done(&s->text);
    return code;
}

static int set_wanted(struct cairn_search *s, const char *build_id)
{
    size_t size = build_id ? strlen(build_id) : 0;
    if (size >= sizeof s->wanted || strspn(size ? build_id : "", "0123456789abcdef") != size)
        return cairn_fail(s->err, CAIRN_E_ARG,
                          "%s: build ID is %.140s, expected at most %zu lower-case hex digits",
                          s->path, build_id, sizeof s->wanted - 1);
    memcpy(s->wanted, size ? build_id : "", size + 1);
    return CAIRN_OK;
}

int cairn_debugfile_find(struct cairn_debugfile_finder *finder, const char *path,
                         const char *build_id, struct cairn_debugfile_found *ret_found,
                         struct cairn_err *err)
{
    struct cairn_search s = {.finder = finder, .path = path, .err = err};
    int code = set_wanted(&s, build_id);
    if (code < 0)
        return code;

    search_once(&s);
    if (finder->allow_mismatch && s.n_refused && s.code == CAIRN_OK &&
        best_worth(&s) == CAIRN_WORTH_EXPORTS) {
        s.takes_others = true;
        s.followed = false;
        search_once(&s);
    }
    return end_search(&s, ret_found);
}

unsigned cairn_debugfile_lacks(struct cairn_debugfile_finder *finder, const char *path,
                               const char *build_id)
{
    struct cairn_err ignored;
    struct cairn_debugfile_found found;
    struct cairn_search s = {.finder = finder, .path = path, .asks_nobody = true, .err = &ignored};
    if (set_wanted(&s, build_id) < 0)
        return 0;
    search_once(&s);
    unsigned lacks = s.lacks;
    if (end_search(&s, &found) == CAIRN_OK)
        cairn_debugfile_found_done(&found);
    return lacks;
}

/* What belongs to `file`, which is `c`; takes it over. */
static int find_for(struct cairn_debugfile_finder *finder, const char *file,
                    struct cairn_candidate c, struct cairn_debugfile_found *ret_found,
                    struct cairn_err *err)
{
    struct cairn_search s = {.finder = finder, .path = file, .any_image = true, .err = err};
    if (c.has_code)
        s.image = c;
    else
        s.debug = c;
    follow(&s);
    if (!cairn_search_is_over(&s))
        try_symbol_dirs(&s);
    if (!cairn_search_is_over(&s))
        cairn_by_id_try_images(&s, s.image.build_id);
    cairn_by_id_try_fetched(&s);
    return end_search(&s, ret_found);
}

int cairn_debugfile_find_for(struct cairn_debugfile_finder *finder, const char *file,
                             struct cairn_debugfile_found *ret_found, struct cairn_err *err)
{
    struct cairn_candidate c;
    const struct cairn_candidate_place place = {.root = finder->root, .is_vouched = true};
    int code = cairn_candidate_open(file, &place, &c, err);
    return code < 0 ? code : find_for(finder, file, c, ret_found, err);
}

int cairn_debugfile_find_fd(struct cairn_debugfile_finder *finder, const char *name, int fd,
                            struct cairn_debugfile_found *ret_found, struct cairn_err *err)
{
    struct cairn_candidate c;
    int code = cairn_candidate_open_fd(fd, name, &c, err);
    return code < 0 ? code : find_for(finder, name, c, ret_found, err);
}

void cairn_debugfile_found_done(struct cairn_debugfile_found *found)
{
    cairn_file_close(&found->image);
    cairn_file_close(&found->debug);
    cairn_free(found->image_path);
    cairn_free(found->debug_path);
    *found = (struct cairn_debugfile_found){0};
}

bool cairn_debugfile_has_image(int code, struct cairn_debugfile_found *found)
{
    if (code < 0)
        return false;
    if (!found->image.bytes.size)
        cairn_debugfile_found_done(found);
    return found->image.bytes.size > 0;
}

int cairn_debugfile_finder_new(const struct cairn_debugfile_places *places,
                               struct cairn_debugfile_finder **ret_finder, struct cairn_err *err)
{
    struct cairn_debugfile_finder *finder = cairn_alloc(1, sizeof *finder);
    if (!finder)
        return cairn_fail_memory(err);
    finder->allow_mismatch = places->allow_mismatch;
    finder->no_local_files = places->no_local_files;
    finder->fetches = places->fetches;
    finder->debug_dir = cairn_strdup(places->debug_dir ? places->debug_dir : "/usr/lib/debug");
    finder->root = places->root ? cairn_strdup(places->root) : NULL;
    int code =
        cairn_symbol_dirs_open(places->symbol_dirs, places->n_symbol_dirs, &finder->dirs, err);
    if (code == CAIRN_OK && (!finder->debug_dir || (places->root && !finder->root)))
        code = cairn_fail_memory(err);
    if (code < 0) {
        cairn_debugfile_finder_free(finder);
        return code;
    }
    *ret_finder = finder;
    return CAIRN_OK;
}

void cairn_debugfile_finder_free(struct cairn_debugfile_finder *finder)
{
    if (!finder)
        return;
    cairn_symbol_dirs_done(&finder->dirs);
    cairn_free(finder->debug_dir);
    cairn_free(finder->root);
    cairn_free(finder);
}

struct cairn_symbol_dirs *cairn_debugfile_finder_dirs(struct cairn_debugfile_finder *finder)
{
    return &finder->dirs;
}

const char *cairn_debugfile_finder_debug_dir(const struct cairn_debugfile_finder *finder)
{
    return finder->debug_dir;
}

const char *cairn_debugfile_finder_root(const struct cairn_debugfile_finder *finder)
{
    return finder->root;
}

/* No path is below "", which stands for no folder. */
static bool is_below(const char *path, const char *folder)
{
    bool is_root = *folder && !folder[strspn(folder, "/")];
    return is_root ? path[0] == '/' : cairn_path_behind(folder, path) != NULL;
}

bool cairn_debugfile_finder_vouches(const struct cairn_debugfile_finder *finder, const char *path)
{
    if (strstr(path, "/../")) /* out of the folder, by a path that a target chose */
        return false;
    for (size_t i = 0; i < finder->dirs.n; i++)
        if (is_below(path, finder->dirs.dirs[i].path))
            return true;
    return is_below(path, finder->debug_dir) || cairn_by_id_vouches(path);
}
