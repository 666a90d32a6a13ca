/* SPDX-License-Identifier: MIT */
#include "doctor/runtimes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CPython has `-X perf` from this minor version of 3 on. */
enum { PYTHON_MINOR_WITH_MAP = 12, RUNTIMES_MAX = 8 };

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "libjvm.so" and "libjvm.so.1", not "libjvm.sound". */
static bool is_library(const char *base, const char *name)
{
    size_t n = strlen(name);
    return strncmp(base, name, n) == 0 && (base[n] == 0 || base[n] == '.');
}

/* Of "python3.11", "libpython3.12.so.1.0" and "python3.13t": 11, 12, 13; -1: another file. */
static int python_minor(const char *base)
{
    static const char *const names[] = {"python3.", "libpython3."};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(base, names[i], n) == 0 && base[n] >= '0' && base[n] <= '9')
            return (int)strtol(base + n, NULL, 10);
    }
    return -1;
}

bool cairn_runtime_of_file(const char *path, int pid, struct cairn_runtime *ret_runtime)
{
    const char *base = base_of(path);
    struct cairn_runtime r = {.writes_maps = true};
    int minor = python_minor(base);
    if (is_library(base, "libjvm.so")) {
        r.name = "Java";
        snprintf(r.fix, sizeof r.fix, "jcmd %d Compiler.perfmap (JDK 17 and later)", pid);
    } else if (is_library(base, "libcoreclr.so")) {
        r.name = ".NET";
        snprintf(r.fix, sizeof r.fix, "start it with DOTNET_PerfMapEnabled=1 in the environment");
    } else if (strcmp(base, "node") == 0 || strcmp(base, "nodejs") == 0 ||
               is_library(base, "libnode.so")) {
        r.name = "Node";
        snprintf(r.fix, sizeof r.fix,
                 "start it with --perf-basic-prof, and --interpreted-frames-native-stack");
    } else if (minor >= 0) {
        r.name = "Python";
        r.writes_maps = minor >= PYTHON_MINOR_WITH_MAP;
        snprintf(r.fix, sizeof r.fix, "start it with %s-X perf, or PYTHONPERFSUPPORT=1",
                 r.writes_maps ? "" : "Python 3.12 or later and ");
    } else {
        return false;
    }
    *ret_runtime = r;
    return true;
}

static void add(struct cairn_doctor *d, const struct cairn_runtime *runtime, const char *path,
                const char *map_path)
{
    char value[512], why[256];
    snprintf(value, sizeof value, "%s in %s", runtime->name, path);
    if (*map_path)
        snprintf(why, sizeof why, "its functions have names, by %.200s", map_path);
    else
        snprintf(why, sizeof why, "its functions have no names: %s",
                 runtime->writes_maps ? "it writes no perf map unless it is asked to"
                                      : "this version cannot write a perf map");
    cairn_doctor_add(d, &(struct cairn_doctor_finding){
                            .group = CAIRN_DOCTOR_PROCESS,
                            .level = *map_path ? CAIRN_DOCTOR_YES : CAIRN_DOCTOR_PART,
                            .key = "process.perf_map",
                            .name = "names by a perf map",
                            .value = value,
                            .why = why,
                            .fix = *map_path ? "" : runtime->fix,
                        });
}

void cairn_doctor_add_runtimes(struct cairn_doctor *d, int pid, const struct cairn_maps *maps,
                               const char *map_path)
{
    const char *known[RUNTIMES_MAX];
    size_t n = 0;
    for (size_t i = 0; i < cairn_maps_count(maps) && n < RUNTIMES_MAX; i++) {
        const struct cairn_map *map = cairn_maps_get(maps, i);
        struct cairn_runtime runtime;
        size_t same = 0;
        if (!(map->flags & CAIRN_MAP_EXEC) || !(map->flags & CAIRN_MAP_FILE) ||
            !cairn_runtime_of_file(map->path, pid, &runtime))
            continue;
        while (same < n && known[same] != runtime.name)
            same++;
        if (same == n) {
            known[n++] = runtime.name;
            add(d, &runtime, map->path, map_path);
        }
    }
}
