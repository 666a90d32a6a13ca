/* SPDX-License-Identifier: MIT */
#include "resolve/vdso.h"

#include <glob.h>

#include "base/error.h"
#include "base/log.h"
#include "proc/kernel.h"

enum { FILES_MAX = 256 };

static int open_own(struct cairn_modules *modules, struct cairn_err *err)
{
    if (modules->asked_vdso)
        return CAIRN_OK;
    modules->asked_vdso = true;
    struct cairn_span vdso = cairn_vdso_of_self();
    struct cairn_err why;
    int code = vdso.size ? cairn_symbolizer_open_bytes(modules->symbolizer, "[vdso]", vdso.data,
                                                       vdso.size, &modules->vdso, &why)
                         : CAIRN_OK;
    return code == CAIRN_E_NOMEM ? cairn_fail_memory(err) : CAIRN_OK;
}

/* By build ID wherever debug files are, then among what distributions install. */
static int open_file(struct cairn_modules *modules, struct cairn_known_module *known,
                     struct cairn_err *err)
{
    glob_t files = {0};
    int code = cairn_symbolizer_open(modules->symbolizer, "vdso64.so", known->build_id,
                                     &known->module, NULL);
    if (code != CAIRN_OK && code != CAIRN_E_NOMEM &&
        glob("/lib/modules/*/vdso/*.so", GLOB_NOSORT, NULL, &files) == 0) {
        for (size_t i = 0; i < files.gl_pathc && i < FILES_MAX && code != CAIRN_OK; i++)
            code = cairn_symbolizer_open(modules->symbolizer, files.gl_pathv[i], known->build_id,
                                         &known->module, NULL);
        globfree(&files);
    }
    if (code != CAIRN_OK)
        known->missing = CAIRN_CAUSE_NOT_A_FILE;
    return code == CAIRN_E_NOMEM ? cairn_fail_memory(err) : CAIRN_OK;
}

int cairn_vdso_open(struct cairn_modules *modules, struct cairn_known_module *known,
                    struct cairn_err *err)
{
    known->missing = CAIRN_CAUSE_NOT_A_FILE;
    if (!known->build_id[0])
        return CAIRN_OK;
    int code = open_own(modules, err);
    if (code < 0)
        return code;
    known->missing = CAIRN_CAUSE_NONE;
    if (modules->vdso && strcmp(cairn_module_info(modules->vdso)->build_id, known->build_id) == 0) {
        known->module = modules->vdso;
        cairn_log(CAIRN_LOG_INFO, "[vdso]: our own, for it has the same build ID %s",
                  known->build_id);
        return CAIRN_OK;
    }
    return open_file(modules, known, err);
}
