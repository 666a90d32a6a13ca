/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target as a plain test: NAME_fuzz CORPUS_FOLDER, or NAME_fuzz FILE... for single
 * inputs without change.
 *
 * Every file of the corpus is given as it is, then truncated, then with one byte after the other
 * changed (all bits, single bits, zero). Large files are cut and changed at evenly spread places,
 * with CAIRN_FULL in the environment (`./run test --full`) at more of them, and more bits of small
 * files. Always the same inputs in the same order. Each lies in a block of its own of exactly its
 * size, so that a sanitizer sees the first byte read beyond it; an input that takes longer than
 * SECONDS_EACH is a hang, and without sanitizers the address space is capped, so that memory
 * without bound is a failure too. The input that broke the target is kept as a file.
 */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/sanitized.h"

enum {
    SECONDS_EACH = 10,
    LARGEST = 16 * 1024 * 1024, /* a corpus holds small files */
};
/* Up to `small` bytes every single bit of every byte is flipped. From `big` bytes on, places are a
 * sample of about `places`. */
static const struct sampled {
    size_t small, big, places;
} PLAIN = {256, 1024, 512}, FULL = {1024, 16384, 4096};
static struct sampled sampled;
static const rlim_t MAX_MEMORY = (rlim_t)2 << 30;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

/* What is running now, for the report of a crash. */
static struct {
    const char *file, *change;
    size_t place, size;
    const uint8_t *data;
    const char *target;
} now;
static unsigned long n_runs;

/* Writes the input that was running to a file. Called from signal handlers too: at this point the
 * process is lost, and the worst that stdio can do is to hide a report that would not exist. */
static void report_death(void)
{
    char path[256];
    snprintf(path, sizeof path, "/tmp/cairn-crash-%s-%ld", now.target, (long)getpid());
    FILE *f = now.data ? fopen(path, "wb") : NULL;
    if (f) {
        fwrite(now.data, 1, now.size, f);
        fclose(f);
    }
    fprintf(stderr, "\n%s: broken by %s, %s at 0x%zx; the input is kept: %s\n", now.target,
            now.file ? now.file : "?", now.change ? now.change : "?", now.place, path);
}

static void on_signal(int number)
{
    signal(number, SIG_DFL);
    if (number == SIGALRM)
        fprintf(stderr, "\n%s: no answer after %d seconds", now.target, SECONDS_EACH);
    report_death();
    if (number == SIGALRM)
        _exit(1);
    raise(number);
}

static void run_one(const char *change, size_t place, const uint8_t *bytes, size_t size,
                    int at_place)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) {
        fprintf(stderr, "%s: out of memory for an input of %zu bytes\n", now.target, size);
        exit(1);
    }
    if (size)
        memcpy(copy, bytes, size);
    if (at_place >= 0)
        copy[place] = (uint8_t)at_place;
    now.change = change;
    now.place = place;
    now.data = copy;
    now.size = size;
    alarm(SECONDS_EACH);
    LLVMFuzzerTestOneInput(copy, size);
    alarm(0);
    now.data = NULL;
    free(copy);
    n_runs++;
}

static void flip(const uint8_t *bytes, size_t size, size_t i)
{
    run_one("all bits flipped", i, bytes, size, bytes[i] ^ 0xff);
    if (bytes[i])
        run_one("zeroed", i, bytes, size, 0);
    for (unsigned bit = 0; bit < 8; bit++)
        if (size <= sampled.small || bit == i % 8)
            run_one("a bit flipped", i, bytes, size, bytes[i] ^ (1 << bit));
}

static uint8_t *read_input(const char *path, size_t *ret_size)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f || fstat(fileno(f), &st) < 0 || st.st_size > LARGEST) {
        fprintf(stderr, "%s: cannot be read, or is larger than %d bytes\n", path, LARGEST);
        exit(1);
    }
    size_t size = (size_t)st.st_size;
    uint8_t *bytes = malloc(size ? size : 1);
    if (!bytes || fread(bytes, 1, size, f) != size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    fclose(f);
    *ret_size = size;
    return bytes;
}

/* Odd, so that each byte of an aligned word has its turn. */
static size_t step_of(size_t size)
{
    return size <= sampled.big ? 1 : size / sampled.places | 1;
}

static void run_file(const char *path, int changed)
{
    size_t size;
    uint8_t *bytes = read_input(path, &size);
    size_t step = step_of(size);
    now.file = path;
    run_one("whole", 0, bytes, size, -1);
    for (size_t cut = 0; changed && cut < size; cut += step)
        run_one("cut", cut, bytes, cut, -1);
    for (size_t i = 0; changed && i < size; i += step)
        flip(bytes, size, i);
    free(bytes);
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int run_folder(const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, is_input, alphasort);
    if (n <= 0) {
        fprintf(stderr, "%s: no corpus there\n", folder);
        return 1;
    }
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        run_file(path, 1);
        free(entries[i]);
    }
    free(entries);
    printf("%d files, %lu inputs\n", n, n_runs);
    return 0;
}

static void guard(void)
{
    signal(SIGALRM, on_signal);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(report_death);
    if (UNDER_ASAN || UNDER_TSAN)
        return;
    static const int deaths[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof deaths / sizeof *deaths; i++)
        signal(deaths[i], on_signal);
    struct rlimit limit = {MAX_MEMORY, MAX_MEMORY};
    setrlimit(RLIMIT_AS, &limit);
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    now.target = slash ? slash + 1 : argv[0];
    if (argc < 2) {
        fprintf(stderr, "usage: %s CORPUS_FOLDER | FILE...\n", now.target);
        return 2;
    }
    guard();
    sampled = getenv("CAIRN_FULL") ? FULL : PLAIN;
    if (LLVMFuzzerInitialize)
        LLVMFuzzerInitialize(&argc, &argv);
    struct stat st;
    if (argc == 2 && stat(argv[1], &st) == 0 && S_ISDIR(st.st_mode))
        return run_folder(argv[1]);
    for (int i = 1; i < argc; i++)
        run_file(argv[i], 0);
    return 0;
}
