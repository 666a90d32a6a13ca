/* SPDX-License-Identifier: MIT */
#include "elf/minidebug.h"

#include "base/budget.h"
#include "base/error.h"
#include "base/xz.h"

static const char section_name[] = ".gnu_debugdata";

static int unpack(const struct cairn_elf *elf, struct cairn_span packed, struct cairn_buffer *file,
                  struct cairn_err *err)
{
    struct cairn_budget_turn turn;
    size_t limit = cairn_elf_plain_bytes_max(packed.size), left = cairn_budget_left();
    if (elf->is_vouched)
        return cairn_xz_unpack(packed, limit, file, err);
    int code = cairn_budget_begin(left ? 0 : 1, section_name, &turn, err);
    if (code < 0)
        return code;
    code = cairn_xz_unpack(packed, limit < left ? limit : left, file, err);
    cairn_budget_end(&turn);
    /* Of what failed, the memory that the unpacked bytes took: all that was left if they were too
     * many, little if the damage came early. */
    cairn_budget_spend(code < 0 ? file->cap : file->size);
    return code;
}

int cairn_elf_read_minidebug(const struct cairn_elf *elf, struct cairn_elf_data *ret_file,
                             struct cairn_err *err)
{
    struct cairn_elf_data packed;
    struct cairn_buffer file = {0};
    int code = cairn_elf_read_section(elf, section_name, &packed, err);
    if (code < 0)
        return code;
    if (packed.bytes.size)
        code = unpack(elf, packed.bytes, &file, err);
    cairn_elf_data_done(&packed);
    if (code < 0) {
        cairn_buffer_done(&file);
        return cairn_fail_in(err, code, section_name);
    }
    *ret_file = (struct cairn_elf_data){.bytes = cairn_buffer_span(&file), .owned = file.data};
    return CAIRN_OK;
}
