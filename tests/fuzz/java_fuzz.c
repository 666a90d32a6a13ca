/* SPDX-License-Identifier: MIT */
/* Text of thread dumps of Java and of Android's ANRs. */
#include "support/profile_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_profile *profile;
    struct cairn_err err;
    if (test_read_profile((struct cairn_span){data, size}, CAIRN_FORMAT_JAVA, &profile, &err) ==
        CAIRN_OK)
        fuzz_profile(profile);
    return 0;
}
