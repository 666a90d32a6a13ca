/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/heap_holds.h"

enum { FRAMES_MAX = 1024 };

/* All live blocks, named. */
struct finding {
    struct cli_heap_wanted *wanted;
    int pid;
    struct cairn_heap *heap;
    struct cairn_profile *profile;
    struct cairn_heap_block_info *blocks;
    size_t n;
    struct cairn_heap_leak *stacks; /* the most bytes first */
    size_t n_stacks;
};

static void finding_done(struct finding *f)
{
    cairn_heap_blocks_free(f->blocks);
    cairn_profile_free(f->profile);
    cairn_heap_free(f->heap);
    cairn_free(f->stacks);
}

static int read_blocks(struct finding *f, struct cairn_err *err)
{
    int code = cairn_heap_read_pid(f->pid, &f->heap, err);
    if (code == CAIRN_OK)
        code = cairn_heap_blocks(f->heap, NULL, &f->profile, &f->blocks, &f->n, err);
    return code < 0 ? code : cli_heap_name(&f->wanted->names, f->pid, f->profile, err);
}

/* Of those of one size the oldest: it will be there when it is looked for. */
static bool is_better(const struct cairn_heap_block_info *a, const struct cairn_heap_block_info *b)
{
    return !b || a->size > b->size || (a->size == b->size && a->age_ns > b->age_ns);
}

/* A function of C++ may be named without its arguments. */
static bool has_function(const struct cairn_profile *profile, uint32_t stack, const char *name)
{
    uint32_t frames[FRAMES_MAX];
    size_t n = cairn_profile_stack(profile, stack, frames, FRAMES_MAX), size = strlen(name);
    for (size_t i = 0; i < n && i < FRAMES_MAX; i++) {
        struct cairn_frame_line line;
        for (uint32_t k = 0; cairn_profile_frame_line(profile, frames[i], k, &line) == CAIRN_OK;
             k++)
            if (strncmp(line.function, name, size) == 0 &&
                (!line.function[size] || line.function[size] == '('))
                return true;
    }
    return false;
}

static int compare_stacks(const void *x, const void *y)
{
    const struct cairn_heap_leak *a = x, *b = y;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static int compare_bytes(const void *x, const void *y)
{
    const struct cairn_heap_leak *a = x, *b = y;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->n_blocks != b->n_blocks ? (a->n_blocks > b->n_blocks ? -1 : 1) : compare_stacks(x, y);
}

static int list_stacks(struct finding *f, struct cairn_err *err)
{
    size_t n = 0;
    f->stacks = cairn_alloc(f->n + 1, sizeof *f->stacks);
    if (!f->stacks)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < f->n; i++)
        f->stacks[i] = (struct cairn_heap_leak){
            .stack = f->blocks[i].stack, .n_blocks = 1, .bytes = f->blocks[i].size};
    qsort(f->stacks, f->n, sizeof *f->stacks, compare_stacks);
    for (size_t i = 0; i < f->n; i++) {
        if (n && f->stacks[n - 1].stack == f->stacks[i].stack) {
            f->stacks[n - 1].n_blocks++;
            f->stacks[n - 1].bytes += f->stacks[i].bytes;
        } else {
            f->stacks[n++] = f->stacks[i];
        }
    }
    f->n_stacks = n;
    if (n)
        qsort(f->stacks, n, sizeof *f->stacks, compare_bytes);
    return CAIRN_OK;
}

/* As cairn heap leaks lists them: without what it leaves out. */
static int find_stack(struct finding *f, uint64_t number, const char **ret_function,
                      uint32_t *ret_stack, struct cairn_err *err)
{
    int code = list_stacks(f, err);
    if (code == CAIRN_OK)
        code = cli_heap_wanted_open(f->wanted, err);
    if (code == CAIRN_OK)
        code = cairn_heap_suppressions_add_programs(f->wanted->suppressions, f->profile, err);
    if (code == CAIRN_OK)
        code =
            cairn_heap_suppress(f->wanted->suppressions, f->profile, f->stacks, &f->n_stacks, err);
    if (code < 0)
        return code;
    if (number == 0 || number > f->n_stacks) {
        cairn_fail(err, CAIRN_E_ARG, "#%llu: process %d has blocks of %zu stacks",
                   (unsigned long long)number, f->pid, f->n_stacks);
        cairn_hint(err, "cairn heap leaks --top 0 %d lists them, the largest first", f->pid);
        return CAIRN_E_ARG;
    }
    *ret_function = NULL;
    *ret_stack = f->stacks[number - 1].stack;
    return CAIRN_OK;
}

static int find_block(struct finding *f, const char *function, uint32_t stack, uint64_t *ret_va,
                      struct cairn_err *err)
{
    const struct cairn_heap_block_info *best = NULL;
    uint32_t asked = UINT32_MAX; /* many blocks of one stack follow each other */
    bool fits = false;
    for (size_t i = 0; i < f->n; i++) {
        if (f->blocks[i].stack != asked) {
            asked = f->blocks[i].stack;
            fits = function ? has_function(f->profile, asked, function) : asked == stack;
        }
        if (fits && is_better(&f->blocks[i], best))
            best = &f->blocks[i];
    }
    if (!best) {
        cairn_fail(err, CAIRN_E_MISSING, "process %d has no live block that %s allocated", f->pid,
                   function ? function : "that stack");
        cairn_hint(err,
                   "it takes an address (0x...), a function as cairn heap leaks %d prints it, "
                   "or #N for the Nth stack there",
                   f->pid);
        return CAIRN_E_MISSING;
    }
    *ret_va = best->va;
    return CAIRN_OK;
}

static bool parse_number(const char *text, int base, uint64_t *ret_number)
{
    char *end;
    errno = 0;
    *ret_number = strtoull(text, &end, base);
    return *text && !*end && errno == 0 && *text != '-' && *text != '+' && *text != ' ';
}

int cli_holds_find(struct cli_heap_wanted *wanted, int pid, const char *what, uint64_t *ret_va,
                   struct cairn_err *err)
{
    struct finding f = {.wanted = wanted, .pid = pid};
    const char *function = what;
    uint64_t number = 0;
    uint32_t stack = 0;
    bool is_address = strncmp(what, "0x", 2) == 0, is_stack = *what == '#';
    if ((is_address && (!parse_number(what + 2, 16, &number) || !number)) ||
        (is_stack && !parse_number(what + 1, 10, &number)))
        return cairn_fail(err, CAIRN_E_ARG, "%s: no %s", what,
                          is_address ? "address of a block" : "number of a stack");
    if (is_address) {
        *ret_va = number;
        return CAIRN_OK;
    }
    int code = read_blocks(&f, err);
    if (code == CAIRN_OK && is_stack)
        code = find_stack(&f, number, &function, &stack, err);
    if (code == CAIRN_OK)
        code = find_block(&f, function, stack, ret_va, err);
    finding_done(&f);
    return code;
}
