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
#include "unwind/sections.h"

enum { RUNS = 15 };

struct result {
    uint64_t work_bytes, text_bytes, section_bytes;
    uint64_t covered[CAIRN_RULE_KINDS]; /* bytes of text */
    uint64_t n_rows[CAIRN_RULE_KINDS];
    double measure_ms, build_ms;
    struct cairn_unwind_table_built built;
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void count_rows(struct cairn_span image, struct result *r)
{
    struct cairn_unwind_table t;
    uint64_t from = 0, next, vaddr;
    uint32_t rule, page = 0;
    if (!cairn_unwind_table_open(image, &t))
        return;
    for (uint32_t i = 0; i < t.n_rows; i++) {
        while (page < t.n_pages && t.pages[page + 1] <= i)
            page++;
        vaddr = t.base + (uint64_t)page * CAIRN_TABLE_PAGE + t.low[i];
        rule = t.rules[i];
        r->n_rows[cairn_rule_kind(rule)]++;
        next = t.to;
        uint32_t next_page = page;
        if (i + 1 < t.n_rows) {
            while (next_page < t.n_pages && t.pages[next_page + 1] <= i + 1)
                next_page++;
            next = t.base + (uint64_t)next_page * CAIRN_TABLE_PAGE + t.low[i + 1];
        }
        from = vaddr > t.from ? vaddr : t.from;
        if (next > from)
            r->covered[cairn_rule_kind(rule)] += next - from;
    }
}

static bool build(const struct cairn_unwind_table_input *input, bool last, struct result *r)
{
    double start = now_ms();
    if (cairn_unwind_table_measure(input, &r->work_bytes) != CAIRN_TABLE_OK)
        return false;
    double measured = now_ms();
    void *work = mmap(NULL, r->work_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (work == MAP_FAILED)
        return false;
    bool ok = cairn_unwind_table_build(input, work, r->work_bytes, &r->built) == CAIRN_TABLE_OK;
    double end = now_ms();
    if (measured - start < r->measure_ms)
        r->measure_ms = measured - start;
    if (end - start < r->build_ms)
        r->build_ms = end - start;
    if (ok && last)
        count_rows(r->built.image, r);
    munmap(work, r->work_bytes);
    return ok;
}

static void print(const char *path, const struct result *r)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    uint64_t covered = 0, rows = 0;
    for (unsigned kind = 0; kind < CAIRN_RULE_KINDS; kind++) {
        covered += kind ? r->covered[kind] : 0;
        rows += r->n_rows[kind];
    }
    printf("%-22.22s %8.0f %8.1f %7" PRIu32 " %8" PRIu64 " %8.1f %5.2f %7.3f %6.2f %6.0f |", name,
           (double)r->text_bytes / 1024, (double)r->section_bytes / 1024, r->built.n_fdes, rows,
           (double)r->built.image.size / 1024,
           (double)r->built.image.size / (double)r->section_bytes, r->measure_ms, r->build_ms,
           (double)r->section_bytes / 1e3 / r->build_ms);
    for (unsigned kind = 0; kind < CAIRN_RULE_KINDS; kind++)
        if (r->n_rows[kind])
            printf(" %u: %.4f%% %" PRIu64, kind,
                   covered ? 100 * (double)r->covered[kind] / (double)covered : 0, r->n_rows[kind]);
    if (r->built.n_damaged)
        printf(" damaged: %" PRIu32, r->built.n_damaged);
    putchar('\n');
}

static bool measure_file(const char *path)
{
    struct cairn_err err;
    struct cairn_file file;
    struct cairn_elf elf;
    struct cairn_unwind_sections s;
    struct result r = {.measure_ms = 1e9, .build_ms = 1e9};
    if (cairn_file_open(path, &file, &err) < 0 || cairn_elf_open(file.bytes, &elf, &err) < 0) {
        fprintf(stderr, "table_stats: %s: %s\n", path, err.msg);
        return false;
    }
    bool ok = cairn_unwind_sections_of_file(&elf, &s);
    if (ok) {
        struct cairn_unwind_table_input input = cairn_unwind_table_input_of(&s);
        r.text_bytes = s.text_to - s.text_from;
        r.section_bytes = s.eh_frame.bytes.size + s.debug_frame.bytes.size + s.exidx.index.size;
        for (int i = 0; i < RUNS && ok; i++)
            ok = build(&input, i + 1 == RUNS, &r);
    }
    if (ok)
        print(path, &r);
    else
        fprintf(stderr, "table_stats: %s: no unwind information\n", path);
    cairn_file_close(&file);
    return ok;
}

int main(int argc, char **argv)
{
    bool ok = argc > 1;
    printf("%-22s %8s %8s %7s %8s %8s %5s %7s %6s %6s | kind: share of the covered text, rows\n",
           "file", "text KB", "CFI KB", "entries", "rows", "table KB", "ratio", "meas ms", "ms",
           "MB/s");
    for (int i = 1; i < argc; i++)
        ok &= measure_file(argv[i]);
    return ok ? 0 : 1;
}
