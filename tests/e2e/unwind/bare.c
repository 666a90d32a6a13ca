/* SPDX-License-Identifier: MIT */
/* unwind_bare: a program without any tables of its own, but with frame pointers, walks its whole
 * stack: what crt1.o and the linker say of theirs is no reason not to believe them. */
#include <stdio.h>

#include <cairn/unwind.h>

static volatile int done;

__attribute__((noinline)) static int walk(int depth)
{
    if (depth > 0)
        return walk(depth - 1) + ++done;
    uintptr_t ips[64];
    uint8_t how[64];
    struct cairn_unwind_info info = {.size = sizeof info, .how = how};
    size_t n = cairn_unwind_here(ips, 64, &info);
    printf("%zu frames, %u guessed, %s\n", n, info.n_guessed, cairn_unwind_end_text(info.end));
    done = 1;
    return info.end == CAIRN_END_OUTERMOST && n >= 12 && info.n_guessed >= 10 ? 0 : -1000;
}

int main(void)
{
    return walk(10) < 0;
}
