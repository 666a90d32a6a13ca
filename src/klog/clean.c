/* SPDX-License-Identifier: MIT */
#include "klog/clean.h"

enum { ESCAPE = 0x1b };

/* Behind ESC: "[...letter", or one byte. */
static size_t escape_size(struct cairn_span line, size_t at)
{
    size_t p = at + 1;
    if (p < line.size && line.data[p] == '[') {
        for (p++; p < line.size && (line.data[p] < '@' || line.data[p] > '~'); p++)
            ;
    }
    return (p < line.size ? p + 1 : p) - at;
}

bool cairn_klog_clean(struct cairn_span line, struct cairn_buffer *clean)
{
    cairn_buffer_clear(clean);
    if (!cairn_buffer_reserve(clean, line.size + 1))
        return false;
    for (size_t i = 0; i < line.size;) {
        uint8_t c = line.data[i];
        size_t skipped = c == ESCAPE ? escape_size(line, i) : c == 0 || c == '\r';
        if (!skipped)
            cairn_buffer_char(clean, (char)c);
        i += skipped ? skipped : 1;
    }
    return !clean->failed;
}

bool cairn_klog_has_inner_cr(struct cairn_span line)
{
    const uint8_t *cr = line.size ? memchr(line.data, '\r', line.size) : NULL;
    return cr && cr + 1 < line.data + line.size;
}
