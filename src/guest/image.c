/* SPDX-License-Identifier: MIT */
#include "guest/image.h"

#include <elf.h>
#include <string.h>

#include "code/flow.h"
#include "guest/guest.h"
#include "unwind/sections.h"

enum { LOOP_SIZE_MIN = 2048, PROLOGUE = 12 /* instructions */ };

bool cairn_guest_image_open(const struct cairn_elf *elf, struct cairn_guest_image *ret_image)
{
    struct cairn_unwind_sections sections;
    if (!cairn_unwind_sections_of_file(elf, &sections) || !sections.eh_frame.hdr.size ||
        !sections.eh_frame.bytes.size)
        return false;
    *ret_image = (struct cairn_guest_image){elf, sections.eh_frame};
    return true;
}

bool cairn_guest_image_function(const struct cairn_guest_image *image, uint64_t vaddr,
                                uint64_t *ret_from, uint64_t *ret_to)
{
    struct cairn_fde fde;
    if (cairn_cfi_ask_table(&image->cfi, vaddr, &fde) != CAIRN_CFI_TABLE_COVERS)
        return false;
    *ret_from = fde.from;
    *ret_to = fde.to;
    return true;
}

/* What of a file is loaded as data, a piece at a time. */
static bool data_piece(const struct cairn_elf *elf, uint32_t index, uint64_t *ret_vaddr,
                       struct cairn_span *ret_bytes, bool *ret_is_data)
{
    struct cairn_elf_segment segment;
    if (!cairn_elf_segment(elf, index, &segment))
        return false;
    *ret_is_data = segment.type == PT_LOAD && !(segment.flags & PF_X) && segment.file_size &&
                   cairn_elf_bytes_at(elf, segment.vaddr, ret_bytes);
    if (*ret_is_data && ret_bytes->size > segment.file_size)
        ret_bytes->size = (size_t)segment.file_size;
    *ret_vaddr = segment.vaddr;
    return true;
}

bool cairn_guest_find_text(const struct cairn_elf *elf, const char *text,
                           struct cairn_span *ret_bytes)
{
    struct cairn_span bytes;
    uint64_t vaddr;
    bool is_data;
    for (uint32_t i = 0; data_piece(elf, i, &vaddr, &bytes, &is_data); i++) {
        const uint8_t *at = is_data ? memmem(bytes.data, bytes.size, text, strlen(text)) : NULL;
        if (at) {
            *ret_bytes = (struct cairn_span){at, bytes.size - (size_t)(at - bytes.data)};
            return true;
        }
    }
    return false;
}

/* A row of places that all lie in one function. */
struct run {
    const struct cairn_guest_image *image;
    uint64_t from, to; /* of the function; equal: none */
    size_t n;
};

/* Takes one more place, or begins anew. Nonzero: the run of so many ended. */
static size_t run_add(struct run *run, uint64_t place, bool goes_on)
{
    size_t ended = 0;
    if (goes_on && place - run->from < run->to - run->from) {
        run->n++;
        return 0;
    }
    ended = run->n;
    run->n = cairn_guest_image_function(run->image, place, &run->from, &run->to) &&
             run->to - run->from >= LOOP_SIZE_MIN;
    if (!run->n)
        run->from = run->to = 0;
    return ended;
}

void cairn_guest_each_pointer(const struct cairn_elf *elf, cairn_guest_pointer_fn each, void *ctx)
{
    uint64_t vaddr;
    struct cairn_span bytes;
    bool is_data;
    uint32_t relative = elf->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
    if (!elf->is64)
        return;
    if (cairn_elf_find_plain(elf, ".rela.dyn", &vaddr, &bytes)) {
        struct cairn_reader r = cairn_reader_of(bytes, elf->swap);
        while (cairn_reader_left(&r) >= 24) {
            uint64_t at = cairn_reader_word(&r, 8), info = cairn_reader_word(&r, 8);
            uint64_t addend = cairn_reader_word(&r, 8);
            if ((uint32_t)info == relative && !each(ctx, at, addend))
                return;
        }
    }
    for (uint32_t i = 0; data_piece(elf, i, &vaddr, &bytes, &is_data); i++) {
        struct cairn_reader r = cairn_reader_of(bytes, elf->swap);
        for (uint64_t at = vaddr; is_data && cairn_reader_left(&r) >= 8; at += 8) {
            uint64_t value = cairn_reader_word(&r, 8);
            if (value && !each(ctx, at, value))
                return;
        }
    }
}

struct table {
    struct run run;
    size_t n;
    uint64_t from, to; /* the function */
    uint64_t before;   /* where the last pointer is */
    bool is_found;
};

static bool take_pointer(void *ctx, uint64_t at, uint64_t value)
{
    struct table *table = ctx;
    uint64_t from = table->run.from, to = table->run.to;
    if (run_add(&table->run, value, at == table->before + 8) == table->n) {
        table->from = from;
        table->to = to;
        table->is_found = true;
    }
    table->before = at;
    return !table->is_found;
}

/* A table of distances is tried from each place that it can begin at. */
static void find_in_distances(struct table *table, struct cairn_span bytes, uint64_t vaddr)
{
    const struct cairn_guest_image *image = table->run.image;
    size_t n_words = bytes.size / 4;
    int32_t first, next;
    for (size_t i = 0; i + table->n <= n_words && !table->is_found; i++) {
        uint64_t base = vaddr + 4 * i, from, to;
        memcpy(&first, bytes.data + 4 * i, 4);
        if (first >= 0 ||
            !cairn_guest_image_function(image, base + (uint64_t)(int64_t)first, &from, &to) ||
            to - from < LOOP_SIZE_MIN)
            continue;
        size_t n = 1;
        for (; i + n < n_words && n <= table->n; n++) {
            memcpy(&next, bytes.data + 4 * (i + n), 4);
            if (base + (uint64_t)(int64_t)next - from >= to - from)
                break;
        }
        if (n == table->n) {
            table->from = from;
            table->to = to;
            table->is_found = true;
        }
        i += n > 8 ? n - 1 : 0;
    }
}

bool cairn_guest_find_table(const struct cairn_guest_image *image, size_t n, uint64_t *ret_from,
                            uint64_t *ret_to)
{
    struct table table = {.run = {.image = image}, .n = n};
    struct cairn_span bytes;
    uint64_t vaddr;
    bool is_data;
    cairn_guest_each_pointer(image->elf, take_pointer, &table);
    if (!table.is_found) /* the last table ends with the file */
        take_pointer(&table, 0, 0);
    for (uint32_t i = 0; !table.is_found && !image->elf->swap &&
                         data_piece(image->elf, i, &vaddr, &bytes, &is_data);
         i++)
        if (is_data)
            find_in_distances(&table, bytes, vaddr);
    *ret_from = table.from;
    *ret_to = table.to;
    return table.is_found;
}

/* DWARF's number of x86-64's register n, as instructions count them. */
static uint8_t dwarf_of_x86_64(unsigned n)
{
    static const uint8_t dwarf[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
    return dwarf[n & 15];
}

/* mov %rdi, REG: 48 89 /r or 48 8b /r between registers. */
static uint8_t moved_from_rdi(const uint8_t *code, size_t size)
{
    enum { RDI = 7, W = 8, R = 4, B = 1 };
    if (size != 3 || (code[0] & 0xf8) != (0x40 | W) || code[2] >> 6 != 3)
        return CAIRN_GUEST_NO_REG;
    unsigned reg = (code[2] >> 3 & 7) | (code[0] & R ? 8 : 0);
    unsigned rm = (code[2] & 7) | (code[0] & B ? 8 : 0);
    if (code[1] == 0x89 && reg == RDI)
        return dwarf_of_x86_64(rm);
    return code[1] == 0x8b && rm == RDI ? dwarf_of_x86_64(reg) : CAIRN_GUEST_NO_REG;
}

static bool is_callee_saved_x86_64(uint8_t reg)
{
    return reg == 3 || reg == 6 || (reg >= 12 && reg <= 15);
}

static uint8_t first_argument_x86_64(struct cairn_span code, uint64_t vaddr)
{
    struct cairn_code_step step;
    for (unsigned i = 0; i < PROLOGUE; i++) {
        cairn_code_step_x86_64(code, vaddr, &step);
        if (!step.size || step.flow != CAIRN_FLOW_NEXT)
            break;
        uint8_t reg = moved_from_rdi(code.data, step.size);
        if (is_callee_saved_x86_64(reg))
            return reg;
        code.data += step.size;
        code.size -= step.size;
        vaddr += step.size;
    }
    return CAIRN_GUEST_NO_REG;
}

/* mov xN, x0: orr xN, xzr, x0. */
static uint8_t first_argument_aarch64(struct cairn_span code)
{
    for (size_t i = 0; i < PROLOGUE && 4 * i + 4 <= code.size; i++) {
        uint32_t insn;
        memcpy(&insn, code.data + 4 * i, 4);
        if ((insn & ~UINT32_C(31)) == 0xaa0003e0 && (insn & 31) >= 19 && (insn & 31) <= 28)
            return insn & 31;
    }
    return CAIRN_GUEST_NO_REG;
}

uint8_t cairn_guest_first_argument(const struct cairn_elf *elf, uint64_t function)
{
    struct cairn_span code;
    if (elf->swap || !cairn_elf_bytes_at(elf, function, &code))
        return CAIRN_GUEST_NO_REG;
    if (elf->machine == EM_X86_64)
        return first_argument_x86_64(code, function);
    return elf->machine == EM_AARCH64 ? first_argument_aarch64(code) : CAIRN_GUEST_NO_REG;
}
