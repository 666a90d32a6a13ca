/* SPDX-License-Identifier: MIT */
#include "debugfile/symbol_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/log.h"

enum { DEPTH_MAX = 64, FILES_MAX = 1 << 20, PATTERN_DIRS_MAX = 4096 };

static bool is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int add_dir(struct cairn_symbol_dirs *dirs, const char *path)
{
    if (cairn_grow((void **)&dirs->dirs, &dirs->cap, dirs->n + 1, sizeof *dirs->dirs) < 0)
        return CAIRN_E_NOMEM;
    char *copy = cairn_strdup(path);
    if (!copy)
        return CAIRN_E_NOMEM;
    for (size_t size = strlen(copy); size > 1 && copy[size - 1] == '/'; size--)
        copy[size - 1] = '\0';
    dirs->dirs[dirs->n++] = (struct cairn_symbol_dir){.path = copy};
    return CAIRN_OK;
}

static int add_glob(struct cairn_symbol_dirs *dirs, const char *pattern)
{
    glob_t found = {0};
    int code = glob(pattern, GLOB_ONLYDIR, NULL, &found);
    if (code == GLOB_NOSPACE)
        return CAIRN_E_NOMEM;
    size_t before = dirs->n;
    code = CAIRN_OK;
    for (size_t i = 0; i < found.gl_pathc && code == CAIRN_OK; i++) {
        if (dirs->n - before >= PATTERN_DIRS_MAX) {
            cairn_log(CAIRN_LOG_WARNING,
                      "symbol folder %s: more than %d folders match, the rest "
                      "is left out",
                      pattern, PATTERN_DIRS_MAX);
            break;
        }
        if (is_dir(found.gl_pathv[i]))
            code = add_dir(dirs, found.gl_pathv[i]);
    }
    globfree(&found);
    if (code == CAIRN_OK && dirs->n == before)
        cairn_log(CAIRN_LOG_WARNING, "symbol folder %s: no such folder", pattern);
    return code;
}

int cairn_symbol_dirs_open(const char *const *patterns, size_t n,
                           struct cairn_symbol_dirs *ret_dirs, struct cairn_err *err)
{
    struct cairn_symbol_dirs dirs = {0};
    for (size_t i = 0; i < n; i++) {
        int code = is_dir(patterns[i]) ? add_dir(&dirs, patterns[i]) : add_glob(&dirs, patterns[i]);
        if (code < 0) {
            cairn_symbol_dirs_done(&dirs);
            return cairn_fail_memory(err);
        }
    }
    *ret_dirs = dirs;
    return CAIRN_OK;
}

void cairn_symbol_dirs_done(struct cairn_symbol_dirs *dirs)
{
    for (size_t i = 0; i < dirs->n; i++) {
        cairn_free(dirs->dirs[i].path);
        cairn_free(dirs->dirs[i].files);
        cairn_arena_done(&dirs->dirs[i].texts);
    }
    cairn_free(dirs->dirs);
    *dirs = (struct cairn_symbol_dirs){0};
}

/* A walk in progress: `path` is the folder at hand, with a slash at its end. */
struct walk {
    struct cairn_symbol_dir *dir;
    struct cairn_buffer path;
    bool cut; /* a limit was reached */
    bool failed;
};

static void add_file(struct walk *walk, const char *name)
{
    struct cairn_symbol_dir *dir = walk->dir;
    if (dir->n_files >= FILES_MAX) {
        walk->cut = true;
        return;
    }
    size_t folder = walk->path.size;
    cairn_buffer_str(&walk->path, name);
    char *path = walk->path.failed ? NULL
                                   : cairn_arena_text(&dir->texts, cairn_buffer_text(&walk->path),
                                                      walk->path.size);
    walk->path.size = folder;
    if (!path || cairn_grow((void **)&dir->files, &dir->cap_files, dir->n_files + 1,
                            sizeof *dir->files) < 0) {
        walk->failed = true;
        return;
    }
    dir->files[dir->n_files++] = (struct cairn_symbol_file){path, path + folder};
}

/* DT_LNK and DT_UNKNOWN are looked at: a link to a file is one, a link to a folder is nothing. */
static unsigned char kind_of(int folder_fd, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
        return entry->d_type;
    if (fstatat(folder_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return DT_UNKNOWN;
    if (S_ISDIR(st.st_mode))
        return DT_DIR;
    bool is_file = fstatat(folder_fd, entry->d_name, &st, 0) == 0 && S_ISREG(st.st_mode);
    return is_file ? DT_REG : DT_UNKNOWN;
}

static void walk_folder(struct walk *walk, unsigned depth)
{
    if (depth > DEPTH_MAX) {
        walk->cut = true;
        return;
    }
    size_t size = walk->path.size;
    DIR *folder = opendir(cairn_buffer_text(&walk->path));
    if (!folder) {
        cairn_log(CAIRN_LOG_INFO, "symbol folder %s: %s", cairn_buffer_text(&walk->path),
                  strerror(errno));
        return;
    }
    const struct dirent *entry;
    while (!walk->failed && !walk->cut && (entry = readdir(folder))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, ".build-id") == 0)
            continue;
        unsigned char kind = kind_of(dirfd(folder), entry);
        if (kind == DT_REG)
            add_file(walk, name);
        if (kind != DT_DIR)
            continue;
        cairn_buffer_printf(&walk->path, "%s/", name);
        walk->failed = walk->path.failed;
        if (!walk->failed)
            walk_folder(walk, depth + 1);
        walk->path.size = size;
    }
    closedir(folder);
}

static int compare_files(const void *left, const void *right)
{
    const struct cairn_symbol_file *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->path, b->path);
}

static int walk_dir(struct cairn_symbol_dir *dir, struct cairn_err *err)
{
    struct walk walk = {.dir = dir};
    cairn_buffer_printf(&walk.path, "%s/", dir->path);
    walk.failed = walk.path.failed;
    if (!walk.failed)
        walk_folder(&walk, 0);
    cairn_buffer_done(&walk.path);
    if (walk.failed)
        return cairn_fail_memory(err);
    if (walk.cut)
        cairn_log(CAIRN_LOG_WARNING,
                  "symbol folder %s: more than %d files or %d levels, the rest is left out",
                  dir->path, FILES_MAX, DEPTH_MAX);
    if (dir->n_files)
        qsort(dir->files, dir->n_files, sizeof *dir->files, compare_files);
    dir->walked = true;
    cairn_log(CAIRN_LOG_DEBUG, "symbol folder %s: %zu files", dir->path, dir->n_files);
    return CAIRN_OK;
}

int cairn_symbol_dir_find(struct cairn_symbol_dir *dir, const char *name,
                          const struct cairn_symbol_file **ret_first, size_t *ret_n,
                          struct cairn_err *err)
{
    if (!dir->walked) {
        dir->n_files = 0;
        int code = walk_dir(dir, err);
        if (code < 0)
            return code;
    }
    size_t low = 0, high = dir->n_files; /* the first that is not below `name` */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(dir->files[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    size_t n = 0;
    while (low + n < dir->n_files && strcmp(dir->files[low + n].name, name) == 0)
        n++;
    *ret_first = n ? &dir->files[low] : NULL;
    *ret_n = n;
    return CAIRN_OK;
}
