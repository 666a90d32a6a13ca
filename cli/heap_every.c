/* SPDX-License-Identifier: MIT */
/* cairn heap leaks --every: a running process, looked at again and again. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "base/error.h"
#include "cli/heap.h"
#include "cli/numbers.h"
#include "cli/term.h"

/* A process that becomes another program has no state for a moment; one that ended has none for
 * ever, and may still have its number. */
enum { MISSES_MAX = 3, CLOCK_BYTES = 32 };

static bool is_there(int pid)
{
    return kill(pid, 0) == 0 || errno == EPERM;
}

static void wait_seconds(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds,
                            .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) < 0)
        ;
}

static void add_clock(struct cairn_buffer *out)
{
    char text[CLOCK_BYTES];
    struct tm parts;
    time_t now = time(NULL);
    if (localtime_r(&now, &parts) && strftime(text, sizeof text, "%H:%M:%S", &parts))
        cairn_buffer_printf(out, "--- %s ", text);
}

static void add_live(struct cairn_buffer *out, const struct cli_heap_look *look)
{
    uint64_t bytes, blocks;
    cli_heap_sum_look(look, &bytes, &blocks);
    cli_add_size(out, bytes);
    cairn_buffer_str(out, " in ");
    cli_add_counted(out, blocks, "block");
    cairn_buffer_str(out, " live\n");
}

static void add_look(struct cairn_buffer *out, const struct cli_heap_every *every,
                     const struct cli_heap_changes *changes)
{
    struct cairn_json json = {.out = out, .compact = true};
    if (every->json) {
        cairn_json_open(&json, NULL, '{');
        cairn_json_i64(&json, "time", (int64_t)time(NULL));
        cli_heap_put_changes(&json, changes, every->n_shown, false);
        cairn_json_close(&json, '}');
        return;
    }
    add_clock(out);
    add_live(out, changes->after);
    cli_heap_add_changes(out, changes, every->n_shown, false);
    cairn_buffer_char(out, '\n');
}

static int print(const struct cli_heap_every *every, const struct cli_heap_look *before,
                 const struct cli_heap_look *now, struct cairn_err *err)
{
    struct cairn_buffer out = {0};
    struct cli_heap_changes changes;
    int result = cli_heap_compare(before, now, &changes, err);
    if (result < 0)
        return result;
    add_look(&out, every, &changes);
    cli_heap_changes_done(&changes);
    if (out.failed)
        result = cairn_fail_memory(err);
    else
        fwrite(out.data, 1, out.size, stdout);
    fflush(stdout);
    cairn_buffer_done(&out);
    return result;
}

static void say_first(const struct cli_heap_every *every, const struct cli_heap_look *look)
{
    struct cairn_buffer out = {0};
    if (!every->json) {
        add_clock(&out);
        add_live(&out, look);
        fputs(cairn_buffer_text(&out), stdout);
        fflush(stdout);
    }
    cairn_buffer_done(&out);
}

int cli_heap_look_every(struct cli_heap_wanted *wanted, const struct cli_heap_every *every,
                        struct cairn_err *err)
{
    struct cli_heap_look before = {0}, now = {0};
    int misses = 0, result = cli_heap_look(wanted, every->input, &before, err);
    int pid = before.pid;
    if (result == CAIRN_OK && !pid) {
        result = cairn_fail(err, CAIRN_E_ARG, "%s: --every is for a running process", every->input);
        cairn_hint(err, "two files are compared by cairn heap diff");
    }
    if (result == CAIRN_OK)
        say_first(every, &before);
    while (result == CAIRN_OK && misses < MISSES_MAX && is_there(pid)) {
        wait_seconds(every->seconds);
        result = cli_heap_look(wanted, every->input, &now, err);
        if (result == CAIRN_E_MISSING) {
            misses++;
            result = CAIRN_OK;
            continue;
        }
        if (result == CAIRN_OK)
            result = print(every, &before, &now, err);
        cli_heap_look_done(&before);
        before = now;
        now = (struct cli_heap_look){0};
        misses = 0;
    }
    if (result == CAIRN_OK)
        cli_say("process %d has ended", pid);
    cli_heap_look_done(&before);
    cli_heap_look_done(&now);
    return result;
}
