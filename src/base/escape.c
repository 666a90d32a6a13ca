/* SPDX-License-Identifier: MIT */
#include "base/escape.h"

#include <stdio.h>
#include <string.h>

enum { RUNE_MAX = 0x10ffff };

unsigned cairn_utf8_next(const char *text, size_t size, uint32_t *ret_rune)
{
    /* What a lead byte says: its own bits, the length, the least rune that needs that length. */
    static const struct {
        uint8_t mask, lead, size;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 1, 0},
                 {0xe0, 0xc0, 2, 0x80},
                 {0xf0, 0xe0, 3, 0x800},
                 {0xf8, 0xf0, 4, 0x10000}};
    const uint8_t *bytes = (const uint8_t *)text;
    for (size_t i = 0; size && i < sizeof forms / sizeof *forms; i++) {
        if ((bytes[0] & forms[i].mask) != forms[i].lead)
            continue;
        if (forms[i].size > size)
            return 0;
        uint32_t rune = bytes[0] & (uint8_t)~forms[i].mask;
        for (unsigned at = 1; at < forms[i].size; at++) {
            if ((bytes[at] & 0xc0) != 0x80)
                return 0;
            rune = rune << 6 | (bytes[at] & 0x3f);
        }
        bool surrogate = rune >= 0xd800 && rune <= 0xdfff;
        if (rune < forms[i].least || rune > RUNE_MAX || surrogate)
            return 0;
        *ret_rune = rune;
        return forms[i].size;
    }
    return 0;
}

enum { NOT_UTF8 = 0x110000, REPLACEMENT_MAX = 16 };

/* What to write instead of one unit, into `out`; 0 where it stays as it is. `rune` is NOT_UTF8 for
 * a byte that belongs to no sequence; `byte` is the first of the unit. */
typedef int (*replace_fn)(char out[REPLACEMENT_MAX], uint32_t rune, uint8_t byte);

/* What nobody replaces, and names consist of. */
static const bool is_plain[256] = {
    ['a' ... 'z'] = true, ['A' ... 'Z'] = true, ['0' ... '9'] = true, ['_'] = true, [':'] = true,
    [' '] = true,         [','] = true,         ['.'] = true,         ['('] = true, [')'] = true,
};

/* Which bytes somebody may want replaced: controls, those listed, and those of long sequences. */
struct suspects {
    char bytes[8];
    bool high;
};

/* 16 bytes at once: two registers on x86-64 and aarch64 are one of these, elsewhere the compiler
 * makes do. */
typedef int8_t block __attribute__((vector_size(16)));
typedef uint64_t halves __attribute__((vector_size(16)));

static inline bool any(block mask)
{
    halves both = (halves)mask;
    return (both[0] | both[1]) != 0;
}

/* Nonzero bytes where `bytes` has one that somebody may want replaced. As numbers with a sign,
 * those of long sequences are below all others. */
static inline block find_suspects(block bytes, const struct suspects *suspects)
{
    block found = suspects->high ? bytes < 0x20 : (bytes & -0x20) == 0;
    for (const char *suspect = suspects->bytes; *suspect; suspect++)
        found |= bytes == (int8_t)*suspect;
    return found;
}

/* Copies as much as is beyond suspicion, a block at a time: names are long and mostly all of them,
 * so that one pass does it all. There is room for all of `text` behind `out`. */
static inline size_t copy_plain(uint8_t *out, const char *text, size_t size,
                                const struct suspects *suspects)
{
    size_t at = 0;
    block bytes;
    for (; size - at >= sizeof bytes; at += sizeof bytes) {
        memcpy(&bytes, text + at, sizeof bytes);
        if (any(find_suspects(bytes, suspects)))
            return at;
        memcpy(out + at, &bytes, sizeof bytes);
    }
    if (at && at < size) { /* once more what came before, to have a whole block */
        size_t last = size - sizeof bytes;
        memcpy(&bytes, text + last, sizeof bytes);
        if (any(find_suspects(bytes, suspects)))
            return at;
        memcpy(out + last, &bytes, sizeof bytes);
        at = size;
    }
    return at;
}

/* Appends what copy_plain() takes. */
static inline size_t add_plain(struct cairn_buffer *b, const char *text, size_t size,
                               const struct suspects *suspects)
{
    if (!size || !cairn_buffer_reserve(b, size))
        return 0;
    size_t plain = copy_plain(b->data + b->size, text, size, suspects);
    b->size += plain;
    b->data[b->size] = 0;
    return plain;
}

static inline __attribute__((always_inline)) void escape(struct cairn_buffer *b, const char *text,
                                                         size_t size,
                                                         const struct suspects suspects,
                                                         replace_fn replace)
{
    size_t at = add_plain(b, text, size, &suspects);
    size_t plain = at; /* start of the run that is copied in one piece */
    if (at == size)
        return;
    while (at < size) {
        if (is_plain[(uint8_t)text[at]]) {
            at++;
            continue;
        }
        uint32_t rune = NOT_UTF8;
        unsigned length = cairn_utf8_next(text + at, size - at, &rune);
        char out[REPLACEMENT_MAX];
        int out_size = replace(out, rune, (uint8_t)text[at]);
        size_t next = at + (length ? length : 1);
        if (out_size > 0) {
            cairn_buffer_add(b, text + plain, at - plain);
            cairn_buffer_add(b, out, (size_t)out_size);
            plain = next;
        }
        at = next;
    }
    cairn_buffer_add(b, text + plain, size - plain);
}

static bool turns_text(uint32_t rune)
{
    return (rune >= 0x202a && rune <= 0x202e) || (rune >= 0x2066 && rune <= 0x2069);
}

static bool breaks_line(uint32_t rune)
{
    return rune == 0x2028 || rune == 0x2029;
}

static int replace_for_terminal(char out[REPLACEMENT_MAX], uint32_t rune, uint8_t byte)
{
    if (rune < 0x20 || rune == 0x7f || rune == NOT_UTF8)
        return snprintf(out, REPLACEMENT_MAX, "\\x%02x", byte);
    bool is_c1 = rune >= 0x80 && rune <= 0x9f;
    if (is_c1 || turns_text(rune) || breaks_line(rune))
        return snprintf(out, REPLACEMENT_MAX, "\\u{%04x}", rune);
    return 0;
}

static int put(char out[REPLACEMENT_MAX], const char *text)
{
    return snprintf(out, REPLACEMENT_MAX, "%s", text);
}

static int replace_for_markup(char out[REPLACEMENT_MAX], uint32_t rune, uint8_t byte)
{
    (void)byte;
    switch (rune) {
    case '&':
        return put(out, "&amp;");
    case '<':
        return put(out, "&lt;");
    case '>':
        return put(out, "&gt;");
    case '"':
        return put(out, "&quot;");
    case '\'':
        return put(out, "&#39;");
    }
    /* XML 1.0, 2.2 Char. */
    bool forbidden = (rune < 0x20 && rune != '\t' && rune != '\n' && rune != '\r') ||
                     rune == 0xfffe || rune == 0xffff || rune == NOT_UTF8;
    return forbidden ? put(out, "\xef\xbf\xbd") : 0;
}

static int replace_for_json(char out[REPLACEMENT_MAX], uint32_t rune, uint8_t byte)
{
    (void)byte;
    switch (rune) {
    case '"':
        return put(out, "\\\"");
    case '\\':
        return put(out, "\\\\");
    case '\b':
        return put(out, "\\b");
    case '\f':
        return put(out, "\\f");
    case '\n':
        return put(out, "\\n");
    case '\r':
        return put(out, "\\r");
    case '\t':
        return put(out, "\\t");
    case NOT_UTF8:
        return put(out, "\xef\xbf\xbd");
    }
    bool for_script = rune == '<' || rune == '>' || rune == '&' || breaks_line(rune);
    bool for_terminal = rune >= 0x7f && rune <= 0x9f; /* which JSON itself would let pass */
    if (rune < 0x20 || for_script || for_terminal)
        return snprintf(out, REPLACEMENT_MAX, "\\u%04x", rune);
    return 0;
}

static int replace_for_collapsed(char out[REPLACEMENT_MAX], uint32_t rune, uint8_t byte)
{
    (void)byte;
    if (rune == ';')
        return put(out, ":");
    return rune == '\n' || rune == '\r' || rune == 0 ? put(out, " ") : 0;
}

void cairn_escape_terminal(struct cairn_buffer *b, const char *text, size_t size)
{
    escape(b, text, size, (struct suspects){"\x7f", true}, replace_for_terminal);
}

void cairn_escape_markup(struct cairn_buffer *b, const char *text, size_t size)
{
    escape(b, text, size, (struct suspects){"&<>\"'", true}, replace_for_markup);
}

void cairn_escape_json(struct cairn_buffer *b, const char *text, size_t size)
{
    escape(b, text, size, (struct suspects){"\"\\<>&\x7f", true}, replace_for_json);
}

void cairn_escape_collapsed(struct cairn_buffer *b, const char *text, size_t size)
{
    escape(b, text, size, (struct suspects){";", false}, replace_for_collapsed);
}
