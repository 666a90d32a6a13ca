/* SPDX-License-Identifier: MIT */
#include "resolve/jit.h"

#include <glob.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "proc/perf_map.h"
#include "symbol/listed.h"

enum { PROCESSES_MAX = 65536, NAME_BYTES = 64 };

/* Makes a module of a map's text, which it frees. */
static int add_text(struct cairn_modules *modules, const char *path, struct cairn_buffer *text,
                    struct cairn_known_module **ret_known, struct cairn_err *err)
{
    struct cairn_module *module;
    int code = cairn_symbolizer_open_jit_map(modules->symbolizer, path, text->data, text->size,
                                             &module, err);
    cairn_buffer_done(text);
    if (code < 0)
        return code;
    cairn_log(CAIRN_LOG_INFO, "%s: %zu ranges of code made at run time", path,
              cairn_listed_count(module));
    return cairn_modules_add_list(modules, path, module, ret_known, err);
}

/* `is_named`: by the caller, who may give a pipe; else anybody may have put it into the folder. */
static int read_file(struct cairn_modules *modules, const char *path, bool is_named,
                     struct cairn_known_module **ret_known, struct cairn_err *err)
{
    struct cairn_buffer text = {0};
    int code = is_named ? cairn_file_slurp(path, CAIRN_PERF_MAP_BYTES_MAX, &text, err)
                        : cairn_file_slurp_regular(path, CAIRN_PERF_MAP_BYTES_MAX, &text, err);
    if (code < 0) {
        cairn_buffer_done(&text);
        return code;
    }
    return add_text(modules, path, &text, ret_known, err);
}

int cairn_jit_init(struct cairn_jit *jit, struct cairn_modules *modules,
                   const struct cairn_resolve_opts *opts, struct cairn_err *err)
{
    jit->live = opts->live != 0;
    if (!opts->n_perf_maps)
        return CAIRN_OK;
    jit->files = cairn_alloc(opts->n_perf_maps, sizeof *jit->files);
    jit->folders = cairn_alloc(opts->n_perf_maps, sizeof *jit->folders);
    if (!jit->files || !jit->folders)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < opts->n_perf_maps; i++) {
        struct stat st;
        const char *path = opts->perf_maps[i];
        int code = CAIRN_OK;
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
            jit->folders[jit->n_folders] = cairn_strdup(path);
            if (!jit->folders[jit->n_folders++])
                return cairn_fail_memory(err);
        } else {
            code = read_file(modules, path, true, &jit->files[jit->n_files], err);
            jit->n_files += code == CAIRN_OK;
        }
        if (code < 0)
            return code;
    }
    return CAIRN_OK;
}

void cairn_jit_done(struct cairn_jit *jit)
{
    for (size_t i = 0; i < jit->n_folders; i++)
        cairn_free(jit->folders[i]);
    cairn_free(jit->folders);
    cairn_free(jit->files);
    cairn_free(jit->maps);
    cairn_table_done(&jit->by_pid);
    *jit = (struct cairn_jit){0};
}

void cairn_jit_renew(struct cairn_jit *jit)
{
    cairn_table_done(&jit->by_pid);
    jit->by_pid = (struct cairn_table){0};
    jit->n = 0;
}

bool cairn_jit_knows_any(const struct cairn_jit *jit)
{
    return jit->n_files || jit->n_folders || jit->live;
}

/* What is wrong with a map costs its names; that there is none is no fault. */
static int bear(int code, struct cairn_err *why, struct cairn_err *err)
{
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    if (code < 0)
        cairn_log_err(code == CAIRN_E_MISSING ? CAIRN_LOG_DEBUG : CAIRN_LOG_WARNING, why);
    return CAIRN_OK;
}

static int read_live(struct cairn_modules *modules, int pid, struct cairn_known_module **ret_known,
                     struct cairn_err *err)
{
    struct cairn_buffer text = {0}, path = {0};
    int code = cairn_perf_map_read(pid, &text, &path, err);
    if (code == CAIRN_OK)
        code = add_text(modules, cairn_buffer_text(&path), &text, ret_known, err);
    cairn_buffer_done(&text);
    cairn_buffer_done(&path);
    return code;
}

/* Where nobody says which process it is, a folder with a single map is meant to be of it. */
static int read_only_map(struct cairn_jit *jit, struct cairn_modules *modules, const char *folder,
                         struct cairn_known_module **ret_known, struct cairn_err *err)
{
    glob_t found = {0};
    struct cairn_buffer pattern = {0};
    cairn_buffer_printf(&pattern, "%s/perf-*.map", folder);
    int code = cairn_fail(err, CAIRN_E_MISSING, "%s: has no perf-PID.map", folder);
    if (!pattern.failed && glob(cairn_buffer_text(&pattern), GLOB_NOSORT, NULL, &found) == 0) {
        if (found.gl_pathc == 1)
            code = read_file(modules, found.gl_pathv[0], false, ret_known, err);
        else if (!jit->warned_many)
            cairn_log(CAIRN_LOG_WARNING,
                      "%s: holds %zu perf maps, and a text does not say of which process it is; "
                      "give the one file",
                      folder, found.gl_pathc);
        jit->warned_many = true;
        globfree(&found);
    }
    cairn_buffer_done(&pattern);
    return code;
}

static int read_folder(struct cairn_jit *jit, struct cairn_modules *modules, const char *folder,
                       int pid, struct cairn_known_module **ret_known, struct cairn_err *err)
{
    if (!pid)
        return read_only_map(jit, modules, folder, ret_known, err);
    struct cairn_buffer path = {0};
    cairn_buffer_printf(&path, "%s/perf-%d.map", folder, pid);
    int code = path.failed ? cairn_fail_memory(err)
                           : read_file(modules, cairn_buffer_text(&path), false, ret_known, err);
    cairn_buffer_done(&path);
    return code;
}

/* The map of a process; NULL where it has none. */
static int get_map(struct cairn_jit *jit, struct cairn_modules *modules, int pid,
                   struct cairn_known_module **ret_known, struct cairn_err *err)
{
    struct cairn_jit_map map = {0};
    struct cairn_err why = {0};
    int code = CAIRN_OK;
    uint32_t index;
    if (cairn_table_find(&jit->by_pid, (uint64_t)pid, &index)) {
        *ret_known = jit->maps[index].known;
        return CAIRN_OK;
    }
    *ret_known = NULL;
    if (jit->n == PROCESSES_MAX)
        return CAIRN_OK;
    for (size_t i = 0; i < jit->n_folders && !map.known && code != CAIRN_E_NOMEM; i++)
        code = read_folder(jit, modules, jit->folders[i], pid, &map.known, &why);
    if (!map.known && jit->live && pid && code != CAIRN_E_NOMEM)
        code = read_live(modules, pid, &map.known, &why);
    code = map.known ? CAIRN_OK : bear(code, &why, err);
    if (code == CAIRN_OK &&
        (cairn_grow((void **)&jit->maps, &jit->cap, jit->n + 1, sizeof *jit->maps) < 0 ||
         cairn_table_set(&jit->by_pid, (uint64_t)pid, (uint32_t)jit->n) < 0))
        code = cairn_fail_memory(err);
    if (code < 0)
        return code;
    jit->maps[jit->n++] = map;
    *ret_known = map.known;
    return CAIRN_OK;
}

static bool covers(struct cairn_known_module *known, uint64_t va,
                   struct cairn_resolve_place *ret_place)
{
    if (!known || !cairn_listed_covers(known->module, va))
        return false;
    *ret_place =
        (struct cairn_resolve_place){.module = known, .vaddr = va, .cause = CAIRN_CAUSE_NONE};
    return true;
}

int cairn_jit_find(struct cairn_jit *jit, struct cairn_modules *modules, int pid, uint64_t va,
                   struct cairn_resolve_place *ret_place, bool *ret_found, struct cairn_err *err)
{
    struct cairn_known_module *known;
    *ret_found = false;
    for (size_t i = 0; i < jit->n_files && !*ret_found; i++)
        *ret_found = covers(jit->files[i], va, ret_place);
    if (*ret_found || (!jit->n_folders && !jit->live))
        return CAIRN_OK;
    int code = get_map(jit, modules, pid, &known, err);
    if (code == CAIRN_OK)
        *ret_found = covers(known, va, ret_place);
    return code;
}
