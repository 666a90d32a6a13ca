/* SPDX-License-Identifier: MIT */
/* A program that asks the tracker in itself: memory_tracker CASE. C and C++. Prints "ok" behind
 * what held; a size says which block it is. */
#include <errno.h>
#include <memory_tracker.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #what);                                      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#ifdef __cplusplus
extern "C" {
#endif
char *make_buffer(size_t size);
char *make_deep(int depth, size_t size);
char *make_in_loop(size_t size);
#ifdef __cplusplus
}
#endif

__attribute__((noinline)) char *make_buffer(size_t size)
{
    char *volatile block = (char *)malloc(size);
    return block;
}

__attribute__((noinline)) char *make_deep(int depth, size_t size)
{
    char *volatile block = depth == 0 ? make_buffer(size) : make_deep(depth - 1, size);
    return block;
}

static struct memory_stats stats_of(void)
{
    struct memory_stats stats;
    CHECK(memory_tracker_get_stats(&stats) == MEMORY_TRACKER_OK);
    CHECK(stats.peak_bytes >= stats.current_bytes);
    return stats;
}

/* How often `part` is in `text`. */
static int count(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

static int in_report(const char *part)
{
    char *report = memory_tracker_get_leak_report();
    CHECK(report);
    int n = count(report, part);
    free(report);
    return n;
}

static void basics(void)
{
    CHECK(memory_tracker_init(false, true) == 0);
    CHECK(memory_tracker_is_backtrace_enabled());
    struct memory_stats before = stats_of(), after;
    char *a = make_buffer(1001), *b = make_buffer(1002);
    after = stats_of();
    CHECK(after.total_allocations == before.total_allocations + 2);
    CHECK(after.total_allocated_bytes == before.total_allocated_bytes + 2003);
    CHECK(after.current_allocations == before.current_allocations + 2);
    CHECK(after.current_bytes == before.current_bytes + 2003);
    free(a);
    after = stats_of();
    CHECK(after.total_frees == before.total_frees + 1);
    CHECK(after.total_freed_bytes == before.total_freed_bytes + 1001);
    CHECK(after.current_bytes == before.current_bytes + 1002);
    CHECK(in_report(", size=1002, so=memory_tracker") == 1);
    CHECK(in_report(", size=1001,") == 0);
    CHECK(in_report(" (make_buffer)\n") >= 1);
    memory_tracker_set_backtrace_enabled(false);
    CHECK(!memory_tracker_is_backtrace_enabled());
    char *c = make_buffer(1003);
    CHECK(in_report(", size=1003, so=memory_tracker\n\n") == 1);
    CHECK(in_report(" (make_buffer)\n") >= 1); /* what a block was born with it keeps */
    CHECK(memory_tracker_init(false, true) == 0);
    CHECK(memory_tracker_is_backtrace_enabled());
    free(b);
    free(c);
    CHECK(memory_tracker_get_stats(NULL) == MEMORY_TRACKER_E_ARG);
    CHECK(memory_tracker_hook(NULL, 0) == MEMORY_TRACKER_E_SUPPORT);
    CHECK(memory_tracker_unhook(NULL, 0) == MEMORY_TRACKER_E_SUPPORT);
    CHECK(strstr(memory_tracker_strerror(MEMORY_TRACKER_E_SUPPORT), "libraries"));
    CHECK(strcmp(memory_tracker_strerror(12345), memory_tracker_strerror(-12345)) == 0);
}

static int in_since(int mark, const char *part)
{
    char *report = memory_tracker_get_leak_report_since(mark);
    CHECK(report);
    int n = count(report, part);
    free(report);
    return n;
}

static void marks(void)
{
    CHECK(memory_tracker_init(false, true) == 0);
    char *before = make_buffer(1001);
    int first = memory_tracker_mark();
    char *between = make_buffer(1002);
    int second = memory_tracker_mark();
    char *after = make_buffer(1003);
    CHECK(first > 0 && second == first + 1);
    CHECK(in_since(0, ", size=100") == 3);
    CHECK(in_since(first, ", size=1001,") == 0);
    CHECK(in_since(first, ", size=1002,") == 1 && in_since(first, ", size=1003,") == 1);
    CHECK(in_since(second, ", size=1002,") == 0 && in_since(second, ", size=1003,") == 1);
    char *json = memory_tracker_get_leaks_json_since(second);
    CHECK(json && count(json, "\"size\": 1003") == 1 && count(json, "\"size\": 1002") == 0);
    free(json);
    errno = 0;
    CHECK(memory_tracker_get_leak_report_since(second + 1) == NULL && errno == EINVAL);
    CHECK(memory_tracker_get_leaks_json_since(-1) == NULL);
    free(before);
    free(between);
    free(after);
}

/* What the tracker needs for itself is in no number. */
static void itself(void)
{
    CHECK(memory_tracker_init(false, true) == 0);
    struct memory_stats before = stats_of(), after;
    char *reports[10];
    for (int i = 0; i < 10; i++)
        reports[i] = i % 2 ? memory_tracker_get_leaks_json() : memory_tracker_get_leak_report();
    after = stats_of();
    CHECK(memcmp(&before, &after, sizeof(before)) == 0);
    CHECK(strcmp(reports[0], reports[8]) == 0);
    for (int i = 0; i < 10; i++)
        free(reports[i]);
    after = stats_of();
    CHECK(memcmp(&before, &after, sizeof(before)) == 0);
    char *grown = (char *)realloc(memory_tracker_get_leak_report(), 9001);
    CHECK(in_report(", size=9001,") == 1); /* now it is the program's */
    free(grown);
}

static void reset(void)
{
    CHECK(memory_tracker_init(false, true) == 0);
    char *a = make_buffer(100000), *b = make_buffer(2001);
    free(a);
    struct memory_stats before = stats_of();
    CHECK(before.peak_bytes > 90000);
    memory_tracker_reset_stats();
    struct memory_stats after = stats_of();
    CHECK(after.total_allocations == 0 && after.total_frees == 0);
    CHECK(after.total_allocated_bytes == 0 && after.total_freed_bytes == 0);
    CHECK(after.current_bytes == before.current_bytes);
    CHECK(after.peak_bytes == after.current_bytes);
    CHECK(in_report("Total Allocations: 0 (0 bytes)\n") == 1);
    CHECK(in_report(", size=2001,") == 1);
    free(b);
    after = stats_of();
    CHECK(after.total_frees == 1 && after.total_freed_bytes == 2001);
}

/* From one call site, so that what is remembered of the last stack is asked to change. */
__attribute__((noinline)) char *make_in_loop(size_t size)
{
    char *volatile block = make_deep(20, size);
    return block;
}

static void depth(void)
{
    CHECK(memory_tracker_init(false, true) == 0);
    CHECK(memory_tracker_set_depth(0) == MEMORY_TRACKER_E_ARG);
    CHECK(memory_tracker_set_depth(1025) == MEMORY_TRACKER_E_ARG);
    const unsigned depths[] = {1024, 3, 10, 1};
    char *blocks[4], part[64];
    for (int i = 0; i < 4; i++) {
        CHECK(memory_tracker_set_depth(depths[i]) == 0);
        blocks[i] = make_in_loop(3001);
        free(blocks[i]);
        blocks[i] = make_in_loop(3001);
        snprintf(part, sizeof(part), "  Backtrace (%u frames):\n", depths[i]);
        CHECK(in_report(part) >= (i > 0));
        CHECK(in_report(" (make_deep)\n") >= (i < 3) * 2);
    }
    for (int i = 0; i < 4; i++)
        free(blocks[i]);
}

static void dump(void)
{
    CHECK(memory_tracker_init(false, true) == 0);
    char *block = make_buffer(4001);
    CHECK(memory_tracker_dump_leak_report("dump.txt") == 0);
    CHECK(memory_tracker_dump_leak_report("dump.txt") == 0); /* again, over it */
    CHECK(memory_tracker_dump_leak_report("/nowhere/dump.txt") == MEMORY_TRACKER_E_IO);
    CHECK(errno == ENOENT);
    CHECK(memory_tracker_dump_leak_report("") == MEMORY_TRACKER_E_ARG);
    CHECK(memory_tracker_dump_leak_report(NULL) == MEMORY_TRACKER_E_ARG);
    CHECK(memory_tracker_dump_leak_report("/dev/full") == MEMORY_TRACKER_E_IO);
    CHECK(errno == ENOSPC);
    CHECK(memory_tracker_dump_leak_report("/dev/null") == 0);
    char *json = memory_tracker_get_leaks_json();
    FILE *file = fopen("leaks.json", "w");
    CHECK(json && file && fputs(json, file) >= 0 && fclose(file) == 0);
    free(json);
    free(block);
}

static pthread_barrier_t begin;

static void *work(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&begin);
    for (int i = 0; i < 300; i++) {
        char *block = make_deep(i % 30, 500 + (size_t)i);
        if (i % 60 == 1)
            free(memory_tracker_get_leak_report());
        if (i % 60 == 2)
            free(memory_tracker_get_leaks_json());
        if (i % 50 == 3)
            memory_tracker_set_backtrace_enabled(i % 100 == 3);
        if (i % 50 == 4)
            CHECK(memory_tracker_set_depth((unsigned)(i % 40 + 1)) == 0);
        if (i % 50 == 5)
            memory_tracker_reset_stats();
        struct memory_stats stats;
        CHECK(memory_tracker_get_stats(&stats) == 0);
        free(block);
    }
    return NULL;
}

static void threads(void)
{
    enum { N = 4 };
    pthread_t all[N];
    CHECK(memory_tracker_init(false, true) == 0);
    pthread_barrier_init(&begin, NULL, N);
    for (int i = 0; i < N; i++)
        CHECK(pthread_create(&all[i], NULL, work, NULL) == 0);
    for (int i = 0; i < N; i++)
        pthread_join(all[i], NULL);
    char *report = memory_tracker_get_leak_report();
    for (int i = 0; i < 300; i++) {
        char part[32];
        snprintf(part, sizeof(part), ", size=%d,", 500 + i);
        /* What the C library keeps of a thread may have one of these sizes, and lives. */
        CHECK(count(report, part) <= 1);
    }
    free(report);
}

static void child(void)
{
    CHECK(memory_tracker_init(false, true) == 0);
    char *block = make_buffer(5001);
    memory_tracker_reset_stats();
    pid_t pid = fork();
    if (pid == 0) {
        struct memory_stats stats = stats_of();
        CHECK(stats.total_allocations == 0 && stats.current_bytes == 0);
        char *own = make_buffer(5002);
        CHECK(in_report(", size=5001,") == 0);
        CHECK(in_report(", size=5002,") == 1);
        CHECK(stats_of().total_allocated_bytes == 5002);
        free(own);
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(in_report(", size=5001,") == 1);
    free(block);
}

/* What a call leaves on the stack is no part of the case. */
__attribute__((noinline)) static void wipe(void)
{
    volatile char room[16 << 10];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = 0;
}

__attribute__((noinline)) static void lose_buffer(void)
{
    char *volatile block = make_buffer(4002);
    memset(block, 0, 4002);
    block = NULL;
    (void)block;
}

static volatile int n_ended;

static void on_child(int number)
{
    (void)number;
    n_ended = n_ended + 1;
}

/* The child that finds it leaves no trace: no signal, nothing to wait for, no block. */
static void lost(void)
{
    static char *volatile kept;
    CHECK(signal(SIGCHLD, on_child) != SIG_ERR);
    CHECK(memory_tracker_init(true, true) == 0);
    kept = make_buffer(4003);
    CHECK(kept);
    lose_buffer();
    wipe();
    struct memory_stats before = stats_of();
    char *json = memory_tracker_get_lost_json();
    FILE *file = fopen("lost.json", "w");
    CHECK(json && file && fputs(json, file) >= 0 && fclose(file) == 0);
    CHECK(signal(SIGCHLD, SIG_IGN) !=
          SIG_ERR); /* then the kernel keeps no exit status of children */
    char *text = memory_tracker_get_lost_report();
    CHECK(text && strstr(text, "4.0 kB in 1 block lost, from 1 stack") &&
          strstr(text, "lose_buffer"));
    free(json);
    free(text);
    CHECK(stats_of().current_bytes - before.current_bytes < 8192); /* stdio's own */
    CHECK(n_ended == 0);
    CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

/* Without the command that looks. */
static void no_command(void)
{
    CHECK(memory_tracker_init(true, true) == 0);
    errno = 0;
    CHECK(memory_tracker_get_lost_report() == NULL && errno == ENOENT);
    errno = 0;
    CHECK(memory_tracker_get_lost_json() == NULL && errno == ENOENT);
}

static void is_not_live(void)
{
    struct memory_stats stats;
    int code = memory_tracker_init(false, true);
    printf("%d: %s\n", code, memory_tracker_strerror(code));
    CHECK(code < 0);
    CHECK(memory_tracker_get_stats(&stats) == code);
    CHECK(memory_tracker_set_depth(10) == code);
    CHECK(memory_tracker_dump_leak_report("never.txt") == code);
    memory_tracker_set_backtrace_enabled(true);
    memory_tracker_reset_stats();
    CHECK(!memory_tracker_is_backtrace_enabled());
    errno = 0;
    CHECK(memory_tracker_get_leak_report() == NULL && errno == ENOTSUP);
    errno = 0;
    CHECK(memory_tracker_get_leaks_json() == NULL && errno == ENOTSUP);
    CHECK(memory_tracker_get_leak_report_since(0) == NULL && errno == ENOTSUP);
    CHECK(memory_tracker_mark() == code);
    errno = 0;
    CHECK(memory_tracker_get_lost_report() == NULL && errno == ENOTSUP);
    errno = 0;
    CHECK(memory_tracker_get_lost_json() == NULL && errno == ENOTSUP);
}

static void say(void)
{
    CHECK(memory_tracker_init(true, false) == 0);
    CHECK(memory_tracker_hook(NULL, 0) < 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"basics", basics},        {"itself", itself}, {"reset", reset},
                 {"depth", depth},          {"dump", dump},     {"threads", threads},
                 {"marks", marks},          {"child", child},   {"say", say},
                 {"not_live", is_not_live}, {"lost", lost},     {"no_command", no_command}};
    for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
        if (strcmp(cases[i].name, argv[1]) == 0) {
            cases[i].run();
            puts("ok");
            return 0;
        }
    puts("memory_tracker CASE");
    return 2;
}
