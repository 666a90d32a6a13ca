/* SPDX-License-Identifier: MIT */
#include "bpf/places.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "bpf/load.h"

enum { LINK_CREATE = 28, TRACE_UPROBE_MULTI = 48, AT_RETURN = 1 };
/* include/uapi/linux/bpf.h, Linux 6.6 */

static const struct cairn_bpf_need many_at_once = {"many probes at once", 6, 6};

/* Of union bpf_attr what that call reads. */
struct link_attr {
    uint32_t prog_fd, target_fd, attach_type, flags;
    uint64_t path, offsets, semaphore_offsets, cookies;
    uint32_t n, uprobe_flags, pid, reserved;
};

bool cairn_bpf_places_prepare(struct bpf_program *program)
{
    return cairn_bpf_is_new_enough(&many_at_once) &&
           bpf_program__set_expected_attach_type(program,
                                                 (enum bpf_attach_type)TRACE_UPROBE_MULTI) == 0;
}

int cairn_bpf_places_attach(const struct bpf_program *program,
                            const struct cairn_trace_probe_at *places, size_t first, size_t last)
{
    const size_t n = last - first;
    uint64_t *numbers = cairn_alloc(n, 3 * sizeof *numbers);
    if (!numbers)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        numbers[i] = places[first + i].off;
        numbers[n + i] = places[first + i].semaphore_off;
        numbers[2 * n + i] = cairn_bpf_place_cookie(&places[first + i], first + i);
    }
    const struct link_attr attr = {.prog_fd = (uint32_t)bpf_program__fd(program),
                                   .attach_type = TRACE_UPROBE_MULTI,
                                   .path = (uint64_t)(uintptr_t)places[first].path,
                                   .offsets = (uint64_t)(uintptr_t)numbers,
                                   .semaphore_offsets = (uint64_t)(uintptr_t)(numbers + n),
                                   .cookies = (uint64_t)(uintptr_t)(numbers + 2 * n),
                                   .n = (uint32_t)n,
                                   .uprobe_flags = places[first].at_return ? AT_RETURN : 0};
    const long fd = syscall(SYS_bpf, LINK_CREATE, &attr, sizeof attr);
    const int os_errno = errno;
    cairn_free(numbers);
    return fd < 0 ? -os_errno : (int)fd;
}
