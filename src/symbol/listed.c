/* SPDX-License-Identifier: MIT */
#include "symbol/listed.h"

#include <elf.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "symbol/frames.h"
#include "symlist/jit_map.h"
#include "symlist/kallsyms.h"

enum { LIST_BYTES_MAX = 1 << 30, MODULES_BYTES_MAX = 16 << 20 };

int cairn_listed_find(const struct cairn_frames_request *request, struct cairn_frames *frames,
                      struct cairn_err *err)
{
    struct cairn_module *m = request->module;
    const struct cairn_listed_symbol *symbol = cairn_symbol_list_find(&m->list, request->vaddr);
    frames->n = 0;
    if (!symbol)
        return CAIRN_OK;
    const char *name = cairn_symbol_list_name(&m->list, symbol), *bare = name, *suffix = "";
    if (m->list.source == CAIRN_SOURCE_KERNEL) {
        size_t size = cairn_symbol_split_suffix(name, &suffix);
        uint32_t number = name[size] ? cairn_strings_add(&m->cut_names, name, size) : UINT32_MAX;
        if (name[size] && number == UINT32_MAX)
            return cairn_fail_memory(err);
        bare = name[size] ? cairn_strings_get(&m->cut_names, number) : name;
    }
    if (cairn_grow((void **)&frames->frames, &frames->cap, 1, sizeof *frames->frames) < 0)
        return cairn_fail_memory(err);
    frames->frames[frames->n++] = (struct cairn_symbol_frame){
        .function = cairn_demangle(request->demangler, bare, strlen(bare)),
        .linkage = bare,
        .source = (uint8_t)m->list.source,
        .folded = symbol->shared,
        .suffix = *suffix ? suffix : NULL,
        .module = symbol->module ? cairn_strings_get(&m->list.modules, symbol->module) : NULL,
    };
    return CAIRN_OK;
}

size_t cairn_listed_count(const struct cairn_module *module)
{
    return module->list.n;
}

bool cairn_listed_covers(const struct cairn_module *module, uint64_t va)
{
    return cairn_symbol_list_find(&module->list, va) != NULL;
}

/* The first executable segment of a vmlinux begins with _text: on x86-64 its .text, on aarch64 the
 * .head.text before it. The one of per-CPU data, at address 0, is not executable. */
bool cairn_module_kernel_text(const struct cairn_module *module, uint64_t *ret_vaddr)
{
    struct cairn_elf_segment segment;
    bool found = module->list.kernel_text != 0;
    uint64_t lowest = found ? module->list.kernel_text : UINT64_MAX;
    for (uint32_t i = 0; !module->is_listed && cairn_elf_segment(&module->image, i, &segment); i++)
        if (segment.type == PT_LOAD && (segment.flags & PF_X) && segment.vaddr <= lowest) {
            lowest = segment.vaddr;
            found = true;
        }
    if (found)
        *ret_vaddr = lowest;
    return found;
}

/* The bytes of a list: mapped, or read where the file has no size, as in /proc. */
struct text {
    struct cairn_file file;
    struct cairn_buffer copy;
};

static int open_text(const char *path, size_t limit, struct text *ret_text, struct cairn_err *err)
{
    if (cairn_file_open(path, &ret_text->file, NULL) == CAIRN_OK && ret_text->file.bytes.size)
        return CAIRN_OK;
    return cairn_file_slurp(path, limit, &ret_text->copy, err);
}

static struct cairn_span span_of(const struct text *text)
{
    return text->file.bytes.size ? text->file.bytes : cairn_buffer_span(&text->copy);
}

static void close_text(struct text *text)
{
    cairn_file_close(&text->file);
    cairn_buffer_done(&text->copy);
}

int cairn_symbolizer_open_kallsyms(struct cairn_symbolizer *symbolizer, const char *file,
                                   const char *modules, struct cairn_module **ret_module,
                                   struct cairn_err *err)
{
    struct text names = {0}, extents = {0};
    struct cairn_symbol_list list = {0};
    int code = open_text(file, LIST_BYTES_MAX, &names, err);
    if (code == CAIRN_OK && modules)
        code = open_text(modules, MODULES_BYTES_MAX, &extents, err);
    if (code == CAIRN_OK) {
        code = cairn_kallsyms_read(span_of(&names), span_of(&extents), &list, err);
        if (code < 0 && code != CAIRN_E_NOMEM)
            cairn_fail_in(err, code, file);
    }
    close_text(&names);
    close_text(&extents);
    return code < 0 ? code : cairn_symbolizer_add_list(symbolizer, file, &list, ret_module, err);
}

int cairn_symbolizer_open_jit_map(struct cairn_symbolizer *symbolizer, const char *name,
                                  const void *text, size_t size, struct cairn_module **ret_module,
                                  struct cairn_err *err)
{
    struct cairn_symbol_list list = {0};
    int code = cairn_jit_map_read((struct cairn_span){text, size}, &list, err);
    if (code < 0)
        return code == CAIRN_E_NOMEM ? code : cairn_fail_in(err, code, name);
    return cairn_symbolizer_add_list(symbolizer, name, &list, ret_module, err);
}
