/* SPDX-License-Identifier: MIT */
/*
 * cairn agent: samples a machine for as long as it runs, a profile for each window of time.
 *
 *     sampler ─► window ─► labels, names ─► pprof ─► spool ─► sender (a child) ─► store
 *                                                      └────► cairn agent dump
 */
#ifndef CAIRN_CLI_AGENT_H
#define CAIRN_CLI_AGENT_H

#include <stdbool.h>

#include <cairn/agent.h>
#include <cairn/push.h>
#include <cairn/sampler.h>

#include "base/buffer.h"
#include "cli/args.h"
#include "cli/push_auth.h"

extern const struct cli_command cli_cmd_agent, cli_agent_run, cli_agent_dump, cli_agent_status;

enum { CLI_AGENT_PATH = 4096, CLI_AGENT_LABELS = 64 };

struct cairn_resolver;

struct cli_agent_options {
    const char *folder;     /* of the windows; NULL: cli_agent_folder() */
    const char *run_folder; /* of the state; NULL: cli_agent_run_folder() */
    struct cairn_sampler_opts sampler;
    uint64_t every_ns, keep_ns, max_bytes;
    double max_cpu; /* of one core: 0.01 */
    uint64_t max_memory;
    double seconds; /* 0: until it is ended */
    bool no_names, lines;
    struct cli_list environment;
    size_t max_sets;
    struct cairn_push_opts push; /* url NULL: nowhere */
    struct cairn_push_label labels[CLI_AGENT_LABELS];
    struct cairn_buffer keys; /* of the labels; each ends with a NUL */
    const char *auth_file;
    struct cli_push_auth auth;
    const char *config; /* the file that was read; NULL: none */
    struct cairn_buffer config_words;
    int verbosity;
};

/* Reads the words behind "run", and those of the configuration before them. False after having said
 * what is wrong. To be given to the second one whatever came back. */
bool cli_agent_options_read(struct cli_args *args, struct cli_agent_options *ret_options);
void cli_agent_options_done(struct cli_agent_options *options);
extern const struct cli_option cli_agent_run_options[];

/* "10s", "5m", "24h", "7d", "1.5"; false: it is no duration. */
bool cli_agent_duration(const char *text, uint64_t *ret_ns);

/* Where nothing else is said: what systemd gives to the service, for root /var/lib/cairn-agent and
 * /run/cairn-agent, else folders of the user. */
void cli_agent_folder(char path[CLI_AGENT_PATH]);
void cli_agent_run_folder(char path[CLI_AGENT_PATH]);

/* What makes the bytes of a window from its profile; all-zero is a new one. */
struct cli_agent_maker {
    struct cairn_resolver *resolver; /* knows modules of the windows before; NULL: none yet */
    unsigned n_windows;
    uint64_t n_sets_lost; /* in the last window: sets of labels beyond the bound */
    struct cairn_err why; /* of the last window: no names; an empty msg: it has names */
};
int cli_agent_profile_finish(struct cli_agent_maker *maker, const struct cli_agent_options *options,
                             const struct cairn_sampler *sampler, struct cairn_profile *profile,
                             struct cairn_buffer *ret_bytes, struct cairn_err *err);
void cli_agent_maker_done(struct cli_agent_maker *maker);

/* What the sender tells of each window. */
struct cli_agent_sent {
    int outcome;        /* enum cairn_push_outcome; -1: it could not be read */
    int will_be_resent; /* 1: refused for a reason that may pass */
    uint32_t bytes;
    uint32_t pause_ms; /* until the next attempt */
    uint32_t behind;   /* windows that wait */
    char why[200];     /* "" */
};

/* The child that sends; all-zero but for `fd` -1 is none. */
struct cli_agent_sender {
    int pid, fd;
    bool is_ending;
};
int cli_agent_sender_start(const struct cli_agent_options *options, const char *folder,
                           struct cairn_spool *spool, struct cli_agent_sender *ret_sender,
                           struct cairn_err *err);
/* Something new is there. */
void cli_agent_sender_wake(const struct cli_agent_sender *sender);
/* The next thing that it tells; false: nothing yet. It has ended where `sender->pid` is 0 then. */
bool cli_agent_sender_told(struct cli_agent_sender *sender, struct cli_agent_sent *ret_sent);
/* Lets it send what waits, for some seconds. What it tells has to be taken then, until it has
 * ended: cli_agent_sender_told() waits for it from now on. */
void cli_agent_sender_stop(struct cli_agent_sender *sender);

/* What the agent counts from its start on. */
struct cli_agent_counts {
    uint64_t start_ns, last_ns; /* since 1970: of the agent, and the end of the last window */
    uint64_t n_windows;         /* in the spool */
    uint64_t n_held;            /* waiting in memory, for the disk is full */
    uint64_t n_dropped;         /* lost: neither disk nor memory had space */
    uint64_t n_failed;          /* lost: sampling or writing failed otherwise */
    uint64_t n_paused;          /* not sampled, to keep the budget */
    uint64_t n_removed, n_removed_unsent;
    uint64_t n_samples, n_lost, n_unkept;
    uint64_t n_sets_lost; /* of labels */
    uint64_t n_sent, n_doubt, n_refused, n_failures, sent_bytes, n_waiting;
    uint64_t n_restarts; /* of the sampler, to keep the memory */
    uint64_t missing_ns; /* before the start: since the last window of an agent that was killed */
    uint64_t spool_bytes;
    uint64_t cpu_ns, memory_bytes;
    double cpu_share; /* of one core, in the last window */
    double frequency_hz, wanted_hz;
    double max_cpu;
    double pause_s; /* before the sender's next attempt */
    bool has_store;
    char why[512]; /* the last thing that went wrong; "" */
};

/* Writes agent.prom into the folder, whole or not at all. */
int cli_agent_state_write(const char *run_folder, const char *folder,
                          const struct cli_agent_counts *counts, struct cairn_err *err);

/* systemd's sd_notify(3); nothing where it did not start us. */
void cli_agent_notify(const char *state);

#endif /* CAIRN_CLI_AGENT_H */
