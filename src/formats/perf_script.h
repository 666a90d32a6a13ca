/* SPDX-License-Identifier: MIT */
/* Perf script stacks: the tables between lines of perf script's text and frames of a profile. */
#ifndef CAIRN_FORMATS_PERF_SCRIPT_H
#define CAIRN_FORMATS_PERF_SCRIPT_H

#include "base/strings.h"
#include "base/table.h"
#include "formats/perf_script_line.h"
#include "profile/profile.h"

/* A line of a frame, parsed when it was met first. */
struct cairn_perf_known {
    uint64_t address;
    uint32_t name;     /* of the profile; 0: none */
    uint32_t module;   /* of the profile */
    uint8_t what;      /* enum cairn_frame_what */
    bool is_inlined;   /* into the next one */
    bool is_frame;     /* false: a text that is none */
    uint32_t frame[2]; /* as a caller and as the innermost one, without a place; 0: not made yet */
};

/* A frame of the sample that is read: numbers of lines. */
struct cairn_perf_step {
    uint32_t line;
    uint32_t place; /* "file.c:12"; 0: none */
};

struct cairn_perf_stacks {
    struct cairn_profile *p;
    struct cairn_strings lines;     /* each text of a line once */
    struct cairn_perf_known *known; /* by its number */
    size_t cap_known;
    struct cairn_table placed; /* a step with a place -> its frame */
    struct cairn_perf_step *steps;
    size_t n_steps, cap_steps;
    uint32_t *frames; /* of one stack, while it is made */
    size_t cap_frames;
};

void cairn_perf_stacks_done(struct cairn_perf_stacks *stacks);

enum cairn_perf_took {
    CAIRN_PERF_NO_FRAME,
    CAIRN_PERF_FRAME,
    CAIRN_PERF_TOO_DEEP,
    CAIRN_PERF_NOMEM
};

/* Takes a line that may be a frame, the innermost one first. */
enum cairn_perf_took cairn_perf_stacks_add(struct cairn_perf_stacks *stacks,
                                           struct cairn_span line);
/* Forgets the first of the frames that were taken, if there are any. */
void cairn_perf_stacks_drop_first(struct cairn_perf_stacks *stacks);
/* The place of the last one. False: memory is gone. */
bool cairn_perf_stacks_place(struct cairn_perf_stacks *stacks, struct cairn_span line);

/* Makes the stack of all that was taken, and forgets it; UINT32_MAX: memory is gone. */
uint32_t cairn_perf_stacks_make(struct cairn_perf_stacks *stacks);

#endif /* CAIRN_FORMATS_PERF_SCRIPT_H */
