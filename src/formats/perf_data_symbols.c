/* SPDX-License-Identifier: MIT */
#include "formats/perf_data_symbols.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/below.h"
#include "base/reader.h"
#include "base/table.h"
#include "formats/protobuf.h"

enum { SYMBOLS_MAX = 1 << 24, FILES_MAX = 1 << 20 };

/* Fields of FileFeature and of its symbols; `elf` has one number. */
enum file_field { FILE_PATH = 1, FILE_KIND = 2, FILE_MIN_VADDR = 3, FILE_SYMBOL = 4, FILE_ELF = 6 };
enum symbol_field { SYMBOL_VADDR = 1, SYMBOL_SIZE = 2, SYMBOL_NAME = 3 };
enum elf_field { ELF_OFF = 1 };

void cairn_perf_data_symbols_done(struct cairn_perf_data_symbols *symbols)
{
    cairn_free(symbols->files);
    cairn_free(symbols->symbols);
    *symbols = (struct cairn_perf_data_symbols){0};
}

static int add_symbol(struct cairn_perf_data_symbols *s, struct cairn_profile *p, uint64_t vaddr,
                      uint32_t size, struct cairn_span name)
{
    if (!name.size || s->n_symbols == SYMBOLS_MAX)
        return CAIRN_OK;
    const struct cairn_perf_data_symbol symbol = {
        .vaddr = vaddr,
        .size = size,
        .name = cairn_profile_text(p, (const char *)name.data, name.size)};
    if (symbol.name == UINT32_MAX ||
        cairn_grow((void **)&s->symbols, &s->cap_symbols, s->n_symbols + 1, sizeof *s->symbols) < 0)
        return CAIRN_E_NOMEM;
    s->symbols[s->n_symbols++] = symbol;
    return CAIRN_OK;
}

static int compare(const void *a, const void *b)
{
    const struct cairn_perf_data_symbol *x = a, *y = b;
    return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/* Its symbols are the last ones. */
static int add_file(struct cairn_perf_data_symbols *s, struct cairn_perf_data_symbol_file file)
{
    file.n = s->n_symbols - file.first;
    if (!file.n || s->n_files == FILES_MAX)
        return CAIRN_OK;
    if (cairn_grow((void **)&s->files, &s->cap_files, s->n_files + 1, sizeof *s->files) < 0)
        return CAIRN_E_NOMEM;
    qsort(s->symbols + file.first, file.n, sizeof *s->symbols, compare);
    s->files[s->n_files++] = file;
    return CAIRN_OK;
}

static int read_struct(struct cairn_perf_data_symbols *s, struct cairn_profile *p,
                       struct cairn_reader r)
{
    struct cairn_perf_data_symbol_file file = {.first = s->n_symbols};
    const char *path = cairn_reader_str(&r);
    file.path = cairn_profile_text(p, path, strlen(path));
    file.kind = cairn_reader_u32(&r);
    file.min_vaddr = cairn_reader_u64(&r);
    int code = file.path == UINT32_MAX ? CAIRN_E_NOMEM : CAIRN_OK;
    uint32_t n = cairn_reader_u32(&r);
    for (uint32_t i = 0; i < n && cairn_reader_more(&r) && code == CAIRN_OK; i++) {
        uint64_t vaddr = cairn_reader_u64(&r);
        uint32_t size = cairn_reader_u32(&r);
        const struct cairn_span name = cairn_span_of(cairn_reader_str(&r));
        if (!r.failed)
            code = add_symbol(s, p, vaddr, size, name);
    }
    if (file.kind == CAIRN_PERF_DATA_FILE_ELF && cairn_reader_left(&r) >= sizeof(uint64_t))
        file.off = cairn_reader_u64(&r);
    else if (file.kind == CAIRN_PERF_DATA_FILE_ELF)
        file.off = file.min_vaddr; /* old files do not say it: as in most libraries of then */
    return code < 0 ? code : add_file(s, file);
}

static int read_symbol(struct cairn_perf_data_symbols *s, struct cairn_profile *p,
                       struct cairn_span bytes)
{
    struct cairn_reader r = cairn_reader_of(bytes, false);
    struct cairn_pb_field field;
    uint64_t vaddr = 0, size = 0;
    struct cairn_span name = {0};
    while (cairn_pb_next(&r, &field)) {
        if (field.number == SYMBOL_VADDR)
            vaddr = field.value;
        else if (field.number == SYMBOL_SIZE)
            size = field.value;
        else if (field.number == SYMBOL_NAME)
            name = field.bytes;
    }
    return r.failed ? CAIRN_OK : add_symbol(s, p, vaddr, (uint32_t)size, name);
}

static uint64_t read_off(struct cairn_span bytes)
{
    struct cairn_reader r = cairn_reader_of(bytes, false);
    struct cairn_pb_field field;
    uint64_t off = 0;
    while (cairn_pb_next(&r, &field))
        off = field.number == ELF_OFF ? field.value : off;
    return off;
}

static int read_message(struct cairn_perf_data_symbols *s, struct cairn_profile *p,
                        struct cairn_span bytes)
{
    struct cairn_perf_data_symbol_file file = {.first = s->n_symbols};
    struct cairn_reader r = cairn_reader_of(bytes, false);
    struct cairn_pb_field field;
    int code = CAIRN_OK;
    while (code == CAIRN_OK && cairn_pb_next(&r, &field)) {
        if (field.number == FILE_PATH)
            file.path = cairn_profile_text(p, (const char *)field.bytes.data, field.bytes.size);
        else if (field.number == FILE_KIND)
            file.kind = (uint32_t)field.value;
        else if (field.number == FILE_MIN_VADDR)
            file.min_vaddr = field.value;
        else if (field.number == FILE_SYMBOL)
            code = read_symbol(s, p, field.bytes);
        else if (field.number == FILE_ELF)
            file.off = read_off(field.bytes);
        if (file.path == UINT32_MAX)
            code = CAIRN_E_NOMEM;
    }
    return code < 0 ? code : add_file(s, file);
}

int cairn_perf_data_symbols_read(struct cairn_perf_data_symbols *s, struct cairn_profile *p,
                                 struct cairn_span bytes, bool are_messages, bool swap)
{
    struct cairn_reader r = cairn_reader_of(bytes, swap);
    int code = CAIRN_OK;
    while (cairn_reader_more(&r) && code == CAIRN_OK) {
        const struct cairn_span file = cairn_reader_take(&r, cairn_reader_u32(&r));
        if (!r.failed)
            code = are_messages ? read_message(s, p, file)
                                : read_struct(s, p, cairn_reader_of(file, swap));
    }
    return code;
}

/* 0: no symbol is there. */
static uint32_t find(const struct cairn_perf_data_symbols *s,
                     const struct cairn_perf_data_symbol_file *file, uint64_t vaddr)
{
    const struct cairn_perf_data_symbol *symbols = s->symbols + file->first;
    const size_t n = CAIRN_COUNT_BELOW(symbols, file->n, vaddr, vaddr);
    if (!n || (symbols[n - 1].size && vaddr - symbols[n - 1].vaddr >= symbols[n - 1].size))
        return 0;
    return symbols[n - 1].name;
}

/* Of the kernel and of code made at run time symbols have the addresses of the process. */
static uint64_t vaddr_of(const struct cairn_profile *p, const struct cairn_profile_frame *frame,
                         const struct cairn_perf_data_symbol_file *file)
{
    const struct cairn_profile_module *m = &p->modules[frame->module];
    bool is_va =
        file->kind == CAIRN_PERF_DATA_FILE_KERNEL || file->kind == CAIRN_PERF_DATA_FILE_SYMBOL_MAP;
    return is_va ? frame->address
                 : frame->address - m->start + m->off - file->off + file->min_vaddr;
}

static int name_frame(struct cairn_profile *p, uint32_t number, uint32_t name)
{
    const struct cairn_profile_function function = {.name = name, .system_name = name};
    const struct cairn_profile_line line = {cairn_profile_add_function(p, &function), 0};
    if (line.function == UINT32_MAX || p->n_lines == UINT32_MAX ||
        cairn_grow((void **)&p->lines, &p->cap_lines, p->n_lines + 1, sizeof *p->lines) < 0)
        return CAIRN_E_NOMEM;
    p->frames[number].lines = (uint32_t)p->n_lines;
    p->frames[number].n_lines = 1;
    p->lines[p->n_lines++] = line;
    return CAIRN_OK;
}

int cairn_perf_data_symbols_name(const struct cairn_perf_data_symbols *s, struct cairn_profile *p)
{
    struct cairn_table by_path = {0};
    int code = CAIRN_OK;
    for (size_t i = 0; i < s->n_files && code == CAIRN_OK; i++)
        code = cairn_table_set(&by_path, s->files[i].path, (uint32_t)i);
    for (uint32_t i = 1; i < p->n_frames && code == CAIRN_OK && s->n_files; i++) {
        struct cairn_profile_frame *frame = &p->frames[i];
        uint32_t number;
        if (!frame->module || frame->n_lines ||
            !cairn_table_find(&by_path, p->modules[frame->module].path, &number))
            continue;
        const struct cairn_perf_data_symbol_file *file = &s->files[number];
        uint32_t name = find(s, file, vaddr_of(p, frame, file));
        if (file->kind == CAIRN_PERF_DATA_FILE_SYMBOL_MAP)
            frame->what = CAIRN_WHAT_JIT;
        if (name)
            code = name_frame(p, i, name);
    }
    if (s->n_files) /* frames are found by their lines, too */
        cairn_profile_drop_index(p);
    cairn_table_done(&by_path);
    return code;
}
