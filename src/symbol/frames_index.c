/* SPDX-License-Identifier: MIT */
/* Answers out of an index. Its bytes may be damaged: numbers out of them are held against their
 * tables where they are used, and chains of nodes go towards lower numbers only. */
#include "base/alloc.h"
#include "base/error.h"
#include "symbol/frame_source.h"
#include "symbol/index.h"
#include "symbol/index_image.h"

enum {
    FUNCTIONS_BLOCK = 64,
    NODES_REMEMBERED = 4096,         /* a power of two */
    REMEMBERED_MIN_BYTES = 64 << 20, /* what may be remembered of texts in any case; */
    REMEMBERED_PER_BYTE = 16         /* a sound image of n bytes has less than n times this */
};

struct cairn_index_function {
    struct cairn_function function;
    bool read;
};

/* Callers are shared by what is close by. */
struct cairn_index_node {
    uint32_t number; /* 0: none */
    struct cairn_frame_node node;
};

static void keep_bound(struct cairn_index *index)
{
    size_t most = index->image.size > SIZE_MAX / REMEMBERED_PER_BYTE
                      ? SIZE_MAX
                      : index->image.size * REMEMBERED_PER_BYTE;
    if (cairn_index_bytes(index) > (most > REMEMBERED_MIN_BYTES ? most : REMEMBERED_MIN_BYTES))
        cairn_index_forget(index);
}

static int find_place(const struct cairn_frames_request *q, struct cairn_frame_place *ret_place,
                      struct cairn_err *err)
{
    (void)err;
    struct cairn_index *index = q->module->index;
    uint32_t values[CAIRN_COLUMNS_MAX];
    *ret_place = (struct cairn_frame_place){0};
    keep_bound(index);
    if (q->vaddr < index->base || q->vaddr - index->base >= UINT32_MAX ||
        !cairn_columns_find_near(&index->records, &index->record_at,
                                 (uint32_t)(q->vaddr - index->base), values))
        return CAIRN_OK;
    ret_place->node = values[CAIRN_RECORD_NODE];
    ret_place->file = values[CAIRN_RECORD_FILE];
    ret_place->line = values[CAIRN_RECORD_LINE];
    ret_place->known = ret_place->node || ret_place->file || ret_place->line;
    return CAIRN_OK;
}

static uint32_t read_values(const struct cairn_index *index, uint32_t node, uint32_t *values)
{
    cairn_columns_row(&index->nodes, node - 1, values);
    uint32_t up = values[CAIRN_NODE_UP];
    return up < node ? (up ? node - up : 0) : 0;
}

static void read_node(const struct cairn_frames_request *q, const struct cairn_frame_place *place,
                      uint32_t node, struct cairn_frame_node *ret_node)
{
    (void)place;
    struct cairn_index *index = q->module->index;
    uint32_t values[CAIRN_COLUMNS_MAX];
    if (!index->nodes_read) /* without memory, none is remembered */
        index->nodes_read = cairn_alloc(NODES_REMEMBERED, sizeof *index->nodes_read);
    struct cairn_index_node *read =
        index->nodes_read ? &index->nodes_read[node % NODES_REMEMBERED] : NULL;
    if (read && read->number == node) {
        *ret_node = read->node;
        return;
    }
    ret_node->parent = read_values(index, node, values);
    ret_node->call_file = values[CAIRN_NODE_CALL_FILE];
    ret_node->call_line = values[CAIRN_NODE_CALL_LINE];
    ret_node->function = values[CAIRN_NODE_FUNCTION];
    if (read)
        *read = (struct cairn_index_node){node, *ret_node};
}

static int find_path(const struct cairn_frames_request *q, const struct cairn_frame_place *place,
                     uint32_t file, const char **ret_path, struct cairn_err *err)
{
    (void)place;
    struct cairn_index_text path = {0};
    int code = CAIRN_OK;
    if (file)
        code = cairn_texts_get(&q->module->index->paths, file - 1, &path, err);
    if (code == CAIRN_OK)
        *ret_path = path.text;
    return code;
}

/* The function number `number` of the index, read the first time. */
static int read_function(const struct cairn_frames_request *q, uint32_t number,
                         struct cairn_function *ret_function, struct cairn_err *err)
{
    struct cairn_index *index = q->module->index;
    uint32_t values[CAIRN_COLUMNS_MAX];
    struct cairn_index_text text, qualified = {0};
    cairn_columns_row(&index->functions, number - 1, values);
    uint32_t flags = values[CAIRN_FUNCTION_FLAGS];
    int code = cairn_texts_get(&index->texts, values[CAIRN_FUNCTION_TEXT], &text, err);
    if (code == CAIRN_OK && !(flags & CAIRN_FUNCTION_HAS_LINKAGE))
        code = cairn_texts_get(&index->texts, values[CAIRN_FUNCTION_QUALIFIED], &qualified, err);
    if (code < 0)
        return code;
    *ret_function = (struct cairn_function){.decl_line = values[CAIRN_FUNCTION_DECLARED]};
    if (flags & CAIRN_FUNCTION_HAS_LINKAGE) {
        ret_function->linkage = text.text;
        ret_function->is_plain = (flags & CAIRN_FUNCTION_HAS_NAME) != 0;
        if (q->demangler->names == CAIRN_NAMES_FULL)
            ret_function->shown = text.readable;
    } else if (flags & CAIRN_FUNCTION_HAS_NAME) {
        ret_function->name = text.text;
        ret_function->shown = qualified.text;
    }
    return CAIRN_OK;
}

static int find_function(const struct cairn_frames_request *q,
                         const struct cairn_frame_place *place, uint32_t number,
                         struct cairn_function **ret_function, struct cairn_err *err)
{
    (void)place;
    struct cairn_index *index = q->module->index;
    if (number == 0 || number > index->functions.n)
        number = 0; /* damaged: the place of a function that says nothing */
    if (!index->read)
        index->read = cairn_alloc(index->functions.n / FUNCTIONS_BLOCK + 1, sizeof(*index->read));
    if (!index->read)
        return cairn_fail_memory(err);
    struct cairn_index_function **block = &index->read[number / FUNCTIONS_BLOCK];
    if (!*block) {
        *block = cairn_alloc(FUNCTIONS_BLOCK, sizeof **block);
        if (!*block)
            return cairn_fail_memory(err);
        index->read_bytes += FUNCTIONS_BLOCK * sizeof **block;
    }
    struct cairn_index_function *f = &(*block)[number % FUNCTIONS_BLOCK];
    int code = CAIRN_OK;
    if (!f->read && number)
        code = read_function(q, number, &f->function, err);
    if (code < 0)
        return code;
    f->read = true;
    *ret_function = &f->function;
    return CAIRN_OK;
}

static int qualify(const struct cairn_frames_request *q, const struct cairn_function *f,
                   const char **ret_name, struct cairn_err *err)
{
    (void)q;
    (void)err;
    *ret_name = f->name; /* qualified names are in the index, and shown already */
    return CAIRN_OK;
}

static int find_symbol(const struct cairn_frames_request *q, struct cairn_frame_symbol *ret_symbol,
                       struct cairn_err *err)
{
    struct cairn_index *index = q->module->index;
    uint32_t values[CAIRN_COLUMNS_MAX];
    struct cairn_index_text name = {0}, suffix = {0};
    *ret_symbol = (struct cairn_frame_symbol){0};
    if (q->vaddr < index->symbol_base || q->vaddr - index->symbol_base > UINT32_MAX ||
        !cairn_columns_find_near(&index->symbols, &index->symbol_at,
                                 (uint32_t)(q->vaddr - index->symbol_base), values) ||
        !values[CAIRN_SYMBOL_FLAGS])
        return CAIRN_OK;
    int code = cairn_texts_get(&index->texts, values[CAIRN_SYMBOL_TEXT], &name, err);
    if (code == CAIRN_OK && values[CAIRN_SYMBOL_SUFFIX])
        code = cairn_texts_get(&index->texts, values[CAIRN_SYMBOL_SUFFIX], &suffix, err);
    if (code < 0)
        return code;
    uint32_t flags = values[CAIRN_SYMBOL_FLAGS];
    *ret_symbol = (struct cairn_frame_symbol){
        .vaddr = index->symbol_base + values[CAIRN_SYMBOL_START] - values[CAIRN_SYMBOL_BACK],
        .bare = name.text,
        .readable = name.readable,
        .suffix = suffix.text,
        .source = (flags >> CAIRN_SYMBOL_SOURCE_SHIFT) & CAIRN_SYMBOL_SOURCE_MASK,
        .shared = (flags & CAIRN_SYMBOL_SHARED) != 0,
    };
    return CAIRN_OK;
}

static uint32_t outermost(const struct cairn_index *index, uint32_t node)
{
    uint32_t values[CAIRN_COLUMNS_MAX], parent;
    for (int n = 0; n < CAIRN_FRAMES_MAX && (parent = read_values(index, node, values)); n++)
        node = parent;
    return node;
}

static bool same_function(const struct cairn_frames_request *q,
                          const struct cairn_frame_place *place, uint64_t vaddr)
{
    const struct cairn_index *index = q->module->index;
    uint32_t values[CAIRN_COLUMNS_MAX];
    if (vaddr < index->base || vaddr - index->base >= UINT32_MAX ||
        !cairn_columns_find(&index->records, (uint32_t)(vaddr - index->base), values) ||
        !values[CAIRN_RECORD_NODE])
        return false;
    return outermost(index, values[CAIRN_RECORD_NODE]) == outermost(index, place->node);
}

const struct cairn_frame_source cairn_frames_of_index = {
    find_place, read_node, find_path, find_function, qualify, find_symbol, same_function,
};

void cairn_index_forget(struct cairn_index *index)
{
    for (size_t i = 0; index->read && i <= index->functions.n / FUNCTIONS_BLOCK; i++)
        cairn_free(index->read[i]);
    cairn_free(index->read);
    index->read = NULL;
    index->read_bytes = 0;
    cairn_free(index->nodes_read);
    index->nodes_read = NULL;
    index->n_forgotten++;
    cairn_texts_forget(&index->texts);
    cairn_texts_forget(&index->paths);
}

size_t cairn_index_bytes(const struct cairn_index *index)
{
    return index->read_bytes + index->texts.arena.used_bytes + index->paths.arena.used_bytes;
}
