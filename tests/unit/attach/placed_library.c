/* SPDX-License-Identifier: MIT */
/* A library to be placed by hand: no libc, no constructor that may run, no TLS. It has data and
 * zeros, pointers to both, and asks for two functions of the program. */
#define EXPORT __attribute__((visibility("default")))

EXPORT int cairn_placed_present(int number);
EXPORT __attribute__((weak)) int cairn_placed_absent(int number);

static int numbers[3000] = {1, 2, 39};
static int zeros[40000];
static int *const pointers[] = {&numbers[0], &numbers[2999], &zeros[39999]};
int *cairn_placed_pointer = &numbers[2];

__attribute__((constructor)) static void not_run(void)
{
    __asm__ volatile("" ::: "memory"); /* no compiler runs it beforehand */
    zeros[0] = 1000;
}

/* 42 where all is in its place and the constructor did not run. */
EXPORT int cairn_placed_entry(void *arg);
int cairn_placed_entry(void *arg)
{
    int sum = zeros[0] + *cairn_placed_pointer + *pointers[0] + *pointers[1] + *pointers[2];
    *pointers[2] += 1;
    if (cairn_placed_absent)
        sum += 100;
    *(int *)arg += cairn_placed_present(sum);
    return *pointers[2];
}
