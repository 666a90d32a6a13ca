/* SPDX-License-Identifier: MIT */
/* Filters by event: a type of values that a sample has something of, or its label "event". */
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "select/select.h"

enum { LISTED_BYTES_MAX = 200 };

static void list_name(struct cairn_buffer *names, const char *name)
{
    if (names->size < LISTED_BYTES_MAX)
        cairn_buffer_printf(names, "%s%s", names->size ? ", " : "", name);
}

/* What names the event of a sample, beside its values. */
struct keys {
    uint32_t event, call;
};

/* The text of its label; that of a marker is its name. 0: it has none. */
static uint32_t name_of(const struct cairn_profile *p, size_t i, const struct keys *keys)
{
    if (i >= p->n_samples)
        return p->markers[i - p->n_samples].name;
    const struct cairn_profile_label *label =
        cairn_select_label(p, p->samples[i].labels, keys->event);
    label = label ? label : cairn_select_label(p, p->samples[i].labels, keys->call);
    return label ? label->text : 0;
}

/* Those that there are, by string; NULL: memory is gone. */
static bool *find_labels(const struct cairn_profile *p, const struct keys *keys)
{
    bool *found = cairn_alloc(p->strings.n + 1, sizeof *found);
    for (size_t i = 0; found && i < p->n_samples + p->n_markers; i++)
        found[name_of(p, i, keys)] = true;
    return found;
}

static int fail_unknown(const struct cairn_select_filter *filter, const struct cairn_profile *p,
                        const char *name, const bool *labels, struct cairn_err *err)
{
    struct cairn_buffer names = {0};
    for (size_t i = 0; i < p->n_types; i++)
        list_name(&names, cairn_strings_get(&p->strings, p->types[i].type));
    for (uint32_t i = 1; i < p->strings.n; i++)
        if (labels[i])
            list_name(&names, cairn_strings_get(&p->strings, i));
    cairn_fail(err, CAIRN_E_ARG, "--%s: no event is called \"%.100s\"", cairn_select_name(filter),
               name);
    cairn_hint(err, "its events: %s", names.size ? cairn_buffer_text(&names) : "none");
    cairn_buffer_done(&names);
    return CAIRN_E_ARG;
}

/* Marks in `types` and `texts` what a name means. */
static int find_name(const struct cairn_select_filter *filter, struct cairn_profile *p,
                     const char *name, const bool *labels, bool *types, bool *texts,
                     struct cairn_err *err)
{
    bool is_known = false;
    for (size_t i = 0; i < p->n_types; i++)
        if (strcmp(cairn_strings_get(&p->strings, p->types[i].type), name) == 0)
            is_known = types[i] = true;
    for (uint32_t i = 1; i < p->strings.n; i++)
        if (labels[i] && strcmp(cairn_strings_get(&p->strings, i), name) == 0)
            is_known = texts[i] = true;
    return is_known ? CAIRN_OK : fail_unknown(filter, p, name, labels, err);
}

static bool has_event(const struct cairn_profile *p, size_t i, const bool *types, const bool *texts,
                      const struct keys *keys)
{
    if (texts[name_of(p, i, keys)])
        return true;
    for (size_t type = 0; type < p->n_types && i < p->n_samples; type++)
        if (types[type] && p->values[i * p->n_types + type])
            return true;
    return false;
}

int cairn_select_judge_events(const struct cairn_select_filter *filter, struct cairn_profile *p,
                              uint8_t *verdicts, struct cairn_err *err)
{
    bool types[CAIRN_PROFILE_TYPES_MAX] = {false};
    const struct keys keys = {cairn_select_text(p, "event"), cairn_select_text(p, "syscall")};
    bool *labels = find_labels(p, &keys);
    bool *texts = cairn_alloc(p->strings.n + 1, sizeof *texts);
    bool has_keys = keys.event != UINT32_MAX && keys.call != UINT32_MAX;
    int code = has_keys && labels && texts ? CAIRN_OK : cairn_fail_memory(err);
    for (size_t i = 0; i < filter->n_names && code == CAIRN_OK; i++)
        code = find_name(filter, p, filter->names[i], labels, types, texts, err);
    for (size_t i = 0; i < p->n_samples + p->n_markers && code == CAIRN_OK; i++)
        verdicts[i] =
            has_event(p, i, types, texts, &keys) ? CAIRN_SELECT_MATCH : CAIRN_SELECT_NO_MATCH;
    cairn_free(labels);
    cairn_free(texts);
    return code;
}

void cairn_select_show_event(const struct cairn_select_filter *filter, struct cairn_profile *p)
{
    for (size_t i = 0; i < p->n_types && filter->n_names == 1; i++)
        if (strcmp(cairn_strings_get(&p->strings, p->types[i].type), filter->names[0]) == 0)
            p->default_type = p->types[i].type;
}
