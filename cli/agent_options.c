/* SPDX-License-Identifier: MIT */
/* The options of cairn agent. A line of the configuration is an option, too: "every = 10s". */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/agent.h"
#include "cli/term.h"

enum { CONFIG_BYTES_MAX = 1 << 16, WORDS_MAX = 1024, SECONDS_MAX = 86400 * 31 };
static const uint64_t NS_PER_S = 1000000000;
static const char usual_config[] = "/etc/cairn/agent.conf";

enum {
    OPT_CONFIG,
    OPT_FREQUENCY,
    OPT_EVERY,
    OPT_FOLDER,
    OPT_KEEP,
    OPT_MAX_SIZE,
    OPT_MAX_CPU,
    OPT_MAX_MEMORY,
    OPT_MAX_LABELS,
    OPT_ENV,
    OPT_CGROUP,
    OPT_USER_ONLY,
    OPT_METHOD,
    OPT_NO_NAMES,
    OPT_LINES,
    OPT_PUSH,
    OPT_TO,
    OPT_NAME,
    OPT_LABEL,
    OPT_TENANT,
    OPT_AUTH,
    OPT_CACERT,
    OPT_RUN_FOLDER,
    OPT_DURATION,
    OPT_VERBOSE,
};

const struct cli_option cli_agent_run_options[] = {
    [OPT_CONFIG] = {"config", 0, "FILE",
                    "read options from FILE first, one a line: \"every = 10s\" "
                    "(/etc/cairn/agent.conf, if it is there)"},
    [OPT_FREQUENCY] = {"frequency", 'F', "HZ", "samples a second of CPU time, 1 to 99 (19)"},
    [OPT_EVERY] = {"every", 0, "TIME", "a profile for each TIME, such as 10s or 1m (10s)"},
    [OPT_FOLDER] = {"dir", 0, "FOLDER",
                    "keep profiles in FOLDER (/var/lib/cairn-agent; for other users than root "
                    "~/.local/state/cairn-agent)"},
    [OPT_KEEP] = {"keep", 0, "TIME", "remove profiles that are older (24h)"},
    [OPT_MAX_SIZE] = {"max-size", 0, "SIZE", "remove the oldest profiles beyond SIZE (1G)"},
    [OPT_MAX_CPU] = {"max-cpu", 0, "PERCENT",
                     "of one core, for sampling, naming and sending, over five minutes (1%)"},
    [OPT_MAX_MEMORY] = {"max-memory", 0, "SIZE", "of the agent, without its sender (100M)"},
    [OPT_MAX_LABELS] = {"max-labels", 0, "N",
                        "at most N sets of labels in a profile; beyond that labels are left out "
                        "(1000)"},
    [OPT_ENV] = {"env", 0, "NAME",
                 "make the environment variable NAME of processes a label; may be given several "
                 "times"},
    [OPT_CGROUP] = {"cgroup", 0, "CGROUP", "sample this cgroup (version 2) and those below it"},
    [OPT_USER_ONLY] = {"user-only", 'u', NULL, "no kernel frames"},
    [OPT_METHOD] = {"method", 0, "HOW", "bpf, dump, perf or auto (default): see cairn record"},
    [OPT_NO_NAMES] = {"no-names", 0, NULL,
                      "keep addresses and build IDs without names; cairn resolve adds them"},
    [OPT_LINES] = {"lines", 0, NULL,
                   "name inlined functions and lines, too, by debug information: costs much more"},
    [OPT_PUSH] = {"push", 0, "URL", "send each profile to the store at URL (cairn push)"},
    [OPT_TO] = {"to", 't', "STORE", "pyroscope or otlp; default: what URL says"},
    [OPT_NAME] = {"name", 0, "NAME", "of the service, for the store (cairn-agent)"},
    [OPT_LABEL] = {"label", 0, "KEY=VALUE",
                   "a label for the store beside host; may be given several times"},
    [OPT_TENANT] = {"tenant", 0, "ID", "of a store with tenants (X-Scope-OrgID)"},
    [OPT_AUTH] = {"auth", 0, "FILE",
                  "a file of mode 600 with \"Bearer TOKEN\" or \"Basic USER:PASSWORD\" (default: "
                  "CAIRN_PUSH_TOKEN, or CAIRN_PUSH_USER and CAIRN_PUSH_PASSWORD)"},
    [OPT_CACERT] = {"cacert", 0, "FILE", "trust the certificates in FILE"},
    [OPT_RUN_FOLDER] = {"run-dir", 0, "FOLDER",
                        "write the state, agent.prom, into FOLDER (/run/cairn-agent; for other "
                        "users than root below $XDG_RUNTIME_DIR or the folder of --dir)"},
    [OPT_DURATION] = {"duration", 0, "TIME", "end after TIME (never)"},
    [OPT_VERBOSE] = {"verbose", 'v', NULL, "say what is done; twice: more of it"},
    {0},
};

bool cli_agent_duration(const char *text, uint64_t *ret_ns)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    double number = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double seconds = number * units[i].seconds;
        if (strcmp(end, units[i].unit) == 0 && seconds >= 0.01 && seconds <= SECONDS_MAX) {
            *ret_ns = (uint64_t)(seconds * (double)NS_PER_S);
            return true;
        }
    }
    return false;
}

static bool take_duration(struct cli_args *args, const char *option, const char *text,
                          uint64_t *ret_ns)
{
    if (cli_agent_duration(text, ret_ns))
        return true;
    cli_args_wrong(args, "--%s: %s, expected a time of 10ms to 31d, such as 10s, 5m, 24h", option,
                   text);
    return false;
}

static bool take_share(struct cli_args *args, const char *text, double *ret_share)
{
    char *end;
    double percent = isdigit((unsigned char)*text) ? strtod(text, &end) : 0;
    if (percent >= 0.01 && percent <= 100 && (strcmp(end, "%") == 0 || !*end)) {
        *ret_share = percent / 100;
        return true;
    }
    cli_args_wrong(args, "--max-cpu: %s, expected 0.01%% to 100%%", text);
    return false;
}

static bool take_label(struct cli_agent_options *o, struct cli_args *args, const char *text)
{
    const char *sign = strchr(text, '=');
    if (!sign || sign == text)
        return cli_args_wrong(args, "--label %s: expected KEY=VALUE", text) == CLI_OK;
    if (o->push.n_labels == CLI_AGENT_LABELS - 1) /* and host */
        return cli_args_wrong(args, "--label: at most %d are allowed", CLI_AGENT_LABELS - 1) ==
               CLI_OK;
    o->labels[o->push.n_labels++].value = sign + 1;
    cairn_buffer_add(&o->keys, text, (size_t)(sign - text));
    cairn_buffer_char(&o->keys, 0);
    return true;
}

static bool take_env(struct cli_agent_options *o, struct cli_args *args, const char *text)
{
    size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    if (!n || text[n] || n > 64 || o->environment.n == 16)
        return cli_args_wrong(args,
                              "--env: \"%.80s\", expected at most 16 names of letters, digits and "
                              "_",
                              text) == CLI_OK;
    cli_list_add(&o->environment, text);
    return true;
}

static bool take_frequency(struct cli_agent_options *o, struct cli_args *args, const char *text)
{
    if (!cli_args_positive(args, "frequency", text, 99, &o->sampler.frequency_hz))
        return false;
    if (o->sampler.frequency_hz >= 1)
        return true;
    cli_args_wrong(args, "--frequency: %s, expected 1 to 99", text);
    return false;
}

static bool take_method(struct cli_agent_options *o, struct cli_args *args, const char *text)
{
    static const char *const words[] = {"auto", "bpf", "dump", "perf", NULL};
    static const enum cairn_sample_method methods[] = {CAIRN_SAMPLE_AUTO, CAIRN_SAMPLE_BPF,
                                                       CAIRN_SAMPLE_DUMP, CAIRN_SAMPLE_PERF};
    int word;
    if (!cli_args_word(args, "method", text, words, &word))
        return false;
    o->sampler.method = methods[word];
    return true;
}

static bool take_store(struct cli_agent_options *o, struct cli_args *args, const char *text)
{
    static const char *const words[] = {"pyroscope", "otlp", NULL};
    int word;
    if (!cli_args_word(args, "to", text, words, &word))
        return false;
    o->push.store = (enum cairn_push_store)(word + CAIRN_PUSH_PYROSCOPE);
    return true;
}

/* What is about the store. */
static bool take_push(struct cli_agent_options *o, struct cli_args *args, int row,
                      const char *value)
{
    switch (row) {
    case OPT_PUSH:
        o->push.url = value;
        return true;
    case OPT_TO:
        return take_store(o, args, value);
    case OPT_NAME:
        o->push.name = value;
        return true;
    case OPT_LABEL:
        return take_label(o, args, value);
    case OPT_TENANT:
        o->push.tenant = value;
        return true;
    case OPT_AUTH:
        o->auth_file = value;
        return true;
    default:
        o->push.ca_file = value;
        return true;
    }
}

static bool take_bound(struct cli_agent_options *o, struct cli_args *args, int row,
                       const char *value)
{
    uint64_t n;
    switch (row) {
    case OPT_KEEP:
        return take_duration(args, "keep", value, &o->keep_ns);
    case OPT_MAX_SIZE:
        return cli_args_size(args, "max-size", value, &o->max_bytes);
    case OPT_MAX_CPU:
        return take_share(args, value, &o->max_cpu);
    case OPT_MAX_MEMORY:
        return cli_args_size(args, "max-memory", value, &o->max_memory);
    default:
        if (!cli_args_count(args, "max-labels", value, 1000000, &n))
            return false;
        o->max_sets = (size_t)n;
        return true;
    }
}

static bool take(struct cli_agent_options *o, struct cli_args *args, int row, const char *value)
{
    uint64_t ns;
    if (row >= OPT_PUSH && row <= OPT_CACERT)
        return take_push(o, args, row, value);
    if (row >= OPT_KEEP && row <= OPT_MAX_LABELS)
        return take_bound(o, args, row, value);
    switch (row) {
    case OPT_CONFIG:
        return true;
    case OPT_FREQUENCY:
        return take_frequency(o, args, value);
    case OPT_EVERY:
        return take_duration(args, "every", value, &o->every_ns);
    case OPT_FOLDER:
        o->folder = value;
        return true;
    case OPT_ENV:
        return take_env(o, args, value);
    case OPT_CGROUP:
        o->sampler.cgroup = value;
        return true;
    case OPT_USER_ONLY:
        o->sampler.user_only = 1;
        return true;
    case OPT_METHOD:
        return take_method(o, args, value);
    case OPT_NO_NAMES:
        o->no_names = true;
        return true;
    case OPT_LINES:
        o->lines = true;
        return true;
    case OPT_RUN_FOLDER:
        o->run_folder = value;
        return true;
    case OPT_DURATION:
        if (!take_duration(args, "duration", value, &ns))
            return false;
        o->seconds = (double)ns / (double)NS_PER_S;
        return true;
    default:
        o->verbosity++;
        return true;
    }
}

static const struct cli_option *find_option(const char *name)
{
    for (const struct cli_option *o = cli_agent_run_options; o->name; o++)
        if (strcmp(o->name, name) == 0 && o != &cli_agent_run_options[OPT_CONFIG])
            return o;
    return NULL;
}

static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t n = strlen(text);
    while (n && strchr(" \t\r", text[n - 1]))
        text[--n] = 0;
    return text;
}

/* Appends "--NAME=VALUE" and a NUL. False after having said what is wrong. */
static bool take_line(struct cli_agent_options *o, unsigned number, char *line)
{
    char *name = trim(line), *sign = strchr(name, '=');
    const char *value = "";
    if (!*name || *name == '#')
        return true;
    if (sign) {
        *sign = 0;
        value = trim(sign + 1);
        name = trim(name);
    }
    const struct cli_option *option = find_option(name);
    if (!option)
        cli_say("%s:%u: there is no option \"%.40s\" (cairn agent run --help)", o->config, number,
                name);
    else if (!sign != !option->value)
        cli_say(option->value ? "%s:%u: %s: expected \"%s = VALUE\""
                              : "%s:%u: %s: takes no value, expected \"%s\" alone",
                o->config, number, name, name);
    else
        cairn_buffer_printf(&o->config_words, sign ? "--%s=%s" : "--%s", name, value);
    cairn_buffer_char(&o->config_words, 0);
    return option && !sign == !option->value;
}

static bool read_config(struct cli_agent_options *o)
{
    struct cairn_buffer text = {0};
    struct cairn_err err;
    bool ok = cairn_file_slurp(o->config, CONFIG_BYTES_MAX, &text, &err) == CAIRN_OK;
    unsigned number = 0;
    char *rest = (char *)text.data;
    if (!ok)
        cli_report(&err);
    if (ok && strlen(cairn_buffer_text(&text)) != text.size) {
        cli_say("%s: holds a byte 0, expected text", o->config);
        ok = false;
    }
    for (char *line; ok && (line = strsep(&rest, "\n"));)
        ok = take_line(o, ++number, line);
    cairn_buffer_done(&text);
    return ok;
}

/* The words of the configuration. False after having said what is wrong. */
static bool take_config(struct cli_agent_options *o)
{
    char *words[WORDS_MAX + 1];
    size_t n = 0;
    const char *value, *at = cairn_buffer_text(&o->config_words);
    const char *end = at + o->config_words.size;
    for (; at < end && n < WORDS_MAX; at += strlen(at) + 1)
        words[n++] = (char *)at;
    words[n] = NULL;
    struct cli_args *args = cli_args_new(&cli_agent_run, words);
    int row;
    bool ok = true;
    while (ok && (row = cli_args_next(args, &value)) >= 0)
        ok = take(o, args, row, value);
    ok = ok && row == CLI_ARGS_END;
    if (!ok)
        cli_say("that stands in %s", o->config);
    cli_args_free(args);
    return ok;
}

/* --config comes first, wherever it stands. */
static bool find_config(struct cli_agent_options *o, char *const *words)
{
    for (; *words; words++) {
        if (strncmp(*words, "--config=", 9) == 0)
            o->config = *words + 9;
        else if (strcmp(*words, "--config") == 0 && words[1])
            o->config = *++words;
    }
    if (!o->config && access(usual_config, F_OK) == 0)
        o->config = usual_config;
    return !o->config || (read_config(o) && take_config(o));
}

static void set_defaults(struct cli_agent_options *o)
{
    *o = (struct cli_agent_options){.every_ns = 10 * NS_PER_S,
                                    .keep_ns = 24 * 3600 * NS_PER_S,
                                    .max_bytes = 1000000000,
                                    .max_cpu = 0.01,
                                    .max_memory = 100000000,
                                    .push = {.size = sizeof o->push, .name = "cairn-agent"}};
    o->sampler.size = sizeof o->sampler;
    o->sampler.frequency_hz = 19;
}

/* Texts that labels point to, once they do not move any more; and host, unless it was given. */
static void finish_labels(struct cli_agent_options *o)
{
    static char host[256];
    bool has_host = false;
    const char *key = cairn_buffer_text(&o->keys);
    for (size_t i = 0; i < o->push.n_labels; i++, key += strlen(key) + 1) {
        o->labels[i].key = key;
        has_host = has_host || strcmp(key, "host") == 0;
    }
    if (!has_host && gethostname(host, sizeof host - 1) == 0 && *host)
        o->labels[o->push.n_labels++] = (struct cairn_push_label){"host", host};
    o->push.labels = o->labels;
}

bool cli_agent_options_read(struct cli_args *args, struct cli_agent_options *o)
{
    const char *value;
    int row;
    size_t n;
    set_defaults(o);
    if (!find_config(o, cli_args_words(args)))
        return false;
    while ((row = cli_args_next(args, &value)) >= 0)
        if (!take(o, args, row, value))
            return false;
    if (row == CLI_ARGS_WRONG)
        return false;
    if (cli_args_operands(args, &n)[0])
        return cli_args_wrong(args, "takes options alone") == CLI_OK;
    o->sampler.all_processes = !o->sampler.cgroup;
    /* A part of it for what is recorded; the rest for names, unwind tables and what is known of
     * processes. */
    o->sampler.memory_bytes = o->max_memory / 4 > 1000000 ? o->max_memory / 4 : 1000000;
    finish_labels(o);
    return true;
}

void cli_agent_options_done(struct cli_agent_options *o)
{
    cli_list_done(&o->environment);
    cairn_buffer_done(&o->keys);
    cairn_buffer_done(&o->config_words);
    cli_push_auth_done(&o->auth);
}

/* What systemd sets may be several folders; the first is ours. */
static bool take_first(const char *variable, char path[CLI_AGENT_PATH])
{
    const char *text = getenv(variable);
    if (!text || *text != '/')
        return false;
    snprintf(path, CLI_AGENT_PATH, "%.*s", (int)strcspn(text, ":"), text);
    return true;
}

void cli_agent_folder(char path[CLI_AGENT_PATH])
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (take_first("STATE_DIRECTORY", path))
        return;
    if (geteuid() == 0)
        snprintf(path, CLI_AGENT_PATH, "/var/lib/cairn-agent");
    else if (state && *state == '/')
        snprintf(path, CLI_AGENT_PATH, "%s/cairn-agent", state);
    else
        snprintf(path, CLI_AGENT_PATH, "%s/.local/state/cairn-agent", home ? home : "");
}

void cli_agent_run_folder(char path[CLI_AGENT_PATH])
{
    const char *run = getenv("XDG_RUNTIME_DIR");
    if (take_first("RUNTIME_DIRECTORY", path))
        return;
    if (geteuid() == 0)
        snprintf(path, CLI_AGENT_PATH, "/run/cairn-agent");
    else if (run && *run == '/')
        snprintf(path, CLI_AGENT_PATH, "%s/cairn-agent", run);
    else
        cli_agent_folder(path);
}
