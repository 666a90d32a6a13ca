/* SPDX-License-Identifier: MIT */
#include "elf/minidebug.h"

#include "base/error.h"
#include "base/xz.h"

static const char section_name[] = ".gnu_debugdata";

int cairn_elf_read_minidebug(const struct cairn_elf *elf, struct cairn_elf_data *ret_file,
                             struct cairn_err *err)
{
    struct cairn_elf_data packed;
    struct cairn_buffer file = {0};
    int code = cairn_elf_read_section(elf, section_name, &packed, err);
    if (code < 0)
        return code;
    if (packed.bytes.size)
        code =
            cairn_xz_unpack(packed.bytes, cairn_elf_plain_bytes_max(packed.bytes.size), &file, err);
    cairn_elf_data_done(&packed);
    if (code < 0) {
        cairn_buffer_done(&file);
        return cairn_fail_in(err, code, section_name);
    }
    *ret_file = (struct cairn_elf_data){.bytes = cairn_buffer_span(&file), .owned = file.data};
    return CAIRN_OK;
}
