/* SPDX-License-Identifier: MIT */
/* A copy of a stack as the space of a cursor: the bytes, and the files that were mapped. */
#include "base/alloc.h"
#include "base/error.h"
#include "target/target.h"
#include "unwind/space.h"

struct stack_target {
    struct cairn_target target; /* first: the accessors cast */
    struct cairn_unwind_stack stack;
};

static int accessor_read(void *ctx, uint64_t va, void *to, size_t size)
{
    struct stack_target *s = ctx;
    const struct cairn_span copy = {s->stack.bytes, s->stack.size};
    struct cairn_span bytes;
    if (va >= s->stack.va && cairn_span_slice(copy, va - s->stack.va, size, &bytes)) {
        memcpy(to, bytes.data, size);
        return 0;
    }
    return !cairn_target_read_file(&s->target, va, to, size);
}

static int accessor_find(void *ctx, uint64_t va, struct cairn_unwind_region *ret_region)
{
    struct stack_target *s = ctx;
    return cairn_target_find(&s->target, va, ret_region);
}

static bool next_code(void *ctx, uint64_t va, uint64_t *ret_va)
{
    const struct stack_target *t = ctx;
    return cairn_target_next_code(&t->target, va, ret_va);
}

static void done(void *ctx)
{
    struct stack_target *s = ctx;
    cairn_target_done(&s->target);
    cairn_free(s);
}

int cairn_unwind_space_open_stack(const struct cairn_unwind_stack *stack,
                                  const struct cairn_maps *maps,
                                  const struct cairn_unwind_opts *opts,
                                  struct cairn_unwind_space **ret_space, struct cairn_err *err)
{
    static const struct cairn_space_kind kind = {.done = done, .next_code = next_code};
    if (stack->size > UINT64_MAX - stack->va)
        return cairn_fail(err, CAIRN_E_ARG, "a stack that ends beyond the address space");
    struct stack_target *s = cairn_alloc(1, sizeof *s);
    if (!s)
        return cairn_fail_memory(err);
    s->stack = *stack;
    const struct cairn_unwind_accessors accessors = {
        .size = sizeof accessors,
        .ctx = s,
        .read = accessor_read,
        .find = accessor_find,
    };
    int code = cairn_target_init(&s->target, opts, NULL, err);
    if (code == CAIRN_OK)
        code = cairn_target_add_maps(&s->target, maps, err);
    if (code == CAIRN_OK) {
        cairn_target_sort(&s->target);
        code = cairn_space_make(&accessors, &kind, ret_space, err);
    }
    if (code < 0)
        done(s);
    return code;
}
