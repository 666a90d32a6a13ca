/* SPDX-License-Identifier: MIT */
/* Stacks as text: of a caller, of a crash on a full stack, and what names may do to the text. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "rt/self.h"
#include "support/apart.h"
#include "support/test.h"
#include "unwind/print_symbol.h"

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

APART static void print_from_here(int fd)
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
    assert_contains(end + 1, "/libc");
    assert_null(strstr(end + 1, "the stack ends here"));
}

static int crash_fd;

static void on_crash(int number, siginfo_t *info, void *ucontext)
{
    (void)info;
    cairn_unwind_print_context(crash_fd, ucontext);
    raise(number);
}

APART static int overflow(volatile int depth)
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

APART static void run_overflow(int fd)
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
    assert_contains(text, "the stack ends here: deeper than the frame limit\n");
}

APART static void run_wild(int fd)
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

typedef void library_fn(void (*run)(int), int fd);

/* A library of which only the kernel and memory know, with a name that would do something to a
 * terminal, and begin a line. */
static char library_path[64];

static void copy_file(const char *from, const char *to)
{
    char bytes[4096];
    ssize_t n;
    unlink(to);
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0700);
    while ((n = read(in, bytes, sizeof bytes)) > 0)
        if (write(out, bytes, (size_t)n) != n)
            _exit(2);
    if (in < 0 || out < 0)
        _exit(3);
    close(in);
    close(out);
}

static void call_library(int fd)
{
    void *library = dlopen(library_path, RTLD_NOW);
    library_fn *call = library ? (library_fn *)dlsym(library, "print_library_call") : NULL;
    if (!call)
        _exit(4);
    unlink(library_path);
    call(print_from_here, fd);
}

static void call_deleted(int fd)
{
    snprintf(library_path, sizeof library_path, "/tmp/cairn-print-\x1b[31m\n#9.%d", getpid());
    copy_file(PRINT_LIBRARY, library_path);
    call_library(fd);
}

static void a_library_that_was_deleted_keeps_its_names(void **state)
{
    (void)state;
    int status;
    char *text = text_of(call_deleted, &status);
    assert_int_equal(status, 0);
    assert_contains(text, " print_library_call+0x");
    assert_contains(text, " (/tmp/cairn-print-\\x1b[31m");
    assert_null(strchr(text, '\x1b'));
    assert_null(strstr(text, "\n#9."));
}

static void what_is_mapped_exports_names(void **state)
{
    (void)state;
    static struct cairn_print_symbol symbol;
    void *library = dlopen(PRINT_LIBRARY, RTLD_NOW);
    assert_non_null(library);
    uintptr_t va = (uintptr_t)dlsym(library, "print_library_call");
    Dl_info info;
    assert_int_not_equal(dladdr((void *)va, &info), 0);
    uintptr_t image = (uintptr_t)info.dli_fbase;
    cairn_print_symbol_in_memory(image, va, va, &symbol);
    assert_string_equal(symbol.name, "print_library_call");
    assert_int_equal(symbol.off, va & 1); /* Thumb */
    assert_true(symbol.has_rel);
    assert_int_equal(symbol.rel, va - image);
    cairn_print_symbol_in_memory(image, image + 1, image + 1, &symbol);
    assert_string_equal(symbol.name, "");
    cairn_print_symbol_in_memory(image + 4096, va, va, &symbol);
    assert_false(symbol.has_rel);
    cairn_print_symbol_in_memory((uintptr_t)dlsym(RTLD_DEFAULT, "qsort"), va, va, &symbol);
    assert_false(symbol.has_rel);
    dlclose(library);
}

static int note_segments(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    uintptr_t *range = ctx;
    if (info->dlpi_addr != range[0])
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && p->p_vaddr + p->p_memsz > range[1])
            range[1] = p->p_vaddr + p->p_memsz;
    }
    return 1;
}

/* The image, its pointers to itself made vaddrs again, as they are in the file. */
static uintptr_t *copy_image(uintptr_t image, size_t bytes)
{
    uintptr_t *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t at = 0; at < bytes; at += 4096)
        if (!cairn_self_read(image + at, (char *)copy + at, 4096))
            memset((char *)copy + at, 0, 4096); /* between segments */
    for (size_t i = 0; i < bytes / sizeof *copy; i++)
        if (copy[i] - image < bytes)
            copy[i] -= image;
    return copy;
}

static void damaged_images_have_other_names_or_none(void **state)
{
    (void)state;
    static struct cairn_print_symbol symbol;
    static const uintptr_t wrong[] = {0, 1, UINTPTR_MAX, UINTPTR_MAX / 2, 0xfff, 0xffff0000};
    void *library = dlopen(PRINT_LIBRARY, RTLD_NOW);
    Dl_info info;
    assert_non_null(library);
    uintptr_t va = (uintptr_t)dlsym(library, "print_library_call");
    assert_int_not_equal(dladdr((void *)va, &info), 0);
    uintptr_t range[2] = {(uintptr_t)info.dli_fbase, 0};
    assert_int_equal(dl_iterate_phdr(note_segments, range), 1);
    size_t bytes = (range[1] + 4095) & ~(size_t)4095;
    uintptr_t *copy = copy_image(range[0], bytes);
    va += (uintptr_t)copy - range[0];
    cairn_print_symbol_in_memory((uintptr_t)copy, va, va, &symbol);
    assert_string_equal(symbol.name, "print_library_call");
    unsigned n = 0, n_other = 0;
    for (size_t i = 0; i < bytes / sizeof *copy; i++) {
        uintptr_t before = copy[i];
        for (size_t k = 0; before && k < sizeof wrong / sizeof *wrong; k++, n++) {
            copy[i] = wrong[k];
            cairn_print_symbol_in_memory((uintptr_t)copy, va, va, &symbol);
            assert_true(strnlen(symbol.name, sizeof symbol.name) < sizeof symbol.name);
            n_other += strcmp(symbol.name, "print_library_call") != 0;
        }
        copy[i] = before;
    }
    assert_true(n > 1000);
    assert_in_range(n_other, 50, n / 2);
    munmap(copy, bytes);
    dlclose(library);
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
        cmocka_unit_test(a_library_that_was_deleted_keeps_its_names),
        cmocka_unit_test(what_is_mapped_exports_names),
        cmocka_unit_test(damaged_images_have_other_names_or_none),
        cmocka_unit_test(lines_of_maps_are_taken_or_passed_over),
        cmocka_unit_test(a_closed_descriptor_loses_the_text_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
