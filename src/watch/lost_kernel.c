/* SPDX-License-Identifier: MIT */
#include "watch/lost_kernel.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "proc/process.h"

enum { NAME_BYTES = 64, TEXT_MAX = 64 << 20 };

static bool add(struct cairn_lost_kernel *k, uint64_t word, int set, int fd)
{
    if (cairn_grow((void **)&k->words, &k->cap, k->n + 1, sizeof *k->words) < 0)
        return false;
    k->words[k->n++] = (struct cairn_lost_kernel_word){word, set, fd};
    return true;
}

/* "tfd:       12 events:       19 data:     55d0c0ffee10  pos:0 ino:..." */
bool cairn_lost_kernel_parse_set(struct cairn_lost_kernel *kernel, int set, const char *text)
{
    static const char key[] = " data:", of_fd[] = "tfd:";
    const char *at = text;
    while ((at = strstr(at, key))) {
        char *end;
        const char *line = memrchr(text, '\n', (size_t)(at - text));
        line = line ? line + 1 : text;
        at += strlen(key);
        uint64_t word = strtoull(at, &end, 16);
        bool has_fd = strncmp(line, of_fd, strlen(of_fd)) == 0;
        int fd = has_fd ? (int)strtol(line + strlen(of_fd), NULL, 10) : -1;
        if (end != at && word && !add(kernel, word, set, fd))
            return false;
    }
    return true;
}

/* "signal: 34/00007f0010001230" */
bool cairn_lost_kernel_parse_timers(struct cairn_lost_kernel *kernel, const char *text)
{
    while ((text = strstr(text, "signal:"))) {
        const char *slash = text + strcspn(text, "/\n");
        char *end;
        text = slash;
        if (*slash != '/')
            continue;
        uint64_t word = strtoull(slash + 1, &end, 16);
        if (end != slash + 1 && word && !add(kernel, word, -1, -1))
            return false;
    }
    return true;
}

/* What is not there any more has no pointers; what is there and cannot be read may have some. */
static int slurp(struct cairn_lost_kernel *k, int pid, const char *name, struct cairn_buffer *text)
{
    int code = cairn_process_slurp(pid, name, TEXT_MAX, text, NULL);
    k->is_whole &= code == CAIRN_OK || code == CAIRN_E_MISSING;
    return code;
}

static bool read_set(struct cairn_lost_kernel *k, int pid, const char *fd)
{
    char name[NAME_BYTES];
    struct cairn_buffer text = {0};
    snprintf(name, sizeof name, "fdinfo/%s", fd);
    bool done = slurp(k, pid, name, &text) < 0 ||
                cairn_lost_kernel_parse_set(k, atoi(fd), cairn_buffer_text(&text));
    cairn_buffer_done(&text);
    k->n_sets++;
    return done;
}

static bool read_descriptor(struct cairn_lost_kernel *k, int pid, DIR *folder, const char *fd)
{
    char link[NAME_BYTES];
    ssize_t n = readlinkat(dirfd(folder), fd, link, sizeof link - 1);
    if (n <= 0)
        return true;
    link[n] = 0;
    k->has_ring |= strcmp(link, "anon_inode:[io_uring]") == 0;
    return strcmp(link, "anon_inode:[eventpoll]") != 0 || read_set(k, pid, fd);
}

bool cairn_lost_kernel_read(struct cairn_lost_kernel *kernel, int pid)
{
    char path[NAME_BYTES];
    struct cairn_buffer text = {0};
    bool done = true;
    kernel->n = kernel->n_sets = 0;
    kernel->has_ring = false;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *folder = opendir(path);
    kernel->is_whole = folder != NULL;
    for (struct dirent *entry; done && folder && (entry = readdir(folder));)
        if (*entry->d_name != '.' && strlen(entry->d_name) < NAME_BYTES / 2)
            done = read_descriptor(kernel, pid, folder, entry->d_name);
    if (folder)
        closedir(folder);
    /* Kernels without CONFIG_CHECKPOINT_RESTORE have no such file. */
    if (done && slurp(kernel, pid, "timers", &text) == CAIRN_OK)
        done = cairn_lost_kernel_parse_timers(kernel, cairn_buffer_text(&text));
    cairn_buffer_done(&text);
    return done;
}

void cairn_lost_kernel_done(struct cairn_lost_kernel *kernel)
{
    cairn_free(kernel->words);
    *kernel = (struct cairn_lost_kernel){0};
}
