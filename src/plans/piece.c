/* SPDX-License-Identifier: MIT */
#include "plans/piece.h"

#include <elf.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "elf/symtab.h"

int cairn_plans_run_init(struct cairn_plans_run *run, const struct cairn_plans_opts *opts,
                         cairn_planned_fn *fn, void *context, struct cairn_err *err)
{
    *run = (struct cairn_plans_run){.fn = fn, .context = context};
    if (opts)
        memcpy(&run->opts, opts, opts->size < sizeof run->opts ? opts->size : sizeof run->opts);
    if (!run->opts.n_names)
        return CAIRN_OK;
    run->found = cairn_alloc(run->opts.n_names, sizeof *run->found);
    return run->found ? CAIRN_OK : cairn_fail_memory(err);
}

void cairn_plans_run_done(struct cairn_plans_run *run)
{
    cairn_free(run->found);
    run->found = NULL;
}

int cairn_plans_run_check(const struct cairn_plans_run *run, const char *where,
                          struct cairn_err *err)
{
    for (size_t i = 0; i < run->opts.n_names; i++)
        if (!run->found[i])
            return cairn_fail(err, CAIRN_E_MISSING, "%s: no function is named %s", where,
                              run->opts.names[i]);
    return CAIRN_OK;
}

enum cairn_hook_cpu cairn_plans_cpu(const struct cairn_elf *elf)
{
    return elf->machine == EM_X86_64 && elf->is64 ? CAIRN_HOOK_X86_64
           : elf->machine == EM_AARCH64           ? CAIRN_HOOK_AARCH64
                                                  : CAIRN_HOOK_CPU_NONE;
}

/* Without names: one of those that share an address, and no resolver. */
static bool is_wanted(struct cairn_plans_run *run, const struct cairn_elf_symbol *s,
                      uint64_t *last_vaddr)
{
    bool is_named = false;
    for (size_t i = 0; i < run->opts.n_names; i++)
        if (strcmp(run->opts.names[i], s->name) == 0)
            is_named = run->found[i] = true;
    if (run->opts.n_names)
        return is_named;
    if (s->type == STT_GNU_IFUNC || s->vaddr == *last_vaddr)
        return false;
    *last_vaddr = s->vaddr;
    return true;
}

/* Bytes that are the same for two targets that differ in each byte of the distance do not depend on
 * the target. */
static void show_after(const struct cairn_hook_plan *plan, struct cairn_planned *planned)
{
    struct cairn_hook_patch one, other;
    const uint64_t island = plan->island_va;
    const uint64_t targets[] = {island ? island : plan->target_low,
                                island ? island : plan->target_high - 1};
    const size_t at = (size_t)(plan->patch_va - plan->word_va);
    memcpy(planned->before, plan->word_before + at, plan->patch_bytes);
    if (!cairn_hook_aim(plan, targets[0], &one) || !cairn_hook_aim(plan, targets[1], &other))
        return;
    for (size_t i = 0; i < plan->patch_bytes; i++) {
        const bool is_opcode = i == 0 && plan->how != CAIRN_HOOK_WAY_BRANCH;
        planned->after[i] = one.word[at + i];
        planned->known[i] = is_opcode || island || plan->pad_bytes;
    }
}

static int report(struct cairn_plans_run *run, const struct cairn_plans_piece *piece,
                  const struct cairn_elf_symbol *s, struct cairn_err *err)
{
    const uint64_t va = piece->load_base + s->vaddr;
    const struct cairn_hook_function function = {
        .size = sizeof function,
        .cpu = cairn_plans_cpu(piece->elf),
        .code = piece->code.data,
        .n_code = piece->code.size,
        .code_va = piece->code_va,
        .entry_va = va,
        .entry_bytes = s->sized ? s->size : 0,
        .unpatched = piece->unpatched,
        .module_low = piece->module_low,
        .module_high = piece->module_high,
        .find_free = piece->find_free,
        .context = piece->free_context,
    };
    struct cairn_hook_plan plan;
    struct cairn_planned planned = {.size = sizeof planned,
                                    .module = piece->path,
                                    .name = s->name,
                                    .load_base = piece->load_base,
                                    .n_bytes = function.entry_bytes,
                                    .is_resolver = s->type == STT_GNU_IFUNC,
                                    .plan = &plan};
    if (cairn_hook_plan(&function, &plan))
        show_after(&plan, &planned);
    return run->fn(run->context, &planned)
               ? cairn_fail(err, CAIRN_E_STOPPED, "%s: stopped by the caller", piece->path)
               : CAIRN_OK;
}

static int each_symbol(struct cairn_plans_run *run, const struct cairn_plans_piece *piece,
                       const struct cairn_elf_symtab *symtab, struct cairn_err *err)
{
    uint64_t last_vaddr = UINT64_MAX;
    int code = CAIRN_OK;
    for (size_t i = 0; i < symtab->n && code == CAIRN_OK; i++) {
        const struct cairn_elf_symbol *s = &symtab->symbols[i];
        if (piece->load_base + s->vaddr - piece->code_va < piece->code.size &&
            is_wanted(run, s, &last_vaddr))
            code = report(run, piece, s, err);
    }
    return code;
}

int cairn_plans_piece_each(struct cairn_plans_run *run, const struct cairn_plans_piece *piece,
                           struct cairn_err *err)
{
    static const enum cairn_elf_symtab_kind kinds[] = {CAIRN_ELF_DYNSYM, CAIRN_ELF_SYMTAB};
    int code = CAIRN_OK;
    bool is_done = false;
    for (size_t i = 0; i < 2 && code == CAIRN_OK && !is_done; i++) {
        struct cairn_elf_symtab symtab;
        code = cairn_elf_symtab_read(piece->elf, kinds[i], &symtab, err);
        if (code < 0)
            break;
        is_done = symtab.n && !run->opts.n_names;
        code = each_symbol(run, piece, &symtab, err);
        cairn_elf_symtab_done(&symtab);
    }
    return code;
}
