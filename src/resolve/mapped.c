/* SPDX-License-Identifier: MIT */
/* Mapped: files without a name any more, or with one in another mount namespace, which a process
 * has, or had when somebody took hold of them. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/foreign.h"
#include "base/log.h"
#include "proc/mapped_file.h"
#include "resolve/modules.h"

/* What has no build ID is known by the name that the mapping's file had. */
static bool is_it(const struct cairn_known_module *known, const struct cairn_module *module,
                  const char *link)
{
    const char *id = cairn_module_info(module)->build_id;
    return *known->build_id || *id ? strcmp(known->build_id, id) == 0
                                   : cairn_mapped_is_path(link, known->path);
}

/* NULL where it is another build, or damaged. */
static int open_held(struct cairn_modules *m, const char *path, const char *build_id, int fd,
                     struct cairn_module **ret_module, struct cairn_err *err)
{
    struct cairn_module *module = NULL;
    struct cairn_err why;
    int code = cairn_symbolizer_open_fd(m->symbolizer, path, fd, &module, &why);
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    if (code < 0)
        cairn_log_err(CAIRN_LOG_INFO, &why);
    else if (*build_id && strcmp(build_id, cairn_module_info(module)->build_id) != 0)
        module = NULL;
    *ret_module = module;
    return CAIRN_OK;
}

/* The path leads to it, so that all goes the usual way. */
static bool is_there(const struct stat *file, const char *path)
{
    struct stat there;
    return cairn_file_stat(path, &there) && there.st_dev == file->st_dev &&
           there.st_ino == file->st_ino;
}

int cairn_modules_get_held(struct cairn_modules *m, uint32_t path, uint32_t build_id, int fd,
                           struct cairn_known_module **ret_module, struct cairn_err *err)
{
    struct stat file;
    struct cairn_module *module = NULL;
    const char *name = cairn_strings_get(&m->strings, path);
    const char *id = cairn_strings_get(&m->strings, build_id);
    uint32_t index;
    if (m->n == CAIRN_MODULES_MAX || fstat(fd, &file) < 0 || is_there(&file, name))
        return cairn_modules_get(m, path, build_id, ret_module, err);
    const uint64_t identity[] = {file.st_dev, file.st_ino, (uint64_t)path << 32 | build_id};
    uint64_t key = cairn_hash_bytes(identity, sizeof identity);
    if (cairn_table_find(&m->by_file, key, &index)) {
        *ret_module = m->list[index];
        return CAIRN_OK;
    }
    int code = open_held(m, name, id, fd, &module, err);
    if (code < 0 || !module)
        return code < 0 ? code : cairn_modules_get(m, path, build_id, ret_module, err);
    struct cairn_known_module *known = cairn_modules_add(m, name, id, err);
    if (!known)
        return CAIRN_E_NOMEM;
    known->module = module;
    known->missing = CAIRN_CAUSE_NONE;
    cairn_log(CAIRN_LOG_INFO, "%s: read from the file that was mapped", name);
    if (cairn_table_set(&m->by_file, key, (uint32_t)(m->n - 1)) < 0)
        return cairn_fail_memory(err);
    *ret_module = known;
    return CAIRN_OK;
}

struct opening {
    struct cairn_modules *m;
    struct cairn_known_module *known;
    struct cairn_err *err;
    int code;
};

/* Lack of memory ends the search, too. */
static bool open_link(void *ctx, enum cairn_mapped_by by, const char *link)
{
    struct opening *o = ctx;
    struct cairn_known_module *known = o->known;
    struct cairn_module *module;
    struct cairn_err why;
    int fd;
    (void)by;
    if (cairn_foreign_open_path(link, &fd, &why) < 0)
        return false;
    int code = cairn_symbolizer_open_fd(o->m->symbolizer, known->path, fd, &module, &why);
    close(fd);
    if (code == CAIRN_E_NOMEM)
        o->code = cairn_fail_memory(o->err);
    if (code < 0 || !is_it(known, module, link))
        return o->code < 0;
    known->module = module;
    known->missing = CAIRN_CAUSE_NONE;
    cairn_log(CAIRN_LOG_INFO, "%s: its file is gone, read through %s", known->path, link);
    return true;
}

int cairn_modules_open_mapped(struct cairn_modules *m, struct cairn_known_module *known,
                              uint64_t start, uint64_t end, struct cairn_err *err)
{
    static const enum cairn_mapped_by order[] = {CAIRN_MAPPED_BY_LINK, CAIRN_MAPPED_BY_EXE,
                                                 CAIRN_MAPPED_BY_NONE};
    const struct cairn_mapped_file file = {m->pid, start, end, known->path};
    struct opening o = {m, known, err, CAIRN_OK};
    if (!m->pid ||
        (known->missing != CAIRN_CAUSE_NO_BINARY && known->missing != CAIRN_CAUSE_MISMATCH))
        return CAIRN_OK;
    (void)cairn_mapped_find(&file, order, open_link, &o);
    if (o.code == CAIRN_OK && !known->module && cairn_module_is_made(known->module_kind))
        known->missing = CAIRN_CAUSE_ANONYMOUS; /* what a compiler made, and no library */
    return o.code;
}
