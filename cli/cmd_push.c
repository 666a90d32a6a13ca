/* SPDX-License-Identifier: MIT */
/* cairn push: profiles into a store, one after the other. */
#include <string.h>

#include <cairn/push.h>

#include "base/error.h"
#include "cli/numbers.h"
#include "cli/profiles.h"
#include "cli/push.h"
#include "cli/push_auth.h"
#include "cli/term.h"

enum { SECONDS_MAX = 86400 };

enum option {
    OPTION_TO,
    OPTION_NAME,
    OPTION_LABEL,
    OPTION_TENANT,
    OPTION_AUTH,
    OPTION_CACERT,
    OPTION_TIMEOUT,
    OPTION_FROM,
    OPTION_VERBOSE
};

static const struct cli_option options[] = {
    [OPTION_TO] = {.name = "to",
                   .letter = 't',
                   .value = "STORE",
                   .help = "pyroscope or otlp (OpenTelemetry over HTTP); default: what the path of "
                           "URL says (/ingest, /v1development/profiles), then its port (4040, "
                           "4318)"},
    [OPTION_NAME] = {.name = "name",
                     .value = "NAME",
                     .help = "of the service (default: the process that all samples are of, else "
                             "cairn)"},
    [OPTION_LABEL] = {.name = "label",
                      .value = "KEY=VALUE",
                      .help = "a label for the profile, such as host=web1; may be given several "
                              "times"},
    [OPTION_TENANT] = {.name = "tenant",
                       .value = "ID",
                       .help = "whose profile it is, in a store with tenants (X-Scope-OrgID)"},
    [OPTION_AUTH] = {.name = "auth",
                     .value = "FILE",
                     .help = "a file of mode 600 with one line, \"Bearer TOKEN\" or \"Basic "
                             "USER:PASSWORD\" (default: CAIRN_PUSH_TOKEN, or CAIRN_PUSH_USER and "
                             "CAIRN_PUSH_PASSWORD)"},
    [OPTION_CACERT] = {.name = "cacert",
                       .value = "FILE",
                       .help = "trust the certificates in FILE instead of the machine's"},
    [OPTION_TIMEOUT] = {.name = "timeout",
                        .value = "SECONDS",
                        .help = "for each profile, with all attempts and pauses (30)"},
    [OPTION_FROM] = {.name = "from",
                     .value = "FORMAT",
                     .help =
                         "what the profiles are, such as pprof or perf-data (default: what they "
                         "look like)"},
    [OPTION_VERBOSE] = {.name = "verbose", .letter = 'v', .help = "say what is done; twice: more"},
    {0},
};

struct push {
    struct cli_args *args;
    char *const *inputs;
    size_t n_inputs;
    struct cairn_push_opts opts;
    struct cairn_push_label labels[64];
    struct cairn_buffer keys; /* each ends with a NUL */
    struct cli_push_auth auth;
    struct cli_reading reading;
    const char *auth_file;
    int verbosity;
};

/* "" would be a label of no name: the library says what a name may hold. */
static bool take_label(struct push *p, const char *text)
{
    const char *sign = strchr(text, '=');
    if (!sign || sign == text)
        return cli_args_wrong(p->args, "--label %s: expected KEY=VALUE", text) == CLI_OK;
    if (p->opts.n_labels == sizeof p->labels / sizeof *p->labels)
        return cli_args_wrong(p->args, "--label: at most 64 are allowed") == CLI_OK;
    p->labels[p->opts.n_labels++].value = sign + 1;
    cairn_buffer_add(&p->keys, text, (size_t)(sign - text));
    cairn_buffer_char(&p->keys, 0);
    return true;
}

static bool take_store(struct push *p, const char *text)
{
    static const char *const words[] = {"pyroscope", "otlp", NULL};
    int word;
    if (!cli_args_word(p->args, "to", text, words, &word))
        return false;
    p->opts.store = (enum cairn_push_store)(word + CAIRN_PUSH_PYROSCOPE);
    return true;
}

static bool take_option(struct push *p, int option, const char *value)
{
    switch (option) {
    case OPTION_TO:
        return take_store(p, value);
    case OPTION_NAME:
        p->opts.name = value;
        return true;
    case OPTION_LABEL:
        return take_label(p, value);
    case OPTION_TENANT:
        p->opts.tenant = value;
        return true;
    case OPTION_AUTH:
        p->auth_file = value;
        return true;
    case OPTION_CACERT:
        p->opts.ca_file = value;
        return true;
    case OPTION_TIMEOUT:
        return cli_args_positive(p->args, "timeout", value, SECONDS_MAX, &p->opts.timeout_s);
    case OPTION_FROM:
        return cli_format_arg(p->args, "from", value, &p->reading.format);
    default:
        p->verbosity++;
        return true;
    }
}

static int parse(struct push *p)
{
    const char *value;
    int option;
    while ((option = cli_args_next(p->args, &value)) >= 0)
        if (!take_option(p, option, value))
            return CLI_USAGE;
    if (option == CLI_ARGS_WRONG)
        return CLI_USAGE;
    size_t n;
    p->inputs = cli_args_operands(p->args, &n);
    if (n < 2)
        return cli_args_wrong(p->args, "expected PROFILE and URL: files, or - for stdin, then the "
                                       "address of the store");
    p->n_inputs = n - 1;
    p->opts.url = p->inputs[n - 1];
    const char *key = cairn_buffer_text(&p->keys);
    for (size_t i = 0; i < p->opts.n_labels; i++, key += strlen(key) + 1)
        p->labels[i].key = key;
    p->opts.labels = p->labels;
    return CLI_OK;
}

static int prepare(struct push *p, struct cairn_err *err)
{
    enum cairn_push_store store;
    int code = cairn_push_check(&p->opts, &store, err);
    if (code == CAIRN_OK)
        code = cli_push_auth_read(p->auth_file, &p->auth, err);
    if (code < 0)
        return code;
    p->opts.token = p->auth.token;
    p->opts.user = p->auth.user;
    p->opts.password = p->auth.password;
    p->reading.keeps_times = store == CAIRN_PUSH_OTLP;
    return CAIRN_OK;
}

static void say_sent(const char *path, const struct cairn_push_result *result)
{
    cli_say("%s: sent to %s, %zu bytes", strcmp(path, "-") == 0 ? "stdin" : path, result->shown,
            result->n_bytes);
}

/* Whether the others are worth an attempt: what is wrong with one profile says nothing about them,
 * what is wrong with the store does. */
static bool goes_on_after(const struct cairn_push_result *result)
{
    return !result->n_tries || result->status == 400 || result->status == 413 ||
           result->status == 422 || result->status / 100 == 2;
}

static int push_one(struct push *p, char *path, struct cairn_push_result *result,
                    struct cairn_err *err)
{
    char *const paths[] = {path, NULL};
    struct cairn_profile *profile;
    int code = cli_read_profiles(paths, &p->reading, &profile, err);
    if (code < 0)
        return code;
    code = cairn_push_profile(profile, &p->opts, result, err);
    cairn_profile_free(profile);
    if (code == CAIRN_OK)
        say_sent(path, result);
    return result->n_tries ? cairn_fail_in(err, code, path) : code;
}

static int push_all(struct push *p)
{
    int status = CLI_OK;
    for (size_t i = 0; i < p->n_inputs; i++) {
        struct cairn_push_result result = {.size = sizeof result};
        struct cairn_err err = {0};
        if (push_one(p, p->inputs[i], &result, &err) == CAIRN_OK)
            continue;
        status = cli_report(&err);
        if (!goes_on_after(&result) && i + 1 < p->n_inputs) {
            cli_say("%s and what follows it: not sent", p->inputs[i + 1]);
            break;
        }
    }
    return status;
}

static int run(struct cli_args *args)
{
    struct push p = {.args = args, .opts = {.size = sizeof p.opts}};
    struct cairn_err err = {0};
    int status = parse(&p);
    if (status == CLI_OK) {
        cli_log_open(p.verbosity);
        status = prepare(&p, &err) < 0 ? cli_report(&err) : push_all(&p);
    }
    cli_push_auth_done(&p.auth);
    cairn_buffer_done(&p.keys);
    return status;
}

const struct cli_command cli_cmd_push = {
    .name = "push",
    .summary = "send profiles to a store: Pyroscope, OpenTelemetry",
    .usage = (const char *const[]){"push PROFILE... URL [OPTION...]", NULL},
    .options = options,
    .notes = "PROFILE is what cairn convert reads, - is stdin; each is sent by itself. URL is the "
             "store's, such as https://pyroscope:4040, without user and password, which every user "
             "of this machine could see. Addresses are named by the files of this machine first. "
             "A profile that was sent whole without an answer is reported, and not sent again.",
    .run = run,
};
