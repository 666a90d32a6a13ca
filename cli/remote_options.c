/* SPDX-License-Identifier: MIT */
/*
 * A command line for another machine, out of one that was typed here. Options that say where
 * results go and where symbols are stay here; all others, and the targets, go there.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/remote.h"
#include "cli/term.h"
#include "cli/way_options.h"

enum { OPT_HOST, OPT_RSH, OPT_INSTALL, OPT_SUDO, OPT_THERE, OPT_STRICT, N_OPTIONS };

const struct cli_option cli_remote_options[] = {
    [OPT_HOST] = {"host", 'H', "HOST",
                  "run on this machine: [USER@]HOST[:PORT] by ssh, docker:CONTAINER, "
                  "pod:NAMESPACE/POD/CONTAINER, adb:SERIAL or ns:PID; several with commas between, "
                  "or @FILE with one a line"},
    [OPT_RSH] = {"rsh", 0, "COMMAND",
                 "the command that opens a shell there, instead of ssh; it gets the host, if there "
                 "is one, and \"sh\" as further words"},
    [OPT_INSTALL] = {"install", 0, NULL,
                     "send this program there where cairn is missing: into a private folder, which "
                     "\"cairn remote clean\" removes"},
    [OPT_SUDO] = {"sudo", 0, NULL, "run as root there, by sudo -n"},
    [OPT_THERE] = {"symbols-there", 0, NULL, "name by the files there alone"},
    [OPT_STRICT] = {"strict", 0, NULL, "exit with status 1 where any host failed"},
    {0},
};

/* A PID, a name or another operand. */
struct target {
    char *host;            /* NULL: every host of -H */
    const char *text;      /* as it goes there */
    bool is_pid, is_plain; /* value of --pid; behind a "--" */
};

struct reading {
    struct cli_remote *remote;
    struct cli_args *args;
    struct cli_list options; /* those that go to every host */
    struct cli_list hosts;   /* of -H */
    struct target *targets;
    size_t n_targets;
};

static void *need(void *block)
{
    if (!block) {
        cli_say("out of memory");
        exit(CLI_FAILED);
    }
    return block;
}

/* A text that lives as long as the remote. */
static const char *own(struct cli_remote *remote, char *text)
{
    cli_list_add(&remote->owned, need(text));
    return text;
}

static const char *own_printf(struct cli_remote *remote, const char *before, const char *name,
                              const char *value)
{
    char *text = NULL;
    if (asprintf(&text, "%s%s%s%s", before, name, value ? "=" : "", value ? value : "") < 0)
        text = NULL;
    return own(remote, text);
}

bool cli_remote_host_is_sound(const char *name)
{
    const char *at = name;
    while (*at && (unsigned char)*at > ' ' && *at != 0x7f)
        at++;
    /* A part of a preset becomes a word of its own, and no option. */
    bool has_option = *name == '-' || strstr(name, ":-") || strstr(name, "/-");
    if (*name && !has_option && !*at && strlen(name) < 256)
        return true;
    cli_say("\"%.80s\" is no host, expected [USER@]HOST[:PORT]", *at ? "..." : name);
    return false;
}

/* Splits "HOST:TARGET"; false where the word is none, or the name of a file that is there. Both
 * parts are to be freed. */
static bool split(const char *word, char **ret_host, char **ret_target)
{
    const char *colon = strrchr(word, ':');
    if (!colon || colon == word || !colon[1] || word[0] == '-' || word[0] == '/' ||
        word[strcspn(word, " \t\n,")] || strchr(colon, '/') || access(word, F_OK) == 0)
        return false;
    /* "./a:b" and "dir/x:1" are files, and the one name with slashes is a pod's. */
    if (strchr(word, '/') && strncmp(word, "pod:", 4) != 0)
        return false;
    *ret_host = need(strndup(word, (size_t)(colon - word)));
    *ret_target = need(strdup(colon + 1));
    return true;
}

static bool is_known(struct reading *r, const char *host)
{
    for (size_t i = 0; i < r->hosts.n; i++)
        if (strcmp(r->hosts.items[i], host) == 0)
            return true;
    return false;
}

static bool add_host(struct reading *r, const char *name, size_t size)
{
    const char *host = own(r->remote, strndup(name, size));
    if (!cli_remote_host_is_sound(host))
        return false;
    if (r->hosts.n == CLI_REMOTE_HOSTS_MAX)
        return cli_args_wrong(r->args, "more than %d hosts", CLI_REMOTE_HOSTS_MAX), false;
    if (!is_known(r, host))
        cli_list_add(&r->hosts, host);
    return true;
}

/* A host a line; what follows a # is a comment. */
static bool add_host_file(struct reading *r, const char *path)
{
    char line[512];
    FILE *file = fopen(path, "re");
    if (!file)
        return cli_args_wrong(r->args, "--host: %s: %s", path, strerror(errno)), false;
    bool ok = true;
    while (ok && fgets(line, sizeof line, file)) {
        char *at = line + strspn(line, " \t");
        size_t size = strcspn(at, "# \t\r\n");
        ok = !size || add_host(r, at, size);
    }
    fclose(file);
    return ok && (r->hosts.n || (cli_args_wrong(r->args, "--host: %s names no host", path), false));
}

static bool add_hosts(struct reading *r, const char *value)
{
    bool ok = true;
    if (*value == '@')
        return add_host_file(r, value + 1);
    for (size_t size; ok; value += size + 1) {
        size = strcspn(value, ",");
        ok = add_host(r, value, size);
        if (!value[size])
            break;
    }
    return ok;
}

static void add_target(struct reading *r, const char *text, bool is_pid, bool is_plain)
{
    struct target target = {.text = text, .is_pid = is_pid, .is_plain = is_plain};
    char *host, *rest;
    if (!is_plain && split(text, &host, &rest)) {
        target.host = (char *)own(r->remote, host);
        target.text = own(r->remote, rest);
    }
    r->targets = need(realloc(r->targets, (r->n_targets + 1) * sizeof *r->targets));
    r->targets[r->n_targets++] = target;
}

static bool take_own(struct reading *r, int row, const char *value)
{
    switch (row) {
    case OPT_HOST:
        return add_hosts(r, value);
    case OPT_RSH:
        r->remote->rsh = value;
        return true;
    case OPT_INSTALL:
        return r->remote->install = true;
    case OPT_SUDO:
        return r->remote->sudo = true;
    case OPT_THERE:
        return r->remote->symbols_there = true;
    default:
        return r->remote->strict = true;
    }
}

/* Files are fetched to where names are made: here. 0: another option. */
static int take_fetch(struct reading *r, const struct cli_option *option, const char *value)
{
    bool is_limit = strcmp(option->name, "fetch-limit") == 0;
    if (!is_limit && strcmp(option->name, "debuginfod") != 0)
        return 0;
    enum cli_way_row row = is_limit ? CLI_WAY_FETCH_LIMIT : CLI_WAY_DEBUGINFOD;
    return cli_way_take(r->args, row, value, &r->remote->symbols) ? 1 : -1;
}

/* An option of the command. */
static void take_other(struct reading *r, const struct cli_option *option, const char *value)
{
    struct cli_remote *remote = r->remote;
    bool writes_profile = remote->command->remote >= CLI_REMOTE_PROFILE;
    if (writes_profile && strcmp(option->name, "output") == 0) {
        remote->out = value;
        return;
    }
    if (writes_profile && strcmp(option->name, "force") == 0) {
        remote->force = true;
        return;
    }
    if (strcmp(option->name, "symbols") == 0) {
        cli_list_add(&remote->symbol_dirs, value);
        return;
    }
    if (strcmp(option->name, "pid") == 0) {
        add_target(r, value, true, false);
        return;
    }
    remote->verbosity += strcmp(option->name, "verbose") == 0;
    remote->json |= strcmp(option->name, "json") == 0;
    cli_list_add(&r->options, own_printf(remote, "--", option->name, value));
}

static size_t count_rows(const struct cli_option *options)
{
    size_t n = 0;
    while (options[n].name)
        n++;
    return n;
}

/* False after having said what is wrong. */
static bool read_words(struct reading *r, size_t n_rows)
{
    const struct cli_command *command = r->remote->command;
    const char *value;
    size_t n;
    int row;
    while ((row = cli_args_next(r->args, &value)) >= 0) {
        const struct cli_option *option = (size_t)row < n_rows ? &command->options[row] : NULL;
        int fetch = option ? take_fetch(r, option, value) : 0;
        if (fetch < 0)
            return false;
        if (option && !fetch)
            take_other(r, option, value);
        else if (!option && !take_own(r, row - (int)n_rows, value))
            return false;
    }
    if (row == CLI_ARGS_WRONG)
        return false;
    char **operands = cli_args_operands(r->args, &n);
    for (size_t i = 0; i < n; i++)
        add_target(r, operands[i], false, command->options_first);
    return true;
}

static bool is_wanted(const struct reading *r)
{
    for (size_t i = 0; i < r->n_targets; i++)
        if (r->targets[i].host)
            return true;
    return r->hosts.n || r->remote->rsh;
}

/* A host that a target names needs no -H. */
static bool add_target_hosts(struct reading *r, size_t *ret_n_given)
{
    bool without = false;
    *ret_n_given = r->hosts.n;
    for (size_t i = 0; i < r->n_targets; i++) {
        const struct target *target = &r->targets[i];
        without |= !target->host;
        if (target->host && !add_host(r, target->host, strlen(target->host)))
            return false;
    }
    if (without && !*ret_n_given && !r->remote->rsh)
        return cli_args_wrong(r->args, "some targets have a host, and some have none: give the "
                                       "others one by --host"),
               false;
    return true;
}

static bool is_for(const struct target *target, const char *host, bool is_given)
{
    return target->host ? strcmp(target->host, host) == 0 : is_given;
}

static void build_words(struct reading *r, struct cli_remote_host *to, bool is_given)
{
    struct cli_list *words = &to->words;
    char *name = (char *)own(r->remote, strdup(r->remote->command->name));
    for (char *part; (part = strsep(&name, " "));)
        cli_list_add(words, part);
    for (size_t i = 0; i < r->options.n; i++)
        cli_list_add(words, r->options.items[i]);
    if (r->remote->out)
        cli_list_add(words, "--output=-");
    for (size_t i = 0; i < r->n_targets; i++)
        if (r->targets[i].is_pid && is_for(&r->targets[i], to->name, is_given))
            cli_list_add(words, own_printf(r->remote, "--", "pid", r->targets[i].text));
    cli_list_add(words, "--");
    for (size_t i = 0; i < r->n_targets; i++)
        if (!r->targets[i].is_pid && is_for(&r->targets[i], to->name, is_given))
            cli_list_add(words, r->targets[i].text);
}

/* "cairn.db1.4242.pb.gz", "cairn.db1.pb.gz", "cairn.hosts.pb.gz" */
static void choose_out(struct reading *r)
{
    struct cli_remote *remote = r->remote;
    char host[128], *at = host;
    const char *pid = NULL;
    snprintf(host, sizeof host, "%s", r->hosts.n == 1 ? r->hosts.items[0] : "hosts");
    for (; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("-_.@", *at))
            *at = '_';
    for (size_t i = 0; i < r->n_targets && r->hosts.n == 1; i++)
        if (r->targets[i].is_pid && cli_parse_pid(r->targets[i].text))
            pid = r->targets[i].text;
    snprintf(remote->default_out, sizeof remote->default_out, "cairn.%s%s%s.pb.gz", host,
             pid ? "." : "", pid ? pid : "");
    remote->out = remote->default_out;
}

static bool build(struct reading *r)
{
    struct cli_remote *remote = r->remote;
    size_t n_given;
    if (!add_target_hosts(r, &n_given))
        return false;
    remote->has_host_word = r->hosts.n > 0;
    if (!r->hosts.n) {
        cli_list_add(&r->hosts, remote->rsh);
        n_given = 1;
    }
    if (!remote->out && remote->command->remote == CLI_REMOTE_FILE)
        choose_out(r);
    if (remote->out && !cli_result_of_name(r->args, remote->out, &remote->result))
        return false;
    remote->n_hosts = r->hosts.n;
    remote->hosts = need(calloc(remote->n_hosts, sizeof *remote->hosts));
    for (size_t i = 0; i < remote->n_hosts; i++) {
        remote->hosts[i].name = need(strdup(r->hosts.items[i]));
        build_words(r, &remote->hosts[i], i < n_given);
    }
    return true;
}

/* Could the words ask for another machine? A closer look follows; most lines need none. */
static bool may_be_wanted(char **words)
{
    for (; *words; words++)
        if (((*words)[0] == '-' && (*words)[1] != '-' && strchr(*words, 'H')) || /* "-vH" */
            strncmp(*words, "--host", 6) == 0 || strncmp(*words, "--rsh", 5) == 0 ||
            strchr(*words, ':'))
            return true;
    return false;
}

int cli_remote_read(const struct cli_command *command, char **words, struct cli_remote *ret_remote)
{
    if (!command->remote || cli_remote_is_far() || !may_be_wanted(words))
        return 0;
    size_t n = count_rows(command->options);
    struct cli_option *rows = need(calloc(n + N_OPTIONS + 1, sizeof *rows));
    memcpy(rows, command->options, n * sizeof *rows);
    memcpy(rows + n, cli_remote_options, N_OPTIONS * sizeof *rows);
    struct cli_command both = *command;
    both.options = rows;
    *ret_remote = (struct cli_remote){.command = command};
    cli_way_init(&ret_remote->symbols);
    struct reading r = {.remote = ret_remote, .args = cli_args_new(&both, words)};
    int code = 0;
    if (!cli_args_ask_help(r.args)) {
        code = read_words(&r, n) ? is_wanted(&r) : -1;
        if (code == 1)
            code = build(&r) ? 1 : -1;
    }
    cli_args_free(r.args);
    cli_list_done(&r.options);
    cli_list_done(&r.hosts);
    free(r.targets);
    free(rows);
    return code;
}

void cli_remote_done(struct cli_remote *remote)
{
    for (size_t i = 0; i < remote->n_hosts; i++) {
        free(remote->hosts[i].name);
        cli_list_done(&remote->hosts[i].words);
    }
    free(remote->hosts);
    for (size_t i = 0; i < remote->owned.n; i++)
        free((void *)remote->owned.items[i]);
    cli_list_done(&remote->owned);
    cli_list_done(&remote->symbol_dirs);
    *remote = (struct cli_remote){0};
}
