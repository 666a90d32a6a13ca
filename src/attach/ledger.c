/* SPDX-License-Identifier: MIT */
#include "attach/ledger.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cairn/hook.h>

#include "base/error.h"

#define NAME "cairn-ledger"

enum { PAGE = 4096, BYTES = (sizeof(struct cairn_ledger) + PAGE - 1) / PAGE * PAGE };

uint64_t cairn_ledger_find(const struct cairn_target_process *target)
{
    return cairn_target_find_memory(target, "/memfd:" NAME, BYTES);
}

/* Is [va, va + bytes) within one mapping of code? */
static bool is_code(const struct cairn_target_process *target, uint64_t va, uint64_t bytes)
{
    const struct cairn_map *map = cairn_maps_find(target->maps, va);
    return map && map->flags & CAIRN_MAP_EXEC && map->end - va >= bytes;
}

/* What was changed may have been unmapped since: then it is not there, and no damage. */
static bool may_be(const struct cairn_ledger_row *row)
{
    return memchr(row->name, 0, sizeof row->name) && row->n_pad <= CAIRN_LEDGER_WORD;
}

static bool is_sound(const struct cairn_target_process *target, const struct cairn_ledger *ledger)
{
    const struct cairn_map *late = cairn_maps_find(target->maps, ledger->late_va);
    if (memcmp(ledger->magic, CAIRN_LEDGER_MAGIC, sizeof CAIRN_LEDGER_MAGIC) != 0 ||
        ledger->version != CAIRN_LEDGER_VERSION || ledger->bytes != sizeof *ledger ||
        ledger->n_rows > CAIRN_LEDGER_ROWS)
        return false;
    if (ledger->is_complete && (!late || ledger->late_va - ledger->base >= ledger->library_bytes))
        return false;
    for (uint32_t i = 0; i < ledger->n_rows; i++)
        if (!may_be(&ledger->rows[i]) ||
            (ledger->is_complete && (!is_code(target, ledger->rows[i].island_va, 1) ||
                                     !is_code(target, ledger->rows[i].moved_va, 1))))
            return false;
    return true;
}

int cairn_ledger_read(const struct cairn_target_process *target, uint64_t va,
                      struct cairn_ledger *ret_ledger, struct cairn_err *err)
{
    struct cairn_ledger ledger;
    int result = cairn_target_read(target, va, &ledger, sizeof ledger, err);
    if (result < 0)
        return result;
    if (!is_sound(target, &ledger)) {
        cairn_fail(err, CAIRN_E_FORMAT,
                   "pid %d: what an earlier attach noted at 0x%llx is damaged, or of another "
                   "version of cairn",
                   target->pid, (unsigned long long)va);
        cairn_hint(err, "detach with the cairn that attached to it");
        return CAIRN_E_FORMAT;
    }
    *ret_ledger = ledger;
    return CAIRN_OK;
}

int cairn_ledger_make(struct cairn_foothold *foothold, const struct cairn_ledger *ledger,
                      uint64_t *ret_va, struct cairn_err *err)
{
    int fd = memfd_create(NAME, MFD_CLOEXEC);
    if (fd < 0)
        return cairn_fail_os(err, errno, "no memory for notes (memfd_create)");
    bool is_written = ftruncate(fd, BYTES) == 0 &&
                      pwrite(fd, ledger, sizeof *ledger, 0) == (ssize_t)sizeof *ledger;
    int result = is_written ? cairn_foothold_map_file(foothold, fd, BYTES, PROT_READ, ret_va, err)
                            : cairn_fail_os(err, errno, "no memory for notes (memfd_create)");
    close(fd);
    return result;
}
