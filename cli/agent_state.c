/* SPDX-License-Identifier: MIT */
/* What the agent tells of itself: a text file in the form that node_exporter's textfile collector
 * reads, and messages to systemd. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/own_folder.h"
#include "cli/agent.h"

enum { FOLDER_LEVELS = 2 };

struct metric {
    const char *name, *help;
    bool is_gauge;
    double value;
};

/* Inside of double quotes. */
static void add_quoted(struct cairn_buffer *b, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            cairn_buffer_char(b, '\\');
        cairn_buffer_char(b, *text == '\n' ? ' ' : *text);
    }
}

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static void add_metric(struct cairn_buffer *b, const struct metric *m)
{
    cairn_buffer_printf(b, "# HELP cairn_agent_%s %s\n# TYPE cairn_agent_%s %s\n", m->name, m->help,
                        m->name, m->is_gauge ? "gauge" : "counter");
    cairn_buffer_printf(b, "cairn_agent_%s %.15g\n", m->name, m->value);
}

static void add_info(struct cairn_buffer *b, const char *folder, const struct cli_agent_counts *c)
{
    cairn_buffer_str(b, "# HELP cairn_agent_info Folder of the profiles, and the last failure\n"
                        "# TYPE cairn_agent_info gauge\ncairn_agent_info{folder=\"");
    add_quoted(b, folder);
    cairn_buffer_str(b, "\",failure=\"");
    add_quoted(b, c->why);
    cairn_buffer_printf(b, "\",pid=\"%d\"} 1\n", (int)getpid());
}

static void add_all(struct cairn_buffer *b, const struct cli_agent_counts *c)
{
    const struct metric rows[] = {
        {"start_time_seconds", "When the agent started, since 1970", true, seconds(c->start_ns)},
        {"last_window_time_seconds", "When the last window ended", true, seconds(c->last_ns)},
        {"windows_total", "Profiles that were written", false, (double)c->n_windows},
        {"windows_held", "Profiles in memory that the disk does not take", true, (double)c->n_held},
        {"windows_dropped_total", "Profiles lost, for disk and memory were full", false,
         (double)c->n_dropped},
        {"windows_failed_total", "Profiles lost by other failures", false, (double)c->n_failed},
        {"windows_paused_total", "Windows not sampled, to keep the budget", false,
         (double)c->n_paused},
        {"windows_removed_total", "Profiles removed by age or size", false, (double)c->n_removed},
        {"windows_removed_unsent_total", "Of them, those that were not sent", false,
         (double)c->n_removed_unsent},
        {"missing_seconds", "Not sampled before the start, for an agent was killed", true,
         seconds(c->missing_ns)},
        {"samples_total", "Samples", false, (double)c->n_samples},
        {"samples_lost_total", "Samples that the kernel dropped", false, (double)c->n_lost},
        {"samples_unkept_total", "Samples without memory for them", false, (double)c->n_unkept},
        {"label_sets_lost_total", "Sets of labels beyond the bound", false, (double)c->n_sets_lost},
        {"sampler_restarts_total", "To keep the memory bound", false, (double)c->n_restarts},
        {"store", "1: profiles are sent to a store", true, (double)c->has_store},
        {"sent_total", "Profiles that the store has", false, (double)c->n_sent},
        {"sent_bytes_total", "Bytes of them", false, (double)c->sent_bytes},
        {"sent_doubtful_total", "Profiles that the store may have", false, (double)c->n_doubt},
        {"refused_total", "Profiles that the store refused", false, (double)c->n_refused},
        {"send_failures_total", "Attempts that failed, and are made again", false,
         (double)c->n_failures},
        {"waiting", "Profiles that wait for the store", true, (double)c->n_waiting},
        {"send_pause_seconds", "Before the next attempt", true, c->pause_s},
        {"spool_bytes", "Of all profiles on the disk", true, (double)c->spool_bytes},
        {"cpu_seconds_total", "CPU time of the agent and its sender", false, seconds(c->cpu_ns)},
        {"cpu_share", "Of one core, in the last window", true, c->cpu_share},
        {"cpu_budget", "Of one core", true, c->max_cpu},
        {"memory_bytes", "Memory of the agent, without mapped files", true,
         (double)c->memory_bytes},
        {"frequency_hz", "Samples a second of CPU time; 0: paused", true, c->frequency_hz},
        {"frequency_wanted_hz", "The same as configured", true, c->wanted_hz},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add_metric(b, &rows[i]);
}

static int write_text(const char *path, const struct cairn_buffer *text, struct cairn_err *err)
{
    struct cairn_replace replace;
    int code = cairn_replace_open(path, CAIRN_REPLACE_FORCE, &replace, err);
    if (code < 0)
        return code;
    (void)fchmod(replace.fd, 0644);
    code = cairn_write_all(replace.fd, text->data, text->size, path, err);
    if (code == CAIRN_OK)
        code = cairn_replace_commit(&replace, err);
    cairn_replace_drop(&replace);
    return code;
}

int cli_agent_state_write(const char *run_folder, const char *folder,
                          const struct cli_agent_counts *counts, struct cairn_err *err)
{
    char path[CLI_AGENT_PATH + 16];
    struct cairn_buffer text = {0};
    int fd, code = cairn_own_folder_open(run_folder, FOLDER_LEVELS, &fd, err);
    if (code < 0)
        return code;
    close(fd);
    add_info(&text, folder, counts);
    add_all(&text, counts);
    snprintf(path, sizeof path, "%s/agent.prom", run_folder);
    code = text.failed ? cairn_fail_memory(err) : write_text(path, &text, err);
    cairn_buffer_done(&text);
    return code;
}

void cli_agent_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char text[256];
    if (!path || (*path != '/' && *path != '@') || strlen(path) >= sizeof to.sun_path)
        return;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    memcpy(to.sun_path, path, strlen(path));
    if (*path == '@') /* of the abstract namespace */
        to.sun_path[0] = 0;
    snprintf(text, sizeof text, "%s\nMONOTONIC_USEC=%" PRIu64 "\n", state, cairn_now_ns() / 1000);
    (void)!sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&to,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
    close(fd);
}
