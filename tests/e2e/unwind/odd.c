/* SPDX-License-Identifier: MIT */
/*
 * unwind_odd [--timer|--calls] [--captures N] [--ended] [CASE...]: runs the cases of odd_cases.c,
 * each captured up to N times, and holds every walk against the tail (odd.h) and, where libgcc can
 * walk through a signal, against libgcc's, frame by frame. Prints a line a case, with --ended the
 * walks that were cut, too; exit status 1 where a walk is wrong. ODD_REFRESH=1: this libc's
 * modules are known from a list, to be taken anew after each dlopen(3).
 */
#include "odd.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "walks.h"

enum {
    MAX_TAILS = 8,
    MAX_SHOWN = 8, /* wrong walks a case that are printed */
    SHOWN_FRAMES = 24,
    TIMER_NS = 100 * 1000,
    MAX_SECONDS = 4, /* for a case by timer */
    MAX_TIMERS = 4096,
    MAX_NEW = 2,    /* frames of a stack that begins */
    STUBS_PCT = 90, /* aarch64: stubs of the PLT hide who made a tail call to them */
};

extern const char __start_odd_run[], __stop_odd_run[]; /* made by the linker */

/* Of compare.c, where that is preloaded: against libunwind too. */
static void (*unwind_compare)(void *context), (*unwind_compare_step)(void *context);

const char *odd_library_path;
bool odd_refreshes;

/* Grows only; an entry is whole before it is counted. */
static struct walk tails[MAX_TAILS]; /* each with the reason for its end */
static atomic_int n_tails;
static pthread_mutex_t tails_lock = PTHREAD_MUTEX_INITIALIZER;

/* Arm's .ARM.exidx is right where a function calls and nowhere else: there each call of odd_spin()
 * is a capture. */
enum way { BY_STEP, BY_TIMER, BY_CALL };
static const char *const way_names[] = {"step", "timer", "call"};

static timer_t timers[MAX_TIMERS];
static atomic_uint n_timers;

static struct {
    const struct odd_case *what;
    enum way way;
    atomic_bool on;
    atomic_flag busy; /* one capture at a time */
    unsigned wanted, n, n_whole, n_ended, n_deep, n_wrong, n_longer, n_guessed;
    struct walk shown[MAX_SHOWN], theirs[MAX_SHOWN];
    unsigned n_shown, n_steps;
} now;

static bool in_anchor(uint64_t pc)
{
    return pc >= (uintptr_t)__start_odd_run && pc <= (uintptr_t)__stop_odd_run;
}

void odd_anchor_at(const void *inside)
{
    (void)inside;
    static struct walk found;
    if (atomic_load(&now.on)) /* the same stack was there in the case's first run */
        return;
    ucontext_t here;
    pthread_mutex_lock(&tails_lock);
    getcontext(&here);
    walk_ours(&here, &found);
    unsigned first = 0;
    while (first < found.n && !in_anchor(found.pc[first]))
        first++;
    static struct walk tail;
    tail.n = first < found.n ? found.n - first - 1 : 0;
    tail.why = found.why;
    memcpy(tail.pc, found.pc + first + 1, tail.n * sizeof tail.pc[0]);
    bool is_new = true;
    for (int i = 0; i < n_tails; i++)
        is_new = is_new && (tails[i].n != tail.n ||
                            memcmp(tails[i].pc, tail.pc, tail.n * sizeof tail.pc[0]) != 0);
    if (is_new) {
        if (n_tails == MAX_TAILS || !found.whole || first == found.n) {
            printf("the stack of a case itself cannot be walked: %u frames, %s\n", found.n,
                   found.why);
            walk_print(&found, SHOWN_FRAMES);
            exit(1);
        }
        tails[n_tails] = tail;
        atomic_fetch_add(&n_tails, 1);
    }
    pthread_mutex_unlock(&tails_lock);
}

static bool has_tail(const struct walk *walk)
{
    const int n = atomic_load(&n_tails);
    for (int i = 0; i < n; i++) {
        const struct walk *tail = &tails[i];
        if (tail->why != walk->why || walk->n == 0)
            continue;
        if (now.what->flags & ODD_ENDS && walk->pc[walk->n - 1] == tail->pc[tail->n - 1])
            return true;
        if (walk->n > tail->n && in_anchor(walk->pc[walk->n - tail->n - 1]) &&
            !memcmp(walk->pc + walk->n - tail->n, tail->pc, tail->n * sizeof tail->pc[0]))
            return true;
    }
    return false;
}

static bool show_ended;

/* The C library's functions that change stacks, begin and end. */
static struct {
    uint64_t from, to;
} swaps[2];

static bool in_swap(uint64_t pc)
{
    return (pc >= swaps[0].from && pc < swaps[0].to) || (pc >= swaps[1].from && pc < swaps[1].to);
}

static void find_swaps(void)
{
    static const char *const names[] = {"swapcontext", "setcontext"};
    for (unsigned i = 0; i < 2; i++) {
        Dl_info info;
        const ElfW(Sym) *symbol = NULL;
        void *at = dlsym(RTLD_DEFAULT, names[i]);
        if (!at || !dladdr1(at, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
            continue;
        swaps[i].from = (uintptr_t)at & ~(uintptr_t)1;
        swaps[i].to = swaps[i].from + symbol->st_size;
    }
}

static void show(const struct walk *ours, const struct walk *theirs)
{
    if (now.n_shown == MAX_SHOWN)
        return;
    now.shown[now.n_shown] = *ours;
    now.theirs[now.n_shown++] = *theirs;
}

/* arm64's kernel strips its vdso of CFI. */
static bool in_bare_vdso(uint64_t pc)
{
    const ElfW(Ehdr) *head = (const void *)getauxval(AT_SYSINFO_EHDR);
    const ElfW(Phdr) *segments = (const void *)((const char *)head + (head ? head->e_phoff : 0));
    bool is_inside = false;
    for (unsigned i = 0; head && i < head->e_phnum; i++) {
        if (segments[i].p_type == PT_GNU_EH_FRAME)
            return false;
        if (segments[i].p_type == PT_LOAD)
            is_inside = is_inside || pc - (uintptr_t)head < segments[i].p_memsz;
    }
    return is_inside;
}

static void judge(ucontext_t *context)
{
    if (unwind_compare && !(now.what->flags & ODD_LOADER))
        unwind_compare(context);
    static struct walk ours, theirs;
    walk_ours(context, &ours);
    theirs.n = 0;
    /* which waits for the loader's lock, where there is no _dl_find_object */
    const unsigned alone = odd_refreshes ? ODD_ALONE | ODD_LOADER | ODD_ENDS : ODD_ALONE;
    if (!(now.what->flags & alone))
        walk_libgcc(context, &theirs);
    now.n++;
    const unsigned ended_before = now.n_ended;
    now.n_guessed += ours.n_guessed != 0;
    const bool is_loose = ours.n && in_bare_vdso(ours.pc[0]);
    const unsigned flags = now.what->flags | (is_loose ? ODD_LOOSE : 0);
    bool right = true;
    if (has_tail(&ours))
        now.n_whole++;
    else if (flags & ODD_DEEP && ours.n == WALK_FRAMES && ours.at_limit)
        now.n_deep++;
    else if (flags & ODD_LOOSE && (!ours.whole || ours.n_guessed))
        now.n_ended++; /* a guess in a prologue misses the caller, as all do who go by it */
    else if (flags & ODD_ENDS && ours.n <= MAX_NEW) /* the stack has no frames yet */
        now.n_ended++;
    else if (flags & ODD_SWAPS && ours.n <= MAX_NEW && in_swap(ours.pc[0]))
        now.n_ended++;
    else
        right = false;
    /* libgcc ends at code without information, where we have other ways, and checks nothing */
    const bool is_cut = flags & ODD_LOOSE && !ours.whole;
    const bool same = theirs.n == 0 || is_cut || walk_begins(&ours, &theirs);
    if (same && !is_cut && theirs.n && ours.n > theirs.n)
        now.n_longer++;
    if (right && same && !(show_ended && now.n_ended != ended_before))
        return;
    if (right && same) {
        for (unsigned i = 0; i < now.n_shown; i++)
            if (now.shown[i].pc[now.shown[i].n - 1] == ours.pc[ours.n - 1])
                return;
        show(&ours, &theirs);
        return;
    }
    now.n_wrong++;
    show(&ours, &theirs);
}

/* Once more, at an instruction that nobody knows: a timer that repeats itself would not let a slow
 * machine go on from where it is. */
static void start_timer(unsigned i)
{
    static atomic_uint n;
    const long ns = TIMER_NS + atomic_fetch_add(&n, 1) * 7919 % TIMER_NS;
    const struct itimerspec once = {{0, 0}, {0, ns}};
    timer_settime(timers[i], 0, &once, NULL);
}

static void on_capture(int number, siginfo_t *info, void *context)
{
    const int before = errno;
    if (number == SIGTRAP)
        walk_single_step(context, atomic_load(&now.on) && now.n < now.wanted);
    if (number == SIGTRAP && unwind_compare_step)
        unwind_compare_step(context);
    if (number == SIGTRAP && now.what && now.what->stride && now.n_steps++ % now.what->stride)
        return;
    if (atomic_load(&now.on) && !atomic_flag_test_and_set(&now.busy)) {
        if (now.n < now.wanted)
            judge(context);
        atomic_flag_clear(&now.busy);
    }
    if (number == SIGPROF && info->si_code == SI_TIMER && atomic_load(&now.on))
        start_timer((unsigned)info->si_value.sival_int);
    errno = before;
}

void odd_step(void)
{
    if (now.way == BY_STEP && atomic_load(&now.on))
        raise(SIGTRAP);
}

void odd_timer_start(void)
{
    if (now.way != BY_TIMER || !atomic_load(&now.on))
        return;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    const unsigned i = atomic_fetch_add(&n_timers, 1);
    event.sigev_value.sival_int = (int)i;
    if (i < MAX_TIMERS && timer_create(CLOCK_MONOTONIC, &event, &timers[i]) == 0)
        start_timer(i);
}

void odd_call(void)
{
    if (now.way != BY_CALL || !atomic_load(&now.on) || atomic_flag_test_and_set(&now.busy))
        return;
    ucontext_t here;
    getcontext(&here);
    if (now.n < now.wanted)
        judge(&here);
    atomic_flag_clear(&now.busy);
}

static void stop_timers(void)
{
    for (unsigned i = 0; i < n_timers && i < MAX_TIMERS; i++)
        timer_delete(timers[i]);
    atomic_store(&n_timers, 0);
}

ODD_ANCHOR static void run_steps(const struct odd_case *row)
{
    odd_anchor();
    if (row->flags & ODD_ENDS)
        row->run();
    atomic_store(&now.on, true);
    raise(SIGTRAP);
    row->run();
    atomic_store(&now.on, false);
}

ODD_ANCHOR static void run_again(const struct odd_case *row)
{
    odd_anchor();
    row->run();
    const time_t end = time(NULL) + MAX_SECONDS;
    atomic_store(&now.on, true);
    odd_timer_start();
    while (now.n < now.wanted && time(NULL) <= end)
        row->run();
    atomic_store(&now.on, false);
    stop_timers();
}

static void say(unsigned n, const char *what)
{
    if (n)
        printf(", %u %s", n, what);
}

/* Whether every capture of the case was right. */
static bool run_case(const struct odd_case *row, unsigned wanted, enum way way)
{
    now.what = row;
    now.wanted = wanted;
    now.way = way;
    now.n = now.n_whole = now.n_ended = now.n_deep = now.n_wrong = now.n_shown = 0;
    now.n_longer = now.n_guessed = now.n_steps = 0;
    if (way == BY_STEP)
        run_steps(row);
    else
        run_again(row);
    const bool failed = now.n == 0 || now.n_wrong || now.n_whole * 100 < now.n * row->whole_pct;
    printf("%s%s: by %s: %u captures, %u whole", failed ? "FAIL: " : "", row->name, way_names[way],
           now.n, now.n_whole);
    say(now.n_deep, "at the limit of frames");
    say(now.n_ended, "ended early where the case may");
    say(now.n_guessed, "with a guess");
    say(now.n_longer, "longer than libgcc's");
    say(now.n_wrong, "wrong");
    printf("\n");
    for (unsigned i = 0; i < now.n_shown; i++) {
        printf("    ours: %s\n", now.shown[i].why);
        walk_print(&now.shown[i], SHOWN_FRAMES);
        printf("    libgcc:\n");
        walk_print(&now.theirs[i], SHOWN_FRAMES);
    }
    fflush(stdout);
    return !failed;
}

static void prepare(void)
{
    struct sigaction action = {.sa_sigaction = on_capture,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    sigaction(SIGTRAP, &action, NULL);
    sigaction(SIGPROF, &action, NULL);
    const size_t size = 1 << 20;
    stack_t stack = {.ss_size = size};
    stack.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&stack, NULL);
    walk_init();
    find_swaps();
}

static bool is_asked(const char *name, char **names)
{
    if (!*names)
        return true;
    for (; *names; names++)
        if (strstr(name, *names))
            return true;
    return false;
}

int main(int argc, char **argv)
{
    enum way way = walk_can_step() ? BY_STEP : BY_TIMER;
    unsigned wanted = 1000;
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (!strcmp(argv[i], "--timer"))
            way = BY_TIMER;
        else if (!strcmp(argv[i], "--ended"))
            show_ended = true;
        else if (!strcmp(argv[i], "--calls"))
            way = BY_CALL;
        else if (!strcmp(argv[i], "--captures") && i + 1 < argc)
            wanted = (unsigned)atoi(argv[++i]);
        else
            return 2;
    }
    odd_library_path = getenv("ODD_LIBRARY");
    odd_refreshes = getenv("ODD_REFRESH") != NULL;
    *(void **)&unwind_compare = dlsym(RTLD_DEFAULT, "unwind_compare");
    *(void **)&unwind_compare_step = dlsym(RTLD_DEFAULT, "unwind_compare_step");
    prepare();
    unsigned n_failed = 0, n_run = 0;
    for (const struct odd_case *row = odd_cases; row->name; row++) {
        if (!is_asked(row->name, argv + i) || (row->run == NULL))
            continue;
        const enum way this_way = way == BY_STEP && !(row->flags & ODD_STEP) ? BY_TIMER : way;
        if (!(row->flags & (this_way == BY_STEP    ? ODD_STEP
                            : this_way == BY_TIMER ? ODD_TIMER
                                                   : ODD_CALLS)))
            continue;
        n_failed += !run_case(row, wanted, this_way);
        n_run++;
    }
    printf("%u cases, %u failed\n", n_run, n_failed);
    return n_failed || !n_run;
}
