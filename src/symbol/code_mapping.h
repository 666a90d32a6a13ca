/* SPDX-License-Identifier: MIT */
/* From a mapping of code to a vaddr where the file that was found has the program headers of a
 * debug file, which know no offsets. */
#ifndef CAIRN_SYMBOL_CODE_MAPPING_H
#define CAIRN_SYMBOL_CODE_MAPPING_H

#include <cairn/symbolizer.h>

/* Executable: va [start, end), from offset `off` of the file on. */
struct cairn_code_mapping {
    uint64_t start, end, off;
};

/* Nonzero on success; 0 where the module has more than one segment with code, or the mapping is not
 * just that one. */
int cairn_module_vaddr_of_code(const struct cairn_module *module,
                               const struct cairn_code_mapping *mapping, uint64_t va,
                               uint64_t *ret_vaddr);

#endif /* CAIRN_SYMBOL_CODE_MAPPING_H */
