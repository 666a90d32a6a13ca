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
 *     same exact: back 95 0 5 0
 *     same guess: back 3 0 0 0
 *     3 exact: cairn goes on by cfi to a+0x10 | libunwind ends (-10) | own 2 0 | back 3 0 0 0
 *         | at b+0x20 (f) | covered | leaf c+0x30
 *
 * "At" is the last frame that both had: the step from there is where they part. "exact": all that
 * cairn has up to its next frame it found by rules; "guess": one of them is marked as a guess, the
 * first one's kind is said; "end": it has no next frame, and says why. "covered" where libgcc's
 * _Unwind_Find_FDE knows of information for that frame and all inner ones. Where it knows none, any
 * step of libunwind's from there on is a guess, and the line says "not covered in PLACE" of the
 * first such frame; all guesses that begin in one module are one kind. "own": how many frames only
 * we have, and only libunwind, before both go on alike.
 *
 * "back": to whose next frame the program itself came back (returned.h): ours, libunwind's, neither
 * in time, not asked. Of some stacks that both walk alike the same is asked, "same": whether the
 * program returns to a frame, or to the one further out without it. UNWIND_SAME=0: not where
 * exceptions leave frames.
 *
 * UNWIND_OUT.full is made as soon as all are taken.
 *
 * With UNWIND_NS=0 no signal is sent: the program itself calls unwind_compare() in a handler, and
 * unwind_compare_step() before it in the handler of each single step.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "kinds.h"
#include "libunwind.h"
#include "running.h"

void unwind_compare(void *context);
void unwind_compare_step(void *context);

enum {
    PROOFS = 50,      /* questions about stacks that both walk alike */
    PROOF_FRAMES = 8, /* the innermost, which return soon */
    STRETCH = 4,      /* frames that are printed where the program does not come back */
    MAX_REFUTED = 16, /* that are printed */
    MANY_OWN = 9,     /* frames of one walk alone: as many, or more */
};

struct ours {
    uintptr_t pc[CAIRN_MAX_FRAMES];
    uint8_t how[CAIRN_MAX_FRAMES];
    size_t n;
    int end;
};

/* How long an answer is waited for; none is captured meanwhile. */
static const long patience_ns = 50 * 1000 * 1000, proof_patience_ns = 10 * 1000 * 1000;

static struct {
    unsigned wanted;
    long interval_ns;
    char out[4096];
    atomic_flag busy;
    atomic_uint n;
    unsigned n_same, n_frames;
    unsigned n_ends[CAIRN_ENDS];
    unsigned proofs[2][N_ANSWERS], n_proofs; /* of exact frames, of guesses */
    struct stretch {                         /* of a stack: a frame and what led there */
        uint64_t pc[STRETCH];
    } asked_same, refuted[MAX_REFUTED];
    unsigned n_refuted;
    _Atomic(unsigned *) asked; /* the counters for the answer that is waited for; `busy` then */
    struct timespec asked_at;
    pthread_t sampler;
    bool is_ready, has_sampler, asks_same;
    const void *stepped; /* the context of the step that is being captured */
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

/* `counters`, by enum returned, get the answer: of the steps, or from the sampler. */
static void ask(unsigned *counters, const struct claim claims[2])
{
    if (now.stepped) {
        stepped_ask(counters, claims);
        return;
    }
    if (!now.has_sampler || !returned_ask(claims)) {
        counters[NOT_ASKED]++;
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &now.asked_at);
    atomic_store(&now.asked, counters);
}

/* The first guess of `n` frames; 0, which is none: there is no such frame. */
static int first_guess(const struct ours *ours, size_t n)
{
    for (size_t i = 0; i < n && i < ours->n; i++)
        if (cairn_frame_is_guess(ours->how[i]))
            return ours->how[i];
    return 0;
}

/* Whether a frame that both have is one: or does the program come back to the next one at once? */
static void prove(const struct ours *ours, const struct libunwind_stack *stack)
{
    const size_t i = now.n_proofs++ % PROOF_FRAMES;
    if (!now.asks_same || i + 2 >= stack->n || stack->pc[i + 1] == stack->pc[i + 2])
        return;
    const struct claim claims[] = {{stack->pc[i + 1], libunwind_sp(stack, i + 1)},
                                   {stack->pc[i + 2], libunwind_sp(stack, i + 2)}};
    now.asked_same =
        (struct stretch){{stack->pc[0], stack->pc[i], stack->pc[i + 1], stack->pc[i + 2]}};
    if (claims[0].sp && claims[1].sp)
        ask(now.proofs[first_guess(ours, i + 2) != 0], claims);
}

/* The frames of each alone, behind the first `i`, before both go on alike. */
static void count_own(const struct ours *ours, const struct libunwind_stack *theirs, size_t i,
                      int ret_own[2])
{
    size_t same = 0; /* further out */
    while (same < ours->n - i && same < theirs->n - i &&
           ours->pc[ours->n - 1 - same] == theirs->pc[theirs->n - 1 - same])
        same++;
    const size_t own[] = {ours->n - i - same, theirs->n - i - same};
    for (int walk = 0; walk < 2; walk++)
        ret_own[walk] = own[walk] < MANY_OWN ? (int)own[walk] : MANY_OWN;
}

/* How the stacks part behind their first `i` frames. */
static void describe(const struct ours *ours, const struct libunwind_stack *theirs, size_t i,
                     struct kind *ret)
{
    const bool more = i < ours->n, theirs_more = i < theirs->n;
    const int guess = first_guess(ours, i + 1);
    size_t bare = 0; /* the first frame without information: from there on all may be guessed */
    uint64_t module;
    while (bare < i && is_covered(ours->pc[bare] - !cairn_frame_is_exact(ours->how[bare])))
        bare++;
    *ret = (struct kind){
        .class = more ? guess ? GUESS : EXACT : END,
        .guess = guess,
        .covered = bare == i && i > 0,
        .how = more ? ours->how[i] : -1,
        .end = more ? -1 : ours->end,
        .status = theirs_more ? 0 : theirs->status,
        .theirs_more = theirs_more,
        .our_next = more ? ours->pc[i] : 0,
        .their_next = theirs_more ? theirs->pc[i] : 0,
        .from = ours->n ? ours->pc[0] : 0,
    };
    count_own(ours, theirs, i, ret->own);
    if (theirs_more)
        ret->is_code = place_of(ret->their_next, &module) <= PLACE_MADE;
    if (bare < i)
        ret->place = place_of(ours->pc[bare], &ret->bare);
    ret->at = ret->class == GUESS && !ret->covered ? ret->bare : i > 0 ? ours->pc[i - 1] : 0;
}

static void judge(const struct ours *ours, const struct libunwind_stack *theirs, size_t i)
{
    struct kind found;
    describe(ours, theirs, i, &found);
    struct kind *kind = kinds_count(&found);
    const uint64_t sp = i > 0 ? libunwind_sp(theirs, i - 1) : 0;
    if (!kind)
        return;
    if (!sp) {
        kind->back[NOT_ASKED]++;
        return;
    }
    const struct claim claims[] = {returned_claim(found.our_next, sp),
                                   returned_claim(found.their_next, sp)};
    ask(kind->back, claims);
}

/* Who keeps the program busy need do so no longer: UNWIND_OUT.full is there. */
static void tell_full(void)
{
    char path[sizeof now.out + 8];
    snprintf(path, sizeof path, "%s.full", now.out);
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
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
        prove(&ours, &theirs);
}

__attribute__((visibility("default"))) void unwind_compare(void *context)
{
    const int before = errno;
    if (now.is_ready && !atomic_flag_test_and_set(&now.busy)) {
        if (atomic_load(&now.n) < now.wanted) {
            now.stepped = now.stepped == context ? context : NULL;
            compare(context);
            now.stepped = NULL;
            if (atomic_fetch_add(&now.n, 1) + 1 == now.wanted)
                tell_full();
        }
        if (!atomic_load(&now.asked))
            atomic_flag_clear(&now.busy);
    }
    errno = before;
}

__attribute__((visibility("default"))) void unwind_compare_step(void *context)
{
    const ucontext_t *at = context;
    if (!now.is_ready)
        return;
    stepped_at((uint64_t)at->uc_mcontext.gregs[REG_RIP], (uint64_t)at->uc_mcontext.gregs[REG_RSP]);
    now.stepped = context;
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
    const bool is_same = counters == now.proofs[0] || counters == now.proofs[1];
    const long patience = is_same ? proof_patience_ns : patience_ns;
    if (returned_get() == RETURNED_OPEN && waited < patience && !is_last)
        return;
    returned_end();
    if (is_same && returned_get() == RETURNED_SECOND && now.n_refuted < MAX_REFUTED)
        now.refuted[now.n_refuted++] = now.asked_same;
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

/* ---- the beginning and the end ---- */

static void *sample(void *unused)
{
    (void)unused;
    static struct running_thread threads[RUNNING_MAX];
    const pid_t self = (pid_t)syscall(SYS_gettid), pid = getpid();
    const struct timespec pause = {0, now.interval_ns};
    while (!atomic_load(&now.done) && atomic_load(&now.n) < now.wanted) {
        const unsigned n = running_open(threads, self);
        for (int round = 0; round < 16 && !atomic_load(&now.done); round++) {
            nanosleep(&pause, NULL);
            collect(false);
            for (unsigned i = 0; i < n; i++)
                if (running_now(&threads[i]))
                    syscall(SYS_tgkill, pid, threads[i].tid, SIGPROF);
        }
        running_close(threads, n);
    }
    return NULL;
}

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
    now.asks_same = number("UNWIND_SAME", 1);
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

__attribute__((destructor)) static void finish(void)
{
    if (!now.is_ready || atomic_exchange(&now.done, true))
        return;
    stepped_end();
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
            now.n_frames, kinds_lost());
    for (int i = 0; i < CAIRN_ENDS; i++)
        if (now.n_ends[i])
            fprintf(out, " | %s %u", cairn_unwind_end_text(i), now.n_ends[i]);
    for (int i = 0; i < 2; i++) {
        fprintf(out, "\nsame %s: ", i == 0 ? "exact" : "guess");
        kinds_print_back(out, now.proofs[i]);
    }
    fprintf(out, "\n");
    for (unsigned i = 0; i < now.n_refuted; i++) {
        fprintf(out, "refuted: leaf");
        for (int frame = 0; frame < STRETCH; frame++)
            place_print(out, now.refuted[i].pc[frame]);
        fprintf(out, "\n");
    }
    kinds_print(out);
    fclose(out);
}
