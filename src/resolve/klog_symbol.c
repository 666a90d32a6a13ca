/* SPDX-License-Identifier: MIT */
/* From the symbols that a kernel log prints to places in the kernel's files. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "resolve/klog_spaces.h"
#include "resolve/resolver.h"

enum { NAME_BYTES = 256 };

/* By build ID where the log has one, else the file that the caller named. */
static int open_vmlinux(struct cairn_resolver *resolver, const char *build_id,
                        struct cairn_module **ret_file, struct cairn_err *err)
{
    struct cairn_modules *modules = &resolver->modules;
    struct cairn_module *given = modules->kernel.vmlinux;
    struct cairn_err why;
    if (given) {
        const char *its = cairn_module_info(given)->build_id;
        bool fits = !*build_id || strcmp(its, build_id) == 0 || modules->kernel.allow_mismatch;
        if (!fits)
            cairn_log(CAIRN_LOG_WARNING,
                      "%s: its build ID is %s, that of the log's kernel %s: it gives no lines "
                      "(--allow-mismatch takes it all the same)",
                      cairn_module_info(given)->path, *its ? its : "unknown", build_id);
        *ret_file = fits ? given : NULL;
        return CAIRN_OK;
    }
    if (!*build_id)
        return CAIRN_OK;
    int code = cairn_symbolizer_open(modules->symbolizer, "vmlinux", build_id, ret_file, &why);
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    if (code < 0)
        cairn_log_err(CAIRN_LOG_INFO, &why);
    return CAIRN_OK;
}

/* The file of a kernel module: its build where the log says it. */
static int open_module(struct cairn_resolver *resolver, const char *name, const char *build_id,
                       struct cairn_module **ret_file, struct cairn_err *err)
{
    struct cairn_klog_spaces *spaces = resolver->klog;
    struct cairn_symbolizer *symbolizer = resolver->modules.symbolizer;
    int code = CAIRN_OK;
    if (!spaces->files)
        code = cairn_kernel_files_new(symbolizer, "", &spaces->files, err);
    return code < 0
               ? code
               : cairn_kernel_files_open(spaces->files, symbolizer, name, build_id, ret_file, err);
}

/* `key` is "MODULE BUILDID", without a module that of the kernel itself. */
static int find_image(struct cairn_resolver *resolver, const char *module, const char *build_id,
                      const char *key, struct cairn_klog_image **ret_image, struct cairn_err *err)
{
    struct cairn_klog_spaces *spaces;
    uint32_t index, number;
    int code = cairn_klog_spaces_get(resolver, &spaces, err);
    if (code < 0)
        return code;
    number = cairn_strings_add_str(&spaces->names, key);
    if (number == UINT32_MAX)
        return cairn_fail_memory(err);
    if (cairn_table_find(&spaces->by_name, number, &index)) {
        *ret_image = &spaces->images[index];
        return CAIRN_OK;
    }
    if (cairn_grow((void **)&spaces->images, &spaces->cap_images, spaces->n_images + 1,
                   sizeof *spaces->images) < 0)
        return cairn_fail_memory(err);
    struct cairn_klog_image image = {0};
    code = *module ? open_module(resolver, module, build_id, &image.file, err)
                   : open_vmlinux(resolver, build_id, &image.file, err);
    if (code == CAIRN_OK && image.file)
        code = cairn_name_index_new(image.file, &image.names, err);
    if (code == CAIRN_OK &&
        cairn_table_set(&spaces->by_name, number, (uint32_t)spaces->n_images) < 0)
        code = cairn_fail_memory(err);
    if (code < 0) {
        cairn_name_index_free(image.names);
        return code;
    }
    spaces->images[spaces->n_images] = image;
    *ret_image = &spaces->images[spaces->n_images++];
    return CAIRN_OK;
}

/* A text of the log that is not terminated; false where it is too long to be a name. */
static bool copy(char to[NAME_BYTES], const char *text, size_t size)
{
    if (size >= NAME_BYTES)
        return false;
    if (size)
        memcpy(to, text, size);
    to[size] = 0;
    return true;
}

int cairn_klog_spaces_find(struct cairn_resolver *resolver, const struct cairn_klog_symbol *symbol,
                           const char *build_id, struct cairn_module **ret_file,
                           uint64_t *ret_vaddr, struct cairn_err *err)
{
    char module[NAME_BYTES], id[NAME_BYTES], key[2 * NAME_BYTES + 1];
    struct cairn_klog_image *image = NULL;
    *ret_file = NULL;
    if (!copy(module, symbol->module, symbol->module_size) ||
        !copy(id, symbol->build_id, symbol->build_id_size) || strchr(module, '/') ||
        module[0] == '.')
        return CAIRN_OK;
    if (!module[0] && !copy(id, build_id, strlen(build_id)))
        return CAIRN_OK;
    snprintf(key, sizeof key, "%s %s", module, id);
    int code = find_image(resolver, module, id, key, &image, err);
    if (code < 0 || !image->names)
        return code;
    uint64_t size = symbol->has_function_size ? symbol->function_size : 0;
    if (cairn_name_index_find(image->names, symbol->name, symbol->name_size, size, ret_vaddr))
        *ret_file = image->file;
    return CAIRN_OK;
}
