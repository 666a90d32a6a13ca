/* SPDX-License-Identifier: MIT */
/*
 * guest_stops PID N [SHADOW]: stops a thread N times, at random, and reads the frames of its
 * interpreters. Without SHADOW each woven stack is a line, innermost first. With it the functions
 * f_NUMBER of the stack are held against those that the program says are running (lua_shadow.c),
 * and the sums are printed: exact, in transition, in doubt, wrong.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "guest/weave.h"
#include "target/guests.h"

enum { DEPTH_MAX = 252, STOP_MS = 1000 };

struct shadow {
    volatile unsigned depth, line, pad[2];
    volatile unsigned id[DEPTH_MAX];
};

struct sums {
    unsigned exact, moving, doubt, wrong, empty;
};

static const char *text_of(const struct cairn_guest_result *result, uint32_t number)
{
    return cairn_strings_get(&result->strings, number);
}

static void print(const struct cairn_target_guests *guests, const char *end)
{
    struct cairn_guest_weave weave = {0};
    struct cairn_guest_item item;
    const struct cairn_guest_result *result = &guests->result;
    while (cairn_guest_weave_next(&weave, guests->n_natives, result, &item)) {
        if (!item.is_guest) {
            bool is_own = item.index < result->n_own && result->n_states && result->own[item.index];
            printf("%s%llx ", is_own ? "~" : "",
                   (unsigned long long)guests->natives[item.index].ip);
            continue;
        }
        const struct cairn_guest_frame *frame = &result->frames[item.index];
        if (frame->kind == CAIRN_GUEST_C)
            printf("[C %s] ", text_of(result, frame->name));
        else
            printf("%s:%s:%u%s ", text_of(result, frame->name), text_of(result, frame->chunk),
                   frame->line, frame->is_inlined ? "(inlined)" : "");
    }
    for (size_t i = 0; i < result->n_states; i++)
        if (result->states[i].doubt)
            printf("{%s} ", result->states[i].doubt);
    printf("%s\n", end);
}

/* The numbers of the functions f_NUMBER, innermost first. */
static size_t ids_of(const struct cairn_guest_result *result, unsigned *ids)
{
    size_t n = 0;
    for (size_t i = 0; i < result->n_frames && n < DEPTH_MAX; i++) {
        const char *name = text_of(result, result->frames[i].name);
        if (!strncmp(name, "f_", 2))
            ids[n++] = (unsigned)atoi(name + 2);
    }
    return n;
}

static bool is_same(const struct shadow *shadow, size_t depth, const unsigned *ids, size_t n)
{
    if (n != depth)
        return false;
    for (size_t i = 0; i < n; i++)
        if (ids[i] != shadow->id[depth - 1 - i])
            return false;
    return true;
}

static void judge(const struct cairn_target_guests *guests, const struct shadow *shadow,
                  struct sums *sums)
{
    unsigned ids[DEPTH_MAX];
    size_t n = ids_of(&guests->result, ids), depth = shadow->depth;
    bool is_in_doubt = false;
    for (size_t i = 0; i < guests->result.n_states; i++)
        is_in_doubt |= guests->result.states[i].doubt != NULL;
    if (is_same(shadow, depth, ids, n))
        sums->exact++;
    else if (depth <= DEPTH_MAX && ((n && is_same(shadow, depth, ids + 1, n - 1)) ||
                                    (depth && is_same(shadow, depth - 1, ids, n))))
        sums->moving++;
    else if (is_in_doubt)
        sums->doubt++;
    else {
        sums->wrong++;
        if (getenv("PRINT_WRONG")) {
            printf("wrong: truth");
            for (size_t i = depth; i-- > 0;)
                printf(" %u", shadow->id[i]);
            printf(" got");
            for (size_t i = 0; i < n; i++)
                printf(" %u", ids[i]);
            printf(" | ");
            print(guests, "");
        }
    }
}

static int stop_once(struct cairn_target_guests *guests, int pid, const struct shadow *shadow,
                     struct sums *sums)
{
    struct cairn_cursor cursor;
    struct cairn_cursor_regs regs;
    struct cairn_err err = {0};
    if (cairn_unwind_hold(guests->space, pid, STOP_MS, &err) < 0 ||
        cairn_unwind_thread_regs(guests->space, pid, &regs, &err) < 0 ||
        cairn_cursor_init(&cursor, guests->space, &regs, &err) < 0) {
        fprintf(stderr, "guest_stops: %s\n", err.msg);
        return 1;
    }
    int code = cairn_target_guests_begin(guests, &cursor);
    while (code >= 0 && (code = cairn_target_guests_step(guests, &cursor)) == 1)
        ;
    if (code >= 0)
        code = cairn_target_guests_read(guests);
    if (code >= 0)
        code = cairn_target_guests_name(guests);
    if (shadow)
        judge(guests, shadow, sums);
    cairn_unwind_release(guests->space, pid);
    if (!shadow)
        print(guests, cairn_cursor_end(&cursor) == CAIRN_END_OUTERMOST ? "whole" : "cut");
    return code < 0;
}

int main(int argc, char **argv)
{
    struct cairn_unwind_space *space;
    struct cairn_err err = {0};
    struct sums sums = {0};
    const struct shadow *shadow = NULL;
    if (argc < 3)
        return 2;
    int pid = atoi(argv[1]), n = atoi(argv[2]);
    if (argc > 3) {
        int fd = open(argv[3], O_RDONLY);
        shadow = mmap(NULL, sizeof *shadow, PROT_READ, MAP_SHARED, fd, 0);
        if (shadow == MAP_FAILED)
            return 1;
    }
    if (cairn_unwind_space_open_pid(pid, NULL, &space, &err) < 0) {
        fprintf(stderr, "guest_stops: %s\n", err.msg);
        return 1;
    }
    struct cairn_target_guests guests;
    cairn_target_guests_init(&guests, space, pid);
    for (int i = 0; i < n; i++) {
        const struct timespec pause = {0, 100000 + rand() % 900000};
        nanosleep(&pause, NULL);
        if (stop_once(&guests, pid, shadow, &sums))
            return 1;
    }
    if (shadow)
        printf("exact %u moving %u doubt %u wrong %u\n", sums.exact, sums.moving, sums.doubt,
               sums.wrong);
    cairn_target_guests_done(&guests);
    cairn_unwind_space_free(space);
    return 0;
}
