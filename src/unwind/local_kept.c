/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/local_kept.h"

#include <stdatomic.h>

#include "rt/self.h"
#include "unwind/exidx.h"
#include "unwind/local_cpu.h"
#include "unwind/local_rule.h"

enum {
    FUNCTIONS = 32,  /* that are looked at */
    PROLOGUE = 12,   /* bytes: behind these a function that keeps one has set it up */
    FEW = 4,         /* rows of code of compilers that say nothing: those of crt1.o and linkers */
    ONE_IN = 4,      /* of code that keeps them most do; of other code, those with alloca() */
    REMEMBERED = 64, /* modules */
    TABLE_OFF = 12,  /* of .eh_frame_hdr: version, encodings, pointer, count */
    ROW_BYTES = 8
};

/* By where their frames lie, which is aligned to 4: the two bits below say the rest. */
static _Atomic(uintptr_t) remembered[REMEMBERED];

/* The first address of function `i` of `n`, by the sorted index that the module has: rows of two
 * words, each relative to the index in .eh_frame_hdr, and to itself, as 31 bits, on arm. */
static uintptr_t function_at(const struct cairn_local_module *module, size_t i)
{
    bool is_exidx = module->n_exidx != 0;
    uintptr_t row = module->frames + (is_exidx ? 0 : TABLE_OFF) + i * ROW_BYTES;
    uint32_t word;
    if (!cairn_self_read(row, &word, sizeof word))
        return 0;
    if (is_exidx)
        return row + (uintptr_t)(intptr_t)((int32_t)(word << 1) >> 1);
    return module->frames + (uintptr_t)(intptr_t)(int32_t)word;
}

static unsigned look(const struct cairn_local_module *module)
{
    uint32_t n = (uint32_t)module->n_exidx, rule;
    if (!n && !cairn_self_read(module->frames + TABLE_OFF - 4, &n, sizeof n))
        return CAIRN_LOCAL_KEEPS_FP;
    unsigned kept = 0, ruled = 0, looked = 0, compiled = 0;
    size_t step = n / FUNCTIONS + 1;
    for (size_t i = 0; i < n; i += step, looked++) {
        uintptr_t function = function_at(module, i);
        if (!function || cairn_local_rule_make(function + PROLOGUE, &rule) != CAIRN_LOCAL_RULE)
            continue;
        ruled++;
        compiled += cairn_rule_kind(rule) >= CAIRN_RULE_OF_CPU;
        kept += cairn_local_arch->keeps_fp(rule);
    }
    bool keeps_fp = compiled < FEW || (kept > 0 && compiled / kept <= ONE_IN);
    return (keeps_fp ? CAIRN_LOCAL_KEEPS_FP : 0) | (2 * ruled > looked ? CAIRN_LOCAL_HAS_RULES : 0);
}

unsigned cairn_local_kept(const struct cairn_local_module *module)
{
    if (!module->frames)
        return CAIRN_LOCAL_KEEPS_FP;
    _Atomic(uintptr_t) *place = &remembered[module->frames / 4 % REMEMBERED];
    uintptr_t known = atomic_load_explicit(place, memory_order_relaxed);
    if ((known & ~(uintptr_t)3) == module->frames)
        return known & 3;
    unsigned kept = look(module);
    if (module->frames % 4 == 0)
        atomic_store_explicit(place, module->frames | kept, memory_order_relaxed);
    return kept;
}

void cairn_local_kept_clear(void)
{
    for (size_t i = 0; i < REMEMBERED; i++)
        atomic_store_explicit(&remembered[i], 0, memory_order_relaxed);
}
