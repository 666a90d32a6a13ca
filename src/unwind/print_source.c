/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/print_source.h"

#include <errno.h>
#include <unistd.h>

#include "rt/self.h"

bool cairn_print_source_read(const struct cairn_print_source *from, uint64_t off, void *to,
                             size_t size)
{
    if (from->fd < 0)
        return off <= from->image_bytes && size <= from->image_bytes - off &&
               cairn_self_read(from->image + (uintptr_t)off, to, size);
    if (off > (uint64_t)INT64_MAX - size)
        return false;
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(from->fd, (char *)to + done, size - done, (off_t)(off + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}
