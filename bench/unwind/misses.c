/* SPDX-License-Identifier: MIT */
/*
 * Rules on demand or tables of all modules? Preloaded into a program (misses.sh): every malloc,
 * calloc and realloc captures its stack, and each address that was met for the first time is kept:
 * those are the cache misses of the local walker. At the program's end both ways answer them:
 *
 *     on demand   the loader is asked for the module, one FDE is found and run
 *     tables      of every module that is loaded then: a binary search for the module, a look-up
 *
 * Once with the CPU's caches emptied before each answer, as a miss in a busy program finds them,
 * and once one after the other.
 */
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "unwind/local_cpu.h"
#include "unwind/local_rule.h"
#include "unwind/sections.h"

enum { SET = 1 << 20, KEPT = 1 << 18, FRAMES = 256, MODULES = 256, EVICT = 8 << 20, COLD = 2000 };

struct module {
    uintptr_t from, to, base; /* vas; `base` is added to vaddrs */
    struct cairn_unwind_table table;
};

static _Atomic(uintptr_t) set[SET];
static uintptr_t kept[KEPT];
static atomic_uint n_kept, n_captures;
static __thread bool inside;
static struct module modules[MODULES];
static size_t n_modules, table_bytes, cfi_bytes;
static volatile uint64_t sum;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

static void keep(uintptr_t va)
{
    size_t at = (size_t)(va * 0x9e3779b97f4a7c15 >> 44);
    for (;; at = (at + 1) % SET) {
        uintptr_t there = atomic_load(&set[at]);
        if (there == va)
            return;
        if (!there && atomic_compare_exchange_strong(&set[at], &there, va))
            break;
        if (there == va)
            return;
    }
    unsigned i = atomic_fetch_add(&n_kept, 1);
    if (i < KEPT)
        kept[i] = va;
    else
        atomic_fetch_sub(&n_kept, 1);
}

static void capture(void)
{
    uintptr_t ips[FRAMES];
    if (inside)
        return;
    inside = true;
    size_t n = cairn_unwind_here(ips, FRAMES, NULL);
    for (size_t i = 0; i < n; i++)
        keep(ips[i] - 1);
    atomic_fetch_add(&n_captures, 1);
    inside = false;
}

void *malloc(size_t size)
{
    capture();
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    capture();
    return __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    capture();
    return __libc_realloc(old, size);
}

static double now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int make_table(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct cairn_unwind_sections s;
    struct cairn_unwind_table_built built;
    struct module *m = &modules[n_modules];
    uint64_t bytes;
    (void)size;
    (void)ctx;
    if (n_modules == MODULES ||
        !cairn_unwind_sections_loaded(cairn_local_arch, info->dlpi_addr, info->dlpi_phdr,
                                      info->dlpi_phnum, &s))
        return 0;
    const struct cairn_unwind_table_input input = cairn_unwind_table_input_of(&s);
    if (cairn_unwind_table_measure(&input, &bytes) != CAIRN_TABLE_OK)
        return 0;
    void *work = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (work == MAP_FAILED ||
        cairn_unwind_table_build(&input, work, bytes, &built) != CAIRN_TABLE_OK ||
        !cairn_unwind_table_open(built.image, &m->table))
        return 0;
    m->base = info->dlpi_addr;
    m->from = m->base + s.text_from;
    m->to = m->base + s.text_to;
    table_bytes += built.image.size;
    cfi_bytes += s.eh_frame.bytes.size;
    n_modules++;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct module *left = a, *right = b;
    return left->from < right->from ? -1 : left->from > right->from;
}

static void by_table(uintptr_t va)
{
    size_t low = 0, high = n_modules;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (modules[middle].from <= va)
            low = middle + 1;
        else
            high = middle;
    }
    if (low && va < modules[low - 1].to)
        sum += cairn_unwind_table_find(&modules[low - 1].table, va - modules[low - 1].base);
}

static void on_demand(uintptr_t va)
{
    uint32_t rule;
    cairn_local_rule_make(va, &rule);
    sum += rule;
}

static void evict(void)
{
    static uint8_t bytes[EVICT];
    for (size_t i = 0; i < EVICT; i += 64)
        bytes[i]++;
}

static int compare_doubles(const void *a, const void *b)
{
    const double *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

/* ns an answer, the median of some evenly spread, without what the clock costs. */
static double measure_cold(void (*answer)(uintptr_t va))
{
    static double took[COLD];
    double clock = 1e9;
    unsigned n = 0, step = n_kept / COLD + 1;
    for (unsigned i = 0; i < 100; i++) {
        double start = now_ns(CLOCK_MONOTONIC), empty = now_ns(CLOCK_MONOTONIC) - start;
        clock = empty < clock ? empty : clock;
    }
    for (unsigned i = 0; i < n_kept && n < COLD; i += step) {
        evict();
        double start = now_ns(CLOCK_MONOTONIC);
        answer(kept[i]);
        took[n++] = now_ns(CLOCK_MONOTONIC) - start - clock;
    }
    qsort(took, n, sizeof *took, compare_doubles);
    return n ? took[n / 2] : 0;
}

static double measure_in_a_row(void (*answer)(uintptr_t va))
{
    double start = now_ns(CLOCK_THREAD_CPUTIME_ID);
    for (unsigned i = 0; i < n_kept; i++)
        answer(kept[i]);
    return (now_ns(CLOCK_THREAD_CPUTIME_ID) - start) / (n_kept ? n_kept : 1);
}

static __attribute__((destructor)) void report(void)
{
    char line[400];
    inside = true;
    double start = now_ns(CLOCK_THREAD_CPUTIME_ID);
    dl_iterate_phdr(make_table, NULL);
    double built = now_ns(CLOCK_THREAD_CPUTIME_ID) - start;
    qsort(modules, n_modules, sizeof *modules, compare);
    double demand_cold = measure_cold(on_demand), demand = measure_in_a_row(on_demand);
    double table_cold = measure_cold(by_table), table = measure_in_a_row(by_table);
    int n =
        snprintf(line, sizeof line,
                 "%u captures, %u misses: on demand %.0f ns each (%.0f in a row), in all %.2f ms; "
                 "tables of %zu modules with %.1f MB of .eh_frame: %.1f MB, made in %.1f ms, "
                 "then %.0f ns each (%.0f in a row), in all %.2f ms\n",
                 n_captures, n_kept, demand_cold, demand, demand_cold * n_kept / 1e6, n_modules,
                 (double)cfi_bytes / 1e6, (double)table_bytes / 1e6, built / 1e6, table_cold, table,
                 (built + table_cold * n_kept) / 1e6);
    (void)!write(2, line, (size_t)n);
}
