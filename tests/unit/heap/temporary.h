/* SPDX-License-Identifier: MIT */
/* A folder for state files, on tmpfs where there is one, gone at the end of the test program. */
#ifndef CAIRN_TESTS_HEAP_TEMPORARY_H
#define CAIRN_TESTS_HEAP_TEMPORARY_H

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "heap/heap.h"
#include "support/test.h"

static struct cairn_heap_settings temporary_settings;

static int make_temporary(void **state)
{
    (void)state;
    struct cairn_heap_settings *settings = &temporary_settings;
    snprintf(settings->dir, sizeof(settings->dir), "%s/cairn-test-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    settings->max_bytes = 64 << 20;
    settings->depth = CAIRN_HEAP_FRAMES;
    settings->granule_bits = 4;
    return mkdtemp(settings->dir) ? 0 : -1;
}

static int remove_temporary(void **state)
{
    (void)state;
    DIR *dir = opendir(temporary_settings.dir);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    return rmdir(temporary_settings.dir);
}

#endif /* CAIRN_TESTS_HEAP_TEMPORARY_H */
