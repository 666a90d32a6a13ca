/* SPDX-License-Identifier: MIT */
/* cairn view: opens a profile in a viewer that runs in the browser. The file goes from this process
 * to that page of the browser, and nowhere else. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/profiles.h"
#include "cli/term.h"
#include "cli/view_server.h"
#include "cli/write_profile.h"

enum { WAIT_SECONDS = 60, NAME_BYTES = 128 };

enum option {
    OPTION_FIREFOX,
    OPTION_SPEEDSCOPE,
    OPTION_NO_OPEN,
    OPTION_WAIT,
    OPTION_WANTED,
    OPTION_VERBOSE = OPTION_WANTED + CLI_N_WANTED
};

static const struct cli_option options[] = {
    [OPTION_FIREFOX] = {.name = "firefox", .help = "open it in the Firefox Profiler (the usual)"},
    [OPTION_SPEEDSCOPE] = {.name = "speedscope", .help = "open it in speedscope"},
    [OPTION_NO_OPEN] = {.name = "no-open",
                        .help = "print the address alone, for a browser that you open"},
    [OPTION_WAIT] = {.name = "wait",
                     .value = "SECONDS",
                     .help = "wait so long for the viewer to take the file (60)"},
    CLI_WANTED_ROWS(OPTION_WANTED,
                    "what the viewer shows first, such as cpu or samples (default: what the "
                    "profile says)",
                    "all"),
    [OPTION_VERBOSE] = {.name = "verbose", .letter = 'v', .help = "say what is done; twice: more"},
    {0},
};

/* A viewer takes the address of a file behind its own. */
struct viewer {
    enum cairn_format format;
    const char *name, *origin, *address;
};

static const struct viewer viewers[] = {
    {CAIRN_FORMAT_FIREFOX, "the Firefox Profiler", "https://profiler.firefox.com",
     "https://profiler.firefox.com/from-url/"},
    {CAIRN_FORMAT_SPEEDSCOPE, "speedscope", "https://www.speedscope.app",
     "https://www.speedscope.app/#profileURL="},
};

struct view {
    struct cli_args *args;
    const struct viewer *viewer;
    struct cli_wanted wanted;
    double seconds;
    bool no_open;
    int verbosity;
};

static bool take_option(struct view *v, int option, const char *value)
{
    switch (option) {
    case OPTION_FIREFOX:
        v->viewer = &viewers[0];
        return true;
    case OPTION_SPEEDSCOPE:
        v->viewer = &viewers[1];
        return true;
    case OPTION_NO_OPEN:
        v->no_open = true;
        return true;
    case OPTION_WAIT:
        return cli_args_positive(v->args, "wait", value, 1e6, &v->seconds);
    case OPTION_VERBOSE:
        v->verbosity++;
        return true;
    default:
        return cli_wanted_take(&v->wanted, (enum cli_wanted_row)(option - OPTION_WANTED), value);
    }
}

static int parse(struct view *v)
{
    const char *value;
    int option;
    size_t n;
    while ((option = cli_args_next(v->args, &value)) >= 0)
        if (!take_option(v, option, value))
            return CLI_USAGE;
    if (option == CLI_ARGS_WRONG)
        return CLI_USAGE;
    v->wanted.inputs = cli_args_operands(v->args, &n);
    return n ? CLI_OK : cli_args_wrong(v->args, "FILE is missing: a profile, or - for stdin");
}

static int add_bytes(void *buffer, const void *bytes, size_t size)
{
    cairn_buffer_add(buffer, bytes, size);
    return ((struct cairn_buffer *)buffer)->failed;
}

/* The file for the viewer, packed. */
static int make_file(const struct view *v, struct cairn_buffer *file, struct cairn_err *err)
{
    struct cairn_profile *profile;
    size_t value;
    int code = cli_wanted_read(&v->wanted, &profile, &value, NULL, err);
    if (code < 0)
        return code;
    code = v->wanted.value ? cairn_profile_set_default_value(profile, value, err) : CAIRN_OK;
    if (code == CAIRN_OK)
        code = cli_write_packed(profile, v->viewer->format, add_bytes, file, err);
    cairn_profile_free(profile);
    return code;
}

/* The name in the viewer's title. */
static void make_name(const struct view *v, char name[NAME_BYTES])
{
    const char *input = v->wanted.inputs[0], *slash = strrchr(input, '/');
    const char *base = strcmp(input, "-") == 0 ? "stdin" : slash ? slash + 1 : input;
    snprintf(name, NAME_BYTES, "%.80s.%s.json.gz", base, cairn_format_name(v->viewer->format));
}

/* As a part of another address (RFC 3986, 2.1): all of ours but letters, digits and points. */
static void make_address(const struct view *v, const struct cli_view_server *server,
                         struct cairn_buffer *address)
{
    char file[CLI_VIEW_URL_BYTES];
    snprintf(file, sizeof file, "http://127.0.0.1:%u%.400s", server->port, server->path);
    cairn_buffer_str(address, v->viewer->address);
    for (const char *c = file; *c; c++)
        if (*c == ':' || *c == '/')
            cairn_buffer_printf(address, "%%%02X", (unsigned)*c);
        else
            cairn_buffer_char(address, *c);
}

/* By the desktop's own way. A browser of root's is nobody's wish. */
static bool open_browser(const char *address)
{
    if (geteuid() == 0 || (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")))
        return false;
    pid_t child = fork();
    if (child == 0) {
        (void)!freopen("/dev/null", "w", stdout);
        (void)!freopen("/dev/null", "w", stderr);
        execlp("xdg-open", "xdg-open", address, (char *)NULL);
        _exit(127);
    }
    int status;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static int serve(const struct view *v, const struct cairn_buffer *file, struct cairn_err *err)
{
    struct cli_view_server server = {.origin = v->viewer->origin, .file = cairn_buffer_span(file)};
    struct cairn_buffer address = {0};
    char name[NAME_BYTES];
    make_name(v, name);
    int code = cli_view_listen(&server, name, err);
    if (code == CAIRN_OK) {
        make_address(v, &server, &address);
        code = address.failed ? cairn_fail_memory(err) : CAIRN_OK;
    }
    if (code == CAIRN_OK) {
        printf("%s\n", cairn_buffer_text(&address));
        fflush(stdout);
        if (v->no_open || !open_browser(cairn_buffer_text(&address)))
            cli_say("open this address in a browser of this machine; it holds for %g s",
                    v->seconds);
        code = cli_view_serve(&server, v->seconds, err);
    }
    if (code == CAIRN_OK && server.is_taken)
        cli_say("%s has taken the file; nothing was uploaded", v->viewer->name);
    else if (code == CAIRN_OK)
        code = cairn_fail(err, CAIRN_E_IO, "nobody took the file within %g s", v->seconds);
    cairn_buffer_done(&address);
    cli_view_close(&server);
    return code;
}

static int run(struct cli_args *args)
{
    struct view v = {
        .args = args,
        .viewer = &viewers[0],
        .seconds = WAIT_SECONDS,
        .wanted = {.args = args,
                   .rows = &options[OPTION_WANTED],
                   .guest = CAIRN_GUEST_ALL,
                   .select = {.args = args}},
    };
    struct cairn_buffer file = {0};
    struct cairn_err err = {0};
    int status = parse(&v);
    if (status == CLI_OK) {
        v.wanted.reading.keeps_times = true;
        cli_log_open(v.verbosity);
        int code = make_file(&v, &file, &err);
        if (code == CAIRN_OK)
            code = serve(&v, &file, &err);
        status = code < 0 ? cli_report(&err) : CLI_OK;
    }
    cairn_buffer_done(&file);
    cli_wanted_done(&v.wanted);
    return status;
}

const struct cli_command cli_cmd_view = {
    .name = "view",
    .summary = "open a profile in the Firefox Profiler or in speedscope",
    .usage = (const char *const[]){"view [OPTION...] FILE...", NULL},
    .options = options,
    .notes = "The viewer's page is loaded from its own site. The profile goes from cairn to that "
             "page through 127.0.0.1, once, by an address that nobody can guess; nothing is "
             "uploaded.",
    .run = run,
};
