/* SPDX-License-Identifier: MIT */
/*
 * Functions and system calls that fail, three times each, for cairn trace. The upper half of the
 * register of an int is what a compiler left there: zeros, or, of dirty(), rubbish.
 */
#include <fcntl.h>
#include <unistd.h>

#define PLACE __attribute__((noinline, noclone))

PLACE int minus_one(void)
{
    __asm__ volatile("");
    return -1;
}

/* Declared as the caller sees it: an int. */
PLACE long dirty(void)
{
    return 0x7700000000 | 0xfffffffeL;
}

PLACE long wide(void)
{
    __asm__ volatile("");
    return -3;
}

/* close(999) by the table of 32-bit programs, which some kernels lack. */
static void close_32(void)
{
#ifdef __x86_64__
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(6L), "b"(999L) : "memory");
#endif
}

int main(int argc, char **argv)
{
    long sum = 0;
    (void)argv;
    for (int i = 0; i < 3; i++) {
        sum += minus_one() + dirty() + wide();
        sum += close(-1) + open("/no/such/file", O_RDONLY) + (access("/", F_OK) == 0);
    }
    if (argc > 1)
        close_32();
    return sum == 0;
}
