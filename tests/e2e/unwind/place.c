/* SPDX-License-Identifier: MIT */
#include "place.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAPS_BYTES = 1 << 18 };

/* No stdio: a handler may have interrupted it. */
static const char *read_maps(void)
{
    static char text[MAPS_BYTES];
    const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t size = 0;
    for (ssize_t n = 1; fd >= 0 && n > 0 && size<sizeof text - 1; size += n> 0 ? (size_t)n : 0)
        n = read(fd, text + size, sizeof text - 1 - size);
    text[size] = 0;
    close(fd);
    return text;
}

static enum place mapped_at(uint64_t va)
{
    for (const char *line = read_maps(); *line;) {
        char *end;
        const uint64_t low = strtoull(line, &end, 16), high = strtoull(end + 1, &end, 16);
        if (va >= low && va < high)
            return end[3] == 'x' ? PLACE_MADE : PLACE_DATA;
        line = strchr(end, '\n');
        if (!line)
            break;
        line++;
    }
    return PLACE_NONE;
}

static int find_module(uint64_t va, Dl_info *ret_info)
{
    return dladdr((void *)(uintptr_t)va, ret_info) && ret_info->dli_fname;
}

enum place place_of(uint64_t va, uint64_t *ret_module)
{
    Dl_info info;
    const enum place place = mapped_at(va);
    *ret_module = 0;
    if (place != PLACE_MADE || !find_module(va, &info))
        return place;
    *ret_module = (uintptr_t)info.dli_fbase;
    return PLACE_FILE;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void place_print(FILE *out, uint64_t va)
{
    Dl_info info = {0};
    if (!find_module(va, &info)) {
        fprintf(out, " 0x%llx", (unsigned long long)va);
        return;
    }
    fprintf(out, " %s+0x%llx", base_name(info.dli_fname),
            (unsigned long long)(va - (uintptr_t)info.dli_fbase));
    if (info.dli_sname)
        fprintf(out, " (%s)", info.dli_sname);
}

void place_print_kind(FILE *out, enum place place, uint64_t module)
{
    static const char *const texts[] = {"a file", "code made at run time", "data", "nothing"};
    Dl_info info = {0};
    const int known = place == PLACE_FILE && find_module(module, &info);
    fprintf(out, "%s", known ? base_name(info.dli_fname) : texts[place]);
}
