/* SPDX-License-Identifier: MIT */
#include "resolve/klog_spaces.h"

#include "base/alloc.h"
#include "base/error.h"
#include "resolve/resolver.h"

enum { SPACES_MAX = 65536 };

void cairn_klog_spaces_free(struct cairn_klog_spaces *spaces)
{
    if (!spaces)
        return;
    for (size_t i = 0; i < spaces->n; i++)
        cairn_address_space_done(&spaces->spaces[i]);
    for (size_t i = 0; i < spaces->n_images; i++)
        cairn_name_index_free(spaces->images[i].names);
    cairn_free(spaces->spaces);
    cairn_free(spaces->images);
    cairn_strings_done(&spaces->names);
    cairn_table_done(&spaces->by_name);
    cairn_kernel_files_free(spaces->files);
    cairn_free(spaces);
}

int cairn_klog_spaces_get(struct cairn_resolver *resolver, struct cairn_klog_spaces **ret_spaces,
                          struct cairn_err *err)
{
    if (!resolver->klog)
        resolver->klog = cairn_alloc(1, sizeof *resolver->klog);
    *ret_spaces = resolver->klog;
    return resolver->klog ? CAIRN_OK : cairn_fail_memory(err);
}

int cairn_resolver_add_maps(struct cairn_resolver *resolver, const struct cairn_maps *maps,
                            int *ret_space, struct cairn_err *err)
{
    struct cairn_klog_spaces *spaces;
    int code = cairn_klog_spaces_get(resolver, &spaces, err);
    if (code < 0)
        return code;
    if (spaces->n == SPACES_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "more than %d processes with maps", SPACES_MAX);
    if (cairn_grow((void **)&spaces->spaces, &spaces->cap, spaces->n + 1, sizeof *spaces->spaces) <
        0)
        return cairn_fail_memory(err);
    struct cairn_address_space *space = &spaces->spaces[spaces->n];
    *space = (struct cairn_address_space){0};
    code = cairn_address_space_of_maps(space, &resolver->modules, maps, err);
    if (code < 0)
        cairn_address_space_done(space);
    else
        *ret_space = (int)spaces->n++;
    return code;
}

int cairn_resolver_has_code(const struct cairn_resolver *resolver, int space)
{
    const struct cairn_klog_spaces *spaces = resolver->klog;
    if (!spaces || space < 0 || (size_t)space >= spaces->n)
        return 0;
    for (size_t i = 0; i < spaces->spaces[space].n; i++)
        if (spaces->spaces[space].regions[i].executable)
            return 1;
    return 0;
}
