/* SPDX-License-Identifier: MIT */
/* A JIT compiler of one function: jit_program SECONDS [OWNER]. It leaves a perf map, which it gives
 * to user OWNER, and spends its time in code without a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* A frame of its own, and a loop that counts the first argument down. */
#if defined(__x86_64__)
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xcf, 0x75, 0xfc, 0x5d, 0xc3};
#elif defined(__aarch64__)
static const unsigned code[] = {0xa9bf7bfd, 0x910003fd, 0x71000400,
                                0x54ffffe1, 0xa8c17bfd, 0xd65f03c0};
#else
static const unsigned char code[] = {0};
#endif

static void write_map(const char *start, const char *owner)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(path, "w");
    if (!map)
        exit(3);
    fprintf(map, "%lx 1000 replaced since\n", (unsigned long)start);
    fprintf(map, "%lx %zx made at run time\n", (unsigned long)start, sizeof code);
    fclose(map);
    if (owner && chown(path, (uid_t)atoi(owner), (gid_t)-1) < 0)
        exit(4);
}

int main(int argc, char **argv)
{
    const time_t end = time(NULL) + atoi(argv[1]) + 1;
    char *made =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED || sizeof code < 8)
        return 2;
    memcpy(made, code, sizeof code);
    __builtin___clear_cache(made, made + sizeof code);
    write_map(made, argc > 2 ? argv[2] : NULL);
    void (*spin)(unsigned);
    memcpy(&spin, &made, sizeof spin);
    while (time(NULL) < end)
        spin(10000000);
    return 0;
}
