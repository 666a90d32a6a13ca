/* SPDX-License-Identifier: MIT */
/* One search for the files of a module: what was found so far, and the verdict on each candidate.
 */
#ifndef CAIRN_DEBUGFILE_SEARCH_H
#define CAIRN_DEBUGFILE_SEARCH_H

#include "base/buffer.h"
#include "debugfile/candidate.h"
#include "debugfile/symbol_dir.h"

/* The places to search in, globs expanded. */
struct cairn_debugfile_finder {
    struct cairn_symbol_dirs dirs;
    char *debug_dir;
    char *root; /* NULL: none */
    bool allow_mismatch;
    bool no_local_files;
    bool fetches;
};

/* One search. It is over once there is a binary and lines were found in it or beside it; until then
 * the best so far is kept. */
struct cairn_search {
    struct cairn_debugfile_finder *finder;
    const char *path;
    char wanted[CAIRN_BUILD_ID_TEXT]; /* the build ID that was asked for, or "" */
    struct cairn_candidate image, debug;
    bool any_image;    /* the caller does not need one */
    bool followed;     /* the image's own pointers to its debug file */
    bool takes_others; /* second round: builds that differ are taken */
    bool took_other;
    bool asks_nobody;         /* what is lacking is told in `lacks` alone */
    unsigned lacks;           /* of by_id.h */
    struct cairn_buffer text; /* the path that is tried */

    unsigned n_refused;       /* candidates of another build, */
    struct cairn_err refusal; /* and the first of them */
    struct cairn_err damage;  /* the first unreadable one; code 0: none */
    struct cairn_err *err;
    int code; /* lack of memory ends the search */
};

/* Nothing better than what was found can be hoped for (or the search failed). */
bool cairn_search_has_lines(const struct cairn_search *s);
bool cairn_search_is_over(const struct cairn_search *s);

/* Opens what s->text names. False where there is nothing, or nothing that can be used. */
bool cairn_search_open(struct cairn_search *s, struct cairn_candidate *ret);

/* Is the candidate of the build that we look for, as far as that is known? */
bool cairn_search_is_right_build(struct cairn_search *s, struct cairn_candidate *c);

/* Takes a candidate of the right build for whatever it is good for, or closes it. */
void cairn_search_settle(struct cairn_search *s, struct cairn_candidate *c);

/* All three for s->text. True where the candidate was of the right build. */
bool cairn_search_try(struct cairn_search *s);

#endif /* CAIRN_DEBUGFILE_SEARCH_H */
