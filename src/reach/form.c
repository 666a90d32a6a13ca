/* SPDX-License-Identifier: MIT */
#include "reach/form.h"

#include "base/below.h"

enum { PREFIX_MAX = 24, PREFIX_SPARE = 8 };

bool cairn_reach_form_is_off(uint64_t off)
{
    return off <= PREFIX_MAX || (off % CAIRN_REACH_ALIGN == 0 && off <= UINT32_MAX);
}

static bool is_array(const struct cairn_reach_form *f)
{
    uint64_t count = f->around[0], rest = f->block.size - f->off;
    return (f->off == 8 || f->off == 16) && count && count <= rest && rest % count <= f->slack;
}

static bool has_size(const struct cairn_reach_form *f)
{
    uint64_t rest = f->block.size - 8;
    return f->off == 8 && f->head[0] <= rest && rest - f->head[0] <= f->slack;
}

static bool is_dtv(const struct cairn_reach_form *f)
{
    return f->off == 16 && f->block.size % 16 <= f->slack && f->head[0] == f->block.size / 16 - 2;
}

static bool is_string(const struct cairn_reach_form *f)
{
    const uint64_t head = 24, end = 1, references_max = INT32_MAX;
    uint64_t length = f->head[0], room = f->head[1], references = (uint32_t)f->head[2];
    return f->off == head && f->block.size > head && length <= room &&
           room <= f->block.size - head - end &&
           (references <= references_max || references == UINT32_MAX);
}

static bool is_table(const struct cairn_reach_form *f, uint64_t va)
{
    size_t i = CAIRN_COUNT_BELOW(f->tables, f->n_tables, end, va);
    return va % CAIRN_REACH_ALIGN == 0 && i < f->n_tables && va >= f->tables[i].start;
}

static bool is_base_class(const struct cairn_reach_form *f)
{
    return is_table(f, f->head[0]) && is_table(f, f->around[1]);
}

/* Or that of what an allocator has put a size before. */
static bool has_own_address(const struct cairn_reach_form *f)
{
    const uint64_t before = 16;
    return f->off > before &&
           (f->around[0] - f->block.va <= before || f->around[1] - f->block.va <= before);
}

static bool fits(const struct cairn_reach_form *f, uint64_t length)
{
    uint64_t rest = f->block.size - f->off;
    return length && length <= rest && rest - length <= PREFIX_SPARE + f->slack;
}

/* In the bytes before the text; of redis' shortest strings a length has five bits. */
static bool has_length(const struct cairn_reach_form *f)
{
    uint64_t word = f->head[0];
    if (f->off == 1)
        return fits(f, (word & 0xff) >> 3);
    if (f->off > PREFIX_MAX)
        return false;
    return fits(f, word & 0xff) || (f->off > 2 && fits(f, word & 0xffff)) ||
           (f->off >= 4 && fits(f, word & 0xffffffff)) || (f->off >= 8 && fits(f, word));
}

bool cairn_reach_form_holds(const struct cairn_reach_form *form)
{
    if (!cairn_reach_form_is_off(form->off) || form->off >= form->block.size)
        return false;
    if (has_length(form))
        return true;
    return form->off % CAIRN_REACH_ALIGN == 0 &&
           (is_array(form) || has_size(form) || is_dtv(form) || is_string(form) ||
            is_base_class(form) || has_own_address(form));
}
