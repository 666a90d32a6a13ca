/* SPDX-License-Identifier: MIT */
extern volatile int sink;
static __attribute__((noinline)) int same(int x, int k)
{
    sink = sink - x;
    return k + sink;
}
int __attribute__((noinline)) other(int x)
{
    return same(x, 9) + same(x + 1, 9);
}
