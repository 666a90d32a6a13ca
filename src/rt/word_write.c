/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "rt/word_write.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rt/pages.h"
#include "rt/sys.h"

void cairn_word_writer_open(struct cairn_word_writer *writer)
{
    writer->fd = cairn_sys_open("/proc/self/mem", O_RDWR, 0);
}

void cairn_word_writer_close(struct cairn_word_writer *writer)
{
    if (writer->fd >= 0)
        cairn_sys_close(writer->fd);
}

static bool protect(uintptr_t va, int protection)
{
    size_t page = cairn_pages_size();
    return syscall(SYS_mprotect, va & ~(uintptr_t)(page - 1), page, protection) == 0;
}

/* The range of RELRO ends at a page, but what lies on its last one may not be in it. */
static bool is_read_only(const struct cairn_word_writer *writer, uintptr_t va)
{
    size_t page = cairn_pages_size();
    return writer->is_read_only || (va >= (writer->low & ~(uintptr_t)(page - 1)) &&
                                    va < (writer->high & ~(uintptr_t)(page - 1)));
}

static bool write_by_file(const struct cairn_word_writer *writer, _Atomic(uintptr_t) *place,
                          uintptr_t value)
{
    return writer->fd >= 0 && cairn_sys_write_at(writer->fd, &value, sizeof(value),
                                                 (uint64_t)(uintptr_t)place) == (long)sizeof(value);
}

static bool write_read_only(const struct cairn_word_writer *writer, _Atomic(uintptr_t) *place,
                            uintptr_t value)
{
    if (writer->is_read_only || !protect((uintptr_t)place, PROT_READ | PROT_WRITE))
        return write_by_file(writer, place, value);
    atomic_store(place, value);
    protect((uintptr_t)place, PROT_READ);
    return true;
}

bool cairn_word_write(const struct cairn_word_writer *writer, _Atomic(uintptr_t) *place,
                      uintptr_t before, uintptr_t value)
{
    if ((uintptr_t)place % sizeof(*place) != 0)
        return false;
    if (!is_read_only(writer, (uintptr_t)place))
        return atomic_compare_exchange_strong(place, &before, value);
    return atomic_load(place) == before && write_read_only(writer, place, value);
}
