/* SPDX-License-Identifier: MIT */
#include "base/installed.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

int cairn_installed_library(const char *library, char *ret_path, size_t size, struct cairn_err *err)
{
    static const char *const places[] = {"", "/../lib", ("/../" CAIRN_LIBDIR), "/../lib64"};
    static const char *const endings[] = {"", ".0"}; /* distributions leave the bare name to -dev */
    char exe[PATH_MAX], path[PATH_MAX + 64], real[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(exe, '/');
    for (size_t i = 0; slash && i < 2 * sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%.*s%s/%s%s", (int)(slash - exe), exe, places[i / 2], library,
                 endings[i % 2]);
        if (is_file(path) && realpath(path, real) && strlen(real) < size) {
            memcpy(ret_path, real, strlen(real) + 1);
            return CAIRN_OK;
        }
    }
    cairn_fail(err, CAIRN_E_MISSING, "%s is neither beside %s nor where it is installed", library,
               slash ? exe : "this program");
    cairn_hint(err, "--library FILE says where it is");
    return CAIRN_E_MISSING;
}
