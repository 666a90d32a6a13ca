/* SPDX-License-Identifier: MIT */
/* BTF, the kernel's types (Documentation/bpf/btf.rst), as far as to find one function by name. */
#ifndef CAIRN_DOCTOR_BTF_H
#define CAIRN_DOCTOR_BTF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/* The number of the function `name`; false where there is none or the bytes are damaged. */
bool cairn_btf_find_function(struct cairn_span btf, const char *name, uint32_t *ret_number);

#endif /* CAIRN_DOCTOR_BTF_H */
