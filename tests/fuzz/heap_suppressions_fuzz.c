/* SPDX-License-Identifier: MIT */
/* A file of suppressions, then NUL, then what stands for the name of a function. */
#include <string.h>

#include "profile/profile.h"
#include "watch/heap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cairn_profile *profile_of(struct cairn_span name, uint32_t *ret_stack)
{
    struct cairn_profile *p;
    if (cairn_profile_new(&p, NULL) < 0)
        return NULL;
    const struct cairn_profile_function function = {
        .name = cairn_profile_text(p, (const char *)name.data, name.size)};
    const struct cairn_profile_line line = {.function = cairn_profile_add_function(p, &function)};
    const struct cairn_profile_frame frame = {.address = 1};
    *ret_stack = cairn_profile_add_stack(p, 0, cairn_profile_add_frame(p, &frame, &line, 1));
    return p;
}

static void use(struct cairn_heap_suppressions *s, struct cairn_span name)
{
    struct cairn_heap_leak leak = {.n_blocks = 1, .bytes = 1};
    struct cairn_heap_suppressed counts = {.size = sizeof counts};
    struct cairn_profile *p = profile_of(name, &leak.stack);
    size_t n = 1;
    uint64_t n_met = 0;
    if (!p)
        return;
    if (cairn_heap_suppress(s, p, &leak, &n, NULL) == CAIRN_OK) {
        for (size_t i = 0; cairn_heap_suppressed(s, i, &counts); i++)
            n_met += counts.n_stacks;
        if (n + n_met != 1)
            __builtin_trap();
    }
    cairn_profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    size_t n = end ? (size_t)(end - data) : size;
    struct cairn_heap_suppressions *s;
    if (cairn_heap_suppressions_parse((struct cairn_span){data, n}, &s, NULL) < 0)
        return 0;
    use(s, end ? (struct cairn_span){end + 1, size - n - 1} : (struct cairn_span){data, 0});
    cairn_heap_suppressions_free(s);
    return 0;
}
