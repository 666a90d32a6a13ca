// SPDX-License-Identifier: MIT
// unwind_exceptions ROUNDS: captures where exceptions are on their way: in destructors that run
// meanwhile, in the personality routine (ours comes before libstdc++'s), in handlers, behind a
// rethrow, where C's exceptions and forced unwinding pass C++ frames, and behind a longjmp out of
// frames that were captured. Each capture is held against libgcc's walk of the same stack, must
// reach the thread's beginning, and, where compare.c is preloaded, is compared with libunwind's.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <ucontext.h>
#include <unwind.h>

#include <cairn/unwind.h>

#define APART __attribute__((noinline))

enum { MAX_FRAMES = 256, SHOWN = 20 };

enum place { DESTRUCTOR, PERSONALITY, HANDLER, RETHROWN, FOREIGN, FORCED, LEFT, TAIL, N_PLACES };
static const char *const names[N_PLACES] = {"destructor", "personality", "handler", "rethrow",
                                            "foreign",    "forced",      "longjmp", "tail"};
static unsigned long n_captures[N_PLACES], n_wrong;
static void (*unwind_compare)(void *context);
static volatile int sink;
static thread_local bool on; // captures are taken

struct frames {
    uintptr_t at[MAX_FRAMES];
    size_t n;
};

static _Unwind_Reason_Code each(struct _Unwind_Context *context, void *arg)
{
    auto *frames = static_cast<struct frames *>(arg);
    const uintptr_t ip = _Unwind_GetIP(context);
    if (ip && frames->n < MAX_FRAMES)
        frames->at[frames->n++] = ip;
    return _URC_NO_REASON;
}

static void show(const char *who, const uintptr_t *at, size_t n)
{
    std::printf("  %s\n", who);
    for (size_t i = 0; i < n && i < SHOWN; i++) {
        Dl_info info = {};
        dladdr(reinterpret_cast<void *>(at[i]), &info);
        std::printf("    %s %#lx\n", info.dli_sname ? info.dli_sname : info.dli_fname,
                    static_cast<unsigned long>(at[i]));
    }
}

// Both from here: all but the innermost frame, where each has an address of its own, are the same.
static void check(const char *what, enum place place, const uintptr_t *ours, size_t n,
                  const struct frames *theirs, int end)
{
    const bool same =
        n > 2 && n == theirs->n && !std::memcmp(ours + 1, theirs->at + 1, (n - 1) * sizeof *ours);
    if (same && end == CAIRN_END_OUTERMOST)
        return;
    n_wrong++;
    std::printf("%s, %s: ends %s\n", names[place], what, cairn_unwind_end_text(end));
    show("cairn", ours, n);
    show("libgcc", theirs->at, theirs->n);
}

APART static void capture(enum place place)
{
    uintptr_t ips[MAX_FRAMES];
    struct frames theirs = {};
    struct cairn_unwind_info info = {};
    ucontext_t context;
    info.size = sizeof info;
    if (!on)
        return;
    n_captures[place]++;
    _Unwind_Backtrace(each, &theirs);
    size_t n = cairn_unwind_here(ips, MAX_FRAMES, &info);
    check("here", place, ips, n, &theirs, info.end);
    getcontext(&context);
    n = cairn_unwind_context(&context, ips, MAX_FRAMES, &info);
    check("context", place, ips, n, &theirs, info.end);
    if (unwind_compare)
        unwind_compare(&context);
}

extern "C" _Unwind_Reason_Code __gxx_personality_v0(int version, _Unwind_Action actions,
                                                    _Unwind_Exception_Class kind,
                                                    struct _Unwind_Exception *exception,
                                                    struct _Unwind_Context *context)
{
    using routine = decltype(__gxx_personality_v0);
    static routine *next;
    if (!next)
        next = reinterpret_cast<routine *>(dlsym(RTLD_NEXT, "__gxx_personality_v0"));
    capture(PERSONALITY);
    return next(version, actions, kind, exception, context);
}

struct Guard {
    ~Guard()
    {
        capture(DESTRUCTOR);
        sink = sink + 1;
    }
};

[[noreturn]] APART static void fail(int x)
{
    capture(TAIL);
    if (x & 1)
        throw x;
    throw std::runtime_error("what a string that lies on the heap says");
}

// Its last instruction is the call.
APART static int ends_in_a_throw(int x)
{
    Guard guard;
    if (x == -1)
        return 3;
    sink = x;
    fail(x);
}

APART static int deep(int depth, int x)
{
    Guard guard;
    if (depth == 0)
        return ends_in_a_throw(x);
    return deep(depth - 1, x) + sink;
}

APART static int rethrows(int depth, int x)
{
    try {
        return deep(depth, x);
    } catch (int) {
        capture(HANDLER);
        throw;
    } catch (const std::exception &) {
        capture(HANDLER);
        std::throw_with_nested(std::logic_error("another"));
    }
}

static void throw_and_catch(int i)
{
    try {
        rethrows(i % 7, i);
    } catch (...) {
        capture(RETHROWN);
    }
    capture(RETHROWN);
}

static void forget(_Unwind_Reason_Code, struct _Unwind_Exception *exception)
{
    std::free(exception);
}

APART static int raises(int x)
{
    Guard guard;
    auto *exception =
        static_cast<struct _Unwind_Exception *>(std::aligned_alloc(64, sizeof(_Unwind_Exception)));
    std::memset(exception, 0, sizeof *exception);
    std::memcpy(&exception->exception_class, "CAIRNTST", 8);
    exception->exception_cleanup = forget;
    capture(FOREIGN);
    _Unwind_RaiseException(exception);
    return x;
}

static void raise_foreign(int i)
{
    try {
        Guard guard;
        sink = raises(i) + 1;
    } catch (...) {
        capture(FOREIGN);
    }
    capture(FOREIGN);
}

static std::jmp_buf out;

static _Unwind_Reason_Code stop(int, _Unwind_Action, _Unwind_Exception_Class,
                                struct _Unwind_Exception *exception,
                                struct _Unwind_Context *context, void *until)
{
    capture(FORCED);
    if (_Unwind_GetCFA(context) < reinterpret_cast<uintptr_t>(until))
        return _URC_NO_REASON;
    std::free(exception);
    std::longjmp(out, 1);
}

APART static int forces(int depth, void *until)
{
    Guard guard;
    if (depth)
        return forces(depth - 1, until) + sink;
    auto *exception =
        static_cast<struct _Unwind_Exception *>(std::aligned_alloc(64, sizeof(_Unwind_Exception)));
    std::memset(exception, 0, sizeof *exception);
    _Unwind_ForcedUnwind(exception, stop, until);
    return sink;
}

APART static void force(int i)
{
    if (!setjmp(out))
        sink = forces(i % 5, __builtin_frame_address(0));
    capture(FORCED);
}

APART static int jumps(int depth)
{
    capture(LEFT);
    if (depth)
        return jumps(depth - 1) + sink;
    std::longjmp(out, 1);
}

APART static void leave(int i)
{
    if (!setjmp(out))
        sink = jumps(i % 9);
    capture(LEFT);
}

static void *ends_early(void *)
{
    Guard guard;
    on = true;
    capture(FORCED);
    pthread_exit(nullptr); // unwinds by force, as a cancellation does
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 100;
    *reinterpret_cast<void **>(&unwind_compare) = dlsym(RTLD_DEFAULT, "unwind_compare");
    throw_and_catch(1); // what is loaded at first use is loaded
    on = true;
    for (int i = 0; i < rounds && !n_wrong; i++) {
        throw_and_catch(i);
        raise_foreign(i);
        force(i);
        leave(i);
        pthread_t thread;
        if (i % 10 == 0 && !pthread_create(&thread, nullptr, ends_early, nullptr))
            pthread_join(thread, nullptr);
    }
    bool all = true;
    for (int i = 0; i < N_PLACES; i++) {
        std::printf("%s%s %lu", i ? ", " : "", names[i], n_captures[i]);
        all = all && n_captures[i];
    }
    std::printf(": %lu wrong\n", n_wrong);
    return n_wrong || !all;
}
