/* SPDX-License-Identifier: MIT */
/*
 * cairn agent run: a window after the other, until SIGTERM or SIGINT. SIGHUP begins anew with the
 * configuration and the program as they are then; SIGUSR1 ends the window that runs.
 *
 * A window that the disk does not take is held in memory, a few of them, and written when it does.
 * What the agent may use of the CPU is an account: each window pays in its share, and pays out what
 * was used. While it is overdrawn, fewer samples are taken, then none.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/agent.h"
#include "cli/term.h"

enum { HELD_MAX = 8, HELD_BYTES_MAX = 8 << 20, POLL_MS = 100, CMDLINE_BYTES_MAX = 1 << 17 };
static const double account_s = 300, least_hz = 1;
static const uint64_t NS_PER_S = 1000000000, RETRY_NS = 5000000000;

/* A window that is not in the spool yet. */
struct held {
    struct cairn_window window;
    struct cairn_buffer bytes;
};

struct agent {
    struct cli_agent_options o;
    char folder[CLI_AGENT_PATH], run_folder[CLI_AGENT_PATH];
    struct cairn_spool *spool;
    struct cairn_sampler *sampler; /* NULL: paused, or it failed */
    struct cli_agent_sender sender;
    struct held held[HELD_MAX];
    size_t n_held;
    struct cli_agent_counts counts;
    struct cli_agent_maker maker;
    double hz, balance_s;
    uint64_t cpu_ns;  /* of this process and the sender, at the end of the last window */
    uint64_t next_ns; /* not before that a sampler is made again, after a failure */
    uint64_t window_ns, window_real_ns; /* when the window began, by both clocks */
    bool is_reloaded;
};

static volatile sig_atomic_t wants_end, wants_reload, wants_window;

static void on_signal(int number)
{
    if (number == SIGHUP)
        wants_reload = 1;
    else if (number == SIGUSR1)
        wants_window = 1;
    else
        wants_end = 1;
}

static void take_signals(void)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &(struct sigaction){.sa_handler = on_signal}, NULL);
}

static bool is_stopped(void)
{
    return wants_end || wants_reload;
}

/* Says it, and the state has it until something else goes wrong. */
static void note_failure(struct agent *a, const struct cairn_err *err)
{
    cli_report(err);
    snprintf(a->counts.why, sizeof a->counts.why, "%s", err->msg);
}

static uint64_t cpu_of(clockid_t clock)
{
    struct timespec time;
    return clock_gettime(clock, &time) == 0
               ? (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec
               : 0;
}

static uint64_t cpu_of_all(const struct agent *a)
{
    clockid_t clock;
    uint64_t own = cpu_of(CLOCK_PROCESS_CPUTIME_ID);
    if (a->sender.pid && clock_getcpuclockid(a->sender.pid, &clock) == 0)
        own += cpu_of(clock);
    return own;
}

/* What the kernel cannot take back: pages of mapped files are not counted. */
static uint64_t own_bytes(void)
{
    char line[128];
    unsigned long kb, all_kb = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "RssAnon: %lu", &kb) == 1 || sscanf(line, "RssShmem: %lu", &kb) == 1)
            all_kb += kb;
    if (file)
        fclose(file);
    return all_kb * UINT64_C(1024);
}

/* The sampler. */

static int start_sampler(struct agent *a, struct cairn_err *err)
{
    struct cairn_sampler_opts opts = a->o.sampler;
    opts.frequency_hz = a->hz;
    int code = cairn_sampler_new(&opts, &a->sampler, err);
    if (code == CAIRN_OK)
        code = cairn_sampler_start(a->sampler, err);
    if (code < 0) {
        cairn_sampler_free(a->sampler);
        a->sampler = NULL;
    }
    a->window_ns = cairn_now_ns();
    a->window_real_ns = cairn_clock_ns(CLOCK_REALTIME);
    return code;
}

static void stop_sampler(struct agent *a)
{
    cli_agent_maker_done(&a->maker);
    cairn_sampler_free(a->sampler);
    a->sampler = NULL;
}

static void fail_window(struct agent *a, const struct cairn_err *err)
{
    a->counts.n_failed++;
    note_failure(a, err);
    stop_sampler(a);
    a->next_ns = cairn_now_ns() + RETRY_NS;
}

static void hear_sender(struct agent *a)
{
    struct cli_agent_sent sent;
    struct cli_agent_counts *c = &a->counts;
    struct cairn_err err = {0};
    const bool has_to_run = a->sender.pid != 0 && !a->sender.is_ending;
    while (cli_agent_sender_told(&a->sender, &sent)) {
        bool is_refused =
            sent.outcome < 0 || (sent.outcome == CAIRN_PUSH_REFUSED && !sent.will_be_resent);
        c->n_sent += sent.outcome == CAIRN_PUSH_SENT;
        c->sent_bytes += sent.outcome == CAIRN_PUSH_SENT ? sent.bytes : 0;
        c->n_doubt += sent.outcome == CAIRN_PUSH_DOUBTFUL;
        c->n_refused += is_refused;
        c->n_failures += sent.pause_ms != 0;
        c->pause_s = (double)sent.pause_ms / 1e3;
        if (*sent.why) {
            cli_say("%s", sent.why);
            snprintf(c->why, sizeof c->why, "%s", sent.why);
        }
    }
    if (!has_to_run || a->sender.pid)
        return;
    cli_say("the sender has ended by itself, and is started again");
    if (cli_agent_sender_start(&a->o, a->folder, a->spool, &a->sender, &err) < 0)
        note_failure(a, &err);
}

/* Until the window ends, by time or because somebody asks for it. */
static void sample(struct agent *a, uint64_t end_ns)
{
    struct cairn_err err = {0};
    for (uint64_t now; (now = cairn_now_ns()) < end_ns && !is_stopped() && !wants_window;) {
        uint64_t left_ms = (end_ns - now) / CAIRN_NS_PER_MS + 1;
        int ms = left_ms < POLL_MS ? (int)left_ms : POLL_MS;
        hear_sender(a);
        if (!a->sampler)
            (void)usleep((useconds_t)ms * 1000);
        else if (cairn_sampler_poll(a->sampler, ms, &err) < 0)
            fail_window(a, &err);
        if (!a->sampler && a->next_ns && cairn_now_ns() >= a->next_ns) {
            a->next_ns = 0;
            if (start_sampler(a, &err) < 0)
                fail_window(a, &err);
        }
    }
}

/* The window's profile, and where it goes. */

static void drop_oldest(struct agent *a)
{
    cairn_buffer_done(&a->held[0].bytes);
    memmove(a->held, a->held + 1, --a->n_held * sizeof *a->held);
}

static size_t held_bytes(const struct agent *a)
{
    size_t bytes = 0;
    for (size_t i = 0; i < a->n_held; i++)
        bytes += a->held[i].bytes.size;
    return bytes;
}

/* Takes the bytes over. */
static void hold(struct agent *a, const struct cairn_window *window, struct cairn_buffer *bytes)
{
    while (a->n_held && (a->n_held == HELD_MAX || held_bytes(a) + bytes->size > HELD_BYTES_MAX)) {
        drop_oldest(a);
        a->counts.n_dropped++;
    }
    a->held[a->n_held++] = (struct held){*window, *bytes};
    *bytes = (struct cairn_buffer){0};
}

/* What is held, in its order, as far as the disk takes it. */
static void write_held(struct agent *a)
{
    struct cairn_err err = {0};
    while (a->n_held) {
        struct cairn_window window = a->held[0].window;
        if (cairn_spool_add(a->spool, &window, a->held[0].bytes.data, &err) < 0) {
            note_failure(a, &err);
            return;
        }
        drop_oldest(a);
        a->counts.n_windows++;
        cli_agent_sender_wake(&a->sender);
    }
}

static void count_quality(struct agent *a, const struct cairn_sample_quality *quality)
{
    a->counts.n_samples += quality->n_samples;
    a->counts.n_lost += quality->n_lost;
    a->counts.n_unkept += quality->n_unkept;
}

static void end_window(struct agent *a)
{
    struct cairn_profile *profile = NULL;
    struct cairn_sample_quality quality = {.size = sizeof quality};
    struct cairn_buffer bytes = {0};
    struct cairn_err err = {0};
    struct cairn_window window = {.start_ns = (int64_t)a->window_real_ns};
    window.state = a->o.push.url ? CAIRN_WINDOW_NEW : CAIRN_WINDOW_KEPT;
    int code = cairn_sampler_window(a->sampler, &profile, &quality, &err);
    window.length_ns = cairn_now_ns() - a->window_ns;
    a->window_ns += window.length_ns;
    a->window_real_ns = cairn_clock_ns(CLOCK_REALTIME);
    if (code == CAIRN_OK)
        code = cli_agent_profile_finish(&a->maker, &a->o, a->sampler, profile, &bytes, &err);
    cairn_profile_free(profile);
    a->counts.n_sets_lost += a->maker.n_sets_lost;
    if (code < 0) {
        cairn_buffer_done(&bytes);
        fail_window(a, &err);
        return;
    }
    if (*a->maker.why.msg)
        note_failure(a, &a->maker.why);
    count_quality(a, &quality);
    window.bytes = bytes.size;
    hold(a, &window, &bytes);
    write_held(a);
    a->counts.last_ns = a->window_real_ns;
}

/* The bounds. */

static void trim(struct agent *a)
{
    struct cairn_spool_trimmed trimmed = {0};
    struct cairn_err err = {0};
    if (cairn_spool_trim(a->spool, (int64_t)cairn_clock_ns(CLOCK_REALTIME), a->o.keep_ns,
                         a->o.max_bytes, &trimmed, &err) < 0) {
        note_failure(a, &err);
        return;
    }
    a->counts.n_removed += trimmed.n;
    a->counts.n_removed_unsent += trimmed.n_unsent;
    a->counts.spool_bytes = trimmed.left_bytes;
    a->counts.n_waiting = trimmed.n_left_unsent;
}

static void set_rate(struct agent *a, double hz)
{
    struct cairn_err err = {0};
    if (hz == a->hz || cairn_sampler_set_frequency(a->sampler, hz, &err) < 0)
        return;
    cli_say("%g samples a second in place of %g: the agent used %.2f %% of a core, allowed are "
            "%.2g %%",
            hz, a->hz, 100 * a->counts.cpu_share, 100 * a->o.max_cpu);
    a->hz = hz;
}

/* More only from half of the budget on: each change of the rate makes profiles that sum up less
 * well. */
static void adapt_rate(struct agent *a)
{
    const double wanted = a->o.sampler.frequency_hz;
    bool is_over = a->balance_s < 0;
    if (is_over && a->hz <= least_hz) {
        cli_say("no samples for now: the agent used %.2f %% of a core, allowed are %.2g %%",
                100 * a->counts.cpu_share, 100 * a->o.max_cpu);
        stop_sampler(a);
    } else if (is_over) {
        set_rate(a, a->hz / 2 > least_hz ? a->hz / 2 : least_hz);
    } else if (a->hz < wanted && a->balance_s > account_s * a->o.max_cpu / 2) {
        set_rate(a, a->hz * 2 < wanted ? a->hz * 2 : wanted);
    }
}

/* All that the sampler knows is dropped, and read again. */
static void keep_memory(struct agent *a)
{
    struct cairn_err err = {0};
    a->counts.memory_bytes = own_bytes();
    if (!a->sampler || a->counts.memory_bytes <= a->o.max_memory)
        return;
    cli_say("the agent uses %.0f MB of memory, allowed are %.0f MB: it begins anew",
            (double)a->counts.memory_bytes / 1e6, (double)a->o.max_memory / 1e6);
    a->counts.n_restarts++;
    stop_sampler(a);
    if (start_sampler(a, &err) < 0)
        fail_window(a, &err);
}

static void keep_budget(struct agent *a, uint64_t took_ns)
{
    struct cairn_err err = {0};
    uint64_t cpu_ns = cpu_of_all(a);
    double used_s = cpu_ns > a->cpu_ns ? (double)(cpu_ns - a->cpu_ns) / 1e9 : 0;
    double took_s = (double)took_ns / 1e9, most_s = account_s * a->o.max_cpu;
    a->cpu_ns = cpu_ns;
    a->counts.cpu_ns = cpu_ns;
    a->counts.cpu_share = took_s > 0 ? used_s / took_s : 0;
    a->balance_s += took_s * a->o.max_cpu - used_s;
    a->balance_s = a->balance_s < most_s ? a->balance_s : most_s;
    a->balance_s = a->balance_s > -most_s ? a->balance_s : -most_s;
    if (a->sampler)
        adapt_rate(a);
    else if (!a->next_ns && a->balance_s >= 0 && start_sampler(a, &err) < 0)
        fail_window(a, &err);
    keep_memory(a);
}

static void write_state(struct agent *a)
{
    struct cairn_err err = {0};
    a->counts.frequency_hz = a->sampler ? a->hz : 0;
    a->counts.n_held = a->n_held;
    if (cli_agent_state_write(a->run_folder, a->folder, &a->counts, &err) < 0)
        cli_report(&err);
}

static void run_windows(struct agent *a)
{
    const uint64_t begin_ns = cairn_now_ns();
    const uint64_t end_ns =
        a->o.seconds > 0 ? begin_ns + (uint64_t)(a->o.seconds * 1e9) : UINT64_MAX;
    while (!is_stopped() && cairn_now_ns() < end_ns) {
        uint64_t start_ns = cairn_now_ns(), until_ns = start_ns + a->o.every_ns;
        wants_window = 0;
        sample(a, until_ns < end_ns ? until_ns : end_ns);
        if (a->sampler)
            end_window(a);
        else
            a->counts.n_paused += !a->next_ns;
        trim(a);
        keep_budget(a, cairn_now_ns() - start_ns);
        write_state(a);
    }
}

/* What is missing since the last window of an agent that was killed. */
static void note_gap(struct agent *a)
{
    const struct cairn_window *windows;
    size_t n;
    if (!cairn_spool_was_cut(a->spool) || cairn_spool_list(a->spool, &windows, &n, NULL) < 0)
        return;
    int64_t now = (int64_t)cairn_clock_ns(CLOCK_REALTIME);
    int64_t last = n ? windows[n - 1].start_ns + (int64_t)windows[n - 1].length_ns : now;
    a->counts.missing_ns = now > last ? (uint64_t)(now - last) : 0;
    cli_say("the agent before this one was killed: nothing was kept of the last %.1f s",
            (double)a->counts.missing_ns / 1e9);
}

static int check_store(struct agent *a, struct cairn_err *err)
{
    if (!a->o.push.url)
        return CAIRN_OK;
    a->counts.has_store = true;
    int code = cairn_push_check(&a->o.push, NULL, err);
    return code < 0 ? code : cli_push_auth_read(a->o.auth_file, &a->o.auth, err);
}

static int open_all(struct agent *a, struct cairn_err *err)
{
    cli_agent_folder(a->folder);
    cli_agent_run_folder(a->run_folder);
    if (a->o.folder)
        snprintf(a->folder, sizeof a->folder, "%s", a->o.folder);
    if (a->o.run_folder || a->o.folder)
        snprintf(a->run_folder, sizeof a->run_folder, "%s",
                 a->o.run_folder ? a->o.run_folder : a->folder);
    int code = check_store(a, err);
    if (code == CAIRN_OK)
        code = cairn_spool_open(a->folder, 1, &a->spool, err);
    if (code < 0)
        return code;
    note_gap(a);
    if (a->o.push.url)
        code = cli_agent_sender_start(&a->o, a->folder, a->spool, &a->sender, err);
    if (code == CAIRN_OK)
        code = start_sampler(a, err);
    return code;
}

static const char *method_word(const struct cairn_sampler *sampler)
{
    enum cairn_sample_method method = cairn_sampler_method(sampler);
    return method == CAIRN_SAMPLE_BPF ? "bpf" : method == CAIRN_SAMPLE_DUMP ? "dump" : "perf";
}

static int work(struct agent *a, struct cairn_err *err)
{
    a->hz = a->counts.wanted_hz = a->o.sampler.frequency_hz;
    a->counts.max_cpu = a->o.max_cpu;
    a->balance_s = account_s * a->o.max_cpu;
    a->counts.start_ns = cairn_clock_ns(CLOCK_REALTIME);
    take_signals();
    int code = open_all(a, err);
    if (code < 0)
        return code;
    cli_say("sampling at %g Hz by %s, a profile each %g s into %s%s%s", a->hz,
            method_word(a->sampler), (double)a->o.every_ns / 1e9, a->folder,
            a->o.push.url ? ", sent to " : "", a->o.push.url ? a->o.push.url : "");
    write_state(a);
    cli_agent_notify("READY=1");
    run_windows(a);
    cli_agent_notify(wants_reload && !wants_end ? "RELOADING=1" : "STOPPING=1");
    return CAIRN_OK;
}

/* The program and the configuration as they are now, in the same process. */
static void begin_anew(struct cairn_buffer *words)
{
    static char *argv[1024];
    char path[CLI_AGENT_PATH] = "";
    size_t n = 0;
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    char *deleted = size > 0 ? strstr(path, " (deleted)") : NULL; /* another is in its place */
    if (deleted)
        *deleted = 0;
    char *at = (char *)words->data, *end = at + words->size;
    for (; at < end && n < sizeof argv / sizeof *argv - 1; at += strlen(at) + 1)
        argv[n++] = at;
    if (n)
        execv(path, argv);
    cli_say("%s: cannot be started again: %s", path, strerror(errno));
}

static void done(struct agent *a)
{
    cli_agent_sender_stop(&a->sender);
    hear_sender(a);
    a->counts.n_dropped += a->n_held;
    if (a->sampler || a->counts.last_ns)
        write_state(a);
    stop_sampler(a);
    while (a->n_held)
        drop_oldest(a);
    cairn_spool_close(a->spool);
}

static int run(struct cli_args *args)
{
    static struct agent a = {.sender.fd = -1};
    struct cairn_err err = {0};
    struct cairn_buffer words = {0};
    int status = CLI_USAGE;
    (void)cairn_file_slurp("/proc/self/cmdline", CMDLINE_BYTES_MAX, &words, NULL);
    if (cli_agent_options_read(args, &a.o)) {
        cli_log_open(a.o.verbosity);
        status = work(&a, &err) < 0 ? cli_report(&err) : CLI_OK;
        done(&a);
    }
    cli_agent_options_done(&a.o);
    if (status == CLI_OK && wants_reload && !wants_end) {
        begin_anew(&words);
        status = CLI_FAILED;
    }
    cairn_buffer_done(&words);
    return status;
}

const struct cli_command cli_agent_run = {
    .name = "agent run",
    .summary = "sample this machine all the time, and keep or send a profile for each window",
    .usage = (const char *const[]){"agent [run] [OPTION...]", NULL},
    .options = cli_agent_run_options,
    .notes = "SIGTERM and SIGINT end it, SIGHUP makes it read its configuration again, SIGUSR1 "
             "ends the window that runs. cairn agent status says what it does and what it lost, "
             "cairn agent dump makes one profile of the last minutes.",
    .run = run,
};
