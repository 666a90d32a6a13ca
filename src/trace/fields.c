/* SPDX-License-Identifier: MIT */
#include "trace/fields.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 512 };

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

static enum cairn_call_kind kind_of(const char *type, size_t size, const struct cairn_field *field,
                                    bool is_array)
{
    if (has_word(type, size, "char") && (is_array || field->is_dynamic))
        return CAIRN_KIND_TEXT;
    if (memchr(type, '*', size) || is_array || field->is_dynamic)
        return CAIRN_KIND_POINTER;
    if (has_word(type, size, "pid_t"))
        return CAIRN_KIND_INT;
    if (has_word(type, size, "flags") || has_word(type, size, "gfp_t"))
        return CAIRN_KIND_HEX;
    if (field->is_signed)
        return field->size == 8 ? CAIRN_KIND_LONG : CAIRN_KIND_INT;
    return CAIRN_KIND_SIZE;
}

/* "field:TYPE NAME[16];  offset:8;  size:16;  signed:0;" */
static bool read_line(const char *line, struct cairn_field *field, struct cairn_call_arg *arg)
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
    if (!length || name == type || length >= sizeof arg->name || strncmp(name, "common_", 7) == 0)
        return false;
    *field = (struct cairn_field){.off = (uint16_t)off,
                                  .size = (uint16_t)size,
                                  .is_signed = is_signed != 0,
                                  .is_dynamic = strncmp(type, "__data_loc", 10) == 0};
    *arg = (struct cairn_call_arg){.kind = kind_of(type, (size_t)(name - type), field, is_array)};
    memcpy(arg->name, name, length);
    if (arg->kind == CAIRN_KIND_SIZE && strstr(arg->name, "flags"))
        arg->kind = CAIRN_KIND_HEX; /* bits */
    return true;
}

/* A number that the kernel itself prints as an address or in hex: "ip=0x%lx", "ip=%pS". */
static bool is_hex(struct cairn_span text, const char *name)
{
    char before[CAIRN_CALL_NAME_BYTES + 4];
    static const char *const formats[] = {"=0x%", "=%p", " 0x%", " %p"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        snprintf(before, sizeof before, "%s%s", name, formats[i]);
        if (memmem(text.data, text.size, before, strlen(before)))
            return true;
    }
    return false;
}

static void add_line(const char *line, struct cairn_fields *fields, struct cairn_syscall *call)
{
    struct cairn_field *field = &fields->fields[fields->n];
    if (!read_line(line, field, &call->args[fields->n]))
        return;
    const uint32_t end = (uint32_t)field->off + field->size;
    if (end > CAIRN_RECORD_BYTES_MAX)
        return;
    if (field->is_dynamic)
        fields->record_bytes = CAIRN_RECORD_BYTES_MAX;
    else if (end > fields->record_bytes)
        fields->record_bytes = (uint16_t)end;
    call->n_args = ++fields->n;
}

static void mark_hex(struct cairn_span text, struct cairn_syscall *call)
{
    const uint8_t *print = memmem(text.data, text.size, "print fmt:", 10);
    if (!print)
        return;
    text.size -= (size_t)(print - text.data);
    text.data = print;
    for (int i = 0; i < call->n_args; i++) {
        const enum cairn_call_kind kind = call->args[i].kind;
        if ((kind == CAIRN_KIND_SIZE || kind == CAIRN_KIND_LONG) &&
            is_hex(text, call->args[i].name))
            call->args[i].kind = CAIRN_KIND_HEX;
    }
}

bool cairn_fields_read(struct cairn_span text, struct cairn_fields *ret_fields,
                       struct cairn_syscall *ret_call)
{
    char line[LINE_BYTES];
    *ret_fields = (struct cairn_fields){0};
    ret_call->n_args = 0;
    for (size_t at = 0; at < text.size && ret_fields->n < CAIRN_CALL_ARGS;) {
        const uint8_t *start = text.data + at, *end = memchr(start, '\n', text.size - at);
        const size_t size = end ? (size_t)(end - start) : text.size - at;
        at += size + 1;
        if (size >= sizeof line)
            continue;
        memcpy(line, start, size);
        line[size] = '\0';
        add_line(line, ret_fields, ret_call);
    }
    mark_hex(text, ret_call);
    return ret_fields->n > 0;
}

uint64_t cairn_field_number(const struct cairn_field *field, struct cairn_span record)
{
    uint64_t value = 0;
    if (field->size > sizeof value || (size_t)field->off + field->size > record.size)
        return 0;
    memcpy(&value, record.data + field->off, field->size); /* little endian, as both CPUs are */
    const unsigned unused = 64 - 8 * (unsigned)field->size;
    if (field->is_signed && unused && unused < 64)
        value = (uint64_t)((int64_t)(value << unused) >> unused);
    return value;
}

struct cairn_span cairn_field_text(const struct cairn_field *field, struct cairn_span record)
{
    size_t off = field->off, size = field->size;
    if (field->is_dynamic) {
        const uint64_t place = cairn_field_number(field, record);
        off = place & 0xffff;
        size = place >> 16 & 0xffff;
    }
    if (off >= record.size)
        return (struct cairn_span){0};
    if (size > record.size - off)
        size = record.size - off;
    return (struct cairn_span){record.data + off, strnlen((const char *)record.data + off, size)};
}
