/* SPDX-License-Identifier: MIT */
/* Sums over all processes, and how far they can be trusted. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "watch/heap.h"

/* Standard errors of sums, squared. */
struct errors {
    double live, alloc, peak;
};

static uint64_t sum_of(const struct cairn_heap_state *state, enum cairn_heap_value value)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < state->sums.n; i++)
        sum = cairn_profile_add_clamped(sum, state->sums.values[i][value]);
    return (uint64_t)sum;
}

static uint64_t count_stacks(const struct cairn_heap_state *state)
{
    uint64_t n = 0;
    for (uint32_t i = 1; i < state->sums.n; i++)
        n += state->sums.values[i][CAIRN_HEAP_ALLOC_OBJECTS] != 0;
    return n;
}

/* No process has more live than it was at its highest; what threads hold back says less. */
static uint64_t peak_of(const struct cairn_heap_state *state, uint64_t live)
{
    int64_t peak = state->view.header.peak_bytes;
    return peak > 0 && (uint64_t)peak > live ? (uint64_t)peak : live;
}

/* 0: nothing lived yet, or the epochs are damaged. A peak within the first tick of the clock is at
 * 1 ns. */
static uint64_t peak_ns_of(const struct cairn_heap_state *state)
{
    struct cairn_heap_epoch first;
    uint64_t peak = state->view.header.peak_ns;
    if (!peak || !cairn_heap_view_epoch(&state->view, 0, &first) || peak < first.begin_ns)
        return 0;
    return peak > first.begin_ns ? peak - first.begin_ns : 1;
}

static uint64_t duration_of(const struct cairn_heap_state *state)
{
    struct cairn_heap_epoch first;
    uint64_t end = cairn_heap_end_ns(state);
    return cairn_heap_view_epoch(&state->view, 0, &first) && end > first.begin_ns
               ? end - first.begin_ns
               : 0;
}

/* The standard error of a sum of shares, squared, at most (rt/heap_state.h). */
static double error_squared(const struct cairn_heap_state *state, uint64_t bytes)
{
    return (double)state->view.header.sample_bytes * (double)bytes;
}

uint64_t cairn_heap_error(double squared)
{
    double root = squared > 1 ? squared : 1, before = 0;
    if (squared <= 0)
        return 0;
    /* Newton's method, from above. */
    for (unsigned i = 0; i < 100 && root != before; i++) {
        before = root;
        root = (root + squared / root) / 2;
    }
    return root < 9e18 ? (uint64_t)(root + 0.5) : UINT64_MAX;
}

static void add_errors(struct errors *errors, const struct cairn_heap_state *state)
{
    uint64_t live = sum_of(state, CAIRN_HEAP_INUSE_SPACE);
    errors->live += error_squared(state, live);
    errors->alloc += error_squared(state, sum_of(state, CAIRN_HEAP_ALLOC_SPACE));
    errors->peak += error_squared(state, peak_of(state, live));
}

/* Blocks that are older than the tracker. */
static void add_older(struct cairn_heap_totals *t, const struct cairn_heap_state *state)
{
    const struct cairn_heap_header *h = &state->view.header;
    if (!(h->flags & CAIRN_HEAP_LATE) || !h->older || h->older >= state->sums.n)
        return;
    t->n_late_known++;
    t->n_older += (uint64_t)state->sums.values[h->older][CAIRN_HEAP_INUSE_OBJECTS];
    t->older_bytes += (uint64_t)state->sums.values[h->older][CAIRN_HEAP_INUSE_SPACE];
    t->older_unread_bytes += h->older_unread_bytes;
}

static void add_state(struct cairn_heap_totals *t, const struct cairn_heap_state *state)
{
    const struct cairn_heap_header *h = &state->view.header;
    uint64_t live = sum_of(state, CAIRN_HEAP_INUSE_SPACE), duration = duration_of(state);
    uint64_t allocs_before = t->n_allocs;
    t->n_processes++;
    t->n_threads += h->n_threads;
    t->n_stacks += count_stacks(state);
    t->n_allocs += sum_of(state, CAIRN_HEAP_ALLOC_OBJECTS);
    t->alloc_bytes += sum_of(state, CAIRN_HEAP_ALLOC_SPACE);
    t->n_live += sum_of(state, CAIRN_HEAP_INUSE_OBJECTS);
    t->live_bytes += live;
    t->peak_bytes += peak_of(state, live);
    if (!h->sample_bytes)
        t->peak_bound_bytes += cairn_heap_peak_error(h->peak_bytes, h->n_counters);
    t->n_temporary += sum_of(state, CAIRN_HEAP_TEMPORARY_OBJECTS);
    t->duration_ns = duration > t->duration_ns ? duration : t->duration_ns;
    t->n_unrecorded += h->loss_blocks[CAIRN_HEAP_LOSS_FULL] +
                       h->loss_blocks[CAIRN_HEAP_LOSS_ADDRESS] +
                       h->loss_blocks[CAIRN_HEAP_LOSS_OVERLAP];
    t->unrecorded_bytes += h->loss_bytes[CAIRN_HEAP_LOSS_FULL] +
                           h->loss_bytes[CAIRN_HEAP_LOSS_ADDRESS] +
                           h->loss_bytes[CAIRN_HEAP_LOSS_OVERLAP];
    t->n_without_stack +=
        h->loss_blocks[CAIRN_HEAP_LOSS_NO_STACK] + h->loss_blocks[CAIRN_HEAP_LOSS_STACKS_FULL];
    t->n_unknown_frees += h->loss_blocks[CAIRN_HEAP_LOSS_UNKNOWN];
    t->n_inherited_frees += h->loss_blocks[CAIRN_HEAP_LOSS_INHERITED];
    t->n_mismatched += h->loss_blocks[CAIRN_HEAP_LOSS_MISMATCHED];
    t->n_unmade_checks += h->loss_blocks[CAIRN_HEAP_LOSS_CHECK];
    t->n_mapped += h->live_maps;
    t->mapped_bytes += h->live_map_bytes;
    t->peak_mapped_bytes += h->peak_map_bytes;
    t->n_unrecorded_maps += h->loss_blocks[CAIRN_HEAP_LOSS_MAPPING];
    t->n_untracked += cairn_heap_count_untracked(state);
    t->n_not_asked += (h->flags & CAIRN_HEAP_NOT_ASKED) != 0 && t->n_allocs == allocs_before;
    t->n_apart += (h->flags & CAIRN_HEAP_APART) != 0;
    t->n_other_names += (h->flags & CAIRN_HEAP_OTHER_NAMES) != 0;
    t->n_late += (h->flags & CAIRN_HEAP_LATE) != 0;
    add_older(t, state);
    t->n_chosen += (h->flags & CAIRN_HEAP_CHOSEN) != 0;
    t->n_paused += (h->paused & CAIRN_HEAP_WAS_PAUSED) != 0;
    bool was_running = h->flags & CAIRN_HEAP_WAS_RUNNING;
    uint64_t n_damaged = state->n_damaged + state->n_damaged_stacks;
    t->n_running += was_running;
    t->n_changed += was_running ? n_damaged : 0;
    t->n_damaged += was_running ? 0 : n_damaged;
}

void cairn_heap_totals(const struct cairn_heap *heap, struct cairn_heap_totals *totals)
{
    struct cairn_heap_totals t = {.size = totals->size};
    struct errors errors = {0};
    for (size_t i = 0; i < heap->n; i++) {
        add_state(&t, &heap->states[i]);
        add_errors(&errors, &heap->states[i]);
        if (heap->states[i].view.header.sample_bytes > t.sample_bytes)
            t.sample_bytes = heap->states[i].view.header.sample_bytes;
    }
    t.live_error = cairn_heap_error(errors.live);
    t.alloc_error = cairn_heap_error(errors.alloc);
    t.peak_error = cairn_heap_error(errors.peak);
    t.n_frees = t.n_allocs > t.n_live ? t.n_allocs - t.n_live : 0;
    t.free_bytes = t.alloc_bytes > t.live_bytes ? t.alloc_bytes - t.live_bytes : 0;
    memcpy(totals, &t, t.size < sizeof t ? t.size : sizeof t);
}

int cairn_heap_process(const struct cairn_heap *heap, size_t index,
                       struct cairn_heap_process *process)
{
    if (index >= heap->n)
        return 0;
    const struct cairn_heap_state *state = &heap->states[index];
    const struct cairn_heap_header *h = &state->view.header;
    uint64_t live = sum_of(state, CAIRN_HEAP_INUSE_SPACE);
    /* The view's copy of the header ends with a zero, whatever the file's has. */
    struct cairn_heap_process p = {
        .size = process->size,
        .pid = (int)h->pid,
        .parent = (int)h->parent,
        .command = h->command,
        .start_ns = h->begin_ns,
        .n_live = sum_of(state, CAIRN_HEAP_INUSE_OBJECTS),
        .live_bytes = live,
        .peak_bytes = peak_of(state, live),
        .n_allocs = sum_of(state, CAIRN_HEAP_ALLOC_OBJECTS),
        .n_marks = (int)h->n_marks,
        .has_ended = (h->flags & CAIRN_HEAP_ENDED) != 0,
        .peak_ns = peak_ns_of(state),
    };
    memcpy(process, &p, p.size < sizeof p ? p.size : sizeof p);
    return 1;
}

size_t cairn_heap_moments(const struct cairn_heap *heap, size_t process,
                          struct cairn_heap_moment *moments, size_t n)
{
    size_t found = 0;
    uint64_t begin = 0;
    if (process >= heap->n)
        return 0;
    const struct cairn_heap_view *view = &heap->states[process].view;
    for (uint32_t i = 0; i <= view->header.epoch && i < CAIRN_HEAP_MAX_EPOCHS; i++) {
        struct cairn_heap_epoch epoch;
        if (!cairn_heap_view_epoch(view, i, &epoch))
            continue;
        begin = found ? begin : epoch.begin_ns;
        if (found < n)
            moments[found] = (struct cairn_heap_moment){
                .time_ns = epoch.begin_ns > begin ? epoch.begin_ns - begin : 0,
                .live_bytes = epoch.live_bytes,
                .rss_bytes = epoch.rss_bytes,
                .mark = epoch.mark,
            };
        found++;
    }
    return found;
}

struct line {
    char *buf;
    size_t size, n;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *fmt, ...)
{
    va_list args;
    size_t at = line->n < line->size ? line->n : line->size;
    va_start(args, fmt);
    int n = vsnprintf(line->buf ? line->buf + at : NULL, line->size - at, fmt, args);
    va_end(args);
    line->n += n > 0 ? (size_t)n : 0;
}

static void add_loss(struct line *line, uint64_t n, const char *what)
{
    if (n)
        add(line, "; %llu %s", (unsigned long long)n, what);
}

static void add_all_recorded(struct line *line, const struct cairn_heap_totals *t)
{
    bool of_tracked = t->n_untracked || t->n_not_asked;
    const char *since = t->n_late == 0                ? ""
                        : t->n_late_known < t->n_late ? " since the tracker came, older ones are "
                                                        "NOT KNOWN"
                                                      : " since the tracker came";
    add(line, "; every block%s recorded%s", of_tracked ? " of tracked programs" : "", since);
}

static void add_known_older(struct line *line, const struct cairn_heap_totals *t)
{
    if (t->n_late_known)
        add(line, "; %llu blocks of %llu bytes from before the tracker",
            (unsigned long long)t->n_older, (unsigned long long)t->older_bytes);
    if (t->older_unread_bytes)
        add(line, ", %llu bytes of the heap NOT READ for more of them",
            (unsigned long long)t->older_unread_bytes);
}

/* No tracker saw them. */
static bool is_unseen(const struct cairn_heap *heap)
{
    return heap->n == 1 && (heap->states[0].view.header.flags & CAIRN_HEAP_UNSEEN);
}

static void add_unseen(struct line *line, const struct cairn_heap *heap)
{
    uint64_t unread = heap->states[0].view.header.older_unread_bytes;
    add(line, "blocks of glibc's malloc, out of a core file: by class and size, without birth "
              "stacks and ages; what was asked for may be up to 15 bytes less");
    if (unread)
        add(line, "; %llu bytes of the heap NOT READ: blocks may be missing",
            (unsigned long long)unread);
}

int cairn_heap_quality_text(const struct cairn_heap *heap, const struct cairn_profile *profile,
                            char *buf, size_t size)
{
    struct line line = {buf, size, 0};
    struct cairn_heap_totals t = {.size = sizeof t};
    struct cairn_profile_stats stats = {.size = sizeof stats};
    struct cairn_cut_row cuts[8];
    if (is_unseen(heap)) {
        add_unseen(&line, heap);
        return (int)line.n;
    }
    cairn_heap_totals(heap, &t);
    cairn_profile_stats(profile, &stats);
    size_t n_cuts = cairn_profile_cuts(profile, cuts, sizeof cuts / sizeof *cuts);
    add(&line, "%llu stack%s, %llu whole", (unsigned long long)stats.n_samples,
        stats.n_samples == 1 ? "" : "s", (unsigned long long)(stats.n_samples - stats.n_cut));
    if (stats.n_cut)
        add(&line, ", %llu cut", (unsigned long long)stats.n_cut);
    for (size_t i = 0; i < n_cuts && i < sizeof cuts / sizeof *cuts; i++)
        add(&line, "%s %llu %s", i ? "," : ":", (unsigned long long)cuts[i].n_samples,
            cuts[i].reason);
    if (t.n_unrecorded)
        add(&line, "; %llu blocks of %llu bytes NOT RECORDED", (unsigned long long)t.n_unrecorded,
            (unsigned long long)t.unrecorded_bytes);
    else if (!t.sample_bytes && !t.n_apart && !t.n_other_names && !t.n_chosen && !t.n_paused &&
             t.n_not_asked < t.n_processes)
        add_all_recorded(&line, &t);
    else
        add_loss(&line, t.n_late - t.n_late_known,
                 "processes whose blocks from before the tracker are NOT KNOWN");
    add_known_older(&line, &t);
    if (t.sample_bytes)
        add(&line,
            "; one block in %llu bytes recorded, at random: sums are estimates, with a standard "
            "error of %llu bytes (live), %llu (peak), %llu (allocated)",
            (unsigned long long)t.sample_bytes, (unsigned long long)t.live_error,
            (unsigned long long)t.peak_error, (unsigned long long)t.alloc_error);
    add_loss(&line, t.n_not_asked,
             "processes with another malloc in front of the tracker's: nothing is known of them");
    if (t.n_untracked)
        add(&line, "; %llu program%s started that %s NOT TRACKED",
            (unsigned long long)t.n_untracked, t.n_untracked == 1 ? "" : "s",
            t.n_untracked == 1 ? "is" : "are");
    add_loss(&line, t.n_apart,
             "processes with libraries loaded by RTLD_DEEPBIND or dlmopen: what these allocate or "
             "free is NOT SEEN");
    add_loss(&line, t.n_other_names,
             "processes that call the allocator's functions by other names than C's (mallocx, "
             "sdallocx, mi_malloc, tc_malloc): what these allocate or free is NOT SEEN");
    add_loss(&line, t.n_chosen, "processes of which only chosen libraries are recorded");
    add_loss(&line, t.n_paused, "processes that were not recorded for a time (heap stop)");
    add_loss(&line, t.n_without_stack, "blocks without their stack");
    add_loss(&line, t.n_unknown_frees, "frees of blocks from before the tracker");
    add_loss(&line, t.n_inherited_frees, "frees of blocks of the parent process");
    add_loss(&line, t.n_mismatched, "blocks freed by another function than belongs to them");
    add_loss(&line, t.n_unmade_checks,
             "looks for lost blocks that the program asked for and nobody made (heap run --lost)");
    add_loss(&line, t.n_unrecorded_maps, "mappings NOT RECORDED");
    add_loss(&line, t.n_changed, "entries passed over that the process changed meanwhile");
    add_loss(&line, t.n_damaged, "damaged entries passed over");
    return (int)line.n;
}
