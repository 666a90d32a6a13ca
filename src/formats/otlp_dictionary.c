/* SPDX-License-Identifier: MIT */
/* The tables of an OTLP profile: what profiles refer to by number, only what samples reach. */
#include "base/escape.h"
#include "formats/otlp_write.h"

enum { TRACE_ID_BYTES = 16, SPAN_ID_BYTES = 8 };

/* Readers refuse a whole request for one byte that is no UTF-8. */
static void add_sound(struct cairn_buffer *to, const char *text)
{
    static const char unknown[] = "\xef\xbf\xbd";
    for (size_t left = strlen(text); left;) {
        uint32_t rune;
        const unsigned n = cairn_utf8_next(text, left, &rune);
        cairn_buffer_add(to, n ? text : unknown, n ? n : sizeof unknown - 1);
        text += n ? n : 1;
        left -= n ? n : 1;
    }
}

uint32_t cairn_otlp_text(struct cairn_otlp_writing *w, const char *text)
{
    struct cairn_buffer sound = {0};
    add_sound(&sound, text);
    uint32_t number = sound.failed
                          ? UINT32_MAX
                          : cairn_strings_add(&w->texts, cairn_buffer_text(&sound), sound.size);
    w->failed |= number == UINT32_MAX;
    cairn_buffer_done(&sound);
    return number;
}

void cairn_otlp_put_text(struct cairn_buffer *to, uint32_t field, const char *text)
{
    struct cairn_buffer sound = {0};
    add_sound(&sound, text);
    cairn_pb_bytes(to, field, cairn_buffer_span(&sound));
    to->failed |= sound.failed;
    cairn_buffer_done(&sound);
}

uint32_t cairn_otlp_own_text(struct cairn_otlp_writing *w, uint32_t number)
{
    return cairn_otlp_text(w, cairn_strings_get(&w->p->strings, number));
}

void cairn_otlp_put_message(struct cairn_otlp_writing *w, struct cairn_buffer *to, uint32_t field,
                            struct cairn_buffer *message)
{
    cairn_pb_bytes(to, field, cairn_buffer_span(message));
    w->failed |= message->failed;
    cairn_buffer_done(message);
}

/* In a oneof, 0 and "" are written, too. */
static void put_value(struct cairn_buffer *to, const char *text, int64_t number)
{
    if (text) {
        cairn_otlp_put_text(to, OTLP_ANY_STRING, text);
        return;
    }
    cairn_buffer_uleb(to, OTLP_ANY_INT << 3 | CAIRN_PB_VARINT);
    cairn_buffer_uleb(to, (uint64_t)number);
}

uint32_t cairn_otlp_attribute_of(struct cairn_otlp_writing *w, const char *key,
                                 struct cairn_buffer *value, const char *unit)
{
    struct cairn_buffer message = {0};
    cairn_pb_uint(&message, OTLP_ATTRIBUTE_KEY, cairn_otlp_text(w, key));
    cairn_otlp_put_message(w, &message, OTLP_ATTRIBUTE_VALUE, value);
    cairn_pb_uint(&message, OTLP_ATTRIBUTE_UNIT, cairn_otlp_text(w, unit));
    const uint64_t hash = cairn_hash_bytes(message.data, message.size);
    uint32_t found = w->n_attributes + 1;
    if (!cairn_table_find(&w->attributes, hash, &found)) {
        w->failed |= cairn_table_set(&w->attributes, hash, found) < 0;
        cairn_pb_bytes(&w->attribute_table, OTLP_ATTRIBUTE, cairn_buffer_span(&message));
        w->n_attributes++;
    }
    w->failed |= message.failed;
    cairn_buffer_done(&message);
    return found;
}

uint32_t cairn_otlp_attribute(struct cairn_otlp_writing *w, const char *key, const char *text,
                              int64_t number, const char *unit)
{
    struct cairn_buffer value = {0};
    put_value(&value, text, number);
    return cairn_otlp_attribute_of(w, key, &value, unit);
}

uint32_t cairn_otlp_stack(struct cairn_otlp_writing *w, uint32_t stack)
{
    struct cairn_buffer message = {0}, locations = {0};
    uint32_t number;
    if (!stack)
        return 0;
    if (cairn_table_find(&w->stacks, stack, &number))
        return number;
    for (uint32_t at = stack; at; at = w->p->stacks[at].parent)
        cairn_buffer_uleb(&locations, w->locations[w->p->stacks[at].frame]);
    cairn_otlp_put_message(w, &message, OTLP_STACK_LOCATIONS, &locations);
    cairn_otlp_put_message(w, &w->stack_table, OTLP_STACK, &message);
    w->failed |= cairn_table_set(&w->stacks, stack, ++w->n_stacks) < 0;
    return w->n_stacks;
}

static void put_attributes(struct cairn_buffer *to, uint32_t field, const uint32_t *numbers,
                           size_t n)
{
    struct cairn_buffer packed = {0};
    for (size_t i = 0; i < n; i++)
        cairn_buffer_uleb(&packed, numbers[i]);
    if (n)
        cairn_pb_bytes(to, field, cairn_buffer_span(&packed));
    to->failed |= packed.failed;
    cairn_buffer_done(&packed);
}

static void put_mapping(struct cairn_otlp_writing *w, uint32_t module, struct cairn_buffer *to)
{
    static const char build_id[] = "process.executable.build_id.gnu";
    const struct cairn_profile_module *m = &w->p->modules[module];
    struct cairn_buffer message = {0};
    cairn_pb_uint(&message, OTLP_MAPPING_START, m->start);
    cairn_pb_uint(&message, OTLP_MAPPING_LIMIT, m->end);
    cairn_pb_uint(&message, OTLP_MAPPING_OFFSET, m->off);
    cairn_pb_uint(&message, OTLP_MAPPING_FILE, cairn_otlp_own_text(w, m->path));
    if (m->build_id) {
        const uint32_t attribute = cairn_otlp_attribute(
            w, build_id, cairn_strings_get(&w->p->strings, m->build_id), 0, "");
        put_attributes(&message, OTLP_MAPPING_ATTRIBUTES, &attribute, 1);
    }
    cairn_otlp_put_message(w, to, OTLP_MAPPING, &message);
}

static const char *frame_type(const struct cairn_profile_frame *frame)
{
    switch (frame->what) {
    case CAIRN_WHAT_KERNEL:
        return "kernel";
    case CAIRN_WHAT_JIT:
        return "jit";
    case CAIRN_WHAT_INTERPRETED:
        return frame->language == CAIRN_LANGUAGE_LUA ? "lua" : "interpreted";
    case CAIRN_WHAT_MARKER:
        return NULL;
    default:
        return "native";
    }
}

static void put_location(struct cairn_otlp_writing *w, uint32_t number, struct cairn_buffer *to)
{
    const struct cairn_profile_frame *frame = &w->p->frames[number];
    const char *type = frame_type(frame);
    struct cairn_buffer message = {0};
    uint32_t attributes[2];
    size_t n = 0;
    cairn_pb_uint(&message, OTLP_LOCATION_MAPPING, w->mappings[frame->module]);
    cairn_pb_uint(&message, OTLP_LOCATION_ADDRESS, frame->address);
    for (uint32_t i = 0; i < frame->n_lines; i++) {
        const struct cairn_profile_line *line = &w->p->lines[frame->lines + i];
        struct cairn_buffer inner = {0};
        cairn_pb_uint(&inner, OTLP_LINE_FUNCTION, w->functions[line->function]);
        cairn_pb_uint(&inner, OTLP_LINE_LINE, line->line);
        cairn_otlp_put_message(w, &message, OTLP_LOCATION_LINE, &inner);
    }
    if (type)
        attributes[n++] = cairn_otlp_attribute(w, "profile.frame.type", type, 0, "");
    if (cairn_frame_is_guess(frame->how))
        attributes[n++] = cairn_otlp_attribute(w, "cairn.frame.guessed", NULL, 1, "");
    put_attributes(&message, OTLP_LOCATION_ATTRIBUTES, attributes, n);
    cairn_otlp_put_message(w, to, OTLP_LOCATION, &message);
}

static void put_function(struct cairn_otlp_writing *w, uint32_t number, struct cairn_buffer *to)
{
    const struct cairn_profile_function *f = &w->p->functions[number];
    struct cairn_buffer message = {0};
    cairn_pb_uint(&message, OTLP_FUNCTION_NAME, cairn_otlp_own_text(w, f->name));
    cairn_pb_uint(&message, OTLP_FUNCTION_SYSTEM_NAME, cairn_otlp_own_text(w, f->system_name));
    cairn_pb_uint(&message, OTLP_FUNCTION_FILE, cairn_otlp_own_text(w, f->file));
    cairn_pb_uint(&message, OTLP_FUNCTION_START_LINE, f->start_line);
    cairn_otlp_put_message(w, to, OTLP_FUNCTION, &message);
}

/* The empty link: a trace and a span whose numbers are all 0. */
static void put_link(struct cairn_otlp_writing *w, struct cairn_buffer *to)
{
    static const uint8_t zeros[TRACE_ID_BYTES];
    struct cairn_buffer message = {0};
    cairn_pb_bytes(&message, OTLP_LINK_TRACE_ID, (struct cairn_span){zeros, TRACE_ID_BYTES});
    cairn_pb_bytes(&message, OTLP_LINK_SPAN_ID, (struct cairn_span){zeros, SPAN_ID_BYTES});
    cairn_otlp_put_message(w, to, OTLP_LINK, &message);
}

/* Attributes need texts, so that texts come last. */
void cairn_otlp_put_dictionary(struct cairn_otlp_writing *w, struct cairn_buffer *to)
{
    const struct cairn_span none = {0};
    cairn_pb_bytes(to, OTLP_MAPPING, none);
    for (uint32_t i = 1; i < w->p->n_modules; i++)
        if (w->reach.modules[i])
            put_mapping(w, i, to);
    cairn_pb_bytes(to, OTLP_LOCATION, none);
    for (uint32_t i = 1; i < w->p->n_frames; i++)
        if (w->reach.frames[i])
            put_location(w, i, to);
    cairn_pb_bytes(to, OTLP_FUNCTION, none);
    for (uint32_t i = 1; i < w->p->n_functions; i++)
        if (w->reach.functions[i])
            put_function(w, i, to);
    put_link(w, to);
    cairn_pb_bytes(to, OTLP_STACK, none);
    cairn_buffer_add(to, w->stack_table.data, w->stack_table.size);
    cairn_pb_bytes(to, OTLP_ATTRIBUTE, none);
    cairn_buffer_add(to, w->attribute_table.data, w->attribute_table.size);
    w->failed |= w->stack_table.failed || w->attribute_table.failed;
    for (uint32_t i = 0; i < (w->texts.n ? w->texts.n : 1); i++)
        cairn_pb_bytes(to, OTLP_STRING,
                       (struct cairn_span){(const uint8_t *)cairn_strings_get(&w->texts, i),
                                           cairn_strings_size(&w->texts, i)});
}
