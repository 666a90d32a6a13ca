/* SPDX-License-Identifier: MIT */
#include "picture/look.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/table.h"
#include "picture/short_name.h"
#include "profile/frame_kind.h"

/* What makes two frames look the same. No padding: it is hashed as bytes. */
struct identity {
    uint32_t name, file, module, kind;
};

struct builder {
    const struct cairn_profile *profile;
    struct cairn_looks *looks;
    struct cairn_table known;    /* hash of the identity to number of the look */
    struct cairn_buffer scratch; /* one text made safe */
    uint32_t *texts;             /* profile's string to ours, plus 1; 0: not yet */
    uint32_t *modules;           /* profile's module to our text, plus 1 */
    size_t n_of_frames, cap_of_frames;
};

uint32_t cairn_looks_add_text(struct cairn_strings *texts, struct cairn_buffer *scratch,
                              const char *text, size_t size)
{
    cairn_buffer_clear(scratch);
    cairn_escape_terminal(scratch, text, size);
    if (scratch->failed)
        return UINT32_MAX;
    return cairn_strings_add(texts, cairn_buffer_text(scratch), scratch->size);
}

static uint32_t add_safe_text(struct builder *b, const char *text, size_t size)
{
    return cairn_looks_add_text(&b->looks->texts, &b->scratch, text, size);
}

static uint32_t text_of(struct builder *b, uint32_t string)
{
    const struct cairn_strings *strings = &b->profile->strings;
    if (string == 0)
        return 0;
    if (b->texts[string] == 0) {
        uint32_t text = add_safe_text(b, cairn_strings_get(strings, string),
                                      cairn_strings_size(strings, string));
        if (text == UINT32_MAX)
            return UINT32_MAX;
        b->texts[string] = text + 1;
    }
    return b->texts[string] - 1;
}

/* Pictures say "libfoo.so", not where it lies. */
static uint32_t module_text_of(struct builder *b, uint32_t module)
{
    if (module == CAIRN_PROFILE_NO_MODULE)
        return 0;
    if (b->modules[module] == 0) {
        const char *path =
            cairn_strings_get(&b->profile->strings, b->profile->modules[module].path);
        const char *slash = strrchr(path, '/');
        const char *name = slash && slash[1] ? slash + 1 : path;
        uint32_t text = add_safe_text(b, name, strlen(name));
        if (text == UINT32_MAX)
            return UINT32_MAX;
        b->modules[module] = text + 1;
    }
    return b->modules[module] - 1;
}

static uint8_t found_of(const struct cairn_profile_frame *frame)
{
    switch (cairn_frame_kind_of(frame)) {
    case CAIRN_FRAME_CFI:
    case CAIRN_FRAME_OWN:
        return CAIRN_FOUND_CFI;
    case CAIRN_FRAME_POINTER:
        return CAIRN_FOUND_POINTER;
    case CAIRN_FRAME_GUESSED:
        return CAIRN_FOUND_GUESSED;
    case CAIRN_FRAME_JIT:
        return CAIRN_FOUND_JIT;
    case CAIRN_FRAME_LUA:
        return CAIRN_FOUND_LUA;
    case CAIRN_FRAME_KERNEL:
        return CAIRN_FOUND_KERNEL;
    case CAIRN_FRAME_UNKNOWN:
    case CAIRN_FRAME_INLINED:
    default:
        return 0;
    }
}

static bool is_hex(const char *text)
{
    return text[0] == '0' && text[1] == 'x' && text[2] &&
           text[2 + strspn(text + 2, "0123456789abcdefABCDEF")] == 0;
}

/* Text that stands where a name should: formats without addresses write them as names. */
static bool is_no_name(const char *text)
{
    const char *plus = strrchr(text, '+');
    return is_hex(text) || (plus && is_hex(plus + 1)) || strcmp(text, "[unknown]") == 0 || !*text;
}

static uint8_t kind_of(const struct cairn_profile_frame *frame, bool inlined, const char *name)
{
    switch (cairn_frame_kind_of(frame)) {
    case CAIRN_FRAME_KERNEL:
        return CAIRN_PALETTE_KERNEL;
    case CAIRN_FRAME_JIT:
        return CAIRN_PALETTE_JIT;
    case CAIRN_FRAME_LUA:
        return CAIRN_PALETTE_LUA;
    case CAIRN_FRAME_OWN:
        return CAIRN_PALETTE_OWN;
    case CAIRN_FRAME_GUESSED:
        return CAIRN_PALETTE_GUESSED;
    case CAIRN_FRAME_INLINED:
        return CAIRN_PALETTE_INLINED;
    case CAIRN_FRAME_UNKNOWN:
    case CAIRN_FRAME_CFI:
    case CAIRN_FRAME_POINTER:
    default:
        if (frame->n_lines == 0 || is_no_name(name))
            return CAIRN_PALETTE_UNNAMED;
        return inlined ? CAIRN_PALETTE_INLINED : CAIRN_PALETTE_NATIVE;
    }
}

static bool has_identity(const struct cairn_look *look, const struct identity *id)
{
    return look->name == id->name && look->file == id->file && look->module == id->module &&
           look->kind == id->kind;
}

/* Names of scripts and of what a JIT compiler made have rules of their own. */
static uint32_t add_short_name(struct builder *b, const struct identity *id)
{
    if (id->kind == CAIRN_PALETTE_LUA || id->kind == CAIRN_PALETTE_JIT)
        return id->name;
    cairn_buffer_clear(&b->scratch);
    cairn_short_name(&b->scratch, cairn_strings_get(&b->looks->texts, id->name));
    if (b->scratch.failed)
        return UINT32_MAX;
    return cairn_strings_add(&b->looks->texts, cairn_buffer_text(&b->scratch), b->scratch.size);
}

/* The number of the look, new or old; UINT32_MAX where memory is gone. */
static uint32_t find_or_add(struct builder *b, const struct identity *id)
{
    struct cairn_looks *looks = b->looks;
    uint64_t key = cairn_hash_bytes(id, sizeof *id);
    for (uint32_t number; cairn_table_find(&b->known, key, &number); key++)
        if (has_identity(&looks->rows[number], id))
            return number;
    if (cairn_grow((void **)&looks->rows, &looks->cap, looks->n + 1, sizeof *looks->rows) < 0 ||
        cairn_table_set(&b->known, key, (uint32_t)looks->n) < 0)
        return UINT32_MAX;
    uint32_t short_name = add_short_name(b, id);
    if (short_name == UINT32_MAX)
        return UINT32_MAX;
    looks->rows[looks->n] = (struct cairn_look){
        .name = id->name,
        .short_name = short_name,
        .file = id->file,
        .module = id->module,
        .kind = (uint8_t)id->kind,
        .shade = cairn_palette_shade(cairn_strings_get(&looks->texts, id->name)),
    };
    looks->n_unnamed += id->kind == CAIRN_PALETTE_UNNAMED;
    return (uint32_t)looks->n++;
}

static void widen_lines(struct cairn_look *look, uint32_t line)
{
    if (line == 0)
        return;
    if (look->line_low == 0 || line < look->line_low)
        look->line_low = line;
    if (line > look->line_high)
        look->line_high = line;
}

/* The first of the lines where functions of this name are defined in the file. */
static void add_definition(struct cairn_look *look, uint32_t line)
{
    if (line == 0 || line == look->defined)
        return;
    if (look->defined)
        look->flags |= CAIRN_LOOK_MANY_DEFINED;
    if (look->defined == 0 || line < look->defined)
        look->defined = line;
}

/* Where the module lies and of which build it is, as far as frames tell; the first one stays. */
static bool add_origin(struct builder *b, struct cairn_look *look,
                       const struct cairn_profile_frame *frame)
{
    if (frame->folded)
        look->flags |= CAIRN_LOOK_FOLDED;
    if (frame->module == CAIRN_PROFILE_NO_MODULE)
        return true;
    const struct cairn_profile_module *module = &b->profile->modules[frame->module];
    uint32_t path = text_of(b, module->path), build = text_of(b, module->build_id);
    if (path == UINT32_MAX || build == UINT32_MAX)
        return false;
    if (look->path == 0)
        look->path = path;
    if (look->build == 0)
        look->build = build;
    else if (build && build != look->build)
        look->flags |= CAIRN_LOOK_MANY_BUILDS;
    return true;
}

/* `line` is NULL for a frame without a name. */
static int add_look(struct builder *b, uint32_t frame, const struct cairn_profile_line *line,
                    bool inlined)
{
    static const struct cairn_profile_function no_function;
    const struct cairn_profile *p = b->profile;
    const struct cairn_profile_frame *f = &p->frames[frame];
    const struct cairn_profile_function *function =
        line ? &p->functions[line->function] : &no_function;
    uint32_t string = function->name ? function->name : function->system_name;
    uint32_t name;
    if (string) {
        name = text_of(b, string);
    } else {
        char text[512];
        cairn_profile_frame_text(p, frame, text, sizeof text);
        name = add_safe_text(b, text, strlen(text));
    }
    struct identity id = {name, text_of(b, function->file), module_text_of(b, f->module), 0};
    if (id.name == UINT32_MAX || id.file == UINT32_MAX || id.module == UINT32_MAX)
        return CAIRN_E_NOMEM;
    id.kind = kind_of(f, inlined, cairn_strings_get(&b->looks->texts, name));

    uint32_t number = find_or_add(b, &id);
    if (number == UINT32_MAX || cairn_grow((void **)&b->looks->of_frames, &b->cap_of_frames,
                                           b->n_of_frames + 1, sizeof *b->looks->of_frames) < 0)
        return CAIRN_E_NOMEM;
    b->looks->of_frames[b->n_of_frames++] = number;
    if (!add_origin(b, &b->looks->rows[number], f))
        return CAIRN_E_NOMEM;
    b->looks->rows[number].found |= found_of(f);
    b->looks->rows[number].raw_file = function->file;
    add_definition(&b->looks->rows[number], function->start_line);
    widen_lines(&b->looks->rows[number], line && line->line ? line->line : function->start_line);
    return CAIRN_OK;
}

static int add_frame(struct builder *b, uint32_t frame)
{
    const struct cairn_profile_frame *f = &b->profile->frames[frame];
    if (f->n_lines == 0)
        return add_look(b, frame, NULL, false);
    for (uint32_t i = f->n_lines; i-- > 0;) {
        int rc = add_look(b, frame, &b->profile->lines[f->lines + i], i + 1 < f->n_lines);
        if (rc < 0)
            return rc;
    }
    return CAIRN_OK;
}

static int compare_text(const struct cairn_strings *texts, uint32_t a, uint32_t b)
{
    return a == b ? 0 : strcmp(cairn_strings_get(texts, a), cairn_strings_get(texts, b));
}

static int compare_looks(const void *a, const void *b, void *context)
{
    const struct cairn_looks *looks = context;
    const struct cairn_look *x = &looks->rows[*(const uint32_t *)a];
    const struct cairn_look *y = &looks->rows[*(const uint32_t *)b];
    int order = compare_text(&looks->texts, x->name, y->name);
    if (order == 0)
        order = compare_text(&looks->texts, x->module, y->module);
    if (order == 0)
        order = compare_text(&looks->texts, x->file, y->file);
    return order ? order : (int)x->kind - (int)y->kind;
}

/* Renumbers the looks in the order of their names. */
static int sort_looks(struct builder *b)
{
    struct cairn_looks *looks = b->looks;
    uint32_t *sorted = cairn_alloc(looks->n, 2 * sizeof *sorted);
    struct cairn_look *rows = cairn_alloc(looks->n, sizeof *rows);
    if (!sorted || !rows) {
        cairn_free(sorted);
        cairn_free(rows);
        return CAIRN_E_NOMEM;
    }
    uint32_t *rank = sorted + looks->n;
    for (size_t i = 0; i < looks->n; i++)
        sorted[i] = (uint32_t)i;
    qsort_r(sorted, looks->n, sizeof *sorted, compare_looks, looks);
    for (size_t i = 0; i < looks->n; i++) {
        rank[sorted[i]] = (uint32_t)i;
        rows[i] = looks->rows[sorted[i]];
    }
    for (size_t i = 0; i < b->n_of_frames; i++)
        looks->of_frames[i] = rank[looks->of_frames[i]];
    cairn_free(sorted);
    cairn_free(looks->rows);
    looks->rows = rows;
    looks->cap = looks->n;
    return CAIRN_OK;
}

static int build(struct builder *b)
{
    const struct cairn_profile *p = b->profile;
    b->texts = cairn_alloc(p->strings.n, sizeof *b->texts);
    b->modules = cairn_alloc(p->n_modules, sizeof *b->modules);
    b->looks->first = cairn_alloc(p->n_frames + 1, sizeof *b->looks->first);
    if (!b->texts || !b->modules || !b->looks->first)
        return CAIRN_E_NOMEM;
    for (uint32_t frame = 1; frame < p->n_frames; frame++) {
        b->looks->first[frame] = (uint32_t)b->n_of_frames;
        int rc = add_frame(b, frame);
        if (rc < 0)
            return rc;
    }
    b->looks->first[p->n_frames] = (uint32_t)b->n_of_frames;
    return sort_looks(b);
}

int cairn_looks_build(const struct cairn_profile *profile, struct cairn_looks *ret_looks,
                      struct cairn_err *err)
{
    struct cairn_looks looks = {0};
    struct builder b = {.profile = profile, .looks = &looks};
    int rc = build(&b);
    cairn_table_done(&b.known);
    cairn_buffer_done(&b.scratch);
    cairn_free(b.texts);
    cairn_free(b.modules);
    if (rc < 0) {
        cairn_looks_done(&looks);
        return cairn_fail_memory(err);
    }
    *ret_looks = looks;
    return CAIRN_OK;
}

void cairn_looks_done(struct cairn_looks *looks)
{
    cairn_strings_done(&looks->texts);
    cairn_free(looks->rows);
    cairn_free(looks->first);
    cairn_free(looks->of_frames);
    *looks = (struct cairn_looks){0};
}
