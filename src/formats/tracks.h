/* SPDX-License-Identifier: MIT */
/*
 * Tracks: the samples of a profile by thread, in the order of time. Viewers show each thread as a
 * track of its own; a profile has threads as labels of its samples.
 *
 *     labels pid, tid, process, thread of a sample  ─►  track  ─►  span of `order`
 *
 * A thread that changed its name is one track. Samples without a pid or tid belong together where
 * their names are equal.
 */
#ifndef CAIRN_FORMATS_TRACKS_H
#define CAIRN_FORMATS_TRACKS_H

#include "profile/profile.h"

struct cairn_track {
    uint32_t process, thread; /* strings, the last names that it had; 0: unknown */
    bool has_pid, has_tid;
    int64_t pid, tid;
    size_t first, n; /* its samples: a span of `order` */
};

struct cairn_tracks {
    struct cairn_track *rows; /* by process, its main thread first */
    size_t n, cap;
    uint32_t *order; /* numbers of samples; in order of time within a track, where has_times */
    size_t n_timed;  /* samples with a time */
    bool has_times;  /* all have one */
    int64_t first_ns, last_ns; /* of all samples and markers that have one; 0: none has */
    uint32_t *of_markers;      /* by marker: its track */
};

/* CAIRN_E_NOMEM. */
int cairn_tracks_build(const struct cairn_profile *p, struct cairn_tracks *ret_tracks,
                       struct cairn_err *err);
void cairn_tracks_done(struct cairn_tracks *tracks); /* all-zero is fine */

/* Since the first sample; 0 where there are no times. */
uint64_t cairn_tracks_since_ns(const struct cairn_tracks *tracks, const struct cairn_profile *p,
                               size_t sample);

/* Does value type `type` say something, beside type `shown`? One that is the same multiple of it in
 * every sample does not. */
bool cairn_tracks_says_more(const struct cairn_profile *p, size_t type, size_t shown);

/* Has a sample a value of that type below zero, as differences have? */
bool cairn_tracks_goes_below_zero(const struct cairn_profile *p, size_t type);

/* Does a label of a marker say something of the event, and not whose it is? And its name there: an
 * argument's is without what marks it as one. Borrowed. */
bool cairn_tracks_is_detail(const char *key);
const char *cairn_tracks_detail_name(const char *key);

/* The name to show for a thread: its own, or by what is known of it. Written to `buf`. */
const char *cairn_track_name(const struct cairn_track *track, const struct cairn_profile *p,
                             char *buf, size_t size);

#endif /* CAIRN_FORMATS_TRACKS_H */
