/* SPDX-License-Identifier: MIT */
/* Mapped: files without a name any more, which a running process still has. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "resolve/modules.h"

enum { LINK_BYTES = 96, NAME_BYTES = 4096 };

/* What has no build ID is known by the name that the mapping's file had. */
static bool is_it(const struct cairn_known_module *known, const struct cairn_module *module,
                  const char *link)
{
    char name[NAME_BYTES];
    const char *id = cairn_module_info(module)->build_id;
    size_t size = strlen(known->path);
    if (*known->build_id || *id)
        return strcmp(known->build_id, id) == 0;
    ssize_t got = readlink(link, name, sizeof name);
    return got >= 0 && (size_t)got >= size && memcmp(name, known->path, size) == 0;
}

static int open_link(struct cairn_modules *m, struct cairn_known_module *known, const char *link,
                     struct cairn_err *err)
{
    struct cairn_module *module;
    struct cairn_err why;
    int fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return CAIRN_OK;
    int code = cairn_symbolizer_open_fd(m->symbolizer, known->path, fd, &module, &why);
    close(fd);
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    if (code == CAIRN_OK && is_it(known, module, link)) {
        known->module = module;
        known->missing = CAIRN_CAUSE_NONE;
        cairn_log(CAIRN_LOG_INFO, "%s: its file is gone, read through %s", known->path, link);
    }
    return CAIRN_OK;
}

int cairn_modules_open_mapped(struct cairn_modules *m, struct cairn_known_module *known,
                              uint64_t start, uint64_t end, struct cairn_err *err)
{
    char link[LINK_BYTES];
    if (!m->pid ||
        (known->missing != CAIRN_CAUSE_NO_BINARY && known->missing != CAIRN_CAUSE_MISMATCH))
        return CAIRN_OK;
    snprintf(link, sizeof link, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, m->pid, start, end);
    int code = open_link(m, known, link, err);
    snprintf(link, sizeof link, "/proc/%d/exe", m->pid);
    if (code == CAIRN_OK && !known->module)
        code = open_link(m, known, link, err);
    return code;
}
