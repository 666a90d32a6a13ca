/* SPDX-License-Identifier: MIT */
/* META_INFO of simpleperf: pairs of texts, each with its NUL. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "formats/perf_data.h"

enum { PAIRS_MAX = 1024, LINE_BYTES = 512, EVENTS_MAX = 1024 };

/* "name,type,config" in lines. */
static int take_events(struct cairn_perf_data *d, const char *text)
{
    for (int n = 0; *text && n < EVENTS_MAX; n++) {
        const size_t size = strcspn(text, "\n");
        char line[LINE_BYTES], *end;
        snprintf(line, sizeof line, "%.*s", (int)(size < LINE_BYTES ? size : LINE_BYTES), text);
        text += size + (text[size] == '\n');
        char *config = strrchr(line, ',');
        if (!config)
            continue;
        *config++ = '\0';
        char *type = strrchr(line, ',');
        if (!type)
            continue;
        *type++ = '\0';
        const unsigned long type_number = strtoul(type, &end, 10);
        const unsigned long long config_number = strtoull(config, NULL, 10);
        for (size_t i = 0; i < d->n_attrs && end != type; i++) {
            if (d->attrs[i].name || d->attrs[i].type != type_number ||
                d->attrs[i].config != config_number)
                continue;
            d->attrs[i].name = cairn_profile_text(d->stream.profile, line, strlen(line));
            if (d->attrs[i].name == UINT32_MAX)
                return CAIRN_E_NOMEM;
        }
    }
    return CAIRN_OK;
}

/* What a person wants to know of the recording. */
static int take_note(struct cairn_perf_data *d, const char *key, const char *value)
{
    static const char *const keys[] = {"simpleperf_version", "product_props", "android_version",
                                       "app_package_name", "trace_offcpu"};
    struct cairn_buffer line = {0};
    int code = CAIRN_OK;
    if (strcmp(key, "kernel_version") == 0)
        return cairn_profile_note(d->stream.profile, CAIRN_NOTE_KERNEL, 0)
                   ? CAIRN_OK
                   : cairn_profile_add_note(d->stream.profile, CAIRN_NOTE_KERNEL, value);
    for (size_t i = 0; i < sizeof keys / sizeof *keys && code == CAIRN_OK; i++) {
        if (strcmp(key, keys[i]) != 0)
            continue;
        cairn_buffer_printf(&line, "%s: %s", key, value);
        code = line.failed ? CAIRN_E_NOMEM
                           : cairn_profile_add_note(d->stream.profile, CAIRN_NOTE_OTHER,
                                                    cairn_buffer_text(&line));
    }
    cairn_buffer_done(&line);
    return code;
}

int cairn_perf_data_meta(struct cairn_perf_data *d, struct cairn_span bytes, struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(bytes, d->swap);
    int code = CAIRN_OK;
    bool has_events = false; /* a second list is ignored: each line searches all attributes */
    d->is_simpleperf = true;
    for (int i = 0; i < PAIRS_MAX && cairn_reader_more(&r) && code == CAIRN_OK; i++) {
        const char *key = cairn_reader_str(&r), *value = cairn_reader_str(&r);
        if (r.failed || !*value)
            continue;
        if (strcmp(key, "event_type_info") != 0)
            code = take_note(d, key, value);
        else if (!has_events)
            code = take_events(d, value);
        has_events |= strcmp(key, "event_type_info") == 0;
    }
    return code < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}
