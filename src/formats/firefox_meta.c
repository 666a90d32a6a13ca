/* SPDX-License-Identifier: MIT */
/* What the profile is: product, times, categories, threads to show, and what the recorder said. */
#include <inttypes.h>
#include <stdlib.h>

#include <cairn/version.h>

#include "base/alloc.h"
#include "formats/firefox.h"

enum { NS_PER_US = 1000, US_PLACES = 3, NS_PLACES = 6, VISIBLE_MAX = 32, VISIBLE_PERCENT = 1 };

/* The first grey one is what a viewer takes by default. */
static const struct {
    const char *name, *colour;
} categories[CAIRN_VIEWER_CATEGORIES] = {
    [CAIRN_VIEWER_UNNAMED] = {"Unnamed", "grey"},
    [CAIRN_VIEWER_NATIVE] = {"Native", "orange"},
    [CAIRN_VIEWER_INLINED] = {"Inlined", "yellow"},
    [CAIRN_VIEWER_KERNEL] = {"Kernel", "blue"},
    [CAIRN_VIEWER_JIT] = {"JIT", "green"},
    [CAIRN_VIEWER_INTERPRETED] = {"Interpreted", "purple"},
    [CAIRN_VIEWER_GUESSED] = {"Guessed", "magenta"},
    [CAIRN_VIEWER_CUT] = {"Cut", "red"},
};

static void put_categories(struct cairn_json *j)
{
    cairn_json_open(j, "categories", '[');
    for (size_t i = 0; i < CAIRN_VIEWER_CATEGORIES; i++) {
        cairn_json_open(j, NULL, '{');
        cairn_json_str(j, "name", categories[i].name);
        cairn_json_str(j, "color", categories[i].colour);
        cairn_json_open(j, "subcategories", '[');
        cairn_json_str(j, NULL, "Other");
        cairn_json_close(j, ']');
        cairn_json_close(j, '}');
    }
    cairn_json_close(j, ']');
}

static void put_entry(struct cairn_json *j, const char *label, const char *value)
{
    cairn_json_open(j, NULL, '{');
    cairn_json_str(j, "label", label);
    cairn_json_str(j, "format", "string");
    cairn_json_str(j, "value", value);
    cairn_json_close(j, '}');
}

/* "quality: 12 samples" is the value of "quality". */
static void put_comment(struct cairn_json *j, const char *comment)
{
    enum { KEY_MAX = 32 };
    char key[KEY_MAX];
    const char *colon = strstr(comment, ": ");
    size_t size = colon ? (size_t)(colon - comment) : 0;
    if (!size || size >= sizeof key || memchr(comment, ' ', size)) {
        put_entry(j, "comment", comment);
        return;
    }
    memcpy(key, comment, size);
    key[size] = '\0';
    put_entry(j, key, colon + 2);
}

/* The same for the two that a reader of the file would count by hand. */
static void put_counts(struct cairn_json *j, const struct cairn_profile *p)
{
    struct cairn_profile_stats stats = {.size = sizeof stats};
    struct cairn_buffer text = {0};
    cairn_profile_stats(p, &stats);
    cairn_buffer_printf(&text, "%" PRIu64 ", of which %" PRIu64 " have a stack that is cut",
                        stats.n_samples, stats.n_cut);
    put_entry(j, "samples", cairn_buffer_text(&text));
    cairn_buffer_clear(&text);
    cairn_buffer_printf(&text, "%" PRIu64 ", of which %" PRIu64 " have no name", stats.n_frames,
                        stats.n_unnamed);
    put_entry(j, "frames", cairn_buffer_text(&text));
    j->out->failed |= text.failed;
    cairn_buffer_done(&text);
}

static void put_times(struct cairn_json *j, const struct cairn_firefox *f)
{
    if (f->tracks.has_times)
        put_entry(j, "times", "as recorded");
    else if (f->tracks.n_timed)
        put_entry(j, "times", "made up, 1 ms a sample: only some samples of the profile have one");
    else
        put_entry(j, "times", "made up, 1 ms a sample: the profile has sums, and no times");
}

static void put_extra(struct cairn_json *j, const struct cairn_firefox *f)
{
    const char *const *comments;
    size_t n = cairn_profile_comments(f->p, &comments);
    cairn_json_open(j, "extra", '[');
    cairn_json_open(j, NULL, '{');
    cairn_json_str(j, "label", "Recording");
    cairn_json_open(j, "entries", '[');
    put_times(j, f);
    put_counts(j, f->p);
    for (size_t i = 0; i < n; i++)
        put_comment(j, comments[i]);
    cairn_json_close(j, ']');
    cairn_json_close(j, '}');
    cairn_json_close(j, ']');
}

static uint64_t weight_of(const struct cairn_firefox *f, size_t track)
{
    const struct cairn_track *row = &f->tracks.rows[track];
    uint64_t sum = 0;
    for (size_t i = row->first; i < row->first + row->n; i++) {
        int64_t value = f->p->values[f->tracks.order[i] * f->p->n_types + f->shown];
        uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
        sum = sum + size < sum ? UINT64_MAX : sum + size;
    }
    return sum;
}

static int compare_falling(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x > y ? -1 : x < y;
}

/* What a thread must have to be shown at first: a part of the whole, and be one of the largest. */
static uint64_t least_of(const uint64_t *weights, size_t n)
{
    uint64_t whole = 0;
    uint64_t *sorted = cairn_alloc(n, sizeof *sorted);
    if (!sorted)
        return UINT64_MAX;
    memcpy(sorted, weights, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_falling);
    for (size_t i = 0; i < n; i++)
        whole = whole + weights[i] < whole ? UINT64_MAX : whole + weights[i];
    uint64_t least = whole / 100 * VISIBLE_PERCENT;
    uint64_t last = sorted[n < VISIBLE_MAX ? n - 1 : VISIBLE_MAX - 1];
    cairn_free(sorted);
    return least > last ? least : last;
}

/* Thread i of the shown type is track i. */
static void put_visible(struct cairn_firefox *f)
{
    struct cairn_json *j = &f->stream.json;
    size_t n = f->tracks.n, n_visible = 0, heaviest = 0;
    uint64_t *weights = cairn_alloc(n + 1, sizeof *weights);
    f->stream.out.failed |= !weights;
    for (size_t i = 0; weights && i < n; i++) {
        weights[i] = weight_of(f, i);
        heaviest = weights[i] > weights[heaviest] ? i : heaviest;
    }
    uint64_t least = weights && n ? least_of(weights, n) : 0;
    cairn_json_open(j, "initialVisibleThreads", '[');
    for (size_t i = 0; weights && i < n && n_visible < VISIBLE_MAX; i++)
        if (weights[i] >= least || i == heaviest) {
            cairn_json_u64(j, NULL, i);
            n_visible++;
        }
    if (!n_visible)
        cairn_json_u64(j, NULL, 0);
    cairn_json_close(j, ']');
    cairn_json_open(j, "initialSelectedThreads", '[');
    cairn_json_u64(j, NULL, heaviest);
    cairn_json_close(j, ']');
    cairn_free(weights);
}

static bool has_names(const struct cairn_profile *p)
{
    for (uint32_t i = 1; i < p->n_frames; i++)
        if (cairn_profile_is_named(p, i))
            return true;
    return p->n_frames <= 1;
}

static void put_clock(struct cairn_json *j, const struct cairn_firefox *f)
{
    const struct cairn_profile *p = f->p;
    bool in_ns = p->period_type.unit &&
                 strcmp(cairn_strings_get(&p->strings, p->period_type.unit), "nanoseconds") == 0;
    int64_t start_ns = f->tracks.has_times || f->n_moments ? f->tracks.first_ns : p->time_ns;
    bool is_paced = f->tracks.has_times && in_ns && p->period > 0;
    cairn_json_fixed(j, "interval", is_paced ? p->period : 1000 * NS_PER_US, NS_PLACES);
    cairn_json_fixed(j, "startTime", start_ns > 0 ? start_ns / NS_PER_US : 0, US_PLACES);
    cairn_json_open(j, "sampleUnits", '{');
    cairn_json_str(j, "time", "ms");
    cairn_json_str(j, "eventDelay", "ms");
    cairn_json_str(j, "threadCPUDelta", "µs");
    cairn_json_close(j, '}');
}

void cairn_firefox_put_meta(struct cairn_firefox *f)
{
    struct cairn_json *j = &f->stream.json;
    const char *command = cairn_profile_note(f->p, CAIRN_NOTE_COMMAND, 0);
    bool named = has_names(f->p);
    cairn_json_open(j, "meta", '{');
    cairn_json_u64(j, "version", CAIRN_FIREFOX_GECKO_VERSION);
    cairn_json_u64(j, "preprocessedProfileVersion", CAIRN_FIREFOX_VERSION);
    cairn_json_str(j, "product", "cairn");
    cairn_json_str(j, "importedFrom", "cairn");
    cairn_json_str(j, "misc", cairn_version());
    if (command)
        cairn_json_str(j, "arguments", command);
    put_clock(j, f);
    cairn_json_u64(j, "processType", 0);
    cairn_json_u64(j, "stackwalk", 1);
    cairn_json_bool(j, "debug", false);
    /* `false` would have the viewer send names of libraries to Mozilla's symbol server, unasked. */
    cairn_json_bool(j, named ? "symbolicated" : "symbolicationNotSupported", true);
    cairn_json_bool(j, "usesOnlyOneStackType", true);
    cairn_json_bool(j, "sourceCodeIsNotOnSearchfox", true);
    cairn_json_bool(j, "keepProfileThreadOrder", true);
    put_categories(j);
    cairn_firefox_put_schema(f);
    put_extra(j, f);
    put_visible(f);
    cairn_json_close(j, '}');
}
