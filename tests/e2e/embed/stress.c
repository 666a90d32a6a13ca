/* SPDX-License-Identifier: MIT */
/*
 * Hooks of functions of libc come and go while threads call them: stress MALLOC EACH SEED <names.
 * MALLOC installs and removals of a hook on malloc, a tenth as many beside a hook that stays, and
 * EACH of them on each function whose name is read from stdin.
 *
 * Replacements count and jump on, so that they suit every function. Every call of malloc by the
 * threads must be counted once; what functions return is checked; in the end libc's code must be as
 * it was.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cairn/hook.h>

enum { N_THREADS = 4, N_HOOKS = 256, HOOK_BYTES = 32 };

void *stress_originals[N_HOOKS];
_Atomic(unsigned long) stress_counts[N_HOOKS];
extern char stress_hooks[];
__asm__(".pushsection .text\n.balign 32\nstress_hooks:\n.set n, 0\n.rept 256\n.balign 32\n"
        " lock incq stress_counts + 8 * n(%rip)\n jmp *stress_originals + 8 * n(%rip)\n"
        ".set n, n + 1\n.endr\n.popsection\n");

static void *(*volatile call_malloc)(size_t) = malloc;
static atomic_bool is_over;
static atomic_ulong n_mallocs, n_wrong;
static atomic_uint n_started;

static void check(int holds)
{
    if (!holds)
        atomic_fetch_add(&n_wrong, 1);
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void call_others(unsigned n)
{
    char text[64], copy[64];
    int numbers[] = {5, 3, (int)(n % 7), 1};
    struct timespec now;
    check(snprintf(text, sizeof text, "%u %s", n, "stress") > 7);
    check(strtoul(text, NULL, 10) == n);
    check(strchr(text, ' ') != NULL && strstr(text, "stress") != NULL);
    check(strlen(strcpy(copy, text)) == strlen(text) && strcmp(copy, text) == 0);
    qsort(numbers, 4, sizeof *numbers, compare);
    check(numbers[3] == 5 || numbers[3] == 6);
    check(labs(-(long)n) == (long)n && abs(-7) == 7 && ffs(8) == 4);
    check(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    check(getenv("PATH") != NULL);
}

static void *work(void *unused)
{
    unsigned long n = 0;
    (void)unused;
    atomic_fetch_add(&n_started, 1);
    for (; !atomic_load_explicit(&is_over, memory_order_relaxed); n++) {
        unsigned char *block = call_malloc(16 + n % 200);
        check(block != NULL);
        memset(block, (int)(n & 255), 16);
        check(block[15] == (n & 255));
        free(block);
        if (n % 16 == 0)
            call_others((unsigned)n);
    }
    atomic_fetch_add(&n_mallocs, n);
    return NULL;
}

static struct cairn_err err;

static void *hook_at(unsigned i)
{
    char *hook = stress_hooks + i * HOOK_BYTES;
    __asm__("" : "+r"(hook));
    return hook;
}

static struct cairn_hook *install(void *function, unsigned i, unsigned flags)
{
    struct cairn_hook *hook = NULL;
    if (cairn_hook_function(function, hook_at(i), flags, &stress_originals[i], &hook, &err) < 0)
        return NULL;
    return hook;
}

/* Returns ns for each pair. */
static double toggle(void *function, unsigned i, unsigned long times)
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (unsigned long k = 0; k < times; k++) {
        struct cairn_hook *hook = install(function, i, CAIRN_HOOK_KEEP_PADDING);
        if (!hook || cairn_hook_remove(hook, &err) < 0) {
            fprintf(stderr, "stress: %s (%s)\n", err.msg, err.hint);
            exit(1);
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    return times ? ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
                       (double)times
                 : 0;
}

/* The padding, too: a thread that is not seen elsewhere in time is waited for again. */
static void restore(void *function, unsigned i)
{
    for (int tries = 0; tries < 500; tries++) {
        struct cairn_hook *hook = install(function, i, 0);
        if (hook && cairn_hook_remove(hook, &err) == CAIRN_OK)
            return;
    }
    fprintf(stderr, "stress: %s (%s)\n", err.msg, err.hint);
    exit(1);
}

struct text {
    const char *from;
    size_t n;
    char *copy;
};

static int find_text(struct dl_phdr_info *info, size_t size, void *context)
{
    struct text *text = context;
    (void)size;
    if (!strstr(info->dlpi_name, "libc.so"))
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X)
            *text = (struct text){(const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                                  info->dlpi_phdr[i].p_memsz, NULL};
    return 1;
}

static unsigned toggle_named(unsigned long times, unsigned *ret_refused)
{
    char name[256];
    unsigned n = 0;
    while (n < N_HOOKS - 2 && fgets(name, sizeof name, stdin)) {
        name[strcspn(name, "\n")] = 0;
        void *function = dlsym(RTLD_DEFAULT, name);
        struct cairn_hook *hook = function ? install(function, n + 2, 0) : NULL;
        if (!hook) {
            ++*ret_refused;
            fprintf(stderr, "%s: %s\n", name, function ? err.msg : "no such function");
            continue;
        }
        (void)cairn_hook_remove(hook, &err);
        (void)toggle(function, n + 2, times);
        restore(function, n + 2);
        n++;
    }
    return n;
}

static void start(pthread_t threads[N_THREADS])
{
    atomic_store(&is_over, false);
    atomic_store(&n_started, 0);
    for (int i = 0; i < N_THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            exit(2);
    while (atomic_load(&n_started) < N_THREADS)
        sched_yield();
}

static void stop(pthread_t threads[N_THREADS])
{
    atomic_store(&is_over, true);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    const unsigned long times = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    const unsigned long each = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
    struct text text = {NULL, 0, NULL};
    pthread_t threads[N_THREADS];
    unsigned refused = 0;
    dl_iterate_phdr(find_text, &text);
    text.copy = text.n ? malloc(text.n) : NULL;
    if (!text.copy)
        return 2;
    memcpy(text.copy, text.from, text.n);
    /* Nothing else of this program calls malloc while threads run. */
    setvbuf(stdin, NULL, _IONBF, 0);
    setvbuf(stderr, NULL, _IONBF, 0);
    struct cairn_hook *counter = install((void *)malloc, 0, 0);
    if (!counter) {
        fprintf(stderr, "stress: %s\n", err.msg);
        return 1;
    }
    start(threads);
    (void)toggle((void *)malloc, 1, times / 10);
    stop(threads);
    const unsigned long counted = atomic_load(&stress_counts[0]);
    const unsigned long called = atomic_load(&n_mallocs);
    (void)cairn_hook_remove(counter, &err);
    start(threads);
    const double ns = toggle((void *)malloc, 1, times);
    const unsigned n = toggle_named(each, &refused);
    stop(threads);
    restore((void *)malloc, 1);
    const int changed = memcmp(text.copy, text.from, text.n) != 0;
    printf("malloc %lu called %lu counted %lu toggled %lu\n", times, called, counted,
           atomic_load(&stress_counts[1]));
    printf("functions %u refused %u each %lu wrong %lu changed %d pair_ns %.0f calls %lu\n", n,
           refused, each, atomic_load(&n_wrong), changed, ns, atomic_load(&n_mallocs));
    return atomic_load(&n_wrong) || changed;
}
