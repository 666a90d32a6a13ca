/* SPDX-License-Identifier: MIT */
/*
 * The processed profile of the Firefox Profiler (github.com/firefox-devtools/profiler,
 * src/types/profile.ts), version 66, as JSON:
 *
 *     meta     what it is, categories, what was recorded
 *     libs     files with their build IDs
 *     shared   stringArray, stackTable ─► frameTable ─► funcTable ─► resourceTable, sources;
 *              frameTable ─► nativeSymbols
 *     threads  samples{stack, timeDeltas, weight} of one thread and one value type each; markers
 *
 * A table is an object of columns, all of its `length`.
 */
#ifndef CAIRN_FORMATS_FIREFOX_H
#define CAIRN_FORMATS_FIREFOX_H

#include "formats/json_stream.h"
#include "formats/tracks.h"
#include "formats/viewer.h"

enum { CAIRN_FIREFOX_VERSION = 66, CAIRN_FIREFOX_GECKO_VERSION = 24 };

/* A marker in its thread. */
struct cairn_firefox_moment {
    uint32_t track, marker;
    uint32_t name; /* a text of the viewer */
    int64_t time_ns;
};

struct cairn_firefox {
    const struct cairn_profile *p;
    struct cairn_json_stream stream;
    struct cairn_tracks tracks;
    struct cairn_viewer viewer;
    size_t shown;    /* the value type of the visible threads */
    size_t cpu_type; /* time on the CPU; n_types: the profile has none */
    uint32_t *order; /* samples of the thread that is written */
    size_t n_order;
    size_t type;         /* its value type */
    bool are_ones;       /* all its weights are 1 */
    uint32_t *source_of; /* by text: its row of `sources` plus 1 where it is a file */
    uint32_t *sources;   /* texts */
    uint32_t *lib_names; /* texts, by library */
    size_t n_sources;
    struct cairn_firefox_moment *moments; /* by track, then by time */
    size_t n_moments;
    size_t first_moment; /* of the thread that is written */
    uint32_t *fields;    /* keys of labels: the details that markers have */
    size_t n_fields;
};

/* One column: a number for each row, in units of 10^-places, or `null`; without `cell` the same for
 * each. */
enum { CAIRN_FIREFOX_NULL = -1 };
struct cairn_firefox_column {
    const char *name;
    int64_t (*cell)(const struct cairn_firefox *f, size_t row);
    unsigned places;
    bool is_false;    /* without `cell`: false, else null */
    bool may_be_null; /* CAIRN_FIREFOX_NULL is null, not a number */
};

void cairn_firefox_column(struct cairn_firefox *f, const struct cairn_firefox_column *column,
                          size_t n_rows);
/* An object of columns and `length`. */
void cairn_firefox_table(struct cairn_firefox *f, const char *name,
                         const struct cairn_firefox_column *columns, size_t n_columns,
                         size_t n_rows);

/* Makes what the tables need: all texts, the sources. False where memory is gone. */
bool cairn_firefox_prepare(struct cairn_firefox *f);

void cairn_firefox_put_meta(struct cairn_firefox *f);
void cairn_firefox_put_libs(struct cairn_firefox *f);
void cairn_firefox_put_shared(struct cairn_firefox *f);
void cairn_firefox_put_threads(struct cairn_firefox *f);

/* Finds the markers of each track, their stacks, texts and fields, before the tables are prepared.
 * False where memory is gone. */
bool cairn_firefox_take_markers(struct cairn_firefox *f);
void cairn_firefox_put_schema(struct cairn_firefox *f);
/* Of the thread that is written, which is that of this track; tracks in their order. */
void cairn_firefox_put_markers(struct cairn_firefox *f, size_t track);

#endif /* CAIRN_FORMATS_FIREFOX_H */
