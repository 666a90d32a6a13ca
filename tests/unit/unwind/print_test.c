/* SPDX-License-Identifier: MIT */
/* Stacks as text: of a caller, of a crash on a full stack, and what names may do to the text. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "support/test.h"
#include "unwind/print_maps.h"

/* What is written by `run`, which gets the descriptor; in a child, whose end is put into `status`.
 */
static char *text_of(void (*run)(int), int *ret_status)
{
    static char text[1 << 18];
    int ends[2];
    size_t n = 0;
    ssize_t got;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        run(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    while ((got = read(ends[0], text + n, sizeof text - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, ret_status, 0), child);
    return text;
}

__attribute__((noinline)) static void print_from_here(int fd)
{
    errno = ENOENT;
    if (cairn_unwind_print(fd) < 3 || errno != ENOENT)
        _exit(1);
}

static void the_caller_is_the_first_line_with_its_static_name(void **state)
{
    (void)state;
    int status;
    char *text = text_of(print_from_here, &status);
    assert_int_equal(status, 0);
    if (strncmp(text, "#0    0x", 8) != 0)
        fail_msg("%s", text);
    char *end = strchr(text, '\n');
    assert_non_null(end);
    *end = 0;
    assert_contains(text, " print_from_here+0x");
    assert_contains(text, "unwind_print_test+0x");
    assert_contains(end + 1, " the_caller_is_the_first_line_with_its_static_name+0x");
    if (sizeof(void *) == 4 && strstr(end + 1, "libcmocka"))
        return; /* Debian's for arm has no tables, and the stack ends there */
    assert_contains(end + 1, " main+0x");
    assert_contains(end + 1, "libc.so");
    assert_null(strstr(end + 1, "the stack ends here"));
}

static int crash_fd;

static void on_crash(int number, siginfo_t *info, void *ucontext)
{
    (void)info;
    cairn_unwind_print_context(crash_fd, ucontext);
    raise(number);
}

__attribute__((noinline)) static int overflow(volatile int depth)
{
    return depth < 0 ? 0 : overflow(depth + 1) + depth;
}

static void crash_by(int fd, int signal_number, size_t stack_bytes)
{
    static char stack[1 << 16];
    stack_t alternative = {.ss_sp = stack, .ss_size = stack_bytes};
    struct sigaction action = {.sa_sigaction = on_crash,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
    crash_fd = fd;
    sigaltstack(&alternative, NULL);
    sigaction(signal_number, &action, NULL);
}

__attribute__((noinline)) static void run_overflow(int fd)
{
    crash_by(fd, SIGSEGV, 1 << 14);
    _exit(overflow(0));
}

static void a_stack_overflow_is_told_from_the_other_stack(void **state)
{
    (void)state;
    int status;
    char *text = text_of(run_overflow, &status);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV) /* a sanitizer ends it otherwise */
        fail_msg("status %x: %s", status, text);
    assert_contains(text, "#0    0x");
    assert_contains(text, " overflow+0x");
    assert_contains(text, "\n#1023 0x");
    assert_contains(text, "the stack ends here: frame limit\n");
}

__attribute__((noinline)) static void run_wild(int fd)
{
    crash_by(fd, SIGSEGV, 1 << 16);
    ((void (*volatile)(void))(uintptr_t)4096)();
}

/* The jump itself has no caller by any table; where the call put its return address is a guess. */
static void a_wild_jump_is_told_with_where_it_went(void **state)
{
    (void)state;
    int status;
    char *text = text_of(run_wild, &status);
    assert_true(WIFSIGNALED(status));
    assert_contains(text, "1000 (in no mapping)\n");
}

static void lines_of_maps_are_taken_or_passed_over(void **state)
{
    (void)state;
    static const uintptr_t vas[] = {0x1000, 0x2fff, 0x5000};
    static struct cairn_print_maps maps;
    static const char *const lines[] = {
        "1000-2000 r-xp 00000400 fd:01 77      /usr/lib/a b",
        "2000-3000 r--p 00000000 00:00 0 ",
        "3000-4000 r-xp 00000000 fd:01 78      /not/asked",
        "5000-6000",
        "5000-6000 r-xp zz",
        "5000",
        "",
        "5000-6000 r-xp 00000000 fd-01 1 /x",
    };
    memset(&maps, 0, sizeof maps);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        cairn_print_maps_add(&maps, lines[i], vas, 3);
    assert_int_equal(maps.n, 2);
    assert_int_equal(maps.maps[0].from, 0x1000);
    assert_int_equal(maps.maps[0].off, 0x400);
    assert_int_equal(maps.maps[0].inode, 77);
    assert_string_equal(maps.paths + maps.maps[0].path, "/usr/lib/a b");
    assert_string_equal(maps.paths + maps.maps[1].path, "");
    assert_null(cairn_print_maps_find(&maps, 0x5000));
    assert_ptr_equal(cairn_print_maps_find(&maps, 0x2fff), &maps.maps[1]);
    for (int i = 0; i < CAIRN_PRINT_MAPS; i++)
        cairn_print_maps_add(&maps, lines[0], vas, 3);
    assert_int_equal(maps.n, CAIRN_PRINT_MAPS);
}

static void a_closed_descriptor_loses_the_text_alone(void **state)
{
    (void)state;
    assert_true(cairn_unwind_print(-1) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_caller_is_the_first_line_with_its_static_name),
        cmocka_unit_test(a_stack_overflow_is_told_from_the_other_stack),
        cmocka_unit_test(a_wild_jump_is_told_with_where_it_went),
        cmocka_unit_test(lines_of_maps_are_taken_or_passed_over),
        cmocka_unit_test(a_closed_descriptor_loses_the_text_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
