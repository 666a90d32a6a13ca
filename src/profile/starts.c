/* SPDX-License-Identifier: MIT */
/* A place is a row on a stack: each stack has as many as its last frame has rows. */
#include "profile/starts.h"

#include "base/alloc.h"

struct finding {
    const struct cairn_profile *p;
    const struct cairn_profile_rows *rows;
    const bool *wanted;
    struct cairn_profile_starts *starts;
    uint32_t *place_of; /* by stack: its innermost row's place */
    bool *is_start;     /* by place */
    int64_t *caused;    /* by place, of innermost ones */
};

static const uint32_t *rows_of(const struct finding *f, uint32_t stack)
{
    return cairn_profile_rows_of(f->rows, f->p, stack);
}

static uint32_t n_of(const struct finding *f, uint32_t stack)
{
    return cairn_profile_n_rows_of(f->rows, f->p, stack);
}

static bool make_places(struct finding *f, size_t *ret_n)
{
    size_t n = 0;
    f->place_of = cairn_alloc(f->p->n_stacks, sizeof *f->place_of);
    f->starts->first = cairn_alloc(f->rows->n + 2, sizeof *f->starts->first);
    if (!f->place_of || !f->starts->first)
        return false;
    for (uint32_t stack = 1; stack < f->p->n_stacks && n <= UINT32_MAX; stack++) {
        f->place_of[stack] = (uint32_t)n;
        n += n_of(f, stack);
    }
    f->is_start = n <= UINT32_MAX ? cairn_alloc(n, sizeof *f->is_start) : NULL;
    *ret_n = n;
    return f->is_start != NULL;
}

static void enter(const struct finding *f, uint32_t stack, uint32_t *times)
{
    for (uint32_t inner = n_of(f, stack); inner-- > 0;) {
        uint32_t row = rows_of(f, stack)[inner];
        f->is_start[f->place_of[stack] + inner] = f->wanted[row] && !times[row];
        times[row]++;
    }
}

static void leave(const struct finding *f, uint32_t stack, uint32_t *times)
{
    for (uint32_t inner = 0; inner < n_of(f, stack); inner++)
        times[rows_of(f, stack)[inner]]--;
}

/* A walk through the tree of stacks. `times`: by row, how often it is on the way to here. */
static void find_outermost(const struct finding *f, const struct cairn_profile_descent *descent,
                           uint32_t *times)
{
    uint32_t at = descent->first_child[0];
    while (at) {
        enter(f, at, times);
        if (descent->first_child[at]) {
            at = descent->first_child[at];
            continue;
        }
        leave(f, at, times);
        while (at && !descent->next_sibling[at]) {
            at = f->p->stacks[at].parent;
            if (at)
                leave(f, at, times);
        }
        at = at ? descent->next_sibling[at] : 0;
    }
}

/* `seen`: the stack that each row was last found on. */
static void find_innermost(const struct finding *f, uint32_t *seen, uint32_t stack, int64_t value)
{
    for (uint32_t at = stack; at; at = f->p->stacks[at].parent) {
        const uint32_t *rows = rows_of(f, at);
        for (uint32_t inner = 0; inner < n_of(f, at); inner++) {
            if (!f->wanted[rows[inner]] || seen[rows[inner]] == stack)
                continue;
            size_t place = f->place_of[at] + inner;
            seen[rows[inner]] = stack;
            f->is_start[place] = true;
            f->caused[place] = cairn_profile_add_clamped(f->caused[place], value);
        }
    }
}

/* The next start from `io` on, which holds a place; false where there is none. */
static bool find_start(const struct finding *f, struct cairn_profile_start *io)
{
    for (; io->stack < f->p->n_stacks; io->stack++, io->inner = 0)
        for (; io->inner < n_of(f, io->stack); io->inner++)
            if (f->is_start[f->place_of[io->stack] + io->inner])
                return true;
    return false;
}

static uint32_t row_of(const struct finding *f, const struct cairn_profile_start *start)
{
    return rows_of(f, start->stack)[start->inner];
}

/* Counted first, two rows further on; what each row is filled up to is where the next begins. */
static bool sort_by_row(struct finding *f)
{
    size_t *first = f->starts->first;
    for (struct cairn_profile_start at = {1, 0}; find_start(f, &at); at.inner++)
        first[row_of(f, &at) + 2]++;
    for (size_t row = 0; row < f->rows->n; row++)
        first[row + 2] += first[row + 1];
    size_t n = first[f->rows->n + 1];
    f->starts->items = cairn_alloc(n, sizeof *f->starts->items);
    f->starts->caused = f->caused ? cairn_alloc(n, sizeof *f->starts->caused) : NULL;
    if (!f->starts->items || (f->caused && !f->starts->caused))
        return false;
    for (struct cairn_profile_start at = {1, 0}; find_start(f, &at); at.inner++) {
        size_t item = first[row_of(f, &at) + 1]++;
        f->starts->items[item] = at;
        if (f->caused)
            f->starts->caused[item] = f->caused[f->place_of[at.stack] + at.inner];
    }
    return true;
}

static bool finish(struct finding *f, bool ok, struct cairn_profile_starts *ret_starts)
{
    ok = ok && sort_by_row(f);
    cairn_free(f->place_of);
    cairn_free(f->is_start);
    cairn_free(f->caused);
    if (ok)
        *ret_starts = *f->starts;
    else
        cairn_profile_starts_done(f->starts);
    return ok;
}

bool cairn_profile_starts_outermost(const struct cairn_profile *p,
                                    const struct cairn_profile_rows *rows,
                                    const struct cairn_profile_descent *descent, const bool *wanted,
                                    struct cairn_profile_starts *ret_starts)
{
    struct cairn_profile_starts starts = {0};
    struct finding f = {.p = p, .rows = rows, .wanted = wanted, .starts = &starts};
    uint32_t *times = cairn_alloc(rows->n, sizeof *times);
    size_t n_places;
    bool ok = times && make_places(&f, &n_places);
    if (ok)
        find_outermost(&f, descent, times);
    cairn_free(times);
    return finish(&f, ok, ret_starts);
}

bool cairn_profile_starts_innermost(const struct cairn_profile *p,
                                    const struct cairn_profile_rows *rows,
                                    const struct cairn_profile_sums *sums, const bool *wanted,
                                    struct cairn_profile_starts *ret_starts)
{
    struct cairn_profile_starts starts = {0};
    struct finding f = {.p = p, .rows = rows, .wanted = wanted, .starts = &starts};
    uint32_t *seen = cairn_alloc(rows->n, sizeof *seen);
    size_t n_places = 0;
    bool ok = seen && make_places(&f, &n_places);
    f.caused = ok ? cairn_alloc(n_places, sizeof *f.caused) : NULL;
    ok = f.caused != NULL;
    for (uint32_t stack = 1; ok && stack < p->n_stacks; stack++)
        if (sums->used[stack])
            find_innermost(&f, seen, stack, sums->by_stack[stack]);
    cairn_free(seen);
    return finish(&f, ok, ret_starts);
}

void cairn_profile_starts_done(struct cairn_profile_starts *starts)
{
    cairn_free(starts->items);
    cairn_free(starts->first);
    cairn_free(starts->caused);
    *starts = (struct cairn_profile_starts){0};
}
