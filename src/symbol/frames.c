/* SPDX-License-Identifier: MIT */
/* The policy for names: frames.h says who is asked first. Where the answers come from is the
 * business of frame_source.h. */
#include "symbol/frames.h"

#include <ctype.h>

#include "base/alloc.h"
#include "base/error.h"
#include "symbol/frame_source.h"

/* One question on its way: the frames of one address. */
struct walk {
    const struct cairn_frames_request *q;
    const struct cairn_frame_source *source;
    struct cairn_frame_place place;
};

/* Link-time optimisation writes linkage names as the symbols have them: "work.constprop.0". */
static int cut_linkage(const struct walk *w, struct cairn_function *f, struct cairn_err *err)
{
    const char *suffix;
    f->is_cut = true;
    size_t size = f->linkage ? cairn_symbol_split_suffix(f->linkage, &suffix) : 0;
    if (!f->linkage || !f->linkage[size])
        return CAIRN_OK;
    struct cairn_strings *names = &w->q->module->cut_names;
    uint32_t number = cairn_strings_add(names, f->linkage, size);
    if (number == UINT32_MAX)
        return cairn_fail_memory(err);
    f->linkage = cairn_strings_get(names, number);
    f->suffix = *suffix ? suffix : NULL;
    f->shown = NULL; /* an index has it with the suffix */
    return CAIRN_OK;
}

static bool is_mangled(const char *name)
{
    return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

/* A name of C's is shown as it is, and there are too many of them to remember that for each. */
static const char *readable(const struct walk *w, const char *name)
{
    return is_mangled(name) ? cairn_demangle(w->q->demangler, name, strlen(name)) : name;
}

/* What the user sees of a function; NULL where it has no name at all. */
static int shown_name(const struct walk *w, struct cairn_function *f, const char **ret_name,
                      struct cairn_err *err)
{
    int code = CAIRN_OK;
    if (!f->shown && f->linkage)
        f->shown = readable(w, f->linkage);
    else if (!f->shown && f->name)
        code = w->source->qualify(w->q, f, &f->shown, err);
    if (code == CAIRN_OK)
        *ret_name = f->shown;
    return code;
}

static const char *shown_symbol(const struct walk *w, const struct cairn_frame_symbol *symbol)
{
    if (symbol->readable && w->q->demangler->names == CAIRN_NAMES_FULL)
        return symbol->readable;
    return readable(w, symbol->bare);
}

/* Equal, or the constructors (destructors) of one class: ...C1E... and ...C2E... */
static bool same_name(const char *a, const char *b)
{
    size_t i = 0;
    if (a == b)
        return true;
    while (a[i] && a[i] == b[i])
        i++;
    if (!a[i] && !b[i])
        return true;
    return i && isdigit((unsigned char)a[i]) && isdigit((unsigned char)b[i]) &&
           (a[i - 1] == 'C' || a[i - 1] == 'D') && strcmp(a + i + 1, b + i + 1) == 0;
}

/* Is the linkage name that of a symbol? Clones have more behind it ("f.avx2"), and on some machines
 * all symbols an underscore before it. */
static bool is_symbol_named(const char *symbol, const char *linkage)
{
    size_t i = 0;
    if (same_name(symbol, linkage)) /* nearly always */
        return true;
    while (symbol[i] && symbol[i] == linkage[i])
        i++;
    return (!linkage[i] && strchr(".$@", symbol[i])) || (!symbol[i] && strchr(".$@", linkage[i])) ||
           (symbol[0] == '_' && strcmp(symbol + 1, linkage) == 0);
}

/* Does a mangled name speak of an identifier? Operators and closures have none: then yes. */
static bool speaks_of(const char *mangled, const char *name)
{
    size_t size = 0;
    while (isalnum((unsigned char)name[size]) || name[size] == '_')
        size++;
    if (!size || strncmp(name, "operator", 8) == 0 || name[0] == '~')
        return true;
    for (const char *at = mangled; (at = strchr(at, name[0])); at++)
        if (strncmp(at, name, size) == 0)
            return true;
    return false;
}

/*
 * Is the symbol's name the linkage name that DWARF left out? Inlined frames never ask, so that what
 * a function is called as an inlined one does not depend on symbols. Of one DIE each symbol has a
 * name of its own: the destructors D0 and D1 of a class come from one, and GCC leaves out the
 * linkage names of what lies in an anonymous namespace.
 */
static bool is_linkage_of(const struct walk *w, const struct cairn_frame_symbol *symbol,
                          const struct cairn_function *f)
{
    if (f->linkage || !symbol->bare || !is_mangled(symbol->bare))
        return false;
    if (symbol->shared && f->name && !speaks_of(symbol->bare, f->name))
        return false; /* of folded functions the symbol may be another's */
    return w->source->same_function(w->q, &w->place, symbol->vaddr);
}

/* Is the linkage name none that the linker saw? Where symbols share the code it may be another's of
 * them; a plain name of C is no linkage name. */
static bool is_overruled(const struct walk *w, const struct cairn_frame_symbol *symbol,
                         const struct cairn_function *f)
{
    return f->linkage && !f->is_plain && symbol->bare && !symbol->shared &&
           !is_symbol_named(symbol->bare, f->linkage) &&
           w->source->same_function(w->q, &w->place, symbol->vaddr);
}

/* Names the frame after the symbol. */
static void take_symbol(const struct walk *w, const struct cairn_frame_symbol *symbol,
                        struct cairn_symbol_frame *frame)
{
    frame->function = shown_symbol(w, symbol);
    frame->linkage = symbol->bare;
    frame->source = (uint8_t)symbol->source;
}

static int take_function(const struct walk *w, struct cairn_function *f,
                         struct cairn_symbol_frame *frame, struct cairn_err *err)
{
    int code = f->is_cut ? CAIRN_OK : cut_linkage(w, f, err);
    if (code == CAIRN_OK)
        code = shown_name(w, f, &frame->function, err);
    if (code < 0)
        return code;
    frame->linkage = f->linkage ? f->linkage : f->name;
    frame->suffix = f->suffix;
    frame->source = frame->function ? CAIRN_SOURCE_DWARF : CAIRN_SOURCE_NONE;
    return CAIRN_OK;
}

/* Name, suffix and folding of the frame that is a function of its own. */
static int name_outermost(const struct walk *w, uint32_t number,
                          const struct cairn_frame_node *node, struct cairn_symbol_frame *frame,
                          struct cairn_err *err)
{
    struct cairn_frame_symbol symbol;
    struct cairn_function *f = NULL;
    int code = w->source->symbol(w->q, &symbol, err);
    if (code == CAIRN_OK && number)
        code = w->source->function(w->q, &w->place, node->function, &f, err);
    if (code < 0)
        return code;
    if (f)
        frame->start_line = f->decl_line;
    if (f && !is_linkage_of(w, &symbol, f) && !is_overruled(w, &symbol, f))
        code = take_function(w, f, frame, err);
    if (code == CAIRN_OK && symbol.bare && !frame->function)
        take_symbol(w, &symbol, frame);
    if (symbol.bare && frame->linkage && symbol.suffix && same_name(symbol.bare, frame->linkage))
        frame->suffix = symbol.suffix;
    frame->folded = symbol.shared;
    return code;
}

static int name_inlined(const struct walk *w, const struct cairn_frame_node *node,
                        struct cairn_symbol_frame *frame, struct cairn_err *err)
{
    struct cairn_function *f;
    int code = w->source->function(w->q, &w->place, node->function, &f, err);
    if (code == CAIRN_OK)
        code = take_function(w, f, frame, err);
    if (code < 0)
        return code;
    frame->start_line = f->decl_line;
    frame->inlined = 1;
    return CAIRN_OK;
}

/* Appends the frame, where anything is known of it. */
static int add_frame(const struct cairn_symbol_frame *frame, uint32_t node,
                     struct cairn_frames *frames, struct cairn_err *err)
{
    if (!node && !frame->function && !frame->file)
        return CAIRN_OK;
    if (cairn_grow((void **)&frames->frames, &frames->cap, frames->n + 1, sizeof *frames->frames) <
        0)
        return cairn_fail_memory(err);
    frames->frames[frames->n++] = *frame;
    return CAIRN_OK;
}

/* The frames of one place: from its node up the parents, each with the line where it stands. */
static int find_frames(const struct walk *w, struct cairn_frames *frames, struct cairn_err *err)
{
    const struct cairn_frames_request *q = w->q;
    uint32_t file = w->place.file, line = w->place.line, number = w->place.node;
    struct cairn_frame_node node;
    int n = 0;
    do {
        struct cairn_symbol_frame frame = {.line = line};
        int code = CAIRN_OK;
        node = (struct cairn_frame_node){0};
        if (number)
            w->source->node(q, &w->place, number, &node);
        if (w->place.known && (!node.parent || !q->no_inlines))
            code = w->source->path(q, &w->place, file, &frame.file, err);
        if (code == CAIRN_OK && !node.parent)
            code = name_outermost(w, number, &node, &frame, err);
        else if (code == CAIRN_OK && !q->no_inlines)
            code = name_inlined(w, &node, &frame, err);
        if (code == CAIRN_OK && (!node.parent || !q->no_inlines))
            code = add_frame(&frame, number, frames, err);
        if (code < 0)
            return code;
        file = node.call_file;
        line = node.call_line;
        number = node.parent;
    } while (number && ++n < CAIRN_FRAMES_MAX);
    /* A function without a name stays where others were inlined into it; alone it says nothing. */
    if (frames->n == 1 && !frames->frames[0].function && !frames->frames[0].file)
        frames->n = 0;
    return CAIRN_OK;
}

int cairn_frames_find(const struct cairn_frames_request *request, struct cairn_frames *frames,
                      struct cairn_err *err)
{
    struct walk w = {.q = request,
                     .source =
                         request->module->index ? &cairn_frames_of_index : &cairn_frames_of_units};
    frames->n = 0;
    int code = w.source->find(request, &w.place, err);
    return code < 0 ? code : find_frames(&w, frames, err);
}

void cairn_frames_done(struct cairn_frames *frames)
{
    cairn_free(frames->frames);
    *frames = (struct cairn_frames){0};
}
