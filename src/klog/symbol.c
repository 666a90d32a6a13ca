/* SPDX-License-Identifier: MIT */
/*
 *     ? do_open+0x1a/0x40 [binder 0123456789abcdef0123456789abcdef01234567]
 *
 * Names of functions may hold dots and dollars (f.cold, f.isra.0, $x), those of Rust also '<' and
 * colons; no blank, and no slash.
 */
#include <cairn/klog.h>

#include "klog/scan.h"

enum { NAME_BYTES_MAX = 512, MODULE_BYTES_MAX = 64, BUILD_ID_DIGITS_MIN = 16 };

static bool is_name_byte(uint8_t c)
{
    return (uint8_t)((c | 0x20) - 'a') < 26 || cairn_scan_is_digit(c) || c == '_' || c == '.' ||
           c == '$' || c == ':' || c == '<' || c == '>' || c == '@' || c >= 0x80;
}

static size_t read_name(struct cairn_span text, size_t at)
{
    size_t first = at;
    while (at < text.size && at - first < NAME_BYTES_MAX && is_name_byte(text.data[at]))
        at++;
    return at - first;
}

/* "+0x1a/0x40"; the size may be missing. */
static void read_offset(struct cairn_span text, size_t *at, struct cairn_klog_symbol *symbol)
{
    size_t p = *at, digits;
    if (!cairn_scan_text(text, &p, "+0x") || !cairn_scan_hex(text, &p, &symbol->off, &digits) ||
        digits > 16)
        return;
    symbol->has_off = 1;
    *at = p;
    if (cairn_scan_text(text, &p, "/0x") &&
        cairn_scan_hex(text, &p, &symbol->function_size, &digits) && digits <= 16) {
        symbol->has_function_size = 1;
        *at = p;
    }
}

/* " [mod]", " [mod BUILDID]"; the kernel's own build ID may stand there alone. */
static void read_module(struct cairn_span text, size_t *at, struct cairn_klog_symbol *symbol)
{
    size_t p = *at;
    if (!cairn_scan_text(text, &p, " ["))
        return;
    size_t first = p;
    while (p < text.size && (is_name_byte(text.data[p]) || text.data[p] == '-'))
        p++;
    size_t n = p - first;
    if (!n || n > MODULE_BYTES_MAX)
        return;
    symbol->module = (const char *)text.data + first;
    symbol->module_size = n;
    size_t id = p;
    if (cairn_scan_char(text, &id, ' ')) {
        uint64_t ignored;
        size_t start = id, digits;
        if (!cairn_scan_hex(text, &id, &ignored, &digits) || digits < BUILD_ID_DIGITS_MIN)
            digits = 0;
        if (digits) {
            symbol->build_id = (const char *)text.data + start;
            symbol->build_id_size = digits;
            p = id;
        }
    }
    if (cairn_scan_char(text, &p, ']')) {
        *at = p;
        return;
    }
    symbol->module = symbol->build_id = NULL;
    symbol->module_size = symbol->build_id_size = 0;
}

size_t cairn_klog_symbol(const char *bytes, size_t size, struct cairn_klog_symbol *symbol)
{
    struct cairn_span text = {(const uint8_t *)bytes, size};
    size_t at = 0;
    *symbol = (struct cairn_klog_symbol){0};
    (void)cairn_scan_text(text, &at, "? ");
    symbol->name = bytes + at;
    symbol->name_size = read_name(text, at);
    if (!symbol->name_size || cairn_scan_is_digit((uint8_t)*symbol->name))
        return 0;
    at += symbol->name_size;
    read_offset(text, &at, symbol);
    read_module(text, &at, symbol);
    return at;
}
