/* SPDX-License-Identifier: MIT */
/* Names as a hostile symbol table holds them: suffix off, then demangled, full and short. */
#include "base/buffer.h"
#include "symbol/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_buffer name = {0};
    cairn_buffer_add(&name, data, size);
    cairn_buffer_char(&name, '\0');
    const char *text = cairn_buffer_text(&name), *suffix;
    size_t alone = cairn_symbol_split_suffix(text, &suffix);
    if (alone > strlen(text) || suffix < text + alone || suffix > text + strlen(text))
        __builtin_trap();
    for (int names = CAIRN_NAMES_FULL; names <= CAIRN_NAMES_MANGLED; names++) {
        struct cairn_demangler d = {.names = (enum cairn_names)names};
        const char *first = cairn_demangle(&d, text, alone);
        if (strlen(first) > 1 << 20 || cairn_demangle(&d, text, alone) != first)
            __builtin_trap();
        cairn_demangler_done(&d);
    }
    cairn_buffer_done(&name);
    return 0;
}
