/* SPDX-License-Identifier: MIT */
#include "profile/only.h"

const char *cairn_profile_only_process(const struct cairn_profile *p)
{
    uint32_t process = 0;
    for (size_t i = 0; i < p->n_samples; i++) {
        const struct cairn_profile_label *label =
            cairn_profile_find_label(p, p->samples[i].labels, "process");
        if (!label || !label->text || (process && label->text != process))
            return NULL;
        process = label->text;
    }
    return process ? cairn_strings_get(&p->strings, process) : NULL;
}
