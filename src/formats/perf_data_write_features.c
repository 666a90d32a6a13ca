/* SPDX-License-Identifier: MIT */
/* Attributes and features of a written perf.data: what its events are called, where it was recorded
 * and by which command, build IDs by path, two clocks. */
#include <cairn/version.h>

#include "formats/perf_data_attr.h"
#include "formats/perf_data_numbers.h"
#include "formats/perf_data_write.h"

enum {
    TEXT_ALIGN = 64,
    BUILD_ID_PAD = 3,
    ENTRY_HEAD = 36, /* of a build ID, up to its path */
    CLOCK_REALTIME_ID = 0,
    CLOCK_MONOTONIC_ID = 1
};

enum { N_FEATURES = 32 }; /* bits of the features that are written are below it */
enum { AT_CLOCK_ID = 92, MAX_STACK = 1 << 14 };

size_t cairn_perf_data_write_build_id(const char *hex, uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;
    while (n < size && hex[0] && hex[1]) {
        const char *high = strchr(digits, hex[0]), *low = strchr(digits, hex[1]);
        if (!high || !low)
            return 0;
        bytes[n++] = (uint8_t)((high - digits) << 4 | (low - digits));
        hex += 2;
    }
    return n;
}

/* A profile whose only values are "samples" has no other name for what was counted. */
const char *cairn_perf_data_write_name(const struct cairn_perf_data_writing *w, size_t i)
{
    const size_t type = w->events[i].values;
    return type == w->samples_type ? "stacks"
                                   : cairn_strings_get(&w->p->strings, w->p->types[type].type);
}

static bool has_wall_time(const struct cairn_perf_data_writing *w)
{
    return w->p->time_ns > 0;
}

void cairn_perf_data_write_attr(const struct cairn_perf_data_writing *w, size_t i,
                                struct cairn_buffer *to)
{
    static const uint8_t fields[] = {CAIRN_PERF_DATA_IP,     CAIRN_PERF_DATA_TID,
                                     CAIRN_PERF_DATA_TIME,   CAIRN_PERF_DATA_CALLCHAIN,
                                     CAIRN_PERF_DATA_PERIOD, CAIRN_PERF_DATA_IDENTIFIER};
    static const uint8_t flag_bits[] = {CAIRN_PERF_DATA_MMAP, CAIRN_PERF_DATA_COMM,
                                        CAIRN_PERF_DATA_TASK, CAIRN_PERF_DATA_SAMPLE_ID_ALL,
                                        CAIRN_PERF_DATA_MMAP2};
    const size_t start = to->size;
    uint64_t sample_type = w->has_cpus ? UINT64_C(1) << CAIRN_PERF_DATA_CPU : 0, flags = 0;
    for (size_t k = 0; k < sizeof fields; k++)
        sample_type |= UINT64_C(1) << fields[k];
    for (size_t k = 0; k < sizeof flag_bits; k++)
        flags |= UINT64_C(1) << flag_bits[k];
    if (has_wall_time(w))
        flags |= UINT64_C(1) << CAIRN_PERF_DATA_USE_CLOCK_ID;
    cairn_buffer_le(to, w->events[i].type, 4);
    cairn_buffer_le(to, CAIRN_PERF_DATA_WRITE_ATTR, 4);
    cairn_buffer_le(to, w->events[i].config, 8);
    cairn_buffer_le(to, 1, 8); /* the period; each sample has its own */
    cairn_buffer_le(to, sample_type, 8);
    cairn_buffer_le(to, 0, 8);
    cairn_buffer_le(to, flags, 8);
    while (to->size - start < AT_CLOCK_ID && !to->failed)
        cairn_buffer_char(to, 0);
    cairn_buffer_le(to, w->clock_shift ? CLOCK_MONOTONIC_ID : CLOCK_REALTIME_ID, 4);
    while (to->size - start < CAIRN_PERF_DATA_AT_MAX_STACK && !to->failed)
        cairn_buffer_char(to, 0);
    cairn_buffer_le(to, MAX_STACK, 2); /* more than a chain has: none was cut here */
    while (to->size - start < CAIRN_PERF_DATA_WRITE_ATTR && !to->failed)
        cairn_buffer_char(to, 0);
}

static void put_text(struct cairn_buffer *to, const char *text)
{
    const size_t size = strlen(text) + 1;
    cairn_buffer_le(to, (size + TEXT_ALIGN - 1) / TEXT_ALIGN * TEXT_ALIGN, 4);
    cairn_perf_data_put_text(to, text, TEXT_ALIGN);
}

static void put_note(const struct cairn_perf_data_writing *w, enum cairn_note kind,
                     struct cairn_buffer *to)
{
    const char *note = cairn_profile_note(w->p, kind, 0);
    if (note && *note)
        put_text(to, note);
}

/* The words of the command are not known any more, only the line. */
static void put_command(const struct cairn_perf_data_writing *w, struct cairn_buffer *to)
{
    const char *note = cairn_profile_note(w->p, CAIRN_NOTE_COMMAND, 0);
    if (!note || !*note)
        return;
    cairn_buffer_le(to, 1, 4);
    put_text(to, note);
}

static void put_events(const struct cairn_perf_data_writing *w, struct cairn_buffer *to)
{
    cairn_buffer_le(to, w->n_events, 4);
    cairn_buffer_le(to, CAIRN_PERF_DATA_WRITE_ATTR, 4);
    for (size_t i = 0; i < w->n_events; i++) {
        cairn_perf_data_write_attr(w, i, to);
        cairn_buffer_le(to, 1, 4);
        put_text(to, cairn_perf_data_write_name(w, i));
        cairn_buffer_le(to, CAIRN_PERF_DATA_WRITE_ID + i, 8);
    }
}

static void put_build_id(const struct cairn_perf_data_writing *w, uint32_t module,
                         struct cairn_buffer *to)
{
    const struct cairn_profile_module *m = &w->p->modules[module];
    const char *path = cairn_strings_get(&w->p->strings, m->path);
    const bool is_kernel = w->places[module].kind >= CAIRN_PERF_DATA_PLACE_KERNEL_IMAGE;
    const size_t path_bytes = (strlen(path) + TEXT_ALIGN) / TEXT_ALIGN * TEXT_ALIGN;
    uint8_t id[PERF_DATA_BUILD_ID_BYTES] = {0};
    const size_t size = cairn_perf_data_write_build_id(
        cairn_strings_get(&w->p->strings, m->build_id), id, sizeof id);
    if (!size || !*path || path_bytes > CAIRN_PERF_DATA_OUT_RECORD_MAX - ENTRY_HEAD)
        return;
    cairn_buffer_le(to, 0, 4);
    cairn_buffer_le(to,
                    PERF_DATA_MISC_BUILD_ID_SIZE |
                        (is_kernel ? PERF_DATA_MODE_KERNEL : PERF_DATA_MODE_USER),
                    2);
    cairn_buffer_le(to, ENTRY_HEAD + path_bytes, 2);
    cairn_buffer_le(to, UINT32_MAX, 4); /* of the host */
    cairn_buffer_add(to, id, sizeof id);
    cairn_buffer_le(to, size, 1);
    cairn_buffer_le(to, 0, BUILD_ID_PAD);
    cairn_perf_data_put_text(to, path, TEXT_ALIGN);
}

/* A path that two builds had is told apart by its mappings alone. */
static void put_build_ids(const struct cairn_perf_data_writing *w, struct cairn_buffer *to)
{
    enum { SEVERAL = INT32_MAX };
    const struct cairn_profile_module *modules = w->p->modules;
    struct cairn_table by_path = {0};
    uint32_t known;
    for (uint32_t i = 1; i < w->p->n_modules; i++) {
        if (!modules[i].build_id || !w->places[i].is_mapped)
            continue;
        if (!cairn_table_find(&by_path, modules[i].path, &known))
            known = i;
        else if (known != SEVERAL && modules[known].build_id != modules[i].build_id)
            known = SEVERAL;
        to->failed |= cairn_table_set(&by_path, modules[i].path, known) < 0;
    }
    for (uint32_t i = 1; i < w->p->n_modules; i++)
        if (cairn_table_find(&by_path, modules[i].path, &known) && known == i)
            put_build_id(w, i, to);
    cairn_table_done(&by_path);
}

static void put_clocks(const struct cairn_perf_data_writing *w, struct cairn_buffer *to)
{
    if (!has_wall_time(w))
        return;
    cairn_buffer_le(to, 1, 4); /* version */
    cairn_buffer_le(to, w->clock_shift ? CLOCK_MONOTONIC_ID : CLOCK_REALTIME_ID, 4);
    cairn_buffer_le(to, (uint64_t)w->p->time_ns, 8);
    cairn_buffer_le(to, (uint64_t)w->p->time_ns - w->clock_shift, 8);
}

static void put_version(struct cairn_buffer *to)
{
    struct cairn_buffer text = {0};
    cairn_buffer_printf(&text, "cairn %s", cairn_version());
    put_text(to, cairn_buffer_text(&text));
    to->failed |= text.failed;
    cairn_buffer_done(&text);
}

static void put_feature(const struct cairn_perf_data_writing *w, unsigned feature,
                        struct cairn_buffer *to)
{
    switch (feature) {
    case PERF_DATA_FEATURE_BUILD_ID:
        put_build_ids(w, to);
        return;
    case PERF_DATA_FEATURE_HOSTNAME:
        put_note(w, CAIRN_NOTE_HOST, to);
        return;
    case PERF_DATA_FEATURE_OSRELEASE:
        put_note(w, CAIRN_NOTE_KERNEL, to);
        return;
    case PERF_DATA_FEATURE_VERSION:
        put_version(to);
        return;
    case PERF_DATA_FEATURE_ARCH:
        put_note(w, CAIRN_NOTE_CPU, to);
        return;
    case PERF_DATA_FEATURE_CMDLINE:
        put_command(w, to);
        return;
    case PERF_DATA_FEATURE_EVENT_DESC:
        put_events(w, to);
        return;
    case PERF_DATA_FEATURE_SAMPLE_TIME:
        cairn_buffer_le(to, w->first_ns, 8);
        cairn_buffer_le(to, w->last_ns, 8);
        return;
    case PERF_DATA_FEATURE_CLOCK_DATA:
        put_clocks(w, to);
        return;
    default:
        return;
    }
}

/* The bytes of all features come behind a table that says where each of them is. */
void cairn_perf_data_write_features(const struct cairn_perf_data_writing *w, uint64_t off,
                                    uint64_t ret_bits[4], struct cairn_buffer *to)
{
    struct cairn_buffer bytes = {0};
    size_t at[N_FEATURES + 1], n = 0;
    memset(ret_bits, 0, 4 * sizeof *ret_bits);
    for (unsigned i = 0; i < N_FEATURES; i++) {
        at[n] = bytes.size;
        put_feature(w, i, &bytes);
        if (bytes.size > at[n]) {
            ret_bits[0] |= UINT64_C(1) << i;
            n++;
        }
    }
    at[n] = bytes.size;
    for (size_t i = 0; i < n; i++) {
        cairn_buffer_le(to, off + n * PERF_DATA_SECTION_BYTES + at[i], 8);
        cairn_buffer_le(to, at[i + 1] - at[i], 8);
    }
    cairn_buffer_add(to, bytes.data, bytes.size);
    to->failed |= bytes.failed;
    cairn_buffer_done(&bytes);
}
