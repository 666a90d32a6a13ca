/* SPDX-License-Identifier: MIT */
/* USDT places: where in the file a probe is attached, what its instruction costs, where its
 * arguments are. */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "trace/probe_file.h"
#include "trace/usdt.h"
#include "trace/usdt_args.h"

#if defined(__x86_64__)
enum { OUR_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64 };
#else
enum { OUR_MACHINE = EM_NONE };
#endif

enum {
    NOP = 0x90,
    NOP5_BYTES = 5,
    CODE_PAGE = 4096, /* of x86-64 */
    AARCH64_NOP_BYTES = 4,
    SYS_UPROBE = 336, /* arch/x86/entry/syscalls/syscall_64.tbl */
    SYMBOL_BYTES = 24 /* Elf64_Sym */
};

static const uint8_t nop5[NOP5_BYTES] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
static const uint8_t aarch64_nop[AARCH64_NOP_BYTES] = {0x1f, 0x20, 0x03, 0xd5};

/* Linux 6.18 has a call that its own trampoline makes, and refuses it to others. */
static bool kernel_replaces_nop5(void)
{
    return syscall(SYS_UPROBE) == -1 && errno == ENXIO;
}

static bool has_nop5(struct cairn_span code, uint64_t vaddr)
{
    return code.size >= sizeof nop5 && memcmp(code.data, nop5, sizeof nop5) == 0 &&
           vaddr % CODE_PAGE <= CODE_PAGE - sizeof nop5; /* it is written at once */
}

/* libbpf's usdt.h writes both nops: one for kernels that replace the long one. */
static enum cairn_usdt_insn choose_x86_64(struct cairn_span code, uint64_t vaddr, uint64_t *ret_add)
{
    const bool is_nop = code.size && code.data[0] == NOP;
    const struct cairn_span behind = {code.data + is_nop, code.size - is_nop};
    if (has_nop5(behind, vaddr + is_nop) && kernel_replaces_nop5()) {
        *ret_add = is_nop;
        return CAIRN_USDT_REPLACED;
    }
    return is_nop ? CAIRN_USDT_NOP : CAIRN_USDT_STEPPED;
}

static enum cairn_usdt_insn choose(struct cairn_span code, uint64_t vaddr, uint64_t *ret_add)
{
    *ret_add = 0;
    if (OUR_MACHINE == EM_X86_64)
        return choose_x86_64(code, vaddr, ret_add);
    return code.size >= sizeof aarch64_nop &&
                   memcmp(code.data, aarch64_nop, sizeof aarch64_nop) == 0
               ? CAIRN_USDT_NOP_ARM
               : CAIRN_USDT_STEPPED;
}

/* The vaddr of data by its name, in one table of symbols. */
static bool find_in_table(struct cairn_usdt_file *file, const struct cairn_elf_section *table,
                          const char *name, uint64_t *ret_vaddr)
{
    const struct cairn_elf *elf = &file->elf;
    struct cairn_elf_section section;
    struct cairn_span symbols, names;
    if (!cairn_elf_section_bytes(elf, table, &symbols) ||
        !cairn_elf_section(elf, table->link, &section) ||
        !cairn_elf_section_bytes(elf, &section, &names))
        return false;
    for (size_t at = 0; at + SYMBOL_BYTES <= symbols.size && file->symbols_left;
         at += SYMBOL_BYTES) {
        Elf64_Sym symbol;
        file->symbols_left--;
        memcpy(&symbol, symbols.data + at, sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) == STT_TLS)
            continue;
        const char *found = cairn_span_str(names, symbol.st_name);
        if (found && strcmp(found, name) == 0) {
            *ret_vaddr = symbol.st_value;
            return true;
        }
    }
    return false;
}

static bool find_symbol(struct cairn_usdt_file *file, const char *name, uint64_t *ret_vaddr)
{
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    struct cairn_elf_section section;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (uint32_t k = 1; file->symbols_left && cairn_elf_section(&file->elf, k, &section);
             k++) {
            file->symbols_left--; /* a file may have many tables, all of them empty */
            if (section.type == types[i] && find_in_table(file, &section, name, ret_vaddr))
                return true;
        }
    return false;
}

/* What counts from an instruction or a symbol has to count from where the probe is attached. */
static bool relate(struct cairn_usdt_file *file, uint64_t vaddr, uint64_t add,
                   struct cairn_usdt_arg *arg)
{
    uint64_t from = vaddr;
    if (!arg->is_relative)
        return true;
    if (*arg->symbol && !find_symbol(file, arg->symbol, &from))
        return false;
    arg->at.value = (int64_t)((uint64_t)arg->at.value + from - (vaddr + add));
    return true;
}

static void read_args(struct cairn_usdt_file *file, const struct cairn_elf_usdt_note *note,
                      uint64_t add, struct cairn_usdt_place *place)
{
    struct cairn_usdt_arg arg;
    struct cairn_bpf_usdt *to = &place->args;
    const char *at = note->args;
    for (; to->n_args < CAIRN_TRACE_ARGS_MAX && cairn_usdt_arg_next(&at, file->elf.machine, &arg);
         to->n_args++) {
        const uint32_t i = to->n_args;
        place->is_real[i] = arg.is_real;
        if (!relate(file, note->vaddr, add, &arg))
            arg.at.operand = CAIRN_TRACE_OPERAND_NONE;
        to->args[i] = arg.at;
        if (arg.at.operand != CAIRN_TRACE_OPERAND_NONE)
            continue;
        to->unread |= (uint32_t)CAIRN_TRACE_UNREAD_OPERAND << 2 * i;
        cairn_log(CAIRN_LOG_INFO, "%s:%s: argument %u cannot be read: \"%.*s\"", note->provider,
                  note->name, i, (int)(arg.text.size < 64 ? arg.text.size : 64),
                  (const char *)arg.text.data);
    }
    for (uint32_t i = to->n_args; i < CAIRN_TRACE_ARGS_MAX; i++)
        to->unread |= (uint32_t)CAIRN_TRACE_UNREAD_ABSENT << 2 * i;
    if (cairn_usdt_arg_next(&at, file->elf.machine, &arg))
        cairn_log(CAIRN_LOG_WARNING, "%s:%s: arguments beyond the first %d are left out",
                  note->provider, note->name, CAIRN_TRACE_ARGS_MAX);
}

/* The kernel finds it by its place in the file. */
static bool find_semaphore(const struct cairn_elf *elf, uint64_t vaddr, uint64_t *ret_off)
{
    struct cairn_elf_segment s;
    for (uint32_t i = 0; i < elf->n_segments; i++)
        if (cairn_elf_segment(elf, i, &s) && s.type == PT_LOAD && s.flags & PF_W &&
            vaddr >= s.vaddr && vaddr - s.vaddr < s.file_size) {
            *ret_off = vaddr - s.vaddr + s.off;
            return *ret_off != 0 && *ret_off <= UINT32_MAX; /* the kernel's bound */
        }
    return false;
}

static int fail_at(const struct cairn_elf_usdt_note *note, enum cairn_code code, const char *what,
                   uint64_t vaddr, struct cairn_err *err)
{
    return cairn_fail(err, code,
                      ".note.stapsdt: note at 0x%zx: %s:%s: %s 0x%" PRIx64 " is not in %s",
                      note->off, note->provider, note->name, what, vaddr,
                      vaddr == note->vaddr ? "the code of this file"
                                           : "the part of this file that is loaded to be written");
}

int cairn_usdt_place(struct cairn_usdt_file *file, const struct cairn_elf_usdt_note *note,
                     struct cairn_usdt_place *ret_place, struct cairn_err *err)
{
    struct cairn_usdt_place place = {0};
    struct cairn_span code;
    uint64_t add;
    if (!file->elf.is64 || file->elf.swap || file->elf.machine != OUR_MACHINE)
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "is a program of %s, %d bit; static probes are traced in those of this "
                          "CPU, 64 bit",
                          cairn_elf_machine_name(file->elf.machine), file->elf.is64 ? 64 : 32);
    if (!cairn_probe_find_code(&file->elf, note->vaddr, &place.off, &code))
        return fail_at(note, CAIRN_E_FORMAT, "the instruction at", note->vaddr, err);
    if (note->semaphore && !find_semaphore(&file->elf, note->semaphore, &place.semaphore_off))
        return fail_at(note, CAIRN_E_FORMAT, "the semaphore at", note->semaphore, err);
    place.insn = choose(code, note->vaddr, &add);
    place.off += add;
    read_args(file, note, add, &place);
    *ret_place = place;
    return CAIRN_OK;
}

/* Places may differ in size and sign, as inlined copies of different types do. */
static enum cairn_call_kind kind_of(const struct cairn_usdt_place *places, size_t n, uint32_t i)
{
    const struct cairn_bpf_arg *first = NULL;
    bool is_real = false, is_signed = false, differs = false;
    for (size_t k = 0; k < n; k++) {
        const struct cairn_bpf_arg *arg = &places[k].args.args[i];
        if (i >= places[k].args.n_args || arg->operand == CAIRN_TRACE_OPERAND_NONE)
            continue;
        differs =
            differs || (first && (first->bytes != arg->bytes || is_real != places[k].is_real[i]));
        is_signed = is_signed || arg->is_signed;
        is_real = is_real || places[k].is_real[i];
        first = arg;
    }
    if (is_real && !differs)
        return first->bytes == 4 ? CAIRN_KIND_FLOAT : CAIRN_KIND_DOUBLE;
    if (is_signed)
        return CAIRN_KIND_LONG;
    return is_real || !first || differs || first->bytes == 8 ? CAIRN_KIND_HEX : CAIRN_KIND_SIZE;
}

void cairn_usdt_describe(const struct cairn_usdt_place *places, size_t n,
                         struct cairn_syscall *call)
{
    call->n_args = 0;
    for (size_t i = 0; i < n; i++)
        if ((int)places[i].args.n_args > call->n_args)
            call->n_args = (int)places[i].args.n_args;
    for (int i = 0; i < call->n_args; i++) {
        call->args[i] = (struct cairn_call_arg){.kind = kind_of(places, n, (uint32_t)i)};
        snprintf(call->args[i].name, sizeof call->args[i].name, "arg%d", i);
    }
}
