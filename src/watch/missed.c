/* SPDX-License-Identifier: MIT */
/*
 * Programs that a tracked one starts and that no tracker is in: found by looking at its children,
 * theirs, and so on, while they run. What ends between two looks is not seen, nor is who left his
 * parents (a daemon).
 */
#include "watch/missed.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "proc/process.h"
#include "proc/threads.h"
#include "rt/program.h"
#include "watch/heap.h"

enum {
    PATH_BYTES = 64,
    PROCESSES_MAX = 512, /* at one look */
    PROGRAMS_MAX = 1024, /* different files */
    CHILDREN_MAX = 1 << 16
};

struct program {
    uint64_t dev, ino;
    char *path;    /* of what is to be told; else NULL */
    uint32_t kind; /* enum cairn_program_kind */
};

struct cairn_heap_missed_list {
    struct program *programs;
    size_t n, cap;
    int pids[PROCESSES_MAX];
    size_t n_pids;
};

void cairn_heap_missed_free(struct cairn_heap_missed_list *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->n; i++)
        cairn_free(list->programs[i].path);
    cairn_free(list->programs);
    cairn_free(list);
}

static bool is_known(const struct cairn_heap_missed_list *list, const struct stat *st)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->programs[i].dev == st->st_dev && list->programs[i].ino == st->st_ino)
            return true;
    return false;
}

static struct program *add(struct cairn_heap_missed_list *list, const struct stat *st)
{
    if (list->n == PROGRAMS_MAX ||
        cairn_grow((void **)&list->programs, &list->cap, list->n + 1, sizeof *list->programs) < 0)
        return NULL;
    struct program *program = &list->programs[list->n++];
    *program = (struct program){.dev = st->st_dev, .ino = st->st_ino};
    return program;
}

struct cairn_heap_missed_list *cairn_heap_missed_new(const char *command)
{
    struct cairn_heap_missed_list *list = cairn_alloc(1, sizeof *list);
    char path[PATH_MAX];
    struct stat st;
    if (list && cairn_heap_find_program(command, path, sizeof path) && stat(path, &st) == 0)
        add(list, &st);
    return list;
}

/* Each file is looked into once. */
static void look_at(struct cairn_heap_missed_list *list, int pid)
{
    char exe[PATH_BYTES];
    struct stat st;
    struct cairn_buffer path = {0};
    bool is_deleted;
    snprintf(exe, sizeof exe, "/proc/%d/exe", pid);
    struct program *program;
    if (stat(exe, &st) < 0 || is_known(list, &st) || !(program = add(list, &st)))
        return;
    program->kind = cairn_program_judge(exe, NULL);
    if (*cairn_program_reason(program->kind) &&
        cairn_process_exe(pid, &path, &is_deleted, NULL) == CAIRN_OK) {
        program->path = cairn_strdup(cairn_buffer_text(&path));
        if (program->kind == CAIRN_PROGRAM_STATIC &&
            cairn_program_is_valgrinds(cairn_buffer_text(&path)))
            program->kind = CAIRN_PROGRAM_VALGRIND;
    }
    cairn_buffer_done(&path);
}

static void add_children(struct cairn_heap_missed_list *list, int pid, int tid)
{
    char name[PATH_BYTES];
    struct cairn_buffer text = {0};
    snprintf(name, sizeof name, "task/%d/children", tid);
    if (cairn_process_slurp(pid, name, CHILDREN_MAX, &text, NULL) == CAIRN_OK) {
        const char *at = cairn_buffer_text(&text);
        char *end;
        for (long child; (child = strtol(at, &end, 10)) > 0 && end != at; at = end)
            if (list->n_pids < PROCESSES_MAX)
                list->pids[list->n_pids++] = (int)child;
    }
    cairn_buffer_done(&text);
}

/* Breadth first; a process is one thread's child. */
void cairn_heap_missed_look(struct cairn_heap_missed_list *list, int pid)
{
    list->pids[0] = pid;
    list->n_pids = 1;
    for (size_t i = 0; i < list->n_pids; i++) {
        struct cairn_threads threads = {0};
        look_at(list, list->pids[i]);
        if (cairn_threads_read(list->pids[i], &threads, NULL) == CAIRN_OK)
            for (size_t k = 0; k < threads.n; k++)
                add_children(list, list->pids[i], threads.tids[k]);
        cairn_threads_done(&threads);
    }
}

bool cairn_heap_missed_get(const struct cairn_heap_missed_list *list, size_t index,
                           struct cairn_heap_missed *missed, uint32_t *ret_kind)
{
    for (size_t i = 0; i < list->n; i++) {
        if (!list->programs[i].path || index-- > 0)
            continue;
        *missed = (struct cairn_heap_missed){
            .size = sizeof *missed,
            .path = list->programs[i].path,
            .reason = cairn_program_reason(list->programs[i].kind),
        };
        *ret_kind = list->programs[i].kind;
        return true;
    }
    return false;
}

void cairn_heap_missed_copy(struct cairn_heap_missed *to, const struct cairn_heap_missed *from)
{
    struct cairn_heap_missed whole = *from;
    whole.size = to->size;
    memcpy(to, &whole, whole.size < sizeof whole ? whole.size : sizeof whole);
}
