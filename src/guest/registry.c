/* SPDX-License-Identifier: MIT */
#include "guest/registry.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "guest/image.h"

enum { NAME_MAX_BYTES = 64 };

struct making {
    const struct cairn_elf *elf;
    struct cairn_guest_image image;
    bool has_functions; /* `image` says where they begin */
    struct cairn_registry *registry;
    uint64_t last_pair; /* where the last pair ended */
    uint32_t table;
    uint64_t before;  /* where the last pointer is, */
    const char *name; /* and the name that it leads to; NULL: none */
    int code;
};

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* A name of an interpreter's function: NUL-terminated, of letters, digits and _. */
static const char *name_at(const struct making *making, uint64_t vaddr)
{
    struct cairn_span bytes;
    if (cairn_elf_is_code(making->elf, vaddr) || !cairn_elf_bytes_at(making->elf, vaddr, &bytes))
        return NULL;
    const char *text = (const char *)bytes.data;
    for (size_t i = 0; i < bytes.size && i < NAME_MAX_BYTES; i++)
        if (!is_name_char(text[i]))
            return i && !text[i] && (text[0] < '0' || text[0] > '9') ? text : NULL;
    return NULL;
}

static bool is_function(const struct making *making, uint64_t vaddr)
{
    uint64_t from, to;
    if (!cairn_elf_is_code(making->elf, vaddr))
        return false;
    return !making->has_functions ||
           (cairn_guest_image_function(&making->image, vaddr, &from, &to) && from == vaddr);
}

static bool take(void *ctx, uint64_t at, uint64_t value)
{
    struct making *making = ctx;
    struct cairn_registry *registry = making->registry;
    bool is_pair = making->name && at == making->before + 8 && is_function(making, value);
    if (is_pair) {
        making->code = cairn_grow((void **)&registry->entries, &registry->cap, registry->n + 1,
                                  sizeof *registry->entries);
        if (making->code < 0)
            return false;
        making->table += at != making->last_pair + 16;
        making->last_pair = at;
        registry->entries[registry->n++] =
            (struct cairn_registry_entry){value, making->name, making->table};
    }
    making->before = at;
    making->name = is_pair ? NULL : name_at(making, value);
    return registry->n < CAIRN_REGISTRY_MAX;
}

static int by_function(const void *a, const void *b)
{
    const struct cairn_registry_entry *x = a, *y = b;
    return (x->function > y->function) - (x->function < y->function);
}

int cairn_registry_make(const struct cairn_elf *elf, struct cairn_registry *ret_registry)
{
    struct making making = {.elf = elf, .registry = ret_registry};
    *ret_registry = (struct cairn_registry){0};
    making.has_functions = cairn_guest_image_open(elf, &making.image);
    cairn_guest_each_pointer(elf, take, &making);
    if (ret_registry->n)
        qsort(ret_registry->entries, ret_registry->n, sizeof *ret_registry->entries, by_function);
    return making.code;
}

void cairn_registry_done(struct cairn_registry *registry)
{
    cairn_free(registry->entries);
    *registry = (struct cairn_registry){0};
}

const char *cairn_registry_find(const struct cairn_registry *registry, uint64_t function)
{
    size_t low = 0, high = registry->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (registry->entries[middle].function < function)
            low = middle + 1;
        else
            high = middle;
    }
    return low < registry->n && registry->entries[low].function == function
               ? registry->entries[low].name
               : NULL;
}
