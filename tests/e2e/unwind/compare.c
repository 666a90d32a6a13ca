/* SPDX-License-Identifier: MIT */
/*
 * A library to preload (x86-64): captures of any program at instructions that nobody chose, each
 * walked by cairn and by libunwind's unw_step from the same registers, compared frame by frame.
 *
 * A thread of ours looks every UNWIND_NS which threads of the process run, and sends each in turn a
 * SIGPROF. Up to UNWIND_CAPTURES are taken; what was found is written to UNWIND_OUT.PID when the
 * process ends, a line a kind of difference:
 *
 *     captures 10000 identical 9990 frames 183204 lost 0 | outermost 10000
 *     proved 95 refuted 0 open 5
 *     3 covered: cairn goes on by cfi to a+0x10 | libunwind ends (-10) | own 2 0 | back 3 0 0 0 |
 * at b+0x20 (f) | leaf c+0x30
 *
 * "At" is the last frame that both had: the step from there is where they part. "covered" where
 * libgcc's _Unwind_Find_FDE knows of information for that frame and all inner ones. Where it knows
 * none, any step from there on is a guess, and the line says "not covered in PLACE" of the first
 * such frame, whose module is what "at" says; all of one module are one kind. "own": how many
 * frames only we have, and only libunwind, before both go on alike.
 *
 * "back": to whose next frame the program itself came back (returned.h): ours, libunwind's, neither
 * in time, not asked. Of some stacks that both walk alike the same is asked: whether the program
 * returns to a frame, or to the one further out without it; "proved" and "refuted" say it.
 *
 * With UNWIND_NS=0 no signal is sent: the program itself calls unwind_compare() in a handler.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "libunwind.h"
#include "place.h"
#include "returned.h"

void unwind_compare(void *context);

enum {
    MAX_THREADS = 256,
    MAX_KINDS = 512,
    PROOFS = 50,      /* questions about stacks that both walk alike */
    PROOF_FRAMES = 8, /* the innermost, which return soon */
    MANY_OWN = 9,     /* frames of one walk alone: as many, or more */
};

struct ours {
    uintptr_t pc[CAIRN_MAX_FRAMES];
    uint8_t how[CAIRN_MAX_FRAMES];
    size_t n;
    int end;
};

/* How two walks of one stack part. */
struct kind {
    uint64_t at; /* the last common frame; not covered: the module, or 0 */
    bool covered;
    enum place place; /* not covered: what the first such frame is in */
    int how;          /* of our next frame, or -1: none */
    int end;          /* where we have none */
    int status;       /* where libunwind has none */
    bool theirs_more; /* libunwind has a next frame */
    int own[2];       /* frames of us alone, of libunwind alone */
    unsigned n;
    unsigned back[RETURNED_N + 1];       /* enum returned; the last: not asked */
    uint64_t our_next, their_next, from; /* of the first of them; the leaf */
};

enum { NOT_ASKED = RETURNED_N };
/* How long an answer is waited for; none is captured meanwhile. */
static const long patience_ns = 50 * 1000 * 1000, proof_patience_ns = 10 * 1000 * 1000;

static struct {
    unsigned wanted;
    long interval_ns;
    char out[4096];
    atomic_flag busy;
    atomic_uint n;
    unsigned n_same, n_frames, n_kinds, n_lost;
    unsigned n_ends[16];
    struct kind kinds[MAX_KINDS];
    unsigned proofs[RETURNED_N + 1], n_proofs;
    _Atomic(unsigned *) asked; /* the counters for the answer that is waited for; `busy` then */
    struct timespec asked_at;
    pthread_t sampler;
    bool is_ready, has_sampler;
    atomic_bool done;
} now;

static void walk_ours(void *context, struct ours *ret)
{
    struct cairn_unwind_info info = {.size = sizeof info, .how = ret->how};
    ret->n = cairn_unwind_context(context, ret->pc, CAIRN_MAX_FRAMES, &info);
    ret->end = info.end;
}

/* libgcc, unwind-dw2-fde.h: the bases belong to pointers that are encoded. */
struct eh_bases {
    void *text, *data, *function;
};
const void *_Unwind_Find_FDE(void *pc, struct eh_bases *bases);

static bool is_covered(uint64_t pc)
{
    struct eh_bases bases;
    return _Unwind_Find_FDE((void *)(uintptr_t)pc, &bases) != NULL;
}

static bool is_same_kind(const struct kind *a, const struct kind *b)
{
    return a->at == b->at && a->covered == b->covered && a->place == b->place && a->how == b->how &&
           a->end == b->end && a->theirs_more == b->theirs_more && a->status == b->status &&
           a->own[0] == b->own[0] && a->own[1] == b->own[1];
}

static struct kind *count(const struct kind *found)
{
    unsigned i = 0;
    while (i < now.n_kinds && !is_same_kind(&now.kinds[i], found))
        i++;
    if (i == MAX_KINDS) {
        now.n_lost++;
        return NULL;
    }
    if (i == now.n_kinds)
        now.kinds[now.n_kinds++] = *found;
    now.kinds[i].n++;
    return &now.kinds[i];
}

/* `counters`, by enum returned, get the answer from the sampler. */
static void ask(unsigned *counters, uint64_t first, uint64_t second, uint64_t sp)
{
    if (!sp || !now.has_sampler || !returned_ask(first, second, sp)) {
        counters[NOT_ASKED]++;
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &now.asked_at);
    atomic_store(&now.asked, counters);
}

/* Whether a frame that both have is one: or does the program come back to the next one at once? */
static void prove(const struct libunwind_stack *stack)
{
    const size_t i = now.n_proofs++ % PROOF_FRAMES;
    if (i + 2 >= stack->n || stack->pc[i + 1] == stack->pc[i + 2])
        return;
    ask(now.proofs, stack->pc[i + 1], stack->pc[i + 2], libunwind_sp(stack, i));
}

/* How the stacks part behind their first `i` frames. */
static void judge(const struct ours *ours, const struct libunwind_stack *theirs, size_t i)
{
    const bool more = i < ours->n, theirs_more = i < theirs->n;
    size_t bare = 0; /* the first frame without information: from there on all may be guessed */
    while (bare < i && is_covered(ours->pc[bare] - !cairn_frame_is_exact(ours->how[bare])))
        bare++;
    size_t same = 0; /* further out */
    while (same < ours->n - i && same < theirs->n - i &&
           ours->pc[ours->n - 1 - same] == theirs->pc[theirs->n - 1 - same])
        same++;
    const size_t own[] = {ours->n - i - same, theirs->n - i - same};
    struct kind found = {
        .covered = bare == i && i > 0,
        .how = more ? ours->how[i] : -1,
        .end = more ? -1 : ours->end,
        .status = theirs_more ? 0 : theirs->status,
        .theirs_more = theirs_more,
        .own = {own[0] < MANY_OWN ? (int)own[0] : MANY_OWN,
                own[1] < MANY_OWN ? (int)own[1] : MANY_OWN},
        .our_next = more ? ours->pc[i] : 0,
        .their_next = theirs_more ? theirs->pc[i] : 0,
        .from = ours->n ? ours->pc[0] : 0,
    };
    if (found.covered)
        found.at = ours->pc[i - 1];
    else if (bare < i)
        found.place = place_of(ours->pc[bare], &found.at);
    struct kind *kind = count(&found);
    if (kind && i > 0)
        ask(kind->back, found.our_next, found.their_next, libunwind_sp(theirs, i - 1));
}

static void compare(void *context)
{
    static struct ours ours;
    static struct libunwind_stack theirs;
    walk_ours(context, &ours);
    libunwind_walk(context, &theirs);
    now.n_frames += (unsigned)ours.n;
    if (ours.end >= 0 && ours.end < 16)
        now.n_ends[ours.end]++;
    size_t i = 0;
    while (i < ours.n && i < theirs.n && ours.pc[i] == theirs.pc[i])
        i++;
    if (i < ours.n || i < theirs.n) {
        judge(&ours, &theirs, i);
        return;
    }
    now.n_same++;
    if (now.n_same % (now.wanted / PROOFS + 1) == 0)
        prove(&theirs);
}

__attribute__((visibility("default"))) void unwind_compare(void *context)
{
    const int before = errno;
    if (now.is_ready && !atomic_flag_test_and_set(&now.busy)) {
        if (atomic_load(&now.n) < now.wanted) {
            compare(context);
            atomic_fetch_add(&now.n, 1);
        }
        if (!atomic_load(&now.asked))
            atomic_flag_clear(&now.busy);
    }
    errno = before;
}

/* The answer to what was asked, if it is there or will not come. */
static void collect(bool is_last)
{
    unsigned *counters = atomic_load(&now.asked);
    if (!counters)
        return;
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    const long waited =
        (at.tv_sec - now.asked_at.tv_sec) * 1000000000L + at.tv_nsec - now.asked_at.tv_nsec;
    const long patience = counters == now.proofs ? proof_patience_ns : patience_ns;
    if (returned_get() == RETURNED_OPEN && waited < patience && !is_last)
        return;
    returned_end();
    counters[returned_get()]++;
    atomic_store(&now.asked, NULL);
    atomic_flag_clear(&now.busy);
}

static void on_profile(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    unwind_compare(context);
}

/* ---- who runs ---- */

struct thread {
    pid_t tid;
    int stat; /* fd of its stat */
};

static unsigned list_threads(struct thread *threads, pid_t self)
{
    unsigned n = 0;
    DIR *folder = opendir("/proc/self/task");
    if (!folder)
        return 0;
    for (struct dirent *entry; n < MAX_THREADS && (entry = readdir(folder));) {
        const pid_t tid = (pid_t)atoi(entry->d_name);
        char path[64];
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
        if (tid > 0 && tid != self)
            threads[n++] = (struct thread){tid, open(path, O_RDONLY | O_CLOEXEC)};
    }
    closedir(folder);
    return n;
}

static bool runs(const struct thread *thread)
{
    char text[64];
    const ssize_t n = thread->stat < 0 ? -1 : pread(thread->stat, text, sizeof text - 1, 0);
    if (n <= 0)
        return false;
    text[n] = 0;
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' && name_end[2] == 'R';
}

static void *sample(void *unused)
{
    (void)unused;
    static struct thread threads[MAX_THREADS];
    const pid_t self = (pid_t)syscall(SYS_gettid), pid = getpid();
    const struct timespec pause = {0, now.interval_ns};
    while (!atomic_load(&now.done) && atomic_load(&now.n) < now.wanted) {
        const unsigned n = list_threads(threads, self);
        for (int round = 0; round < 16 && !atomic_load(&now.done); round++) {
            nanosleep(&pause, NULL);
            collect(false);
            for (unsigned i = 0; i < n; i++)
                if (runs(&threads[i]))
                    syscall(SYS_tgkill, pid, threads[i].tid, SIGPROF);
        }
        for (unsigned i = 0; i < n; i++)
            if (threads[i].stat >= 0)
                close(threads[i].stat);
    }
    return NULL;
}

/* ---- the beginning and the end ---- */

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text && *text ? atol(text) : otherwise;
}

static void start_sampler(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    now.has_sampler = pthread_create(&now.sampler, NULL, sample, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

__attribute__((constructor)) static void begin(void)
{
    const char *out = getenv("UNWIND_OUT"); /* a program may overwrite its environment */
    snprintf(now.out, sizeof now.out, "%s", out ? out : "");
    now.wanted = (unsigned)number("UNWIND_CAPTURES", 1000);
    now.interval_ns = number("UNWIND_NS", 200 * 1000);
    if (!now.out[0] || !libunwind_find())
        return;
    static struct ours ours;
    static struct libunwind_stack theirs;
    ucontext_t here;
    getcontext(&here);
    libunwind_walk(&here, &theirs);
    walk_ours(&here, &ours);
    is_covered((uintptr_t)begin);
    now.is_ready = true;
    if (!now.interval_ns)
        return;
    returned_init();
    struct sigaction action = {.sa_sigaction = on_profile, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigfillset(&action.sa_mask);
    sigaction(SIGPROF, &action, NULL);
    start_sampler();
}

static void print_kind(FILE *out, const struct kind *kind)
{
    fprintf(out, "%u %s", kind->n, kind->covered ? "covered" : "not covered in ");
    if (!kind->covered)
        place_print_kind(out, kind->place, kind->at);
    fprintf(out, ": cairn ");
    if (kind->how >= 0)
        fprintf(out, "goes on by %s to", cairn_frame_how_text(kind->how));
    else
        fprintf(out, "ends (%s)", cairn_unwind_end_text(kind->end));
    if (kind->how >= 0)
        place_print(out, kind->our_next);
    fprintf(out, " | libunwind ");
    if (kind->theirs_more)
        fprintf(out, "goes on to");
    else
        fprintf(out, "ends (%d)", kind->status);
    if (kind->theirs_more)
        place_print(out, kind->their_next);
    fprintf(out, " | own %d %d | back %u %u %u %u | at", kind->own[0], kind->own[1],
            kind->back[RETURNED_FIRST], kind->back[RETURNED_SECOND], kind->back[RETURNED_OPEN],
            kind->back[NOT_ASKED]);
    place_print(out, kind->at);
    fprintf(out, " | leaf");
    place_print(out, kind->from);
    fprintf(out, "\n");
}

__attribute__((destructor)) static void finish(void)
{
    if (!now.is_ready || atomic_exchange(&now.done, true))
        return;
    if (now.has_sampler) {
        signal(SIGPROF, SIG_IGN);
        pthread_join(now.sampler, NULL);
        collect(true);
    }
    if (atomic_load(&now.n) == 0)
        return;
    char path[sizeof now.out + 16];
    snprintf(path, sizeof path, "%s.%d", now.out, (int)getpid());
    FILE *out = fopen(path, "w");
    if (!out)
        return;
    fprintf(out, "captures %u identical %u frames %u lost %u", atomic_load(&now.n), now.n_same,
            now.n_frames, now.n_lost);
    for (int i = 0; i < 16; i++)
        if (now.n_ends[i])
            fprintf(out, " | %s %u", cairn_unwind_end_text(i), now.n_ends[i]);
    fprintf(out, "\nproved %u refuted %u open %u\n", now.proofs[RETURNED_FIRST],
            now.proofs[RETURNED_SECOND], now.proofs[RETURNED_OPEN]);
    for (unsigned i = 0; i < now.n_kinds; i++)
        print_kind(out, &now.kinds[i]);
    fclose(out);
}
