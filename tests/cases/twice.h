/* SPDX-License-Identifier: MIT */
template <int n> __attribute__((noinline)) int twice(int x)
{
    return x * n + (x >> 3);
}
/* Described in every unit that includes this: dwz moves it into a partial unit. */
struct Shared {
    int values[8];
    long first, second;
    unsigned flags;
    Shared *next, *previous;
    enum Kind { small, middle, large } kind;
    struct Inner {
        char name[16];
        short depth, width, height;
    } inner;
    __attribute__((always_inline)) int sum(int x) const
    {
        __asm__ volatile("mark_shared: nop"); // 19
        return values[x & 7] + (int)flags + inner.depth;
    }
};
