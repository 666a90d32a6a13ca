/* SPDX-License-Identifier: MIT */
#include "symbol/kernel_files.h"

#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "debugfile/debugfile.h"
#include "debugfile/symbol_dir.h"
#include "symbol/symbolizer.h"

struct cairn_kernel_files {
    struct cairn_symbol_dirs debug, installed;
};

/* Adds a folder, if it is there. */
static int add_dir(struct cairn_symbol_dirs *dirs, const char *below, const char *release,
                   struct cairn_err *err)
{
    struct stat st;
    struct cairn_buffer path = {0};
    cairn_buffer_printf(&path, "%s/lib/modules/%s", below, release);
    const char *text = cairn_buffer_text(&path);
    int code = path.failed ? cairn_fail_memory(err) : CAIRN_OK;
    if (code == CAIRN_OK && stat(text, &st) == 0 && S_ISDIR(st.st_mode))
        code = cairn_symbol_dirs_open(&text, 1, dirs, err);
    cairn_buffer_done(&path);
    return code;
}

int cairn_kernel_files_new(struct cairn_symbolizer *symbolizer, const char *release,
                           struct cairn_kernel_files **ret_files, struct cairn_err *err)
{
    struct cairn_kernel_files *files = cairn_alloc(1, sizeof *files);
    const char *debug_dir = cairn_debugfile_finder_debug_dir(symbolizer->finder);
    int code = CAIRN_OK;
    if (!files)
        return cairn_fail_memory(err);
    if (*release && !strchr(release, '/') && strcmp(release, "..") != 0) {
        code = add_dir(&files->debug, debug_dir, release, err);
        if (code == CAIRN_OK)
            code = add_dir(&files->installed, "", release, err);
    }
    if (code < 0)
        cairn_kernel_files_free(files);
    else
        *ret_files = files;
    return code;
}

void cairn_kernel_files_free(struct cairn_kernel_files *files)
{
    if (!files)
        return;
    cairn_symbol_dirs_done(&files->debug);
    cairn_symbol_dirs_done(&files->installed);
    cairn_free(files);
}

/* Is this the file of that module: its name, .ko, and how it is packed? */
static bool is_file_of(const char *file, const char *name)
{
    static const char *const endings[] = {".ko", ".ko.xz", ".ko.zst", ".ko.gz"};
    for (; *name; file++, name++)
        if (*file != *name && !(*file == '-' && *name == '_') && !(*file == '_' && *name == '-'))
            return false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (strcmp(file, endings[i]) == 0)
            return true;
    return false;
}

static int find_in(struct cairn_symbol_dirs *dirs, const char *name, struct cairn_buffer *ret_path,
                   struct cairn_err *err)
{
    for (size_t i = 0; i < dirs->n; i++) {
        struct cairn_symbol_dir *dir = &dirs->dirs[i];
        const struct cairn_symbol_file *files;
        size_t n;
        int code = cairn_symbol_dir_find(dir, name, &files, &n, err); /* so that it was walked */
        if (code < 0)
            return code;
        for (size_t k = 0; k < dir->n_files; k++) {
            if (!is_file_of(dir->files[k].name, name))
                continue;
            cairn_buffer_clear(ret_path);
            cairn_buffer_str(ret_path, dir->files[k].path);
            return ret_path->failed ? cairn_fail_memory(err) : CAIRN_OK;
        }
    }
    return CAIRN_OK;
}

int cairn_kernel_files_find(struct cairn_kernel_files *files, struct cairn_symbolizer *symbolizer,
                            const char *name, struct cairn_buffer *ret_path, struct cairn_err *err)
{
    int code = find_in(cairn_debugfile_finder_dirs(symbolizer->finder), name, ret_path, err);
    if (code == CAIRN_OK && !ret_path->size)
        code = find_in(&files->debug, name, ret_path, err);
    if (code == CAIRN_OK && !ret_path->size)
        code = find_in(&files->installed, name, ret_path, err);
    return code;
}

int cairn_kernel_files_open(struct cairn_kernel_files *files, struct cairn_symbolizer *symbolizer,
                            const char *name, const char *build_id, struct cairn_module **ret_file,
                            struct cairn_err *err)
{
    struct cairn_buffer path = {0};
    struct cairn_err why;
    int code = cairn_kernel_files_find(files, symbolizer, name, &path, err);
    if (code == CAIRN_OK && !path.size && *build_id)
        cairn_buffer_printf(&path, "%s.ko", name);
    if (code == CAIRN_OK && path.failed)
        code = cairn_fail_memory(err);
    if (code == CAIRN_OK && path.size) {
        int opened = cairn_symbolizer_open(symbolizer, cairn_buffer_text(&path),
                                           *build_id ? build_id : NULL, ret_file, &why);
        if (opened == CAIRN_E_NOMEM)
            code = cairn_fail_memory(err);
        else if (opened < 0)
            cairn_log_err(opened == CAIRN_E_MISSING ? CAIRN_LOG_INFO : CAIRN_LOG_WARNING, &why);
    }
    cairn_buffer_done(&path);
    return code;
}
