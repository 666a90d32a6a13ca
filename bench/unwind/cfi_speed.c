/* SPDX-License-Identifier: MIT */
/*
 * How fast CFI is read: cfi_speed FILE...
 *
 * MB of .eh_frame a second on one CPU, the file in the page cache, the best of 15 runs. entries:
 * cairn_cfi_next alone; narrow: the CFA, the frame pointer and the return address of every row, as
 * tables need them; rows: cairn_cfi_run, all registers. Each 1000 FDEs are timed alone and their
 * best times added, so that others on the machine disturb little; but the CPU has seen the same
 * ones before then. `pass` is narrow again, from the first FDE to the last in one go. find: ns for
 * a search by .eh_frame_hdr; row_at: ns for the row of an address once its FDE is known.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/file.h"
#include "dwarf/cfi_program.h"
#include "support/cfifile.h"

enum { RUNS = 15, AT_ONCE = 1000 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t sum; /* so that nothing is left out */

static uint64_t run_entries(struct cairn_cfi_iter *iter)
{
    struct cairn_fde fde;
    uint64_t n = 0;
    while (n < AT_ONCE && cairn_cfi_next(iter, &fde)) {
        sum += fde.to;
        n++;
    }
    return n;
}

struct state {
    struct cairn_cfi_rule cfa, fp, ra;
};

struct narrow {
    struct state now, initial, stack[8];
    unsigned depth;
    uint64_t fp, n, from, cie;
};

static inline bool advance(void *ctx, uint64_t vaddr)
{
    struct narrow *s = ctx;
    sum += vaddr - s->from + s->now.cfa.reg + (uint64_t)s->now.cfa.value +
           (uint64_t)s->now.fp.value + (uint64_t)s->now.ra.value;
    s->from = vaddr;
    s->n++;
    return true;
}

static inline bool stay(void *ctx, uint64_t vaddr)
{
    (void)ctx;
    (void)vaddr;
    return true;
}

static inline struct cairn_cfi_rule *cfa(void *ctx)
{
    return &((struct narrow *)ctx)->now.cfa;
}

static inline struct cairn_cfi_rule *reg(void *ctx, uint64_t number)
{
    struct narrow *s = ctx;
    return number == s->fp ? &s->now.fp : number == 16 || number == 30 ? &s->now.ra : NULL;
}

static inline void restore(void *ctx, uint64_t number)
{
    struct narrow *s = ctx;
    if (number == s->fp)
        s->now.fp = s->initial.fp;
    else if (number == 16 || number == 30)
        s->now.ra = s->initial.ra;
}

static inline bool remember(void *ctx)
{
    struct narrow *s = ctx;
    if (s->depth == 8)
        return false;
    s->stack[s->depth++] = s->now;
    return true;
}

static inline bool recall(void *ctx)
{
    struct narrow *s = ctx;
    if (!s->depth)
        return false;
    s->now = s->stack[--s->depth];
    return true;
}

static const struct cairn_cfi_sink cie_sink = {stay, cfa, reg, restore, remember, recall};
static const struct cairn_cfi_sink fde_sink = {advance, cfa, reg, restore, remember, recall};

static __attribute__((noinline)) void run_cie(struct narrow *s, const struct cairn_cfi *cfi,
                                              const struct cairn_cie *cie)
{
    struct cairn_cfi_program program = {cfi, cie, cie->program, 0};
    s->now = (struct state){0};
    cairn_cfi_program_run(&program, &cie_sink, s);
    s->initial = s->now;
    s->cie = cie->off;
}

static uint64_t run_narrow(struct cairn_cfi_iter *iter)
{
    const struct cairn_cfi *cfi = iter->cfi;
    struct cairn_fde fde;
    struct narrow s = {.fp = cfi->machine == 62 ? 6 : 29, .cie = UINT64_MAX};
    for (unsigned i = 0; i < AT_ONCE && cairn_cfi_next(iter, &fde); i++) {
        if (fde.cie.off != s.cie)
            run_cie(&s, cfi, &fde.cie);
        struct cairn_cfi_program program = {cfi, &fde.cie, fde.program, fde.from};
        s.now = s.initial;
        s.from = fde.from;
        s.depth = 0;
        cairn_cfi_program_run(&program, &fde_sink, &s);
        advance(&s, fde.to);
    }
    return s.n;
}

static bool add_row(void *ctx, const struct cairn_cfi_row *row)
{
    uint64_t *n = ctx;
    sum += row->to + (uint64_t)row->cfa.value;
    ++*n;
    return true;
}

static uint64_t run_rows(struct cairn_cfi_iter *iter)
{
    const struct cairn_cfi *cfi = iter->cfi;
    struct cairn_fde fde;
    uint64_t n = 0;
    for (unsigned i = 0; i < AT_ONCE && cairn_cfi_next(iter, &fde); i++)
        cairn_cfi_run(cfi, &fde, add_row, &n);
    return n;
}

static double best(uint64_t (*run)(struct cairn_cfi_iter *), const struct cairn_cfi *cfi,
                   uint64_t *ret_n)
{
    struct cairn_cfi_iter from = {.cfi = cfi}, iter;
    uint64_t n;
    double all = 0;
    *ret_n = 0;
    do {
        double least = 1e9;
        for (int i = 0; i < RUNS; i++) {
            iter = from;
            double start = now();
            n = run(&iter);
            double took = now() - start;
            least = took < least ? took : least;
        }
        all += least;
        *ret_n += n;
        from = iter;
    } while (n);
    return all;
}

/* The best time of all FDEs at once. */
static double best_pass(uint64_t (*run)(struct cairn_cfi_iter *), const struct cairn_cfi *cfi)
{
    double least = 1e9;
    for (int i = 0; i < RUNS; i++) {
        struct cairn_cfi_iter iter = {.cfi = cfi};
        double start = now();
        while (run(&iter))
            ;
        double took = now() - start;
        least = took < least ? took : least;
    }
    return least;
}

/* Middles of functions, evenly spread over the table's order. */
static void measure_find(const struct cairn_cfi *cfi, uint64_t n_fdes)
{
    enum { N = 1000 };
    static struct cairn_fde fdes[N];
    struct cairn_cfi_iter iter = {.cfi = cfi};
    struct cairn_fde fde;
    struct cairn_cfi_row row;
    uint64_t n = 0, i = 0, step = n_fdes / N + 1;
    double start, find = 1e9, at = 1e9;
    while (n < N && cairn_cfi_next(&iter, &fde))
        if (i++ % step == 0)
            fdes[n++] = fde;
    for (int k = 0; k < RUNS; k++) {
        start = now();
        for (i = 0; i < n; i++)
            sum += cairn_cfi_find(cfi, (fdes[i].from + fdes[i].to) / 2, &fde);
        find = now() - start < find ? now() - start : find;
        start = now();
        for (i = 0; i < n; i++)
            sum += cairn_cfi_row_at(cfi, &fdes[i], (fdes[i].from + fdes[i].to) / 2, &row);
        at = now() - start < at ? now() - start : at;
    }
    printf(" | %6.0f %6.0f", find / (double)n * 1e9, at / (double)n * 1e9);
}

int main(int argc, char **argv)
{
    printf("%-24s %8s %8s %9s | %8s %8s %8s %8s MB/s | find row_at ns\n", "file", "KB", "FDEs",
           "rows", "entries", "narrow", "pass", "rows");
    for (int i = 1; i < argc; i++) {
        struct cairn_file file;
        struct cairn_elf elf;
        struct cairn_err err;
        if (cairn_file_open(argv[i], &file, &err) < 0 ||
            cairn_elf_open(file.bytes, &elf, &err) < 0) {
            printf("%s: %s\n", argv[i], err.msg);
            return 1;
        }
        struct cairn_cfi cfi = test_cfi_of_file(&elf, ".eh_frame");
        double mb = (double)cfi.bytes.size / 1e6;
        uint64_t n_fdes, n_rows, n;
        double entries = best(run_entries, &cfi, &n_fdes), narrow = best(run_narrow, &cfi, &n_rows),
               rows = best(run_rows, &cfi, &n), pass = best_pass(run_narrow, &cfi);
        const char *slash = strrchr(argv[i], '/');
        printf("%-24.24s %8zu %8" PRIu64 " %9" PRIu64 " | %8.0f %8.0f %8.0f %8.0f     ",
               slash ? slash + 1 : argv[i], cfi.bytes.size / 1024, n_fdes, n_rows, mb / entries,
               mb / narrow, mb / pass, mb / rows);
        measure_find(&cfi, n_fdes);
        printf("\n");
        cairn_file_close(&file);
    }
    return sum == 1;
}
