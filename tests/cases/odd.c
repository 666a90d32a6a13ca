/* SPDX-License-Identifier: MIT */
/* A name with a semicolon and a blank, which part frames and counts in collapsed stacks. */
int odd(int x) __asm__("odd; name");
__attribute__((noinline)) int odd(int x)
{
    return x + 1;
}
int _start(int x)
{
    return odd(x) + 1;
}
