/* SPDX-License-Identifier: MIT */
/* What an earlier attach noted in a process, as the process may have made it: a file is its memory,
 * the input lies at its begin, and its mappings are fixed. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/divert.h"
#include "attach/ledger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMORY = 1 << 16, NOBODY = -1 };

static const char mappings[] = "00001000-00008000 r-xp 00000000 00:01 7 /lib/a.so\n"
                               "00008000-0000c000 rw-p 00007000 00:01 7 /lib/a.so\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cairn_target_process target = {.pid = NOBODY};
    static uint8_t memory[MEMORY];
    struct cairn_ledger ledger;
    struct cairn_divert_counts counts;
    if (!target.maps) {
        target.mem_fd = memfd_create("memory", MFD_CLOEXEC);
        if (cairn_maps_parse(mappings, strlen(mappings), &target.maps, NULL) < 0)
            __builtin_trap();
    }
    size = size < MEMORY ? size : MEMORY;
    memset(memory, 0, sizeof memory);
    memcpy(memory, data, size);
    if (pwrite(target.mem_fd, memory, sizeof memory, 0) != (ssize_t)sizeof memory)
        return 0;
    if (cairn_ledger_read(&target, 0, &ledger, NULL) < 0)
        return 0;
    if (ledger.n_rows > CAIRN_LEDGER_ROWS)
        __builtin_trap();
    for (uint32_t i = 0; i < ledger.n_rows; i++)
        if (strnlen(ledger.rows[i].name, CAIRN_LEDGER_NAME) == CAIRN_LEDGER_NAME)
            __builtin_trap();
    (void)cairn_divert_set(&target, NULL, &ledger, CAIRN_DIVERT_ALL, &counts, NULL);
    (void)cairn_divert_set(&target, NULL, &ledger, CAIRN_DIVERT_NONE, &counts, NULL);
    return counts.n_done > ledger.n_rows;
}
