/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/late_free.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cairn/hook.h>

#include "heap/late_originals.h"
#include "heap/late_rows.h"
#include "rt/own_maps.h"
#include "rt/pages.h"
#include "rt/sys.h"
#include "unwind/modules.h"

#if defined(__x86_64__)
static const enum cairn_hook_cpu own_cpu = CAIRN_HOOK_X86_64;
#elif defined(__aarch64__)
static const enum cairn_hook_cpu own_cpu = CAIRN_HOOK_AARCH64;
#endif

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum {
    COPY_AT = 64, /* of an island: the jump to us is before, the moved code behind */
    ISLAND_BYTES = COPY_AT + CAIRN_HOOK_COPY_MAX,
    NEAR = 1 << 26 /* bytes that are tried around the function first */
};

/* The lowest address of [low, high) behind which whole pages are free for `bytes`; 0: none. */
static uint64_t find_free(void *context, uint64_t low, uint64_t high, uint64_t bytes)
{
    struct cairn_own_maps_text text;
    uint64_t found = cairn_own_maps_find_free(&text, low, high, bytes);
    (void)context;
    return found && found + bytes <= high + ISLAND_BYTES ? found : 0;
}

static bool write_code(int fd, uint64_t va, const uint8_t *code, size_t n)
{
    return cairn_sys_write_at(fd, code, n, va) == (long)n && memcmp((const void *)va, code, n) == 0;
}

/* Where the jump leads: what the plan has found, or free pages not far away. */
static uint64_t choose_target(const struct cairn_hook_plan *plan, uint64_t entry)
{
    if (plan->island_va)
        return plan->island_va;
    uint64_t low = entry > NEAR ? entry - NEAR : plan->target_low;
    uint64_t high = entry + NEAR;
    low = low > plan->target_low ? low : plan->target_low;
    high = high < plan->target_high ? high : plan->target_high;
    uint64_t target = find_free(NULL, low, high, ISLAND_BYTES);
    return target ? target : find_free(NULL, plan->target_low, plan->target_high, ISLAND_BYTES);
}

static void *map_island(uint64_t target)
{
    uint64_t page = cairn_pages_size(), from = target & ~(page - 1);
    uint64_t bytes = ((target + ISLAND_BYTES + page - 1) & ~(page - 1)) - from;
    long got = syscall(SYS_mmap, from, bytes, PROT_READ | PROT_EXEC,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0L);
    /* An older kernel takes the address for a hint. */
    if (got >= 0 && (uint64_t)got != from)
        syscall(SYS_munmap, got, bytes);
    return (uint64_t)got == from ? (void *)from : NULL;
}

/* The jump to the replacement, and the original's first instructions. */
static bool fill_island(int fd, uint64_t target, const struct cairn_hook_plan *plan,
                        const struct cairn_hook_function *f, const void *replacement)
{
    uint8_t jump[CAIRN_HOOK_JUMP_MAX + sizeof(plan->undo)];
    struct cairn_hook_copy copy;
    const struct cairn_hook_piece piece = {.size = sizeof(piece),
                                           .cpu = f->cpu,
                                           .code = f->code + (f->entry_va - f->code_va),
                                           .n_code = f->n_code - (f->entry_va - f->code_va),
                                           .from_va = f->entry_va,
                                           .to_va = target + COPY_AT,
                                           .least = plan->move_bytes,
                                           .has_shadow_stack = f->has_shadow_stack};
    memcpy(jump, plan->undo, plan->undo_bytes);
    size_t n = cairn_hook_far_jump(f->cpu, (uintptr_t)replacement, jump + plan->undo_bytes);
    return n > 0 && cairn_hook_move(&piece, &copy) &&
           write_code(fd, target, jump, plan->undo_bytes + n) &&
           write_code(fd, target + COPY_AT, copy.code, copy.n_code);
}

static bool patch(int fd, const struct cairn_hook_function *f, const void *replacement,
                  void **original)
{
    struct cairn_hook_plan plan;
    struct cairn_hook_patch bytes;
    void *before = *original;
    if (!cairn_hook_plan(f, &plan))
        return false;
    uint64_t target = choose_target(&plan, f->entry_va);
    if (!target || !cairn_hook_aim(&plan, target, &bytes) || !map_island(target) ||
        !fill_island(fd, target, &plan, f, replacement))
        return false;
    *original = (void *)(target + COPY_AT);
    if ((bytes.n_pad == 0 || write_code(fd, plan.pad_va, bytes.pad, bytes.n_pad)) &&
        write_code(fd, plan.word_va, bytes.word, sizeof(bytes.word)))
        return true;
    *original = before;
    return false;
}

/* Shadow stacks are taken to be on: then no piece with a call is moved. */
static bool divert(int fd, const void *replacement, void **original)
{
    struct cairn_local_module module;
    uintptr_t entry = (uintptr_t)*original;
    if (!entry || !cairn_modules_find(entry, &module))
        return false;
    uintptr_t low =
        entry - module.from > CAIRN_HOOK_BEFORE ? entry - CAIRN_HOOK_BEFORE : module.from;
    uintptr_t high = module.to - entry > CAIRN_HOOK_BEHIND ? entry + CAIRN_HOOK_BEHIND : module.to;
    const struct cairn_hook_function f = {.size = sizeof(f),
                                          .cpu = own_cpu,
                                          .code = (const uint8_t *)low,
                                          .n_code = high - low,
                                          .code_va = low,
                                          .entry_va = entry,
                                          .module_low = module.from,
                                          .module_high = module.to,
                                          .find_free = find_free,
                                          .island_bytes = ISLAND_BYTES,
                                          .has_shadow_stack = true};
    return patch(fd, &f, replacement, original);
}

bool cairn_late_free_divert(void)
{
    int fd = cairn_sys_open("/proc/self/mem", O_RDWR, 0);
    if (fd < 0)
        return false;
    bool done = divert(fd, (const void *)cairn_late_free, (void **)&cairn_heap_real.free);
    done &=
        divert(fd, (const void *)cairn_late_realloc_elsewhere, (void **)&cairn_heap_real.realloc);
    cairn_sys_close(fd);
    return done;
}
