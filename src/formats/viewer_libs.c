/* SPDX-License-Identifier: MIT */
/* Libraries: the modules of a profile that have a file, each once, and the addresses in them. */
#include "base/alloc.h"
#include "base/module_kind.h"
#include "formats/viewer.h"

/* Numbers of a script are exact up to here. */
static const int64_t EXACT_MAX = (int64_t)1 << 53;

static bool has_file(const struct cairn_profile_module *module)
{
    return module->kind == CAIRN_MODULE_FILE || module->kind == CAIRN_MODULE_VDSO ||
           module->kind == CAIRN_MODULE_LOG ||
           cairn_module_is_kernel((enum cairn_module_kind)module->kind);
}

/* The mappings of one file are one library. */
static uint32_t add_lib(struct cairn_viewer *v, const struct cairn_profile_module *module)
{
    uint64_t key = (uint64_t)module->path << 32 | module->build_id;
    uint32_t number;
    if (cairn_table_find(&v->known_libs, key, &number))
        return number;
    if (cairn_grow((void **)&v->libs, &v->cap_libs, v->n_libs + 1, sizeof *v->libs) < 0 ||
        cairn_table_set(&v->known_libs, key, (uint32_t)v->n_libs) < 0)
        return CAIRN_VIEWER_NONE;
    v->libs[v->n_libs] = (struct cairn_viewer_lib){module->path, module->build_id};
    return (uint32_t)v->n_libs++;
}

uint32_t cairn_viewer_lib_of(struct cairn_viewer *v, uint32_t module, bool *io_ok)
{
    if (module == CAIRN_PROFILE_NO_MODULE || !has_file(&v->p->modules[module]))
        return CAIRN_VIEWER_NONE;
    if (!v->lib_of_module[module]) {
        uint32_t lib = add_lib(v, &v->p->modules[module]);
        *io_ok &= lib != CAIRN_VIEWER_NONE;
        v->lib_of_module[module] = lib + 1;
    }
    return v->lib_of_module[module] - 1;
}

/* The kernel's `off` is the address of _text. Where its modules were loaded is unknown. */
int64_t cairn_viewer_rel(const struct cairn_profile *p, uint32_t number, uint64_t va)
{
    const struct cairn_profile_module *module = &p->modules[number];
    uint64_t rel = va - module->start + module->off;
    if (!va || number == CAIRN_PROFILE_NO_MODULE || module->kind == CAIRN_MODULE_KERNEL_MODULE)
        return -1;
    if (module->kind == CAIRN_MODULE_KERNEL)
        rel = module->off > module->start ? va - module->off : UINT64_MAX;
    return rel < (uint64_t)EXACT_MAX ? (int64_t)rel : -1;
}
