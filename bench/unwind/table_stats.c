/* SPDX-License-Identifier: MIT */
/*
 * What tables of unwind rules are made of, and how fast: table_stats FILE...
 *
 * A line a file: text, .eh_frame (and .debug_frame, .ARM.exidx), rows, bytes of the table, what
 * share of the text that has an entry each kind of rule covers, and the CPU time to build it (best
 * of 15, the file in the page cache, fresh pages each time, measured and built).
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include "base/file.h"
#include "support/tablecheck.h"
#include "unwind/page_search.h"

enum { RUNS = 15 };

struct result {
    uint64_t work_bytes, text_bytes, section_bytes, table_bytes;
    uint64_t covered[CAIRN_RULE_KINDS]; /* bytes of text */
    uint64_t n_rows[CAIRN_RULE_KINDS];
    uint64_t blind_bytes, n_wrong;
    double build_ms;
    struct cairn_unwind_table_built built;
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Rows and bytes of text by kind. Rows come by their pages, so each is one step from the last. */
static void count_rows(struct cairn_span image, struct result *r)
{
    struct cairn_unwind_table t;
    uint32_t page = 0, first, next = 0, kind = CAIRN_RULE_NONE;
    if (!cairn_unwind_table_open(image, &t))
        return;
    uint64_t last = t.from;
    for (uint32_t i = 0; i < t.n_rows; i++) {
        while (next <= i && cairn_unwind_table_page(&t, page, &first, &next))
            page++;
        uint64_t vaddr = t.base + (uint64_t)(page - 1) * CAIRN_TABLE_PAGE + t.low[i];
        if (vaddr > last) {
            r->covered[kind] += vaddr - last;
            last = vaddr;
        }
        kind = cairn_rule_kind(t.rules[i]);
        r->n_rows[kind]++;
    }
    if (t.to > last)
        r->covered[kind] += t.to - last;
}

static bool build(const struct cairn_unwind_table_input *input, bool last, struct result *r)
{
    double start = now_ms();
    if (cairn_unwind_table_measure(input, &r->work_bytes) != CAIRN_TABLE_OK)
        return false;
    void *work = mmap(NULL, r->work_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (work == MAP_FAILED)
        return false;
    bool ok = cairn_unwind_table_build(input, work, r->work_bytes, &r->built) == CAIRN_TABLE_OK;
    double took = now_ms() - start;
    r->build_ms = took < r->build_ms ? took : r->build_ms;
    if (ok && last)
        count_rows(r->built.image, r);
    munmap(work, r->work_bytes);
    return ok;
}

static bool check(const struct cairn_unwind_sections *sections,
                  const struct cairn_unwind_table_input *input, struct result *r)
{
    struct test_table t;
    if (test_table_build(input, &t) != CAIRN_TABLE_OK)
        return false;
    struct test_table_check c = test_table_check(sections, &t.table, 0);
    r->blind_bytes = c.blind_bytes;
    r->n_wrong = c.n_wrong;
    test_table_done(&t);
    return true;
}

static void print(const char *name, const struct result *r)
{
    uint64_t covered = 0, rows = 0;
    for (unsigned kind = 0; kind < CAIRN_RULE_KINDS; kind++) {
        covered += kind ? r->covered[kind] : 0;
        rows += r->n_rows[kind];
    }
    double share = covered ? 100 / (double)covered : 0;
    uint64_t side = r->covered[CAIRN_RULE_SIDE];
    printf("%-22.22s %8.0f %7.0f %7" PRIu32 " %8" PRIu64 " %8.0f %5.2f %7.3f %5.0f %9.4f %7.4f"
           " %7.4f |",
           name, (double)r->text_bytes / 1024, (double)r->section_bytes / 1024, r->built.n_fdes,
           rows, (double)r->table_bytes / 1024, (double)r->table_bytes / (double)r->section_bytes,
           r->build_ms, (double)r->section_bytes / 1e3 / r->build_ms,
           share * (double)(covered - side), share * (double)side, share * (double)r->blind_bytes);
    for (unsigned kind = 0; kind < CAIRN_RULE_KINDS; kind++)
        if (r->n_rows[kind])
            printf(" %u: %.4f %" PRIu64, kind, share * (double)r->covered[kind], r->n_rows[kind]);
    if (r->built.n_damaged || r->n_wrong)
        printf(" DAMAGED %" PRIu32 " WRONG %" PRIu64, r->built.n_damaged, r->n_wrong);
    putchar('\n');
}

static void add(struct result *sum, const struct result *r)
{
    sum->text_bytes += r->text_bytes;
    sum->section_bytes += r->section_bytes;
    sum->table_bytes += r->table_bytes;
    sum->blind_bytes += r->blind_bytes;
    sum->build_ms += r->build_ms;
    sum->n_wrong += r->n_wrong;
    sum->built.n_fdes += r->built.n_fdes;
    for (unsigned kind = 0; kind < CAIRN_RULE_KINDS; kind++) {
        sum->covered[kind] += r->covered[kind];
        sum->n_rows[kind] += r->n_rows[kind];
    }
}

static bool measure_sections(const struct cairn_unwind_sections *s, struct result *r)
{
    const struct cairn_unwind_table_input input = cairn_unwind_table_input_of(s);
    r->text_bytes = s->text_to - s->text_from;
    r->section_bytes = s->eh_frame.bytes.size + s->debug_frame.bytes.size + s->exidx.index.size;
    if (!check(s, &input, r))
        return false;
    for (int i = 0; i < RUNS; i++)
        if (!build(&input, i + 1 == RUNS, r))
            return false;
    r->table_bytes = r->built.image.size;
    return true;
}

static bool measure_file(const char *path, struct result *sum)
{
    struct cairn_err err;
    struct cairn_file file;
    struct cairn_elf elf;
    struct cairn_unwind_sections s;
    struct result r = {.build_ms = 1e9};
    if (cairn_file_open(path, &file, &err) < 0 || cairn_elf_open(file.bytes, &elf, &err) < 0) {
        fprintf(stderr, "table_stats: %s: %s\n", path, err.msg);
        return false;
    }
    bool ok = cairn_unwind_sections_of_file(&elf, &s) && measure_sections(&s, &r);
    if (ok) {
        print(strrchr(path, '/') ? strrchr(path, '/') + 1 : path, &r);
        add(sum, &r);
    } else {
        fprintf(stderr, "table_stats: %s: no unwind information\n", path);
    }
    cairn_file_close(&file);
    return ok && !r.n_wrong;
}

int main(int argc, char **argv)
{
    struct result sum = {0};
    bool ok = argc > 1;
    printf("%-22s %8s %7s %7s %8s %8s %5s %7s %5s %9s %7s %7s | kind: %% of the text, rows\n",
           "file", "text KB", "CFI KB", "entries", "rows", "table KB", "ratio", "ms", "MB/s",
           "compact %", "side %", "blind %");
    for (int i = 1; i < argc; i++)
        ok &= measure_file(argv[i], &sum);
    if (sum.section_bytes)
        print("all", &sum);
    return ok ? 0 : 1;
}
