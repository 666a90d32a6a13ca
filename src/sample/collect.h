/* SPDX-License-Identifier: MIT */
/* Collect: caught stacks become samples of a raw profile, and are counted. Both ways of sampling
 * end here. */
#ifndef CAIRN_SAMPLE_COLLECT_H
#define CAIRN_SAMPLE_COLLECT_H

#include <cairn/sampler.h>

#include "proc/perf_record.h"
#include "proc/threads.h"
#include "profile/packed.h"
#include "sample/copy_walk.h"
#include "sample/event.h"
#include "sample/guest_look.h"
#include "sample/space.h"
#include "sample/start.h"
#include "sample/user_walk.h"

enum { CAIRN_COLLECT_UNKEPT = UINT32_MAX }; /* number of a sample that there was no memory for */

struct cairn_collect {
    struct cairn_profile *profile;
    struct cairn_spaces spaces;
    struct cairn_guest_looks guest_looks;
    struct cairn_starts starts;
    uint32_t kernel_module;             /* 0: no sample lies there yet */
    struct cairn_running_kernel kernel; /* known once it has a module */
    uint32_t stack_bytes;               /* of a copy that is walked by tables; 0: none is */
    uint32_t frames_max;                /* of kernel and user side together; 0: unknown */
    bool has_times;                     /* each sample is its own, with a label for when */
    uint64_t to_real_ns;                /* CLOCK_MONOTONIC + this: as the profile's time_ns */
    uint64_t memory_max;                /* bytes of what is kept; 0: no bound */
    uint64_t beside_bytes;              /* of them: beside the profile and what is here */
    uint32_t full;                      /* a text: why stacks are cut since the bound is near */
    uint64_t n_samples, n_whole, n_cut;
    uint64_t n_guest;           /* of them: with frames of an interpreter, */
    uint64_t n_doubt;           /* and of these: where those are in doubt */
    uint64_t n_unread;          /* with an interpreter, whose frames are missing */
    uint64_t n_unkept;          /* samples that are none of these: there was no memory for them */
    int64_t value;              /* what they stand for */
    uint64_t n_processes;       /* that samples came from */
    uint64_t n_threads;         /* the same */
    struct cairn_packed packed; /* rows that are no more among those of the profile (pack.h) */
    size_t pack_rows;           /* they are packed at so many; 0: never, their numbers are kept */
    uint32_t pack_turns;        /* so many turns long not, unless they are very many */
    uint64_t n_folded;          /* of them: told by name alone in the profile (fold.h) */
    struct cairn_fold_marks {
        size_t n_sets, n_rows; /* of labels, and samples: at so many it is done again */
    } fold_at;
    uint32_t last; /* number of the sample that was added last; CAIRN_COLLECT_UNKEPT: it is not */
    struct cairn_user_walk walk;     /* too large for a stack */
    struct cairn_copy_walker copies; /* made for the first copy */
};

/* One caught thread. */
struct cairn_sampled {
    int pid, tid;
    const uint64_t *kernel; /* leaf first; NULL: none */
    size_t n_kernel;
    struct cairn_user_sample user;
    const struct cairn_copy *copy;   /* walked where `user` leads not to the end; NULL: none */
    struct cairn_guest_walk *guests; /* has walked the user side, in place of `user`; NULL: none */
    const char
        *unread;      /* why frames of an interpreter are missing, a static text; NULL: none are */
    uint64_t sp;      /* of the user side; 0: unknown */
    uint64_t now_ns;  /* any clock that goes on */
    uint64_t time_ns; /* when it was caught, CLOCK_MONOTONIC */
    int64_t value;    /* of the event, CPU time for one: what the sample stands for */
};

int cairn_collect_init(struct cairn_collect *collect, const struct cairn_event *event,
                       int64_t period, struct cairn_err *err);
void cairn_collect_done(struct cairn_collect *collect); /* all-zero is fine */

/* Memory of what is kept, as it will be in the end. */
uint64_t cairn_collect_bytes(const struct cairn_collect *collect);

/* CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_collect_add(struct cairn_collect *collect, const struct cairn_sampled *caught);

/* What samples of a stack are counted as. */
enum cairn_collect_mark {
    CAIRN_COLLECT_CUT = 1,
    CAIRN_COLLECT_GUEST = 2, /* it has frames of an interpreter, */
    CAIRN_COLLECT_DOUBT = 4, /* which may be wrong, */
    CAIRN_COLLECT_UNREAD = 8 /* or lacks them */
};

/* A stack that is in the profile, of one thread: what samples of it have in common. */
struct cairn_collected {
    uint32_t stack;  /* a number of the profile, as the next two: */
    uint32_t cut;    /* a text, why it ends early; 0: it does not */
    uint32_t cgroup; /* a text; 0: the root, or unknown */
    int pid, tid;
    uint8_t marks;            /* enum cairn_collect_mark */
    const char *doubt, *mode; /* of an interpreter on it (guest_walk.h); NULL: none. Static */
};

/* What one sample, or many equal ones, have beside their stack. */
struct cairn_collect_more {
    uint64_t n;
    int64_t value; /* of all together */
    uint64_t time_ns;
    const char *off_cpu; /* why the thread was off the CPU; NULL: it was on one */
    const char *waker;   /* name of the thread that woke it; NULL or "": none */
    const char *syscall; /* that was traced; NULL: none */
    const char *event;   /* another event that was; NULL: none */
    int waker_pid;       /* 0: none */
};

/* The stack alone; samples of it may follow. CAIRN_OK or CAIRN_E_NOMEM, as of the next one. */
int cairn_collect_stack(struct cairn_collect *collect, const struct cairn_sampled *caught,
                        struct cairn_collected *ret_collected);
int cairn_collect_sample(struct cairn_collect *collect, const struct cairn_collected *collected,
                         const struct cairn_collect_more *more);

/* `n` times more what became sample `number`, with the marks of its stack; together they stand for
 * `value`. */
void cairn_collect_again(struct cairn_collect *collect, uint32_t number, uint8_t marks, uint64_t n,
                         int64_t value);

/* Remembers how a thread is called from now on. */
int cairn_collect_name(struct cairn_collect *collect, int tid, const char *name);

/* As cairn_stream_processes_fork(): a parent that is older than the recording is read first. exec
 * and exit need nothing of ours. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_collect_fork(struct cairn_collect *collect, const struct cairn_stream_birth *birth);

/* To be called once a second or less often: forgets what exited before the last call. */
void cairn_collect_turn(struct cairn_collect *collect);

/* A sample came from that thread. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_collect_seen(struct cairn_collect *collect, int tid);

/* Has the thread no user side? */
bool cairn_collect_is_kernel_thread(struct cairn_collect *collect, int pid, int tid);

#endif /* CAIRN_SAMPLE_COLLECT_H */
