/* SPDX-License-Identifier: MIT */
/* A whole ELF file: opened as a module, then asked for addresses all over it. */
#include <cairn/symbolizer.h>

#include "base/span.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sink; /* what is read must be used, or the compiler reads nothing */

static void look_up(struct cairn_symbolizer *s, struct cairn_module *module, uint64_t vaddr)
{
    struct cairn_symbol symbol;
    struct cairn_err err;
    uint64_t from, to;
    if (cairn_module_find_function(module, vaddr, &from, &to, &err) > 0 &&
        (vaddr < from || vaddr >= to))
        __builtin_trap();
    if (cairn_symbolize(s, module, vaddr, &symbol, &err) < 0)
        return;
    for (uint32_t i = 0; i < symbol.n_frames; i++) {
        const struct cairn_symbol_frame *f = &symbol.frames[i];
        bool last = i + 1 == symbol.n_frames;
        if (last == (f->inlined != 0) || (symbol.n_frames == 1 && !f->function && !f->file))
            __builtin_trap(); /* all but the last are inlined, and one alone says something */
        sink += f->line + (f->function ? strlen(f->function) : 0) +
                (f->file ? strlen(f->file) : 0) + (f->linkage ? strlen(f->linkage) : 0) +
                (f->suffix ? strlen(f->suffix) : 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_symbolizer_opts opts = {.size = sizeof opts, .memory_bytes = 4 << 20};
    struct cairn_symbolizer *s;
    struct cairn_module *module;
    if (cairn_symbolizer_new(&opts, &s, NULL) < 0)
        return 0;
    if (cairn_symbolizer_open_bytes(s, "input", data, size, &module, NULL) == CAIRN_OK) {
        uint64_t vaddr;
        for (uint64_t at = 0; at < 0x2000; at += 37)
            look_up(s, module, at);
        for (uint64_t off = 0; off < size; off += size / 64 + 1)
            if (cairn_module_vaddr_of_offset(module, off, &vaddr))
                look_up(s, module, vaddr);
        if (cairn_module_vaddr_of_rel(module, 0x1000, &vaddr))
            look_up(s, module, vaddr);
    }
    cairn_symbolizer_free(s);
    return 0;
}
