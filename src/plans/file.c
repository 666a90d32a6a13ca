/* SPDX-License-Identifier: MIT */
/* Plans for the functions of a file. */
#include "base/file.h"

#include <elf.h>

#include "base/error.h"
#include "plans/piece.h"

/* Where a file without addresses of its own is taken to be loaded: some page in the middle of the
 * address space. */
static const uint64_t assumed_base = 0x555500000000;

static void span_module(const struct cairn_elf *elf, struct cairn_plans_piece *piece)
{
    struct cairn_elf_segment s;
    piece->module_low = UINT64_MAX;
    piece->module_high = 0;
    for (uint32_t i = 0; cairn_elf_segment(elf, i, &s); i++) {
        if (s.type != PT_LOAD)
            continue;
        const uint64_t low = piece->load_base + s.vaddr, high = low + s.mem_size;
        piece->module_low = low < piece->module_low ? low : piece->module_low;
        piece->module_high = high > piece->module_high ? high : piece->module_high;
    }
}

static int each_segment(struct cairn_plans_run *run, struct cairn_plans_piece *piece,
                        struct cairn_err *err)
{
    const struct cairn_elf *elf = piece->elf;
    struct cairn_elf_segment s;
    int code = CAIRN_OK;
    bool has_code = false;
    span_module(elf, piece);
    for (uint32_t i = 0; code == CAIRN_OK && cairn_elf_segment(elf, i, &s); i++) {
        if (s.type != PT_LOAD || !(s.flags & PF_X) ||
            !cairn_span_slice(elf->bytes, s.off, s.file_size, &piece->code))
            continue;
        piece->code_va = piece->load_base + s.vaddr;
        has_code = true;
        code = cairn_plans_piece_each(run, piece, err);
    }
    if (!has_code)
        return cairn_fail(err, CAIRN_E_FORMAT, "no segment of the file holds code");
    return code;
}

static int plan_elf(struct cairn_plans_run *run, const char *path, struct cairn_span bytes,
                    struct cairn_err *err)
{
    struct cairn_elf elf;
    int code = cairn_elf_open(bytes, &elf, err);
    if (code < 0)
        return code;
    if (cairn_plans_cpu(&elf) == CAIRN_HOOK_CPU_NONE)
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "code for %s, but plans are made for x86-64 and aarch64",
                          cairn_elf_machine_name(elf.machine));
    if (elf.type != ET_EXEC && elf.type != ET_DYN)
        return cairn_fail(err, CAIRN_E_FORMAT, "ELF type %u, expected a program or a library",
                          elf.type);
    struct cairn_plans_piece piece = {
        .path = path, .elf = &elf, .load_base = elf.type == ET_DYN ? assumed_base : 0};
    return each_segment(run, &piece, err);
}

int cairn_plans_of_file(const char *path, const struct cairn_plans_opts *opts, cairn_planned_fn *fn,
                        void *context, struct cairn_err *err)
{
    struct cairn_plans_run run;
    struct cairn_file file;
    int code = cairn_plans_run_init(&run, opts, fn, context, err);
    if (code < 0)
        return code;
    code = cairn_file_open(path, &file, err);
    if (code == CAIRN_OK) {
        code = cairn_fail_in(err, plan_elf(&run, path, file.bytes, err), path);
        cairn_file_close(&file);
    }
    if (code == CAIRN_OK)
        code = cairn_plans_run_check(&run, path, err);
    cairn_plans_run_done(&run);
    return code;
}
