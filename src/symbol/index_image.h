/* SPDX-License-Identifier: MIT */
/* How an index lies in its image: docs/formats/index.md draws it. */
#ifndef CAIRN_SYMBOL_INDEX_IMAGE_H
#define CAIRN_SYMBOL_INDEX_IMAGE_H

#include "symbol/index.h"

/* From `start` on. A row of zeros: nothing is known from here on. */
enum cairn_record_column {
    CAIRN_RECORD_START,
    CAIRN_RECORD_NODE, /* from 1; 0: no function */
    CAIRN_RECORD_FILE, /* number of the path, plus 1; 0: none */
    CAIRN_RECORD_LINE,
    CAIRN_RECORD_COLUMNS
};

/* Node number n is row n - 1. Callers come before what they call. */
enum cairn_node_column {
    CAIRN_NODE_FUNCTION, /* from 1 */
    CAIRN_NODE_UP,       /* how many numbers lower the caller's is; 0: a function of its own */
    CAIRN_NODE_CALL_FILE,
    CAIRN_NODE_CALL_LINE,
    CAIRN_NODE_COLUMNS
};

/* Function number n is row n - 1. */
enum cairn_function_column {
    CAIRN_FUNCTION_TEXT,      /* the linkage name, else the plain one */
    CAIRN_FUNCTION_QUALIFIED, /* where there is no linkage name */
    CAIRN_FUNCTION_DECLARED,  /* line */
    CAIRN_FUNCTION_FLAGS,
    CAIRN_FUNCTION_COLUMNS
};

enum { CAIRN_FUNCTION_HAS_LINKAGE = 1, CAIRN_FUNCTION_HAS_NAME = 2 };

/* Who answers from `start` on. */
enum cairn_symbol_column {
    CAIRN_SYMBOL_START,
    CAIRN_SYMBOL_TEXT,   /* without version and suffix */
    CAIRN_SYMBOL_SUFFIX, /* 0: none */
    CAIRN_SYMBOL_BACK,   /* from `start` back to the symbol's own address */
    CAIRN_SYMBOL_FLAGS,  /* 0: nobody */
    CAIRN_SYMBOL_COLUMNS
};

enum {
    CAIRN_SYMBOL_IS = 1,
    CAIRN_SYMBOL_SHARED = 2,
    CAIRN_SYMBOL_SOURCE_SHIFT = 2,
    CAIRN_SYMBOL_SOURCE_MASK = 15
};

/*
 * What the image is made of. The large tables are written where they stay, one after the other; all
 * others follow in the end:
 *
 *     | head | nodes | records | texts | keys, blocks, functions, symbols, paths |
 */
struct cairn_index_parts {
    uint64_t base, symbol_base;
    struct cairn_columns_writer records, nodes, functions, symbols;
    struct cairn_texts_writer texts, paths;
    struct cairn_buffer *image; /* borrowed */
    size_t start;               /* of the head in it */
    struct cairn_buffer function_data, symbol_data, path_data;
};

/* Begins an image at the end of `image`, of about that many bytes; all tables but records and texts
 * can be filled. The parts are all-zero before. */
void cairn_index_begin(struct cairn_index_parts *parts, struct cairn_buffer *image,
                       size_t expected_bytes);

/* Nodes are complete, about so many records come. CAIRN_E_NOMEM, CAIRN_E_LIMIT. */
int cairn_index_begin_records(struct cairn_index_parts *parts, size_t n_records,
                              struct cairn_err *err);

/* Records are complete, about so many bytes of texts come. CAIRN_E_NOMEM, CAIRN_E_LIMIT. */
int cairn_index_begin_texts(struct cairn_index_parts *parts, size_t bytes, struct cairn_err *err);

/* Finishes the other parts and appends them. CAIRN_E_NOMEM, CAIRN_E_LIMIT. */
int cairn_index_end(struct cairn_index_parts *parts, struct cairn_err *err);

/* Writes size and checksum into the head; an image shorter than a head is left as it is. */
void cairn_index_seal(uint8_t *image, size_t size);
void cairn_index_parts_done(struct cairn_index_parts *parts); /* the image stays */

#endif /* CAIRN_SYMBOL_INDEX_IMAGE_H */
