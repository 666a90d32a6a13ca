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
    const struct cli_holds_target *target;
    struct cairn_heap *heap;
    struct cairn_profile *profile;
    struct cairn_heap_block_info *blocks;
    size_t n;
    struct cairn_heap_leak *stacks; /* the most bytes first */
    size_t n_stacks;
};

/* What a message calls it, and what other commands take for it. */
static const char *target_text(const struct finding *f)
{
    return cli_heap_target_text(f->target->pid, f->target->core);
}

static const char *input_text(const struct finding *f)
{
    const char *text = target_text(f), *blank = f->target->core ? NULL : strchr(text, ' ');
    return blank ? blank + 1 : text;
}

static void finding_done(struct finding *f)
{
    cairn_heap_blocks_free(f->blocks);
    cairn_profile_free(f->profile);
    cairn_heap_free(f->heap);
    cairn_free(f->stacks);
}

static int read_blocks(struct finding *f, struct cairn_err *err)
{
    const char *core = f->target->core;
    int code = core ? cairn_heap_read_file(core, &f->heap, err)
                    : cairn_heap_read_pid(f->target->pid, &f->heap, err);
    if (code == CAIRN_OK)
        code = cairn_heap_blocks(f->heap, NULL, &f->profile, &f->blocks, &f->n, err);
    return code < 0 ? code : cli_heap_name(&f->wanted->names, f->target->pid, f->profile, err);
}

/* Of those of one size the oldest: it will be there when it is looked for. */
static int compare_blocks(const void *x, const void *y)
{
    const struct cairn_heap_block_info *a = x, *b = y;
    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    if (a->age_ns != b->age_ns)
        return a->age_ns > b->age_ns ? -1 : 1;
    return a->va < b->va ? -1 : a->va > b->va;
}

/* A function of C++ may be named without its arguments, and a class of a core file ("[Tree, 24
 * bytes]") without the size of its objects. */
static bool has_name(const char *function, const char *name, size_t size)
{
    bool is_kind = *function == '[' && *name != '[';
    function += is_kind;
    return strncmp(function, name, size) == 0 &&
           (!function[size] || function[size] == '(' || (is_kind && strchr(",]", function[size])));
}

static bool has_function(const struct cairn_profile *profile, uint32_t stack, const char *name)
{
    uint32_t frames[FRAMES_MAX];
    size_t n = cairn_profile_stack(profile, stack, frames, FRAMES_MAX), size = strlen(name);
    for (size_t i = 0; i < n && i < FRAMES_MAX; i++) {
        struct cairn_frame_line line;
        for (uint32_t k = 0; cairn_profile_frame_line(profile, frames[i], k, &line) == CAIRN_OK;
             k++)
            if (has_name(line.function, name, size))
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
        cairn_fail(err, CAIRN_E_ARG, "#%llu: %s has blocks of %zu stacks",
                   (unsigned long long)number, target_text(f), f->n_stacks);
        cairn_hint(err, "cairn heap leaks --top 0 %s lists them, the largest first", input_text(f));
        return CAIRN_E_ARG;
    }
    *ret_function = NULL;
    *ret_stack = f->stacks[number - 1].stack;
    return CAIRN_OK;
}

/* Does the stack fit? Asked once of each. */
struct fitting {
    const char *function; /* NULL: the stack is asked for by number */
    uint32_t stack;
    uint8_t *answers; /* by stack; 0: not asked yet */
};

static bool fits(const struct finding *f, struct fitting *fitting, uint32_t stack)
{
    enum { NOT_ASKED, NO, YES };
    uint8_t *answer = &fitting->answers[stack];
    if (*answer == NOT_ASKED) {
        bool does = fitting->function ? has_function(f->profile, stack, fitting->function)
                                      : stack == fitting->stack;
        *answer = does ? YES : NO;
    }
    return *answer == YES;
}

static int fail_to_find(const struct finding *f, const char *function, struct cairn_err *err)
{
    cairn_fail(err, CAIRN_E_MISSING, "%s has no live block that %s allocated", target_text(f),
               function ? function : "that stack");
    cairn_hint(err,
               "it takes an address (0x...), a function as cairn heap leaks %s prints it, or #N "
               "for the Nth stack there",
               input_text(f));
    return CAIRN_E_MISSING;
}

/* The blocks that fit, the largest first. */
static int list_blocks(struct finding *f, struct fitting *fitting, uint64_t **ret_vas,
                       size_t *ret_n, struct cairn_err *err)
{
    uint32_t n_stacks = 0;
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++)
        n_stacks = f->blocks[i].stack >= n_stacks ? f->blocks[i].stack + 1 : n_stacks;
    fitting->answers = cairn_alloc((size_t)n_stacks + 1, sizeof *fitting->answers);
    if (!fitting->answers)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < f->n; i++)
        if (fits(f, fitting, f->blocks[i].stack))
            f->blocks[n++] = f->blocks[i];
    cairn_free(fitting->answers);
    if (!n)
        return fail_to_find(f, fitting->function, err);
    qsort(f->blocks, n, sizeof *f->blocks, compare_blocks);
    *ret_vas = cairn_alloc(n, sizeof **ret_vas);
    if (!*ret_vas)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < n; i++)
        (*ret_vas)[i] = f->blocks[i].va;
    *ret_n = n;
    return CAIRN_OK;
}

static bool parse_number(const char *text, int base, uint64_t *ret_number)
{
    char *end;
    errno = 0;
    *ret_number = strtoull(text, &end, base);
    return *text && !*end && errno == 0 && *text != '-' && *text != '+' && *text != ' ';
}

static int find_by_name(struct cli_heap_wanted *wanted, const struct cli_holds_target *target,
                        const char *what, uint64_t **ret_vas, size_t *ret_n, struct cairn_err *err)
{
    struct finding f = {.wanted = wanted, .target = target};
    struct fitting fitting = {.function = what};
    uint64_t number = 0;
    if (*what == '#' && !parse_number(what + 1, 10, &number))
        return cairn_fail(err, CAIRN_E_ARG, "%s: no number of a stack", what);
    int code = read_blocks(&f, err);
    if (code == CAIRN_OK && *what == '#')
        code = find_stack(&f, number, &fitting.function, &fitting.stack, err);
    if (code == CAIRN_OK)
        code = list_blocks(&f, &fitting, ret_vas, ret_n, err);
    finding_done(&f);
    return code;
}

int cli_holds_find(struct cli_heap_wanted *wanted, const struct cli_holds_target *target,
                   const char *what, uint64_t **ret_vas, size_t *ret_n, struct cairn_err *err)
{
    uint64_t va;
    if (strncmp(what, "0x", 2) != 0)
        return find_by_name(wanted, target, what, ret_vas, ret_n, err);
    if (!parse_number(what + 2, 16, &va) || !va)
        return cairn_fail(err, CAIRN_E_ARG, "%s: no address of a block", what);
    *ret_vas = cairn_alloc(1, sizeof **ret_vas);
    if (!*ret_vas)
        return cairn_fail_memory(err);
    **ret_vas = va;
    *ret_n = 1;
    return CAIRN_OK;
}
