/* SPDX-License-Identifier: MIT */
/*
 * Stacks of several looks, known by number: of a process at two times, or of two runs, whose
 * addresses differ. A frame is its place in its module; where the module is of another build on the
 * other side, it is the functions that it is in, for there every line may have moved; and so it is
 * where nobody says which build it is, unless nothing is known of another one.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "profile/profile.h"
#include "watch/heap.h"

/* A module by the last part of its path. */
struct build {
    char *name, *id;
    bool has_others; /* there is one of another build */
};

struct cairn_heap_keys {
    struct build *builds;
    size_t n_builds, cap_builds;
    struct cairn_strings frames; /* what each is, as a text */
    struct cairn_table nodes;    /* caller's key << 32 | frame's text -> key */
    uint32_t n;                  /* keys that were given out, 0 (no stack) not counted */
};

static bool add_build(struct cairn_heap_keys *keys, const char *name, const char *id)
{
    for (size_t i = 0; i < keys->n_builds; i++) {
        if (strcmp(keys->builds[i].name, name) != 0)
            continue;
        keys->builds[i].has_others |= strcmp(keys->builds[i].id, id) != 0;
        return true;
    }
    struct build build = {cairn_strdup(name), cairn_strdup(id), false};
    if (!build.name || !build.id ||
        cairn_grow((void **)&keys->builds, &keys->cap_builds, keys->n_builds + 1,
                   sizeof *keys->builds) < 0) {
        cairn_free(build.name);
        cairn_free(build.id);
        return false;
    }
    keys->builds[keys->n_builds++] = build;
    return true;
}

static bool add_builds(struct cairn_heap_keys *keys, const struct cairn_profile *p)
{
    for (uint32_t i = 1; i < p->n_modules; i++)
        if (!add_build(keys, cairn_profile_module_name(p, i),
                       cairn_strings_get(&p->strings, p->modules[i].build_id)))
            return false;
    return true;
}

int cairn_heap_keys_new(const struct cairn_profile *const *both, size_t n,
                        struct cairn_heap_keys **ret_keys, struct cairn_err *err)
{
    struct cairn_heap_keys *keys = cairn_alloc(1, sizeof *keys);
    bool done = keys != NULL;
    for (size_t i = 0; done && i < n; i++)
        done = add_builds(keys, both[i]);
    if (!done) {
        cairn_heap_keys_free(keys);
        return cairn_fail_memory(err);
    }
    *ret_keys = keys;
    return CAIRN_OK;
}

void cairn_heap_keys_free(struct cairn_heap_keys *keys)
{
    if (!keys)
        return;
    for (size_t i = 0; i < keys->n_builds; i++) {
        cairn_free(keys->builds[i].name);
        cairn_free(keys->builds[i].id);
    }
    cairn_free(keys->builds);
    cairn_strings_done(&keys->frames);
    cairn_table_done(&keys->nodes);
    cairn_free(keys);
}

static bool has_other_builds(const struct cairn_heap_keys *keys, const char *name)
{
    for (size_t i = 0; i < keys->n_builds; i++)
        if (strcmp(keys->builds[i].name, name) == 0)
            return keys->builds[i].has_others;
    return false;
}

static void add_functions(struct cairn_buffer *text, const struct cairn_profile *p,
                          const struct cairn_profile_frame *frame)
{
    for (uint32_t i = 0; i < frame->n_lines; i++) {
        const struct cairn_profile_line *line = &p->lines[frame->lines + i];
        cairn_buffer_str(text, cairn_strings_get(&p->strings, p->functions[line->function].name));
        cairn_buffer_char(text, '\n');
    }
}

static uint32_t frame_text(struct cairn_heap_keys *keys, const struct cairn_profile *p,
                           const bool *by_name, uint32_t number, struct cairn_buffer *text)
{
    const struct cairn_profile_frame *frame = &p->frames[number];
    const struct cairn_profile_module *module = &p->modules[frame->module];
    const char *id = cairn_strings_get(&p->strings, module->build_id);
    cairn_buffer_clear(text);
    const char *path = keys->n_builds ? cairn_profile_module_name(p, frame->module)
                                      : cairn_strings_get(&p->strings, module->path);
    if (cairn_profile_is_named(p, number) && (by_name[frame->module] || (!*id && keys->n_builds)))
        add_functions(text, p, frame);
    else if (frame->module)
        cairn_buffer_printf(text, "%s+%" PRIx64, *id ? id : path,
                            frame->address - module->start + module->off);
    else
        cairn_buffer_printf(text, "%" PRIx64, frame->address);
    return text->failed ? UINT32_MAX
                        : cairn_strings_add(&keys->frames, cairn_buffer_text(text), text->size);
}

/* The text of each frame, by number. */
static bool frame_texts(struct cairn_heap_keys *keys, const struct cairn_profile *p,
                        uint32_t *texts)
{
    struct cairn_buffer text = {0};
    bool *by_name = cairn_alloc(p->n_modules + 1, sizeof *by_name), done = by_name != NULL;
    for (uint32_t i = 1; done && i < p->n_modules; i++)
        by_name[i] = has_other_builds(keys, cairn_profile_module_name(p, i));
    for (uint32_t i = 1; done && i < p->n_frames; i++) {
        texts[i] = frame_text(keys, p, by_name, i, &text);
        done = texts[i] != UINT32_MAX;
    }
    cairn_buffer_done(&text);
    cairn_free(by_name);
    return done;
}

static uint32_t key_of(struct cairn_heap_keys *keys, uint32_t caller, uint32_t frame)
{
    uint64_t node = (uint64_t)caller << 32 | frame;
    uint32_t key;
    if (cairn_table_find(&keys->nodes, node, &key))
        return key;
    if (cairn_table_set(&keys->nodes, node, keys->n + 1) < 0)
        return UINT32_MAX;
    return ++keys->n;
}

/* A stack's caller has a smaller number than it. */
static bool stack_keys(struct cairn_heap_keys *keys, const struct cairn_profile *p,
                       const uint32_t *texts, uint32_t *stacks)
{
    for (size_t i = 1; i < p->n_stacks; i++) {
        stacks[i] = key_of(keys, stacks[p->stacks[i].parent], texts[p->stacks[i].frame]);
        if (stacks[i] == UINT32_MAX)
            return false;
    }
    return true;
}

int cairn_heap_keys_of(struct cairn_heap_keys *keys, const struct cairn_profile *profile,
                       const struct cairn_heap_leak *leaks, size_t n, uint32_t *ret_keys,
                       struct cairn_err *err)
{
    uint32_t *texts = cairn_alloc(profile->n_frames + 1, sizeof *texts);
    uint32_t *stacks = cairn_alloc(profile->n_stacks + 1, sizeof *stacks);
    bool done = texts && stacks && frame_texts(keys, profile, texts) &&
                stack_keys(keys, profile, texts, stacks);
    for (size_t i = 0; done && i < n; i++)
        ret_keys[i] = leaks[i].stack < profile->n_stacks ? stacks[leaks[i].stack] : 0;
    cairn_free(texts);
    cairn_free(stacks);
    return done ? CAIRN_OK : cairn_fail_memory(err);
}
