/* SPDX-License-Identifier: MIT */
/*
 * Each different address is looked up once; what comes after is one probe of a hash table.
 *
 *     slots: | value word+kind answer | free | ...      answers: | text size cause | ...
 *                                                                    └► texts: equal ones once
 */
#include <elf.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/function_start.h"
#include "base/log.h"
#include "resolve/resolver.h"

enum { SLOTS_FIRST = 4096, TEXT_MAX = 1 << 24 };

struct cairn_name_slot {
    uint64_t value;
    uint32_t word_and_kind;
    uint32_t answer; /* index + 1; 0: free */
};

void cairn_name_cache_done(struct cairn_name_cache *names)
{
    cairn_free(names->slots);
    cairn_free(names->answers);
    cairn_strings_done(&names->texts);
    cairn_buffer_done(&names->buffer);
    *names = (struct cairn_name_cache){0};
}

/* The slot of the key, or the free one where it belongs. */
static struct cairn_name_slot *find_slot(const struct cairn_name_cache *names, uint64_t value,
                                         uint32_t word_and_kind)
{
    size_t mask = names->n_slots - 1;
    size_t first = (size_t)cairn_hash_u64(value ^ (uint64_t)word_and_kind << 48) & mask;
    for (size_t i = first;; i = (i + 1) & mask) {
        struct cairn_name_slot *slot = &names->slots[i];
        if (!slot->answer || (slot->value == value && slot->word_and_kind == word_and_kind))
            return slot;
    }
}

static int grow_slots(struct cairn_name_cache *names, struct cairn_err *err)
{
    struct cairn_name_cache grown = {.n_slots = names->n_slots ? names->n_slots * 2 : SLOTS_FIRST};
    grown.slots = cairn_alloc(grown.n_slots, sizeof *grown.slots);
    if (!grown.slots)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < names->n_slots; i++) {
        const struct cairn_name_slot *old = &names->slots[i];
        if (old->answer)
            *find_slot(&grown, old->value, old->word_and_kind) = *old;
    }
    cairn_free(names->slots);
    names->slots = grown.slots;
    names->n_slots = grown.n_slots;
    return CAIRN_OK;
}

/* One frame: "name (file:line)_[i]". `suffix` is that of the function that was not inlined. */
static void add_frame(struct cairn_buffer *out, const struct cairn_symbol_frame *frame, bool lines,
                      const char *suffix)
{
    const char *function = frame->function ? frame->function : "??";
    cairn_escape_collapsed(out, function, strlen(function));
    if (lines && frame->file) {
        cairn_buffer_str(out, " (");
        cairn_escape_collapsed(out, frame->file, strlen(frame->file));
        if (frame->line) {
            cairn_buffer_char(out, ':');
            cairn_buffer_u64(out, frame->line);
        }
        cairn_buffer_char(out, ')');
    }
    cairn_buffer_str(out, frame->inlined ? "_[i]" : suffix);
}

/* The text in the buffer becomes the answer's. */
static int keep_text(struct cairn_name_cache *names, struct cairn_answer *answer,
                     struct cairn_err *err)
{
    struct cairn_buffer *out = &names->buffer;
    if (names->max_bytes && names->texts.arena.used_bytes > names->max_bytes) {
        cairn_strings_done(&names->texts);
        for (size_t i = 0; i < names->n; i++)
            names->answers[i].text = NULL;
        cairn_log(CAIRN_LOG_DEBUG, "the bound of memory is reached: finished texts are forgotten");
    }
    uint32_t number = out->failed
                          ? UINT32_MAX
                          : cairn_strings_add(&names->texts, cairn_buffer_text(out), out->size);
    if (number == UINT32_MAX)
        return cairn_fail_memory(err);
    answer->text = cairn_strings_get(&names->texts, number);
    answer->was_text = true;
    answer->size = (uint32_t)cairn_strings_size(&names->texts, number);
    return CAIRN_OK;
}

/* The stack goes from the root to the leaf, the symbolizer's frames from the innermost outwards.
 * Inlined calls and lines of a function's first instruction are not those of the address that the
 * function was met at. */
static int finish_text(struct cairn_name_cache *names, const struct cairn_symbol *symbol,
                       bool function_alone, bool lines, const char *suffix,
                       struct cairn_answer *answer, struct cairn_err *err)
{
    struct cairn_buffer *out = &names->buffer;
    cairn_buffer_clear(out);
    for (uint32_t i = symbol->n_frames; i-- > 0 && out->size < TEXT_MAX;) {
        add_frame(out, &symbol->frames[i], lines && !function_alone, suffix);
        if (function_alone)
            break;
        if (i)
            cairn_buffer_char(out, ';');
    }
    return keep_text(names, answer, err);
}

/* How a module's place is written behind its name: as dladdr(3) counts, of a program that is not
 * position-independent its own address. */
static uint64_t rel_of(const struct cairn_module *module, uint64_t vaddr)
{
    uint64_t first;
    bool fixed = cairn_module_info(module)->elf_type == ET_EXEC;
    return !fixed && cairn_module_vaddr_of_rel(module, 0, &first) && first <= vaddr ? vaddr - first
                                                                                    : vaddr;
}

/* Behind the module's name of the token; a bare address gets that of the mapping. */
static int finish_start(struct cairn_name_cache *names, struct cairn_key key,
                        const struct cairn_resolve_place *place, struct cairn_answer *answer,
                        struct cairn_err *err)
{
    struct cairn_buffer *out = &names->buffer;
    const char *path = key.word ? "" : place->module->path, *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    uint64_t value = cairn_lookup_address(key.value, key.kind);
    cairn_buffer_clear(out);
    cairn_escape_collapsed(out, base, strlen(base));
    cairn_function_start_put(out, "",
                             key.word ? value - (place->vaddr - place->start)
                                      : rel_of(place->module->module, place->start));
    return keep_text(names, answer, err);
}

int cairn_resolver_find(struct cairn_resolver *resolver, struct cairn_key key,
                        struct cairn_resolve_place *ret_place, struct cairn_err *err)
{
    uint64_t value = cairn_lookup_address(key.value, key.kind);
    if (!key.word)
        return cairn_resolver_place(resolver, 0, value, ret_place, err);
    struct cairn_resolve_place place = {.module = resolver->by_word[key.word]};
    place.cause = place.module->missing;
    if (place.cause == CAIRN_CAUSE_NONE) {
        const struct cairn_module *module = place.module->module;
        int found = resolver->offsets == CAIRN_OFFSETS_FILE
                        ? cairn_module_vaddr_of_offset(module, value, &place.vaddr)
                        : cairn_module_vaddr_of_rel(module, value, &place.vaddr);
        if (!found)
            place.cause = CAIRN_CAUSE_BEFORE_SEGMENT;
    }
    *ret_place = place;
    return CAIRN_OK;
}

static const char *suffix_of(enum cairn_frame_what what)
{
    return what == CAIRN_WHAT_KERNEL ? "_[k]" : what == CAIRN_WHAT_JIT ? "_[j]" : "";
}

static int look_up(struct cairn_resolver *resolver, struct cairn_key key, bool is_new,
                   struct cairn_answer *ret_answer, struct cairn_err *err)
{
    struct cairn_resolve_place place;
    struct cairn_symbol symbol = {0};
    int result = cairn_resolver_find(resolver, key, &place, err);
    if (result == CAIRN_OK && place.cause == CAIRN_CAUSE_NONE)
        result = cairn_resolver_symbolize(resolver, &place, &symbol, err);
    struct cairn_answer answer = {.cause = (uint16_t)place.cause};
    if (result == CAIRN_OK && place.cause == CAIRN_CAUSE_NONE)
        result = finish_text(&resolver->names, &symbol, key.is_function_start, resolver->lines,
                             suffix_of(cairn_resolver_what(&place, &symbol)), &answer, err);
    else if (result == CAIRN_OK && place.has_start && !key.is_function_start)
        result = finish_start(&resolver->names, key, &place, &answer, err);
    if (result < 0)
        return result;
    if (is_new)
        cairn_resolver_count(resolver, &place);
    *ret_answer = answer;
    return CAIRN_OK;
}

static int add_answer(struct cairn_resolver *resolver, struct cairn_key key, uint32_t word_and_kind,
                      struct cairn_answer *ret_answer, struct cairn_err *err)
{
    struct cairn_name_cache *names = &resolver->names;
    if (names->n == UINT32_MAX - 1)
        return cairn_fail(err, CAIRN_E_LIMIT, "more than 2^32 different addresses");
    if (cairn_grow((void **)&names->answers, &names->cap, names->n + 1, sizeof *names->answers) < 0)
        return cairn_fail_memory(err);
    if (names->n * 2 >= names->n_slots) {
        int result = grow_slots(names, err);
        if (result < 0)
            return result;
    }
    struct cairn_answer answer;
    int result = look_up(resolver, key, true, &answer, err);
    if (result < 0)
        return result;
    names->answers[names->n++] = answer;
    *find_slot(names, key.value, word_and_kind) = (struct cairn_name_slot){
        .value = key.value, .word_and_kind = word_and_kind, .answer = (uint32_t)names->n};
    *ret_answer = answer;
    return CAIRN_OK;
}

/* What the key holds beside its value, for the slots. */
static uint32_t pack(struct cairn_key key)
{
    return key.word << 2 | key.is_function_start << 1 | (key.kind == CAIRN_ADDRESS_RETURN);
}

/* The answer as it was kept; NULL where there is none yet. */
static struct cairn_answer *find_answer(const struct cairn_name_cache *names, struct cairn_key key)
{
    if (!names->n_slots)
        return NULL;
    const struct cairn_name_slot *slot = find_slot(names, key.value, pack(key));
    return slot->answer ? &names->answers[slot->answer - 1] : NULL;
}

static bool is_forgotten(const struct cairn_answer *answer)
{
    return !answer->text && answer->was_text;
}

bool cairn_resolver_knows(const struct cairn_resolver *resolver, struct cairn_key key)
{
    const struct cairn_answer *answer = find_answer(&resolver->names, key);
    return answer && !is_forgotten(answer);
}

int cairn_resolver_name(struct cairn_resolver *resolver, struct cairn_key key,
                        struct cairn_answer *ret_answer, struct cairn_err *err)
{
    struct cairn_answer *answer = find_answer(&resolver->names, key);
    if (!answer)
        return add_answer(resolver, key, pack(key), ret_answer, err);
    if (is_forgotten(answer)) {
        struct cairn_answer again;
        int result = look_up(resolver, key, false, &again, err);
        if (result < 0)
            return result;
        *answer = again;
    }
    *ret_answer = *answer;
    return CAIRN_OK;
}
