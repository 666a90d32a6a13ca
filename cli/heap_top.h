/* SPDX-License-Identifier: MIT */
/*
 * cairn heap top, within the command: what is shown of a process, apart from how. A look a few
 * seconds; what grew is reckoned over those of the last minute.
 *
 *     look ──► rows (one a stack) ──filter, sort──► shown
 */
#ifndef CAIRN_CLI_HEAP_TOP_H
#define CAIRN_CLI_HEAP_TOP_H

#include "cli/heap.h"
#include "cli/heap_lost_keys.h"

enum cli_heap_top_order {
    CLI_HEAP_BY_LIVE,
    CLI_HEAP_BY_BLOCKS,
    CLI_HEAP_BY_GROWTH,
    CLI_HEAP_BY_RATE,
    CLI_HEAP_BY_LOST
};

/* A stack as it was at the last look. */
struct cli_heap_top_row {
    uint32_t key;   /* cairn_heap_keys_of() */
    uint32_t stack; /* of the look's profile */
    uint64_t bytes, blocks, n_allocs;
    uint64_t lost; /* bytes that nothing points to, and what hangs on them: of struct
                      cli_heap_top_found */
    double growth; /* bytes a minute, over at most the last minute */
    double rate;   /* allocations a second, since the look before */
};

/* What a row was at an earlier look. */
struct cli_heap_top_past {
    uint32_t key;
    uint64_t bytes, n_allocs;
};

enum { CLI_HEAP_TOP_PASTS = 64 };

/* What the last look for lost blocks found: a thread of its own makes them (heap_top_lost.c). */
struct cli_heap_top_lost;
struct cli_heap_top_found {
    bool is_wanted, is_known; /* known: there was a look */
    struct cli_heap_top_lost *thread;
    struct cli_lost_keys keys;
    uint64_t bytes, blocks;
    uint64_t time_ns;     /* CLOCK_MONOTONIC */
    char unsure[512];     /* why nothing is claimed to be lost; "" */
    struct cairn_err err; /* why there was no later look; all-zero: there was */
};

struct cli_heap_top {
    const char *input; /* "PID" */
    double seconds;    /* between looks, at least */
    struct cli_heap_wanted *wanted;
    enum cli_heap_top_order order;
    struct cairn_buffer filter; /* a part of the name of a function, file or module; "": all */
    bool has_ended, is_paused;
    /* Of the last look: */
    struct cli_heap_look look;
    uint64_t look_ns, took_ns; /* CLOCK_MONOTONIC; how long it took to look */
    struct cli_heap_top_row *rows;
    size_t n, n_shown;     /* all of them; the first n_shown pass the filter and are sorted */
    double growth, rate;   /* of all */
    double growth_seconds; /* over which growth was seen; 0: this is the first look */
    struct cairn_heap_keys *keys;
    struct cli_heap_top_found lost;
    /* Of the looks before, a ring; each sorted by key. */
    struct {
        uint64_t time_ns;
        struct cli_heap_top_past *rows;
        size_t n;
    } pasts[CLI_HEAP_TOP_PASTS];
    size_t n_looks; /* that there were */
};

/* Looks again. CAIRN_OK too where the process has ended since the first look: then the last one
 * stays. */
int cli_heap_top_look(struct cli_heap_top *top, struct cairn_err *err);

/* After the filter or the order was changed. */
void cli_heap_top_arrange(struct cli_heap_top *top);

void cli_heap_top_done(struct cli_heap_top *top);

/* Of `lost`: the thread begins, gives what it found, pauses and ends. */
int cli_heap_top_lost_start(struct cli_heap_top *top, struct cairn_err *err);
int cli_heap_top_lost_take(struct cli_heap_top *top, struct cairn_err *err);
void cli_heap_top_lost_pause(struct cli_heap_top *top, bool is_paused);
void cli_heap_top_lost_stop(struct cli_heap_top *top);

/* Shows it on the terminal until it is told to end. */
int cli_heap_top_show(struct cli_heap_top *top, struct cairn_err *err);

#endif /* CAIRN_CLI_HEAP_TOP_H */
