/* SPDX-License-Identifier: MIT */
#include "sample/cpu_time.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { LINE_BYTES = 512 };
static const uint64_t NS_PER_S = 1000000000;

uint64_t cairn_cpu_time_parse(const char *text, long ticks_per_second)
{
    unsigned long long user, nice, kernel;
    if (ticks_per_second <= 0 || sscanf(text, "cpu %llu %llu %llu", &user, &nice, &kernel) != 3)
        return 0;
    return (user + nice + kernel) * (NS_PER_S / (uint64_t)ticks_per_second);
}

uint64_t cairn_cpu_time_ns(void)
{
    char line[LINE_BYTES];
    FILE *file = fopen("/proc/stat", "re");
    bool ok = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    return ok ? cairn_cpu_time_parse(line, sysconf(_SC_CLK_TCK)) : 0;
}
