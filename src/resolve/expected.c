/* SPDX-License-Identifier: MIT */
#include "resolve/expected.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "symbol/expect.h"

void cairn_expected_done(struct cairn_expected *expected)
{
    cairn_table_done(&expected->seen);
    cairn_free(expected->list);
    *expected = (struct cairn_expected){0};
}

int cairn_expected_add(struct cairn_expected *expected, struct cairn_resolver *resolver,
                       struct cairn_key key, struct cairn_err *err)
{
    struct cairn_resolve_place place;
    uint32_t ignored;
    uint64_t mixed = cairn_hash_u64(key.value ^ (uint64_t)key.word << 48) | 1;
    if (cairn_table_find(&expected->seen, mixed, &ignored) || cairn_resolver_knows(resolver, key))
        return CAIRN_OK;
    if (cairn_table_set(&expected->seen, mixed, 1) < 0)
        return cairn_fail_memory(err);
    int code = cairn_resolver_find(resolver, key, &place, err);
    if (code < 0 || place.cause != CAIRN_CAUSE_NONE || !place.module ||
        place.module->kind != CAIRN_KNOWN_FILE)
        return code;
    if (cairn_grow((void **)&expected->list, &expected->cap, expected->n + 1,
                   sizeof *expected->list) < 0)
        return cairn_fail_memory(err);
    expected->list[expected->n++] =
        (struct cairn_expected_address){place.module->module, place.vaddr};
    return CAIRN_OK;
}

static int by_module_and_address(const void *left, const void *right)
{
    const struct cairn_expected_address *a = left, *b = right;
    uintptr_t one = (uintptr_t)a->module, other = (uintptr_t)b->module;
    if (one != other)
        return one < other ? -1 : 1;
    return a->vaddr == b->vaddr ? 0 : a->vaddr < b->vaddr ? -1 : 1;
}

int cairn_expected_tell(struct cairn_expected *expected, struct cairn_resolver *resolver,
                        struct cairn_err *err)
{
    struct cairn_expected_address *list = expected->list;
    uint64_t *vaddrs = cairn_realloc(NULL, expected->n, sizeof *vaddrs);
    int code = vaddrs ? CAIRN_OK : cairn_fail_memory(err);
    if (code == CAIRN_OK && expected->n)
        qsort(list, expected->n, sizeof *list, by_module_and_address);
    for (size_t first = 0, end; code == CAIRN_OK && first < expected->n; first = end) {
        struct cairn_err why;
        for (end = first; end < expected->n && list[end].module == list[first].module; end++)
            vaddrs[end - first] = list[end].vaddr;
        if (cairn_symbolizer_expect(resolver->modules.symbolizer, list[first].module, vaddrs,
                                    end - first, &why) == CAIRN_E_NOMEM)
            code = cairn_fail_memory(err);
    }
    cairn_free(vaddrs);
    expected->n = 0;
    return code;
}
