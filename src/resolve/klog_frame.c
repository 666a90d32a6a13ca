/* SPDX-License-Identifier: MIT */
/*
 * Names for the frames of a kernel log:
 *
 *     user     address ── less its signature ──► mapping ──► offset in the file ──► vaddr
 *              file+offset, where the log has it ─────────────────┘
 *     kernel   symbol+offset ──► the function in vmlinux or NAME.ko ──► vaddr
 *              bare address ──► kallsyms, vmlinux
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "resolve/klog_spaces.h"
#include "resolve/resolver.h"

enum { HALF_BIT = 55 }; /* of an arm64 address; 1: the kernel's half */

static struct cairn_address_space *space_of(struct cairn_resolver *resolver, int number)
{
    struct cairn_klog_spaces *spaces = resolver->klog;
    return spaces && number >= 0 && (size_t)number < spaces->n ? &spaces->spaces[number] : NULL;
}

static enum cairn_address_kind kind_of(const struct cairn_klog_frame *frame)
{
    return frame->marks & CAIRN_KLOG_EXACT ? CAIRN_ADDRESS_EXACT : CAIRN_ADDRESS_RETURN;
}

/* The executable mapping that holds the address, of which pointer authentication (arm64) or a tag
 * may have taken the bits above the address space: 48 of them, 42 or 39 by the kernel's choice. */
static struct cairn_region *find_code(const struct cairn_address_space *space, uint64_t raw,
                                      uint64_t *ret_va)
{
    static const unsigned bits[] = {64, 48, 47, 42, 39};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        uint64_t va = bits[i] == 64 ? raw : raw & ((UINT64_C(1) << bits[i]) - 1);
        if ((i > 0 && va == raw) || (i > 0 && raw >> HALF_BIT & 1))
            continue;
        struct cairn_region *region = cairn_address_space_find(space, va);
        if (region && region->executable) {
            *ret_va = va;
            return region;
        }
    }
    return NULL;
}

/* Asks for the names of a place. */
static int name_place(struct cairn_resolver *resolver, struct cairn_resolve_place *place,
                      struct cairn_resolved_frame *ret, struct cairn_err *err)
{
    struct cairn_symbol symbol = {0};
    int code = CAIRN_OK;
    if (place->cause == CAIRN_CAUSE_NONE)
        code = cairn_resolver_symbolize(resolver, place, &symbol, err);
    ret->cause = place->cause;
    if (code == CAIRN_OK && place->cause == CAIRN_CAUSE_NONE) {
        ret->n_lines = symbol.n_frames;
        ret->lines = symbol.frames;
    }
    return code;
}

static int name_mapped(struct cairn_resolver *resolver, const struct cairn_klog_frame *frame,
                       struct cairn_address_space *space, struct cairn_resolved_frame *ret,
                       struct cairn_err *err)
{
    struct cairn_resolve_place place;
    uint64_t va = frame->va;
    struct cairn_region *region = find_code(space, frame->va, &va);
    ret->va = va;
    if (!region) {
        ret->is_garbage = 1;
        return CAIRN_OK;
    }
    ret->path = cairn_strings_get(&resolver->modules.strings, region->path);
    ret->off = va - region->start + region->off;
    ret->has_place = 1;
    /* The call before a mapping's first byte is no place of it. */
    uint64_t look_up = cairn_lookup_address(va, kind_of(frame));
    bool found = false;
    int code = CAIRN_OK;
    look_up = look_up < region->start ? va : look_up;
    if (cairn_module_is_made(region->kind))
        code = cairn_jit_find(&resolver->jit, &resolver->modules, 0, look_up, &place, &found, err);
    if (code == CAIRN_OK && !found)
        code = cairn_address_space_place(space, &resolver->modules, region, look_up, &place, err);
    return code < 0 ? code : name_place(resolver, &place, ret, err);
}

/* "lib/sample/libx.so (deleted)+0x5b9" to its path's size and the offset; 0: it is no such text. */
static size_t split_place(const char *text, uint64_t *ret_off)
{
    static const char deleted[] = " (deleted)";
    const char *plus = strrchr(text, '+');
    char *end;
    if (!plus || plus == text || strncmp(plus, "+0x", 3) != 0)
        return 0;
    *ret_off = strtoull(plus + 3, &end, 16);
    if (*end || end == plus + 3)
        return 0;
    size_t size = (size_t)(plus - text), tail = sizeof deleted - 1;
    return size > tail && memcmp(plus - tail, deleted, tail) == 0 ? size - tail : size;
}

/* The kernel may print the last parts of a path alone. If the file is not found by these, it may
 * be by the root. */
static int get_file(struct cairn_modules *modules, const char *text, size_t size,
                    struct cairn_known_module **ret_module, uint32_t *ret_path,
                    struct cairn_err *err)
{
    struct cairn_known_module *from_root;
    char *absolute;
    uint32_t path = cairn_strings_add(&modules->strings, text, size), other;
    if (path == UINT32_MAX)
        return cairn_fail_memory(err);
    *ret_path = path;
    int code = cairn_modules_get(modules, path, 0, ret_module, err);
    if (code < 0 || (*ret_module)->missing != CAIRN_CAUSE_NO_BINARY || strchr("/[", *text))
        return code;
    if (asprintf(&absolute, "/%.*s", (int)size, text) < 0)
        return cairn_fail_memory(err);
    other = cairn_strings_add_str(&modules->strings, absolute);
    free(absolute);
    if (other == UINT32_MAX)
        return cairn_fail_memory(err);
    code = cairn_modules_get(modules, other, 0, &from_root, err);
    if (code == CAIRN_OK && from_root->missing == CAIRN_CAUSE_NONE)
        *ret_module = from_root;
    return code;
}

static int name_file(struct cairn_resolver *resolver, const struct cairn_klog_frame *frame,
                     struct cairn_resolved_frame *ret, struct cairn_err *err)
{
    struct cairn_modules *modules = &resolver->modules;
    struct cairn_resolve_place place = {0};
    uint64_t off;
    uint32_t path = 0;
    size_t size = split_place(frame->text, &off);
    if (!size)
        return CAIRN_OK;
    int code = get_file(modules, frame->text, size, &place.module, &path, err);
    if (code < 0)
        return code;
    ret->va = frame->va;
    ret->path = cairn_strings_get(&modules->strings, path);
    ret->off = off;
    ret->has_place = 1;
    place.cause = place.module->missing;
    if (place.cause == CAIRN_CAUSE_NONE &&
        !cairn_module_vaddr_of_offset(place.module->module,
                                      cairn_lookup_address(off, kind_of(frame)), &place.vaddr))
        place.cause = CAIRN_CAUSE_BEFORE_SEGMENT;
    return name_place(resolver, &place, ret, err);
}

/* Is it the place in the maps that the log gives, too? If not, they are those of another moment:
 * the log has what was mapped when it was printed. */
static bool is_place_of(const char *text, const struct cairn_resolved_frame *found)
{
    uint64_t off;
    size_t size = split_place(text, &off), n = strlen(found->path);
    if (!size)
        return true;
    return found->has_place && found->off == off && n >= size &&
           memcmp(found->path + n - size, text, size) == 0;
}

static int name_symbol(struct cairn_resolver *resolver, const struct cairn_klog_frame *frame,
                       const char *build_id, const struct cairn_klog_symbol *symbol,
                       struct cairn_resolved_frame *ret, struct cairn_err *err)
{
    struct cairn_module *file;
    struct cairn_symbol found = {0};
    struct cairn_err why;
    uint64_t vaddr;
    int code = cairn_klog_spaces_find(resolver, symbol, build_id, &file, &vaddr, err);
    ret->cause = CAIRN_CAUSE_NO_KERNEL;
    if (code < 0 || !file)
        return code;
    vaddr = cairn_lookup_address(vaddr + symbol->off,
                                 symbol->off ? kind_of(frame) : CAIRN_ADDRESS_EXACT);
    code = cairn_symbolize(resolver->modules.symbolizer, file, vaddr, &found, &why);
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    if (code == CAIRN_OK && found.state == CAIRN_SYMBOL_NAMED && found.n_frames) {
        ret->cause = CAIRN_CAUSE_NONE;
        ret->n_lines = found.n_frames;
        ret->lines = found.frames;
    }
    return CAIRN_OK;
}

static int name_kernel(struct cairn_resolver *resolver, const struct cairn_klog_frame *frame,
                       const char *build_id, struct cairn_resolved_frame *ret,
                       struct cairn_err *err)
{
    struct cairn_klog_symbol symbol;
    struct cairn_resolve_place place;
    ret->va = frame->va;
    if (cairn_klog_symbol(frame->text, strlen(frame->text), &symbol) && symbol.has_off)
        return name_symbol(resolver, frame, build_id, &symbol, ret, err);
    if (!frame->va || !cairn_kernel_owns(frame->va)) {
        ret->cause = CAIRN_CAUSE_NO_KERNEL;
        return CAIRN_OK;
    }
    int code = cairn_resolver_place(resolver, 0, cairn_lookup_address(frame->va, kind_of(frame)),
                                    &place, err);
    return code < 0 ? code : name_place(resolver, &place, ret, err);
}

static void count(struct cairn_resolver *resolver, const struct cairn_resolved_frame *frame)
{
    struct cairn_resolve_summary *summary = &resolver->summary;
    summary->n_unique++;
    if (frame->cause == CAIRN_CAUSE_NONE)
        summary->n_unique_named++;
    else
        summary->unique_by_cause[frame->cause]++;
}

int cairn_resolver_klog_frame(struct cairn_resolver *resolver, const struct cairn_klog_dump *dump,
                              size_t index, int space, struct cairn_resolved_frame *ret_frame,
                              struct cairn_err *err)
{
    struct cairn_resolved_frame found = {.path = "", .cause = CAIRN_CAUSE_NO_MAPPING};
    const struct cairn_klog_frame *frame = &dump->frames[index];
    struct cairn_address_space *maps = space_of(resolver, space);
    int code = CAIRN_OK;
    found.va = frame->va;
    if (frame->part == CAIRN_KLOG_KERNEL)
        code = name_kernel(resolver, frame, dump->build_id, &found, err);
    else if (maps && !(frame->marks & CAIRN_KLOG_CUT))
        code = name_mapped(resolver, frame, maps, &found, err);
    bool is_user = frame->part == CAIRN_KLOG_USER;
    if (code == CAIRN_OK && is_user && *frame->text && !is_place_of(frame->text, &found)) {
        found = (struct cairn_resolved_frame){
            .va = frame->va, .path = "", .cause = CAIRN_CAUSE_NO_MAPPING};
        code = name_file(resolver, frame, &found, err);
    }
    if (is_user && !found.has_place && frame->marks & CAIRN_KLOG_NO_CODE)
        found.is_garbage = 1;
    if (code < 0)
        return code;
    count(resolver, &found);
    found.size = ret_frame->size;
    memcpy(ret_frame, &found, found.size < sizeof found ? found.size : sizeof found);
    return CAIRN_OK;
}
