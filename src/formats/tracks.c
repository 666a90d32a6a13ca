/* SPDX-License-Identifier: MIT */
#include "formats/tracks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"

/* What makes two samples one track's. No padding: it is hashed as bytes. */
struct identity {
    int64_t pid, tid;
    uint32_t process, thread; /* 0 where the number is known */
    uint32_t has_pid, has_tid;
};

enum key { KEY_UNSEEN, KEY_OTHER, KEY_PID, KEY_TID, KEY_PROCESS, KEY_THREAD };

struct building {
    const struct cairn_profile *p;
    struct cairn_tracks *tracks;
    uint8_t *keys;               /* by string: enum key */
    uint32_t *of_sets;           /* by label set: number of its track plus 1; 0: not yet known */
    struct cairn_table known;    /* hash of an identity to its track */
    struct identity *identities; /* by track */
    size_t cap_identities;
};

/* Label sets of timed samples are as many as the samples: the names of keys are compared once. */
static enum key key_of(struct building *b, uint32_t string)
{
    static const struct {
        const char *name;
        enum key key;
    } names[] = {
        {"pid", KEY_PID}, {"tid", KEY_TID}, {"process", KEY_PROCESS}, {"thread", KEY_THREAD}};
    if (b->keys[string] != KEY_UNSEEN)
        return (enum key)b->keys[string];
    b->keys[string] = KEY_OTHER;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(cairn_strings_get(&b->p->strings, string), names[i].name) == 0)
            b->keys[string] = (uint8_t)names[i].key;
    return (enum key)b->keys[string];
}

static void take_label(struct building *b, const struct cairn_profile_label *label,
                       struct cairn_track *track)
{
    bool is_number = label->text == 0;
    switch (key_of(b, label->key)) {
    case KEY_PID:
        track->has_pid = is_number;
        track->pid = label->number;
        break;
    case KEY_TID:
        track->has_tid = is_number;
        track->tid = label->number;
        break;
    case KEY_PROCESS:
        track->process = label->text;
        break;
    case KEY_THREAD:
        track->thread = label->text;
        break;
    default:
        break;
    }
}

static struct identity identity_of(const struct cairn_track *track)
{
    return (struct identity){
        .pid = track->has_pid ? track->pid : 0,
        .tid = track->has_tid ? track->tid : 0,
        .process = track->has_pid ? 0 : track->process,
        .thread = track->has_tid ? 0 : track->thread,
        .has_pid = track->has_pid,
        .has_tid = track->has_tid,
    };
}

/* The number of the track, new or old; UINT32_MAX where memory is gone. */
static uint32_t find_or_add(struct building *b, const struct cairn_track *track)
{
    struct cairn_tracks *tracks = b->tracks;
    struct identity id = identity_of(track);
    uint64_t key = cairn_hash_bytes(&id, sizeof id);
    for (uint32_t number; cairn_table_find(&b->known, key, &number); key++)
        if (memcmp(&b->identities[number], &id, sizeof id) == 0) {
            struct cairn_track *old = &tracks->rows[number];
            old->process = track->process ? track->process : old->process;
            old->thread = track->thread ? track->thread : old->thread;
            return number;
        }
    if (cairn_grow((void **)&tracks->rows, &tracks->cap, tracks->n + 1, sizeof *tracks->rows) < 0 ||
        cairn_grow((void **)&b->identities, &b->cap_identities, tracks->n + 1,
                   sizeof *b->identities) < 0 ||
        cairn_table_set(&b->known, key, (uint32_t)tracks->n) < 0)
        return UINT32_MAX;
    b->identities[tracks->n] = id;
    tracks->rows[tracks->n] = *track;
    return (uint32_t)tracks->n++;
}

static bool take_set(struct building *b, uint32_t set)
{
    const struct cairn_profile_label_set *labels = &b->p->label_sets[set];
    struct cairn_track track = {0};
    for (uint32_t i = 0; i < labels->n; i++)
        take_label(b, &b->p->labels[labels->first + i], &track);
    uint32_t number = find_or_add(b, &track);
    b->of_sets[set] = number + 1;
    return number != UINT32_MAX;
}

static bool take_time(struct building *b, uint32_t set)
{
    struct cairn_tracks *tracks = b->tracks;
    int64_t time_ns = b->p->label_sets[set].time_ns;
    if (time_ns && (!tracks->first_ns || time_ns < tracks->first_ns))
        tracks->first_ns = time_ns;
    if (time_ns > tracks->last_ns)
        tracks->last_ns = time_ns;
    return time_ns != 0;
}

/* A thread may have markers alone. */
static bool take_markers(struct building *b)
{
    bool ok = true;
    for (size_t i = 0; i < b->p->n_markers && ok; i++) {
        uint32_t set = b->p->markers[i].labels;
        ok = b->of_sets[set] || take_set(b, set);
        (void)take_time(b, set);
    }
    return ok;
}

/* In the order of samples, so that a thread's last name is the one that stays. */
static bool take_samples(struct building *b)
{
    struct cairn_tracks *tracks = b->tracks;
    for (size_t i = 0; i < b->p->n_samples; i++) {
        uint32_t set = b->p->samples[i].labels;
        if (!b->of_sets[set] && !take_set(b, set))
            return false;
        tracks->n_timed += take_time(b, set);
        tracks->rows[b->of_sets[set] - 1].n++;
    }
    tracks->has_times = b->p->n_samples && tracks->n_timed == b->p->n_samples;
    return true;
}

static int compare_numbers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* `first` holds the track's number meanwhile: equal tracks stay in the order of their samples. */
static int compare_tracks(const void *a, const void *b)
{
    const struct cairn_track *x = a, *y = b;
    bool x_main = x->has_tid && x->tid == x->pid, y_main = y->has_tid && y->tid == y->pid;
    if (x->has_pid != y->has_pid)
        return x->has_pid ? -1 : 1;
    if (x->has_pid && x->pid != y->pid)
        return compare_numbers(x->pid, y->pid);
    if (!x->has_pid && x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x_main != y_main)
        return x_main ? -1 : 1;
    if (x->has_tid && y->has_tid && x->tid != y->tid)
        return compare_numbers(x->tid, y->tid);
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Sorts the tracks, gives each its span, and numbers those of the label sets anew. */
static bool arrange_tracks(struct building *b)
{
    struct cairn_tracks *tracks = b->tracks;
    uint32_t *renamed = cairn_alloc(tracks->n + 1, sizeof *renamed);
    size_t first = 0;
    if (!renamed)
        return false;
    for (size_t i = 0; i < tracks->n; i++)
        tracks->rows[i].first = i;
    if (tracks->n)
        qsort(tracks->rows, tracks->n, sizeof *tracks->rows, compare_tracks);
    for (size_t i = 0; i < tracks->n; i++) {
        renamed[tracks->rows[i].first] = (uint32_t)i;
        tracks->rows[i].first = first;
        first += tracks->rows[i].n;
    }
    for (size_t set = 0; set < b->p->n_label_sets; set++)
        if (b->of_sets[set])
            b->of_sets[set] = renamed[b->of_sets[set] - 1] + 1;
    cairn_free(renamed);
    return true;
}

static void fill_order(struct building *b)
{
    struct cairn_tracks *tracks = b->tracks;
    for (size_t i = 0; i < b->p->n_markers; i++)
        tracks->of_markers[i] = b->of_sets[b->p->markers[i].labels] - 1;
    for (size_t i = 0; i < tracks->n; i++)
        tracks->rows[i].n = 0;
    for (size_t i = 0; i < b->p->n_samples; i++) {
        struct cairn_track *track = &tracks->rows[b->of_sets[b->p->samples[i].labels] - 1];
        tracks->order[track->first + track->n++] = (uint32_t)i;
    }
}

struct moment {
    int64_t time_ns;
    uint32_t sample;
};

static int compare_moments(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return compare_numbers(x->time_ns, y->time_ns);
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static void sort_track(const struct building *b, const struct cairn_track *track,
                       struct moment *moments)
{
    struct cairn_tracks *tracks = b->tracks;
    uint32_t *order = tracks->order + track->first;
    bool sorted = true;
    for (size_t i = 0; i < track->n; i++) {
        int64_t time_ns = cairn_profile_time_of(b->p, order[i]);
        sorted &= i == 0 || moments[i - 1].time_ns <= time_ns;
        moments[i] = (struct moment){time_ns, order[i]};
    }
    if (sorted)
        return;
    qsort(moments, track->n, sizeof *moments, compare_moments);
    for (size_t i = 0; i < track->n; i++)
        order[i] = moments[i].sample;
}

static bool sort_tracks(const struct building *b)
{
    size_t longest = 0;
    if (!b->tracks->has_times)
        return true;
    for (size_t i = 0; i < b->tracks->n; i++)
        longest = b->tracks->rows[i].n > longest ? b->tracks->rows[i].n : longest;
    struct moment *moments = cairn_alloc(longest, sizeof *moments);
    for (size_t i = 0; moments && i < b->tracks->n; i++)
        sort_track(b, &b->tracks->rows[i], moments);
    cairn_free(moments);
    return moments != NULL;
}

static bool build(struct building *b)
{
    const struct cairn_profile *p = b->p;
    struct cairn_tracks *tracks = b->tracks;
    b->keys = cairn_alloc(p->strings.n + 1, sizeof *b->keys);
    b->of_sets = cairn_alloc(p->n_label_sets, sizeof *b->of_sets);
    tracks->order = cairn_alloc(p->n_samples + 1, sizeof *tracks->order);
    tracks->of_markers = cairn_alloc(p->n_markers + 1, sizeof *tracks->of_markers);
    if (!b->keys || !b->of_sets || !tracks->order || !tracks->of_markers || !take_samples(b) ||
        !take_markers(b) || !arrange_tracks(b))
        return false;
    fill_order(b);
    return sort_tracks(b);
}

int cairn_tracks_build(const struct cairn_profile *p, struct cairn_tracks *ret_tracks,
                       struct cairn_err *err)
{
    struct cairn_tracks tracks = {0};
    struct building b = {.p = p, .tracks = &tracks};
    bool ok = build(&b);
    cairn_free(b.keys);
    cairn_free(b.of_sets);
    cairn_free(b.identities);
    cairn_table_done(&b.known);
    if (!ok) {
        cairn_tracks_done(&tracks);
        return cairn_fail_memory(err);
    }
    *ret_tracks = tracks;
    return CAIRN_OK;
}

void cairn_tracks_done(struct cairn_tracks *tracks)
{
    cairn_free(tracks->rows);
    cairn_free(tracks->order);
    cairn_free(tracks->of_markers);
    *tracks = (struct cairn_tracks){0};
}

uint64_t cairn_tracks_since_ns(const struct cairn_tracks *tracks, const struct cairn_profile *p,
                               size_t sample)
{
    if (!tracks->has_times)
        return 0;
    return (uint64_t)cairn_profile_time_of(p, sample) - (uint64_t)tracks->first_ns;
}

static bool is_multiple(const struct cairn_profile *p, size_t type, size_t of)
{
    int64_t one = 0, other = 0; /* the first pair of values that are not both 0 */
    for (size_t i = 0; i < p->n_samples; i++) {
        int64_t value = p->values[i * p->n_types + type], base = p->values[i * p->n_types + of];
        int64_t left, right;
        if (!one && !other) {
            one = value;
            other = base;
        }
        /* Products that are too large are too rare to be worth 128 bits. */
        if (__builtin_mul_overflow(value, other, &left) ||
            __builtin_mul_overflow(base, one, &right) || left != right || (one && !other))
            return false;
    }
    return true;
}

bool cairn_tracks_says_more(const struct cairn_profile *p, size_t type, size_t shown)
{
    return type != shown && !is_multiple(p, type, shown);
}

bool cairn_tracks_goes_below_zero(const struct cairn_profile *p, size_t type)
{
    for (size_t i = 0; i < p->n_samples; i++)
        if (p->values[i * p->n_types + type] < 0)
            return true;
    return false;
}

bool cairn_tracks_is_detail(const char *key)
{
    static const char *const whose[] = {"pid", "tid", "process", "thread"};
    for (size_t i = 0; i < sizeof whose / sizeof *whose; i++)
        if (strcmp(key, whose[i]) == 0)
            return false;
    return true;
}

const char *cairn_tracks_detail_name(const char *key)
{
    static const char arg[] = "arg.";
    return strncmp(key, arg, sizeof arg - 1) == 0 ? key + sizeof arg - 1 : key;
}

const char *cairn_track_name(const struct cairn_track *track, const struct cairn_profile *p,
                             char *buf, size_t size)
{
    if (track->thread)
        return cairn_strings_get(&p->strings, track->thread);
    if (track->process && (!track->has_tid || track->tid == track->pid))
        return cairn_strings_get(&p->strings, track->process);
    if (track->has_tid)
        snprintf(buf, size, "thread %" PRId64, track->tid);
    else if (track->has_pid)
        snprintf(buf, size, "process %" PRId64, track->pid);
    else
        snprintf(buf, size, "all samples");
    return buf;
}
