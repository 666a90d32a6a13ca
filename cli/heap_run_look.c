/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/heap_lost.h"
#include "cli/heap_run.h"
#include "cli/term.h"

enum { LOST_TOP = 10, LSAN_STATUS = 23 };

/* What a look is for. */
enum role {
    ROLE_LAST,   /* the gate goes by the last of them */
    ROLE_BEFORE, /* the gate goes by both of these */
    ROLE_AFTER,
    ROLE_ASKED /* not for the gate */
};

static void print(const struct cli_run *run, const struct cairn_heap_lost *found)
{
    struct cairn_buffer out = {0};
    cli_lost_add(&out, found, LOST_TOP, false);
    fwrite(out.data, 1, out.size, stderr);
    cairn_buffer_done(&out);
    cli_heap_say_suppressed(run->wanted);
    cli_lost_say(found, false);
}

/* The same blocks are lost as before, as far as their number and bytes say. */
static bool is_same(const struct cli_run_lost *lost, const struct cairn_heap_lost *found)
{
    uint64_t bytes, blocks;
    cli_lost_sum(found->lost, found->n_lost, &bytes, &blocks);
    return lost->has_before && bytes == lost->before_bytes && blocks == lost->before_blocks;
}

static void say_found(const struct cli_run *run, const struct cairn_heap_lost *found,
                      enum role role)
{
    struct cli_run_lost *lost = run->lost;
    if (role == ROLE_AFTER && is_same(lost, found)) {
        cli_say("the same is lost after its destructors");
        return;
    }
    if (role == ROLE_AFTER && lost->has_before)
        cli_say("lost after its destructors:");
    if (role == ROLE_BEFORE) {
        cli_say("lost before its destructors:");
        lost->has_before = true;
        cli_lost_sum(found->lost, found->n_lost, &lost->before_bytes, &lost->before_blocks);
    }
    print(run, found);
}

static void note_gate(const struct cli_run *run, const struct cairn_heap_lost *found,
                      enum role role)
{
    struct cli_run_lost *lost = run->lost;
    if (role == ROLE_ASKED)
        return;
    lost->has_failed = false;
    if (role == ROLE_LAST)
        lost->is_closed = false;
    if (!lost->is_closed)
        lost->is_closed = cli_lost_gate(run->wanted, found);
}

/* On stderr: stdout is the command's. A look that fails is reported, and the run goes on. */
static enum cairn_heap_asked_verdict look(const struct cli_run *run, int pid,
                                          const struct cairn_heap_lost_opts *opts, enum role role)
{
    struct cairn_err err = {0};
    struct cairn_heap_lost found = {0};
    enum cairn_heap_asked_verdict verdict = CAIRN_HEAP_ASKED_UNKNOWN;
    int code = cli_lost_look(run->wanted, pid, opts, &found, &err);
    if (code == CAIRN_E_MISSING && !run->lost->has_failed) {
        /* It ended meanwhile: what the look before found holds. */
    } else if (code < 0) {
        (void)cli_report(&err);
    } else {
        say_found(run, &found, role);
        note_gate(run, &found, role);
        if (found.n_lost)
            verdict = CAIRN_HEAP_ASKED_LOST;
        else if (!*found.unsure)
            verdict = CAIRN_HEAP_ASKED_CLEAN;
    }
    cairn_heap_lost_done(&found);
    return verdict;
}

void cli_run_look_running(const struct cli_run *run)
{
    const struct cairn_heap_lost_opts opts = {.size = sizeof opts, .filter = &run->wanted->filter};
    (void)look(run, run->pid, &opts, ROLE_LAST);
}

/* Where the program turns checks off, a gate has nothing to judge, and is open. */
static bool is_off(const struct cli_run *run, int pid)
{
    if (!cairn_heap_is_turned_off(pid))
        return false;
    cli_say("process %d turns leak checks off (__lsan_is_turned_off): nothing is looked for", pid);
    run->lost->has_failed &= pid != run->pid;
    return true;
}

void cli_run_look_at_end(const struct cli_run *run)
{
    const struct cairn_heap_lost_opts opts = {
        .size = sizeof opts, .filter = &run->wanted->filter, .at_exit = true};
    if (run->lost->is_over || is_off(run, run->pid))
        return;
    (void)look(run, run->pid, &opts, ROLE_AFTER);
}

/* As LeakSanitizer has it: "exitcode=N" among the options, 23 without. */
static int status_of_lsan(void)
{
    static const char name[] = "exitcode=";
    const char *options = getenv("LSAN_OPTIONS"), *value = NULL;
    for (const char *at = options; at && (at = strstr(at, name)); at += sizeof name - 1)
        value = at + sizeof name - 1;
    long status = value ? strtol(value, NULL, 10) : LSAN_STATUS;
    return status >= 0 && status <= 255 ? (int)status : LSAN_STATUS;
}

static bool is_wanted(const struct cli_run *run, int pid, enum cairn_heap_asked_kind kind)
{
    if (kind == CAIRN_HEAP_ASKED_EXIT)
        return pid == run->pid && cli_run_lost_is_at_end(run->lost) && !run->lost->is_over &&
               !cairn_heap_is_turned_off(pid);
    return !is_off(run, pid);
}

void cli_run_look_asked(const struct cli_run *run, int pid, enum cairn_heap_asked_kind kind)
{
    const struct cairn_heap_lost_opts opts = {
        .size = sizeof opts, .filter = &run->wanted->filter, .consistent = true};
    enum cairn_heap_asked_verdict verdict = CAIRN_HEAP_ASKED_UNKNOWN;
    bool is_end = kind == CAIRN_HEAP_ASKED_CHECK && pid == run->pid;
    if (is_wanted(run, pid, kind)) {
        if (kind != CAIRN_HEAP_ASKED_EXIT)
            cli_say("process %d asks what is lost (%s)", pid,
                    kind == CAIRN_HEAP_ASKED_CHECK ? "__lsan_do_leak_check"
                                                   : "__lsan_do_recoverable_leak_check");
        verdict = look(run, pid, &opts,
                       kind == CAIRN_HEAP_ASKED_EXIT ? ROLE_BEFORE
                       : is_end                      ? ROLE_LAST
                                                     : ROLE_ASKED);
    }
    run->lost->is_over |= is_end;
    cairn_heap_session_answer(run->session, verdict, status_of_lsan());
}
