/* SPDX-License-Identifier: MIT */
#include "embed/plan.h"

#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/error.h"
#include "embed/cpu.h"
#include "rt/sys.h"

int cairn_embed_fail_write(struct cairn_err *err, uint64_t va)
{
    cairn_fail(err, CAIRN_E_ACCESS, "code at 0x%llx cannot be written through /proc/self/mem",
               (unsigned long long)va);
    cairn_hint(err, "a kernel with CONFIG_PROC_MEM_NO_FORCE refuses it: boot with "
                    "proc_mem.force_override=always");
    return CAIRN_E_ACCESS;
}

/* The bytes of the file at `off`, if it is the one that is mapped. */
static bool read_file(const struct cairn_embed_place *place, uint64_t off, uint8_t *to, size_t n)
{
    struct cairn_sys_stat stat;
    const int fd = cairn_sys_open(place->path, O_RDONLY, 0);
    if (fd < 0)
        return false;
    const bool done = cairn_sys_stat_fd(fd, &stat) == 0 && stat.ino == place->inode &&
                      stat.dev == makedev(place->dev_major, place->dev_minor) &&
                      cairn_sys_read_at(fd, to, n, off) == (long)n;
    cairn_sys_close(fd);
    return done;
}

int cairn_embed_window_read(const struct cairn_embed_memory *memory,
                            const struct cairn_embed_place *place, uint64_t entry_va,
                            struct cairn_embed_window *ret, struct cairn_err *err)
{
    const uint64_t before = entry_va - place->from, behind = place->to - entry_va;
    ret->low = entry_va - (before < CAIRN_HOOK_BEFORE ? before : CAIRN_HOOK_BEFORE);
    const uint64_t high = entry_va + (behind < CAIRN_HOOK_BEHIND ? behind : CAIRN_HOOK_BEHIND);
    ret->n = (size_t)(high - ret->low);
    if (!cairn_embed_read(memory, ret->low, ret->code, ret->n)) {
        cairn_fail(err, CAIRN_E_IO, "%s: function at 0x%llx: 0x%zx bytes at 0x%llx cannot be read",
                   place->path, (unsigned long long)entry_va, ret->n, (unsigned long long)ret->low);
        cairn_hint(err, "was the library unloaded meanwhile, or its file cut?");
        return CAIRN_E_IO;
    }
    ret->has_file = read_file(place, ret->low - place->from + place->off, ret->file, ret->n);
    return CAIRN_OK;
}

static struct cairn_hook_function describe(const struct cairn_embed_window *window,
                                           const struct cairn_embed_place *place, uint64_t entry_va,
                                           bool on_top, size_t island_bytes)
{
    return (struct cairn_hook_function){
        .size = sizeof(struct cairn_hook_function),
        .cpu = cairn_embed_cpu,
        .code = window->code,
        .n_code = window->n,
        .code_va = window->low,
        .entry_va = entry_va,
        .unpatched = window->has_file && !on_top ? window->file : NULL,
        .module_low = on_top ? 0 : place->module_low,
        .module_high = on_top ? 0 : place->module_high,
        .find_free = cairn_embed_find_free,
        .island_bytes = island_bytes,
        .has_shadow_stack = cairn_embed_has_shadow_stack(),
    };
}

static int say_hooked(const struct cairn_embed_place *place, uint64_t entry_va,
                      const struct cairn_hook_plan *plan, struct cairn_err *err)
{
    struct cairn_embed_place other;
    const bool is_known = plan->leads_to && cairn_embed_place_find(plan->leads_to, &other);
    cairn_fail(err, CAIRN_E_EXISTS,
               "%s: function at 0x%llx: diverted already by another tool: leads to 0x%llx (%s)",
               place->path, (unsigned long long)entry_va, (unsigned long long)plan->leads_to,
               is_known && other.path[0] ? other.path : "no file");
    cairn_hint(err, "CAIRN_HOOK_ON_TOP hooks it nevertheless; remove the hooks in reverse order");
    return CAIRN_E_EXISTS;
}

int cairn_embed_plan(const struct cairn_embed_window *window, const struct cairn_embed_place *place,
                     uint64_t entry_va, unsigned flags, size_t island_bytes,
                     struct cairn_hook_plan *ret_plan, struct cairn_err *err)
{
    const struct cairn_hook_function f =
        describe(window, place, entry_va, flags & CAIRN_HOOK_ON_TOP, island_bytes);
    if (cairn_hook_plan(&f, ret_plan))
        return CAIRN_OK;
    if (ret_plan->reason == CAIRN_HOOK_HOOKED)
        return say_hooked(place, entry_va, ret_plan, err);
    cairn_fail(err, CAIRN_E_SUPPORT, "%s: function at 0x%llx: cannot be diverted: at 0x%llx: %s",
               place->path, (unsigned long long)entry_va, (unsigned long long)ret_plan->reason_va,
               cairn_hook_reason_text(ret_plan->reason));
    cairn_hint(err, "cairn_hook_slots() reaches the calls of other libraries");
    return CAIRN_E_SUPPORT;
}

bool cairn_embed_plan_move(const struct cairn_embed_window *window, uint64_t entry_va,
                           const struct cairn_hook_plan *plan, uint64_t copy_va,
                           struct cairn_hook_copy *ret_copy)
{
    const struct cairn_hook_piece piece = {.size = sizeof piece,
                                           .cpu = cairn_embed_cpu,
                                           .code = window->code + (entry_va - window->low),
                                           .n_code = window->n - (size_t)(entry_va - window->low),
                                           .from_va = entry_va,
                                           .to_va = copy_va,
                                           .least = plan->move_bytes,
                                           .has_shadow_stack = cairn_embed_has_shadow_stack()};
    return cairn_hook_move(&piece, ret_copy);
}
