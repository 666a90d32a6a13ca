/* SPDX-License-Identifier: MIT */
/*
 * A library to preload (x86-64): captures of any program at instructions that nobody chose, each
 * walked by cairn and by libunwind's unw_step from the same registers, compared frame by frame.
 *
 * A thread of ours looks every UNWIND_NS which threads of the process run, and sends each in turn a
 * SIGPROF. Up to UNWIND_CAPTURES are taken; what was found is written to UNWIND_OUT.PID when the
 * process ends, a line a kind of difference:
 *
 *     captures 10000 identical 9990 frames 183204 | outermost 10000
 *     3 covered: cairn goes on by cfi to a+0x10 | libunwind ends (-10) | at b+0x20 (f) | leaf
 * c+0x30
 *
 * "At" is the last frame that both had: the step from there is where they part. "covered" where
 * libgcc's _Unwind_Find_FDE knows of information for that frame and all inner ones; where it knows
 * none, any step from there on is a guess, "at" is the first such frame's module, and all of one
 * module are one kind.
 *
 * With UNWIND_NS=0 no signal is sent: the program itself calls unwind_compare() in a handler.
 */
#include <dirent.h>
#include <dlfcn.h>
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

void unwind_compare(void *context);

enum {
    MAX_THREADS = 256,
    MAX_KINDS = 512,
    SIGNAL_FRAME = 1, /* UNW_INIT_SIGNAL_FRAME */
    UNW_IP = 16,      /* UNW_REG_IP */
};

/* libunwind 1.x, x86-64: unw_cursor_t is 127 words. Bound at run time: no header is needed. */
static int (*unw_init)(uint64_t *cursor, void *context, int flags);
static int (*unw_step)(uint64_t *cursor);
static int (*unw_get)(uint64_t *cursor, int reg, uint64_t *ret);

struct theirs {
    uint64_t pc[CAIRN_MAX_FRAMES];
    size_t n;
    int status; /* of the last step: 0 the end, negative an error */
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
    int how;          /* of our next frame, or -1: none */
    int end;          /* where we have none */
    int status;       /* where libunwind has none */
    bool theirs_more; /* libunwind has a next frame */
    unsigned n;
    uint64_t our_next, their_next, from; /* of the first of them; the leaf */
};

static struct {
    unsigned wanted;
    long interval_ns;
    char out[4096];
    atomic_flag busy;
    atomic_uint n;
    unsigned n_same, n_frames, n_kinds, n_lost;
    unsigned n_ends[16];
    struct kind kinds[MAX_KINDS];
    pthread_t sampler;
    bool is_ready, has_sampler;
    atomic_bool done;
} now;

static void walk_theirs(void *context, struct theirs *ret)
{
    uint64_t cursor[127];
    ret->n = 0;
    ret->status = unw_init(cursor, context, SIGNAL_FRAME);
    for (int more = ret->status == 0; more && ret->n < CAIRN_MAX_FRAMES;) {
        uint64_t pc = 0;
        if (unw_get(cursor, UNW_IP, &pc) < 0 || pc == 0)
            break;
        ret->pc[ret->n++] = pc;
        ret->status = unw_step(cursor);
        more = ret->status > 0;
    }
}

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

static uint64_t module_of(uint64_t pc)
{
    Dl_info info;
    return dladdr((void *)(uintptr_t)pc, &info) ? (uintptr_t)info.dli_fbase : 0;
}

static void count(const struct kind *found)
{
    for (unsigned i = 0; i < now.n_kinds; i++) {
        struct kind *kind = &now.kinds[i];
        if (kind->at == found->at && kind->covered == found->covered && kind->how == found->how &&
            kind->end == found->end && kind->theirs_more == found->theirs_more &&
            kind->status == found->status) {
            kind->n++;
            return;
        }
    }
    if (now.n_kinds == MAX_KINDS) {
        now.n_lost++;
        return;
    }
    now.kinds[now.n_kinds] = *found;
    now.kinds[now.n_kinds++].n = 1;
}

static void compare(void *context)
{
    static struct ours ours;
    static struct theirs theirs;
    walk_ours(context, &ours);
    walk_theirs(context, &theirs);
    now.n_frames += (unsigned)ours.n;
    if (ours.end >= 0 && ours.end < 16)
        now.n_ends[ours.end]++;
    size_t i = 0;
    while (i < ours.n && i < theirs.n && ours.pc[i] == theirs.pc[i])
        i++;
    if (i == ours.n && i == theirs.n) {
        now.n_same++;
        return;
    }
    const bool more = i < ours.n, theirs_more = i < theirs.n;
    size_t bare = 0; /* the first frame without information: from there on all may be guessed */
    while (bare < i && is_covered(ours.pc[bare] - !cairn_frame_is_exact(ours.how[bare])))
        bare++;
    const bool covered = bare == i && i > 0;
    count(&(struct kind){.at = covered    ? ours.pc[i - 1]
                               : bare < i ? module_of(ours.pc[bare])
                                          : 0,
                         .covered = covered,
                         .how = more ? ours.how[i] : -1,
                         .end = more ? -1 : ours.end,
                         .status = theirs_more ? 0 : theirs.status,
                         .theirs_more = theirs_more,
                         .our_next = more ? ours.pc[i] : 0,
                         .their_next = theirs_more ? theirs.pc[i] : 0,
                         .from = ours.n ? ours.pc[0] : 0});
}

__attribute__((visibility("default"))) void unwind_compare(void *context)
{
    const int before = errno;
    if (now.is_ready && !atomic_flag_test_and_set(&now.busy)) {
        if (atomic_load(&now.n) < now.wanted) {
            compare(context);
            atomic_fetch_add(&now.n, 1);
        }
        atomic_flag_clear(&now.busy);
    }
    errno = before;
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

static bool find_libunwind(void)
{
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
    *(void **)&unw_init = dlsym(library, "_ULx86_64_init_local2");
    *(void **)&unw_step = dlsym(library, "_ULx86_64_step");
    *(void **)&unw_get = dlsym(library, "_ULx86_64_get_reg");
    return unw_init && unw_step && unw_get;
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
    if (!now.out[0] || !find_libunwind())
        return;
    static struct ours ours;
    static struct theirs theirs;
    ucontext_t here;
    getcontext(&here);
    walk_theirs(&here, &theirs);
    walk_ours(&here, &ours);
    is_covered((uintptr_t)begin);
    now.is_ready = true;
    if (!now.interval_ns)
        return;
    struct sigaction action = {.sa_sigaction = on_profile, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigfillset(&action.sa_mask);
    sigaction(SIGPROF, &action, NULL);
    start_sampler();
}

static void print_place(FILE *out, uint64_t pc)
{
    Dl_info info = {0};
    if (!dladdr((void *)(uintptr_t)pc, &info) || !info.dli_fname) {
        fprintf(out, " 0x%llx", (unsigned long long)pc);
        return;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    fprintf(out, " %s+0x%llx", slash ? slash + 1 : info.dli_fname,
            (unsigned long long)(pc - (uintptr_t)info.dli_fbase));
    if (info.dli_sname)
        fprintf(out, " (%s)", info.dli_sname);
}

static void print_kind(FILE *out, const struct kind *kind)
{
    fprintf(out, "%u %s: cairn ", kind->n, kind->covered ? "covered" : "not covered");
    if (kind->how >= 0)
        fprintf(out, "goes on by %s to", cairn_frame_how_text(kind->how));
    else
        fprintf(out, "ends (%s)", cairn_unwind_end_text(kind->end));
    if (kind->how >= 0)
        print_place(out, kind->our_next);
    fprintf(out, " | libunwind ");
    if (kind->theirs_more)
        fprintf(out, "goes on to");
    else
        fprintf(out, "ends (%d)", kind->status);
    if (kind->theirs_more)
        print_place(out, kind->their_next);
    fprintf(out, " | at");
    print_place(out, kind->at);
    fprintf(out, " | leaf");
    print_place(out, kind->from);
    fprintf(out, "\n");
}

__attribute__((destructor)) static void finish(void)
{
    if (!now.is_ready || atomic_exchange(&now.done, true))
        return;
    if (now.has_sampler) {
        signal(SIGPROF, SIG_IGN);
        pthread_join(now.sampler, NULL);
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
    fprintf(out, "\n");
    for (unsigned i = 0; i < now.n_kinds; i++)
        print_kind(out, &now.kinds[i]);
    fclose(out);
}
