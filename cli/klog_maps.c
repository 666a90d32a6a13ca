/* SPDX-License-Identifier: MIT */
/*
 * Which maps a dump's user frames are looked up in:
 *
 *     --maps PID=FILE    that process or thread
 *     --maps FOLDER      PID, PID.maps, maps.PID or PID/maps in it; else COMM.maps
 *     --maps FILE        all dumps that none of these has maps for
 *     --live             /proc/PID/maps, where none of these has maps
 *
 * A thread's dump says its process only in newer logs: the process comes first, then the thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/klog.h"

static int add_space(struct cli_klog *klog, const struct cairn_maps *maps, const char *name,
                     int *ret_space, struct cairn_err *err)
{
    int code = cairn_resolver_add_maps(klog->resolver, maps, ret_space, err);
    if (code == CAIRN_OK && !cairn_resolver_has_code(klog->resolver, *ret_space)) {
        cairn_fail(err, CAIRN_E_MISSING, "%s: no executable mapping in it", name);
        cairn_hint(err, "save /proc/PID/maps while the process runs, as root or as its owner");
        code = CAIRN_E_MISSING;
    }
    return code;
}

static int read_maps(struct cli_klog *klog, const char *path, int *ret_space, struct cairn_err *err)
{
    struct cairn_maps *maps = NULL;
    int code = cairn_maps_read_file(path, &maps, err);
    if (code == CAIRN_OK)
        code = add_space(klog, maps, path, ret_space, err);
    cairn_maps_free(maps);
    return code;
}

static int add_maps(struct cli_klog *klog, int pid, const char *path, struct cairn_err *err)
{
    int space = CAIRN_NO_SPACE;
    int code = read_maps(klog, path, &space, err);
    if (code < 0)
        return code;
    if (cairn_grow((void **)&klog->maps, &klog->cap_maps, klog->n_maps + 1, sizeof *klog->maps) < 0)
        return cairn_fail_memory(err);
    klog->maps[klog->n_maps++] = (struct cli_klog_maps){pid, space};
    return CAIRN_OK;
}

/* "4242=FILE": the number, and where FILE begins; 0: it is no such argument. */
static int pid_before(const char *text, const char **ret_file)
{
    char number[16];
    size_t size = strspn(text, "0123456789");
    if (!size || size >= sizeof number || text[size] != '=')
        return 0;
    memcpy(number, text, size);
    number[size] = 0;
    *ret_file = text + size + 1;
    return cli_parse_pid(number);
}

int cli_klog_maps_open(struct cli_klog *klog, struct cairn_err *err)
{
    int code = CAIRN_OK;
    for (size_t i = 0; i < klog->opts->maps.n && code == CAIRN_OK; i++) {
        struct stat st;
        const char *text = klog->opts->maps.items[i], *file = text;
        bool is_there = stat(text, &st) == 0;
        int pid = is_there ? 0 : pid_before(text, &file);
        if (!is_there || !S_ISDIR(st.st_mode)) {
            code = add_maps(klog, pid, file, err);
            continue;
        }
        if (cairn_grow((void **)&klog->folders, &klog->cap_folders, klog->n_folders + 1,
                       sizeof *klog->folders) < 0)
            return cairn_fail_memory(err);
        klog->folders[klog->n_folders++] = (struct cli_klog_folder){text};
    }
    return code;
}

static int try_file(struct cli_klog *klog, struct cairn_buffer *path, int *ret_space,
                    struct cairn_err *err)
{
    if (path->failed)
        return cairn_fail_memory(err);
    if (access(cairn_buffer_text(path), F_OK) < 0)
        return CAIRN_OK;
    return read_maps(klog, cairn_buffer_text(path), ret_space, err);
}

/* A name out of the log that is to be a file's. */
static bool is_file_name(const char *comm)
{
    return *comm && *comm != '.' && !strchr(comm, '/');
}

static int look_in_folder(struct cli_klog *klog, const char *folder, int pid, const char *comm,
                          int *ret_space, struct cairn_err *err)
{
    static const char *const forms[][2] = {
        {"/", ""}, {"/", ".maps"}, {"/maps.", ""}, {"/", "/maps"}};
    struct cairn_buffer path = {0};
    int code = CAIRN_OK;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && pid > 0; i++) {
        struct stat st;
        cairn_buffer_clear(&path);
        cairn_buffer_printf(&path, "%s%s%d%s", folder, forms[i][0], pid, forms[i][1]);
        if (stat(cairn_buffer_text(&path), &st) == 0 && S_ISDIR(st.st_mode))
            continue;
        code = try_file(klog, &path, ret_space, err);
        if (code < 0 || *ret_space != CAIRN_NO_SPACE)
            break;
    }
    if (code == CAIRN_OK && *ret_space == CAIRN_NO_SPACE && is_file_name(comm)) {
        cairn_buffer_clear(&path);
        cairn_buffer_printf(&path, "%s/%s.maps", folder, comm);
        code = try_file(klog, &path, ret_space, err);
    }
    cairn_buffer_done(&path);
    return code;
}

static bool find_given(const struct cli_klog *klog, int pid, int *ret_space)
{
    for (size_t i = klog->n_maps; i-- > 0;)
        if (klog->maps[i].pid == pid) {
            *ret_space = klog->maps[i].space;
            return true;
        }
    return false;
}

/* The process that runs now, which may be another one of that number. */
static int read_live(struct cli_klog *klog, int pid, int *ret_space, struct cairn_err *err)
{
    struct cairn_maps *maps = NULL;
    struct cairn_err why;
    int code = cairn_maps_read_pid(pid, &maps, &why);
    if (code == CAIRN_OK)
        code = add_space(klog, maps, "its maps", ret_space, &why);
    cairn_maps_free(maps);
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    if (code < 0)
        *ret_space = CAIRN_NO_SPACE;
    return CAIRN_OK;
}

static int find_maps(struct cli_klog *klog, const struct cairn_klog_dump *dump, int *ret_space,
                     struct cairn_err *err)
{
    const int pids[] = {dump->tgid, dump->pid};
    int code = CAIRN_OK;
    for (int i = 0; i < 2; i++)
        if (pids[i] > 0 && find_given(klog, pids[i], ret_space))
            return CAIRN_OK;
    for (size_t k = 0; k < klog->n_folders && code == CAIRN_OK; k++)
        for (int i = 0; i < 2 && code == CAIRN_OK && *ret_space == CAIRN_NO_SPACE; i++)
            code = look_in_folder(klog, klog->folders[k].path, pids[i], i ? dump->comm : "",
                                  ret_space, err);
    if (code < 0 || *ret_space != CAIRN_NO_SPACE || find_given(klog, 0, ret_space))
        return code;
    for (int i = 0; i < 2 && code == CAIRN_OK && *ret_space == CAIRN_NO_SPACE; i++)
        if (klog->opts->live && pids[i] > 0)
            code = read_live(klog, pids[i], ret_space, err);
    return code;
}

int cli_klog_maps_of(struct cli_klog *klog, const struct cairn_klog_dump *dump, int *ret_space,
                     struct cairn_err *err)
{
    uint32_t known;
    uint64_t key = cairn_hash_u64((uint64_t)(uint32_t)dump->pid << 32 | (uint32_t)dump->tgid) ^
                   (uint64_t)(uintptr_t)dump->comm;
    *ret_space = CAIRN_NO_SPACE;
    if (cairn_table_find(&klog->spaces, key, &known)) {
        *ret_space = (int)known - 1;
        return CAIRN_OK;
    }
    int code = find_maps(klog, dump, ret_space, err);
    if (code == CAIRN_OK && cairn_table_set(&klog->spaces, key, (uint32_t)(*ret_space + 1)) < 0)
        code = cairn_fail_memory(err);
    return code;
}
