/* SPDX-License-Identifier: MIT */
/*
 * Catches its own stack and writes what `cairn resolve` is given: STEM.ips (addresses), STEM.rel
 * (module+0xoff as dladdr() counts) and STEM.maps. The stack ends main;outer;middle;inner, where
 * middle is inlined into outer; all are return addresses.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_MAX = 32 };

static FILE *open_beside(const char *stem, const char *ending)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.%s", stem, ending);
    FILE *file = fopen(path, "w");
    if (!file)
        exit(1);
    return file;
}

static void copy_maps(const char *stem)
{
    FILE *from = fopen("/proc/self/maps", "r"), *to = open_beside(stem, "maps");
    for (int c; from && (c = getc(from)) != EOF;)
        putc(c, to);
    fclose(to);
}

static void put_rel(FILE *to, void *ip)
{
    Dl_info info;
    if (!dladdr(ip, &info))
        fprintf(to, "%p", ip);
    else
        fprintf(to, "%s+0x%lx", info.dli_fname,
                (unsigned long)((char *)ip - (char *)info.dli_fbase));
}

volatile int sink;

__attribute__((noinline)) void inner(const char *stem)
{
    void *ips[FRAMES_MAX];
    int n = backtrace(ips, FRAMES_MAX);
    FILE *to = open_beside(stem, "ips"), *rel = open_beside(stem, "rel");
    for (int i = n - 1; i >= 0; i--) {
        fprintf(to, "%p%s", ips[i], i ? ";" : " 7\n");
        put_rel(rel, ips[i]);
        fprintf(rel, "%s", i ? ";" : " 7\n");
    }
    fclose(to);
    fclose(rel);
    copy_maps(stem);
}

static inline __attribute__((always_inline)) void middle(const char *stem)
{
    inner(stem);
    sink++;
}

__attribute__((noinline)) void outer(const char *stem)
{
    middle(stem);
    sink++;
}

int main(int argc, char **argv)
{
    outer(argc > 1 ? argv[1] : "stack");
    return sink != 2;
}
