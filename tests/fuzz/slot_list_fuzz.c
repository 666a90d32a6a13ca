/* SPDX-License-Identifier: MIT */
/* The list of slots that an attach left in a process, as the process may have made it: a file is
 * its memory, the input lies where its mappings say that the list is. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/slot_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIST_VA = 0x10000, MEMORY = 1 << 16, NOBODY = -1 };

static const char mappings[] = "00001000-00008000 r-xp 00000000 00:01 7 /lib/a.so\n"
                               "00008000-0000c000 rw-p 00007000 00:01 7 /lib/a.so\n"
                               "00010000-00211000 rw-p 00000000 00:01 9 /memfd:cairn-slots\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cairn_attach_job job = {.target = {.pid = NOBODY}};
    static uint8_t memory[MEMORY];
    struct cairn_slot_list list = {0};
    struct cairn_slot_counts counts;
    if (!job.target.maps) {
        job.target.mem_fd = memfd_create("memory", MFD_CLOEXEC);
        if (cairn_maps_parse(mappings, strlen(mappings), &job.target.maps, NULL) < 0 ||
            ftruncate(job.target.mem_fd, 1 << 22) < 0)
            __builtin_trap();
    }
    size = size < MEMORY ? size : MEMORY;
    memset(memory, 0, sizeof memory);
    memcpy(memory, data, size);
    if (pwrite(job.target.mem_fd, memory, sizeof memory, LIST_VA) != (ssize_t)sizeof memory)
        return 0;
    if (cairn_slot_list_read(&job, &list, NULL) == CAIRN_OK) {
        for (size_t i = 0; i < list.n; i++)
            if (list.slots[i].is_active && !cairn_slot_list_data(&job, list.slots[i].va))
                __builtin_trap();
        if (list.n && cairn_slot_list_find(&list, list.slots[0].va)->va != list.slots[0].va)
            __builtin_trap();
    }
    if (cairn_slot_list_count(&job, &counts, NULL) == CAIRN_OK &&
        counts.n_wanted > CAIRN_SLOT_LIST_MAX)
        __builtin_trap();
    cairn_slot_list_done(&list);
    return 0;
}
