/* SPDX-License-Identifier: MIT */
/* What the doctor reads: the first byte says whether the rest is the kernel's types, its
 * configuration, or an ELF file. */
#include "doctor/btf.h"
#include "doctor/config.h"
#include "doctor/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const struct cairn_span rest = {data + 1, size - 1};
    char values[CAIRN_N_OPTIONS];
    struct cairn_doctor_file file;
    uint32_t number = 0;
    switch (data[0] % 3) {
    case 0:
        if (cairn_btf_find_function(rest, "bpf_iter_task", &number) && number > size / 12)
            __builtin_trap();
        break;
    case 1:
        cairn_doctor_config_parse(rest, values);
        for (int i = 0; i < CAIRN_N_OPTIONS; i++)
            if (values[i] != 'y' && values[i] != 'm' && values[i] != 'n')
                __builtin_trap();
        break;
    default:
        cairn_doctor_read_file(rest, rest, &file);
        if (file.covered_percent < -1 || file.covered_percent > 100)
            __builtin_trap();
    }
    return 0;
}
