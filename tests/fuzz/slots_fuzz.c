/* SPDX-License-Identifier: MIT */
/* Bytes as a module in memory: eight of them say what it is, and where its dynamic section is. What
 * is reported lies within it. Where they begin with APS2, they are packed relocations too. */
#include <elf.h>
#include <string.h>

#include "hook/slots.h"
#include "hook/slots_read.h"

enum { HEAD = 8, CODE_BYTES = 16 };

struct module {
    struct cairn_slots_image image;
    const uint8_t *bytes;
    size_t size;
};

static int check_slot(void *context, const struct cairn_slot *slot)
{
    const struct module *m = context;
    const uint8_t *name = (const uint8_t *)slot->name, *end = m->bytes + m->size;
    if (name < m->bytes || name >= end || !memchr(name, 0, (size_t)(end - name)) ||
        slot->vaddr < CODE_BYTES || slot->vaddr >= m->size ||
        !cairn_slots_type_name(m->image.machine, slot->type))
        __builtin_trap();
    return cairn_slots_match("*a?", slot->name) && slot->version && *slot->version == '!';
}

static int check_packed(void *context, uint64_t place, uint64_t info, int64_t addend)
{
    uint64_t *sum = context;
    *sum += place ^ info ^ (uint64_t)addend;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint16_t machines[] = {EM_X86_64, EM_AARCH64, EM_ARM, EM_386};
    uint64_t sum = 0;
    size_t at;
    if (size < HEAD + CODE_BYTES)
        return 0;
    if (cairn_slots_packed(data + HEAD, size - HEAD, check_packed, &sum, &at) !=
            CAIRN_SLOTS_LIMIT &&
        at > size - HEAD)
        __builtin_trap();
    struct module m = {.bytes = data + HEAD, .size = size - HEAD};
    const struct cairn_slots_segment segments[] = {
        {0, m.bytes, CODE_BYTES, CODE_BYTES, true},
        {CODE_BYTES, m.bytes + CODE_BYTES, m.size - CODE_BYTES, m.size - CODE_BYTES, false}};
    m.image = (struct cairn_slots_image){.segments = segments,
                                         .n_segments = 2,
                                         .dynamic_vaddr = data[2] | (uint64_t)data[3] << 8,
                                         .n_dynamic = data[4] | (uint64_t)data[5] << 8,
                                         .load_base = data[6] & 1 ? 0x7f0000000000 : 0,
                                         .machine = machines[data[0] % 4],
                                         .is_64 = !(data[1] & 1)};
    struct cairn_slots_result result;
    cairn_slots_each(&m.image, check_slot, &m, &result);
    return 0;
}
