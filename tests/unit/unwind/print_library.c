/* SPDX-License-Identifier: MIT */
/* What print_test.c opens and then deletes. */
typedef void print_fn(int fd);

__attribute__((visibility("default"))) void print_library_call(print_fn *run, int fd);

static volatile int kept;

/* Named in .symtab alone. */
__attribute__((noinline)) static void in_library(print_fn *run, int fd)
{
    run(fd);
    kept++;
}

void print_library_call(print_fn *run, int fd)
{
    in_library(run, fd);
    kept++;
}
