/* SPDX-License-Identifier: MIT */
#include "trace/fields.h"

#include <string.h>

static enum cairn_call_kind kind_of(enum cairn_field_kind kind)
{
    static const enum cairn_call_kind kinds[] = {
        [CAIRN_FIELD_TEXT] = CAIRN_KIND_TEXT, [CAIRN_FIELD_POINTER] = CAIRN_KIND_POINTER,
        [CAIRN_FIELD_INT] = CAIRN_KIND_INT,   [CAIRN_FIELD_LONG] = CAIRN_KIND_LONG,
        [CAIRN_FIELD_SIZE] = CAIRN_KIND_SIZE, [CAIRN_FIELD_HEX] = CAIRN_KIND_HEX};
    return kinds[kind];
}

static void add_field(const struct cairn_field_line *line, struct cairn_fields *fields,
                      struct cairn_syscall *call)
{
    const uint32_t end = (uint32_t)line->field.off + line->field.size;
    struct cairn_call_arg *arg = &call->args[fields->n];
    if (end > CAIRN_RECORD_BYTES_MAX)
        return;
    *arg = (struct cairn_call_arg){.kind = kind_of(line->kind)};
    _Static_assert(sizeof arg->name == sizeof line->name, "names fit");
    memcpy(arg->name, line->name, sizeof arg->name);
    if (line->field.is_dynamic)
        fields->record_bytes = CAIRN_RECORD_BYTES_MAX;
    else if (end > fields->record_bytes)
        fields->record_bytes = (uint16_t)end;
    fields->fields[fields->n] = line->field;
    call->n_args = ++fields->n;
}

static void mark_hex(struct cairn_span text, struct cairn_syscall *call)
{
    for (int i = 0; i < call->n_args; i++) {
        const enum cairn_call_kind kind = call->args[i].kind;
        if ((kind == CAIRN_KIND_SIZE || kind == CAIRN_KIND_LONG) &&
            cairn_field_is_hex(text, call->args[i].name))
            call->args[i].kind = CAIRN_KIND_HEX;
    }
}

bool cairn_fields_read(struct cairn_span text, struct cairn_fields *ret_fields,
                       struct cairn_syscall *ret_call)
{
    char line[CAIRN_FIELD_LINE_BYTES];
    struct cairn_field_line field;
    *ret_fields = (struct cairn_fields){0};
    ret_call->n_args = 0;
    for (size_t at = 0; ret_fields->n < CAIRN_CALL_ARGS && cairn_field_next_line(text, &at, line);)
        if (cairn_field_read(line, &field))
            add_field(&field, ret_fields, ret_call);
    mark_hex(text, ret_call);
    return ret_fields->n > 0;
}
