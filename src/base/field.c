/* SPDX-License-Identifier: MIT */
#include "base/field.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* The number behind `key`; false: there is none, or it is too large. */
static bool read_number(const char *line, const char *key, uint32_t *ret_value)
{
    const char *at = strstr(line, key);
    if (!at || !isdigit((unsigned char)at[strlen(key)]))
        return false;
    const unsigned long value = strtoul(at + strlen(key), NULL, 10);
    *ret_value = (uint32_t)value;
    return value <= UINT16_MAX;
}

static bool has_word(const char *type, size_t size, const char *word)
{
    return memmem(type, size, word, strlen(word)) != NULL;
}

static enum cairn_field_kind kind_of(const char *type, size_t size, const struct cairn_field *field,
                                     bool is_array)
{
    if (has_word(type, size, "char") && (is_array || field->is_dynamic))
        return CAIRN_FIELD_TEXT;
    if (memchr(type, '*', size) || is_array || field->is_dynamic)
        return CAIRN_FIELD_POINTER;
    if (has_word(type, size, "pid_t"))
        return CAIRN_FIELD_INT;
    if (has_word(type, size, "flags") || has_word(type, size, "gfp_t"))
        return CAIRN_FIELD_HEX;
    if (field->is_signed)
        return field->size == 8 ? CAIRN_FIELD_LONG : CAIRN_FIELD_INT;
    return CAIRN_FIELD_SIZE;
}

/* "field:TYPE NAME[16];  offset:8;  size:16;  signed:0;" */
bool cairn_field_read(const char *line, struct cairn_field_line *ret_field)
{
    static const char key[] = "field:";
    const char *type = strstr(line, key), *end;
    uint32_t off, size, is_signed;
    if (!type || !(end = strchr(type, ';')) || !read_number(end, "offset:", &off) ||
        !read_number(end, "size:", &size) || !read_number(end, "signed:", &is_signed))
        return false;
    type += sizeof key - 1;
    const bool is_array = end > type && end[-1] == ']';
    while (is_array && end > type && *end != '[')
        end--;
    const char *name = end;
    while (name > type && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
        name--;
    const size_t length = (size_t)(end - name);
    if (!length || name == type || length >= CAIRN_FIELD_NAME_BYTES ||
        strncmp(name, "common_", 7) == 0)
        return false;
    struct cairn_field_line found = {.field = {.off = (uint16_t)off,
                                               .size = (uint16_t)size,
                                               .is_signed = is_signed != 0,
                                               .is_dynamic = strncmp(type, "__data_loc", 10) == 0}};
    found.kind = kind_of(type, (size_t)(name - type), &found.field, is_array);
    memcpy(found.name, name, length);
    if (found.kind == CAIRN_FIELD_SIZE && strstr(found.name, "flags"))
        found.kind = CAIRN_FIELD_HEX; /* bits */
    *ret_field = found;
    return true;
}

bool cairn_field_next_line(struct cairn_span text, size_t *io_at, char line[CAIRN_FIELD_LINE_BYTES])
{
    while (*io_at < text.size) {
        const uint8_t *start = text.data + *io_at, *end = memchr(start, '\n', text.size - *io_at);
        const size_t size = end ? (size_t)(end - start) : text.size - *io_at;
        *io_at += size + 1;
        if (size >= CAIRN_FIELD_LINE_BYTES)
            continue;
        memcpy(line, start, size);
        line[size] = '\0';
        return true;
    }
    return false;
}

bool cairn_field_is_hex(struct cairn_span text, const char *name)
{
    char before[CAIRN_FIELD_NAME_BYTES + 4];
    static const char *const formats[] = {"=0x%", "=%p", " 0x%", " %p"};
    const uint8_t *print = text.size ? memmem(text.data, text.size, "print fmt:", 10) : NULL;
    if (!print)
        return false;
    text.size -= (size_t)(print - text.data);
    text.data = print;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        snprintf(before, sizeof before, "%s%s", name, formats[i]);
        if (memmem(text.data, text.size, before, strlen(before)))
            return true;
    }
    return false;
}

uint64_t cairn_field_number(const struct cairn_field *field, struct cairn_span record, bool swap)
{
    bool is_big = swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    uint64_t value = 0;
    if (field->size > sizeof value || (size_t)field->off + field->size > record.size)
        return 0;
    for (size_t i = 0; i < field->size; i++)
        value |= (uint64_t)record.data[field->off + i] << 8 * (is_big ? field->size - 1 - i : i);
    const unsigned unused = 64 - 8 * (unsigned)field->size;
    if (field->is_signed && unused && unused < 64)
        value = (uint64_t)((int64_t)(value << unused) >> unused);
    return value;
}

struct cairn_span cairn_field_bytes(const struct cairn_field *field, struct cairn_span record,
                                    bool swap)
{
    size_t off = field->off, size = field->size;
    if (field->is_dynamic) {
        const uint64_t place = cairn_field_number(field, record, swap);
        off = place & 0xffff;
        size = place >> 16 & 0xffff;
    }
    if (off >= record.size)
        return (struct cairn_span){0};
    if (size > record.size - off)
        size = record.size - off;
    return (struct cairn_span){record.data + off, size};
}

struct cairn_span cairn_field_text(const struct cairn_field *field, struct cairn_span record,
                                   bool swap)
{
    struct cairn_span bytes = cairn_field_bytes(field, record, swap);
    bytes.size = bytes.size ? strnlen((const char *)bytes.data, bytes.size) : 0;
    return bytes;
}
