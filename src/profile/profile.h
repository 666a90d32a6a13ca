/* SPDX-License-Identifier: MIT */
/*
 * The model, as the rooms above see it. One file's worth of everything:
 *
 *     sample ─► stack ─► (parent, frame) ─► frame ─► module, address, lines[] ─► function
 *        ├────► values[n_types]
 *        └────► label set: labels, cut, time
 *     marker ─► name, stack, label set, duration
 *
 * A stack is a node in a tree: equal stacks are equal numbers, number 0 is the empty stack, and a
 * parent's number is always smaller than its child's. A frame is one address (or one name, in
 * formats that know no addresses) with the source lines that stand for it, innermost first: all but
 * the last are inlined into the next. Text is a number in `strings`; 0 is "".
 *
 * Numbers are indices that only grow; nothing is removed except by filter, which makes a new list
 * of samples. All arrays are owned by the profile.
 */
#ifndef CAIRN_PROFILE_PROFILE_H
#define CAIRN_PROFILE_PROFILE_H

#include <cairn/profile.h>

#include "base/strings.h"
#include "base/table.h"

/* Sums stop at the ends of the range: hostile files hold values whose sum is none. */
static inline int64_t cairn_profile_add_clamped(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

enum {
    CAIRN_PROFILE_NO_MODULE = 0, /* module number 0 is "none"; real ones start at 1 */
    CAIRN_PROFILE_TYPES_MAX = 64,
    CAIRN_PROFILE_LABELS_MAX = 256,       /* of one sample */
    CAIRN_PROFILE_DEPTH_MAX = 1 << 21,    /* frames of one stack: every reader's limit */
    CAIRN_PROFILE_NUMBERS_MAX = INT32_MAX /* samples, frames, ...: things of one kind */
};

struct cairn_profile_module {
    uint64_t start, end, off; /* va range and file offset of the (first) mapping */
    uint32_t path, build_id;  /* strings; build ID in lower-case hex */
    bool has_functions, has_files, has_lines, has_inlines; /* what naming found; pprof's has_* */
    uint8_t kind; /* enum cairn_module_kind: cairn_profile_add_module() sets it */
};

struct cairn_profile_function {
    uint32_t name;        /* as shown */
    uint32_t system_name; /* mangled */
    uint32_t file;
    uint32_t start_line;
};

struct cairn_profile_line {
    uint32_t function;
    uint32_t line; /* 0: unknown */
};

struct cairn_profile_frame {
    uint64_t address; /* va, already the address to look up (return address minus one); 0: none */
    uint32_t module;
    uint32_t lines;   /* index into `lines` */
    uint32_t n_lines; /* 0: not named */
    uint8_t what;     /* enum cairn_frame_what */
    uint8_t how;      /* enum cairn_frame_how: CAIRN_HOW_TEXT where nobody said */
    uint8_t language; /* enum cairn_language */
    bool folded;      /* pprof's is_folded: the name is one of several */
    bool own;         /* native code of an interpreter, whose frames are on the stack, too */
};

struct cairn_profile_stack {
    uint32_t parent; /* towards the root */
    uint32_t frame;
};

struct cairn_profile_label {
    uint32_t key;
    uint32_t text; /* 0 where it is a number */
    int64_t number;
    uint32_t unit;
};

struct cairn_profile_sample {
    uint32_t stack;
    uint32_t labels; /* number of a label set; 0: none */
};

/* What is said of samples beside their stack: a span of `labels`, and what the model knows by
 * itself. Sets are interned: equal sets are equal numbers. Those that differ in time alone have one
 * span. */
struct cairn_profile_label_set {
    uint32_t first, n;
    uint32_t cut;    /* why the stack ends early, a string; 0: nobody said that it does */
    int64_t time_ns; /* when the sample was, since 1970, or by the recorder's clock where nobody
                        knows how far apart the two are; 0: unknown */
};

/* What files and filters call those two, and the doubt about an interpreter's stack. */
#define CAIRN_PROFILE_CUT_LABEL   "cairn.cut"
#define CAIRN_PROFILE_TIME_LABEL  "cairn.time_ns"
#define CAIRN_PROFILE_GUEST_LABEL "cairn.guest"

/* An event that was kept one by one: it counts nowhere, and has its time in its label set. There
 * the labels pid, tid, process and thread say whose it is, all others are its details. */
struct cairn_profile_marker {
    uint32_t name; /* a string */
    uint32_t stack;
    uint32_t labels;     /* number of a label set */
    int64_t duration_ns; /* 0: it has none */
};

struct cairn_profile_type {
    uint32_t type, unit; /* strings */
};

struct cairn_profile_note {
    uint32_t kind; /* enum cairn_note */
    uint32_t text; /* a string */
};

/* What a profile takes in no more, though what is there is found and summed yet: one that grows
 * while it is recorded must end somewhere. */
enum cairn_profile_closed {
    CAIRN_PROFILE_OPEN,
    CAIRN_PROFILE_NO_STACKS, /* no new modules, functions, frames and stacks */
    CAIRN_PROFILE_NO_SAMPLES /* nor label sets and samples; texts alone */
};

struct cairn_profile_index; /* hash tables that make things unique; built when first needed */

struct cairn_profile {
    struct cairn_strings strings;
    struct cairn_profile_type *types;
    size_t n_types;
    struct cairn_profile_module *modules; /* [0] is "none" */
    size_t n_modules, cap_modules;
    struct cairn_profile_function *functions; /* [0] is unused */
    size_t n_functions, cap_functions;
    struct cairn_profile_line *lines;
    size_t n_lines, cap_lines;
    struct cairn_profile_frame *frames; /* [0] is unused */
    size_t n_frames, cap_frames;
    struct cairn_profile_stack *stacks; /* [0] is the empty stack */
    size_t n_stacks, cap_stacks;
    struct cairn_profile_label *labels;
    size_t n_labels, cap_labels;
    struct cairn_profile_label_set *label_sets; /* [0] is the empty set */
    size_t n_label_sets, cap_label_sets;
    struct cairn_profile_sample *samples;
    int64_t *values; /* n_samples rows of n_types */
    size_t n_samples, cap_samples;
    struct cairn_profile_marker *markers;
    size_t n_markers, cap_markers;
    struct cairn_profile_note *notes;
    size_t n_notes, cap_notes;
    uint32_t default_type; /* a string: name of the value type to show; 0: not said */
    struct cairn_profile_type period_type;
    int64_t period;
    int64_t time_ns, duration_ns;
    enum cairn_profile_closed closed;
    struct cairn_profile_index *index;
    struct cairn_value_type *public_types; /* what cairn_profile_value_types() lends out */
    const char **public_comments;          /* a line for each note */
};

/* Each returns the number of the new or equal old thing, or UINT32_MAX where memory is gone, a
 * limit (2^31 of a kind) is reached, or the profile is closed to what is new. */
uint32_t cairn_profile_text(struct cairn_profile *p, const char *text, size_t size);
/* Only while there are no samples, for their values lie in rows of n_types. */
uint32_t cairn_profile_add_type(struct cairn_profile *p, const char *type, const char *unit);
uint32_t cairn_profile_add_module(struct cairn_profile *p,
                                  const struct cairn_profile_module *module);
/* All of the kernel that runs, its modules too. `text`: va of _text, by which its names can be
 * found elsewhere; 0 where the kernel hides it. */
uint32_t cairn_profile_add_kernel(struct cairn_profile *p, uint64_t text, const char *build_id);
uint32_t cairn_profile_add_function(struct cairn_profile *p,
                                    const struct cairn_profile_function *function);
/* `frame->lines` and `n_lines` are ignored: the lines are copied from `lines`. */
uint32_t cairn_profile_add_frame(struct cairn_profile *p, const struct cairn_profile_frame *frame,
                                 const struct cairn_profile_line *lines, uint32_t n_lines);
uint32_t cairn_profile_add_stack(struct cairn_profile *p, uint32_t parent, uint32_t frame);
/* The set is sorted by key here; the order given does not matter. */
uint32_t cairn_profile_add_labels(struct cairn_profile *p, const struct cairn_profile_label *labels,
                                  uint32_t n);
/* The same of samples whose stack ends early, or whose time is known: one before 1970 is none. */
uint32_t cairn_profile_add_label_set(struct cairn_profile *p,
                                     const struct cairn_profile_label *labels, uint32_t n,
                                     uint32_t cut, int64_t time_ns);
/* `values` has n_types entries. Samples are not merged: equal ones may stand side by side. */
uint32_t cairn_profile_add_sample(struct cairn_profile *p, uint32_t stack, uint32_t labels,
                                  const int64_t *values);

/* The same where equal ones were all added by this, or shall be: then the values are added to the
 * first of them, whose number comes back. */
uint32_t cairn_profile_sum_sample(struct cairn_profile *p, uint32_t stack, uint32_t labels,
                                  const int64_t *values);

/* Markers are never joined. */
uint32_t cairn_profile_add_marker(struct cairn_profile *p,
                                  const struct cairn_profile_marker *marker);

/* Drops the samples, and the markers behind them, whose number is marked; the others keep their
 * order. */
void cairn_profile_drop_samples(struct cairn_profile *p, const bool *dropped);

/* Sums the samples that have equal stack and labels into one. Those of different times stay apart.
 * CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_profile_sum_equal(struct cairn_profile *p);

/* The same; `ret_numbers[i]` is the number that sample i has now (room for n_samples; NULL: nobody
 * asks). */
int cairn_profile_sum_numbered(struct cairn_profile *p, uint32_t *ret_numbers);

/* Is the label, one of these that a sample has, to be kept? Cut and time are. */
typedef bool (*cairn_profile_keeps_fn)(void *ctx, const struct cairn_profile_label *labels,
                                       uint32_t n, const struct cairn_profile_label *label);

/* Takes labels from the samples and sums those that are equal then, as above. Label sets that no
 * sample has are forgotten, and all have other numbers. CAIRN_OK or CAIRN_E_NOMEM: then nothing
 * changed, or less is summed than could be, and `ret_numbers` holds all the same. */
struct cairn_packed; /* the samples that were taken away; NULL: none */
int cairn_profile_drop_labels(struct cairn_profile *p, struct cairn_packed *packed,
                              cairn_profile_keeps_fn keeps, void *ctx, uint32_t *ret_numbers);

/* Memory that the profile takes, with its index; so that each table has room for one thing more. */
uint64_t cairn_profile_bytes(const struct cairn_profile *p);

/* Frees the tables that make things unique: a profile that is only read from now on is smaller.
 * They are built again when something is added. */
void cairn_profile_drop_index(struct cairn_profile *p);

/* The label of that key in a set, or NULL. */
const struct cairn_profile_label *cairn_profile_find_label(const struct cairn_profile *p,
                                                           uint32_t label_set, const char *key);

/* Why the stack of a sample ends early; "": nobody said that it does. Borrowed. */
const char *cairn_profile_cut_of(const struct cairn_profile *p, size_t sample);

/* That of a label set, as a string; 0 also where the root is there, and the middle is left out. */
uint32_t cairn_profile_cut_short(const struct cairn_profile *p, uint32_t label_set);

/* The label set of sample `i`, or of a marker: they are counted behind the samples. */
static inline uint32_t *cairn_profile_set_of(const struct cairn_profile *p, size_t i)
{
    return i < p->n_samples ? &p->samples[i].labels : &p->markers[i - p->n_samples].labels;
}

/* The same of its stack. */
static inline uint32_t *cairn_profile_stack_of(const struct cairn_profile *p, size_t i)
{
    return i < p->n_samples ? &p->samples[i].stack : &p->markers[i - p->n_samples].stack;
}

static inline int64_t cairn_profile_time_of(const struct cairn_profile *p, size_t sample)
{
    return p->label_sets[p->samples[sample].labels].time_ns;
}

/* What a sample counts for where samples are counted: its value of the type "samples", else 1. */
uint64_t cairn_profile_weight(const struct cairn_profile *p, size_t sample);

/* What samples and markers reach, by number; what only dropped ones used is left out. False where
 * memory is gone. */
struct cairn_profile_reach {
    bool *stacks, *frames, *functions, *modules;
};
bool cairn_profile_reach(const struct cairn_profile *p, struct cairn_profile_reach *ret_reach);
void cairn_profile_reach_done(struct cairn_profile_reach *reach); /* all-zero is fine */

/* Has the frame a function name, and one that is no address in disguise ("0x12", "libfoo.so+0x12",
 * "[unknown]")? */
bool cairn_profile_is_named(const struct cairn_profile *p, uint32_t frame);

/* Has the frame no name but "libfoo.so+0x1230 [function]"? `*ret_address`, unless that is NULL, is
 * where the function begins, counted as the frame's address. */
bool cairn_profile_is_function_start(const struct cairn_profile *p, uint32_t frame,
                                     uint64_t *ret_address);

/* Base name of a module's path; "" for none. Borrowed. */
const char *cairn_profile_module_name(const struct cairn_profile *p, uint32_t module);

/* The text to show for a frame without a name: "libfoo.so+0x1234" (offset from the start of its
 * file), "0x7f1234" without a module or in the kernel, "[unknown]" without an address; written to
 * `buf`. */
const char *cairn_profile_frame_text(const struct cairn_profile *p, uint32_t frame, char *buf,
                                     size_t size);

/* What is said in `cut` of a stack that reaches its root, but whose middle is left out. */
#define CAIRN_PROFILE_GAP "gap (deeper than 1024 frames)"

#endif /* CAIRN_PROFILE_PROFILE_H */
