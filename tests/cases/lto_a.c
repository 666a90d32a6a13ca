/* SPDX-License-Identifier: MIT */
/* Link-time optimisation gives one of two local functions of a name another one, in DWARF too. */
int other(int x);
volatile int sink;
static __attribute__((noinline)) int same(int x, int k)
{
    sink = sink + x;
    return k * sink; /* 8 */
}
int _start(int x)
{
    return same(x, 7) + same(x + 1, 7) + other(x);
}
