/* SPDX-License-Identifier: MIT */
#include "cli/term.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <cairn/log.h>

#include "base/escape.h"
#include "base/table.h"
#include "cli/args.h"

enum { FIRST_MS = 1000, STEP_MS = 100, WIDTH_DEFAULT = 100, WIDTH_LEAST = 40, WIDTH_MOST = 10000 };

/* stderr: one line at a time, for the log may speak from any thread. `lock` guards it all. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    bool shown;        /* a progress line stands on the terminal */
    uint64_t begun_ms; /* first call of cli_progress(); 0: none yet */
    uint64_t last_ms;  /* last time that it was drawn */
} progress;

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void clear_progress(void)
{
    if (progress.shown)
        fputs("\r\033[K", stderr);
    progress.shown = false;
}

/* One whole line in one write, whatever a name in it holds. */
static void put_line(const char *head, const char *text)
{
    struct cairn_buffer line = {0};
    cairn_buffer_str(&line, head);
    cairn_escape_terminal(&line, text, strlen(text));
    cairn_buffer_char(&line, '\n');
    pthread_mutex_lock(&lock);
    clear_progress();
    fwrite(cairn_buffer_text(&line), 1, line.size, stderr);
    pthread_mutex_unlock(&lock);
    cairn_buffer_done(&line);
}

void cli_say(const char *fmt, ...)
{
    struct cairn_buffer text = {0};
    char small[1024];
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int needed = vsnprintf(small, sizeof small, fmt, args);
    if (needed >= (int)sizeof small && cairn_buffer_reserve(&text, (size_t)needed + 1))
        vsnprintf((char *)text.data, (size_t)needed + 1, fmt, again);
    va_end(again);
    va_end(args);
    put_line("cairn: ", text.data ? (const char *)text.data : small);
    cairn_buffer_done(&text);
}

int cli_report(const struct cairn_err *err)
{
    put_line("cairn: ", err->msg);
    if (err->hint[0])
        put_line("  hint: ", err->hint);
    return CLI_FAILED;
}

/* Two who look for the same find the same amiss: whatever was said is not said again. */
static bool is_said(const char *text)
{
    enum { SAID_MAX = 256 };
    static uint64_t said[SAID_MAX];
    static size_t n_said;
    uint64_t hash = cairn_hash_bytes(text, strlen(text));
    size_t i = 0;
    pthread_mutex_lock(&lock);
    while (i < n_said && said[i] != hash)
        i++;
    bool found = i < n_said;
    if (!found && n_said < SAID_MAX)
        said[n_said++] = hash;
    pthread_mutex_unlock(&lock);
    return found;
}

/* Printed in the end, where they are seen. */
static struct cairn_buffer hints;

static void keep_hint(const char *text)
{
    pthread_mutex_lock(&lock);
    cairn_buffer_str(&hints, text);
    cairn_buffer_char(&hints, '\n');
    pthread_mutex_unlock(&lock);
}

void cli_hints_put(void)
{
    char *line = hints.failed || !hints.data ? NULL : (char *)hints.data, *end;
    for (; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        put_line("cairn: hint: ", line);
    }
    cairn_buffer_done(&hints);
}

static void on_log(void *ctx, enum cairn_log_level level, const char *text)
{
    (void)ctx;
    if (level <= CAIRN_LOG_WARNING && is_said(text))
        return;
    if (level == CAIRN_LOG_HINT) {
        keep_hint(text);
        return;
    }
    put_line(level == CAIRN_LOG_WARNING ? "cairn: warning: " : "cairn: ", text);
}

void cli_log_open(int verbosity)
{
    cairn_log_set(on_log, NULL,
                  verbosity <= 0   ? CAIRN_LOG_WARNING
                  : verbosity == 1 ? CAIRN_LOG_INFO
                                   : CAIRN_LOG_DEBUG);
}

/* Cut to the terminal's width, for a line that wraps cannot be taken back. */
void cli_progress(const char *fmt, ...)
{
    if (!isatty(STDERR_FILENO))
        return;
    uint64_t now = now_ms();
    pthread_mutex_lock(&lock);
    if (!progress.begun_ms)
        progress.begun_ms = now;
    bool due = now - progress.begun_ms >= FIRST_MS && now - progress.last_ms >= STEP_MS;
    if (due)
        progress.last_ms = now;
    pthread_mutex_unlock(&lock);
    if (!due)
        return;
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    struct winsize size = {0};
    unsigned width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
    struct cairn_buffer line = {0};
    cairn_escape_terminal(&line, text, strlen(text));
    pthread_mutex_lock(&lock);
    fprintf(stderr, "\r\033[K%.*s", (int)width - 1, cairn_buffer_text(&line));
    progress.shown = true;
    pthread_mutex_unlock(&lock);
    cairn_buffer_done(&line);
}

void cli_progress_done(void)
{
    pthread_mutex_lock(&lock);
    clear_progress();
    progress.begun_ms = progress.last_ms = 0;
    pthread_mutex_unlock(&lock);
}

bool cli_stdout_is_terminal(void)
{
    return isatty(STDOUT_FILENO);
}

bool cli_colour(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return cli_stdout_is_terminal() && !(no && *no) && term && *term && strcmp(term, "dumb") != 0;
}

/* What $COLUMNS says of a terminal goes before what that says itself; 0: it says nothing. */
static unsigned columns_wanted(void)
{
    const char *text = getenv("COLUMNS");
    char *end = NULL;
    unsigned long value = text ? strtoul(text, &end, 10) : 0;
    return text && *text != '-' && end != text && !*end && value <= WIDTH_MOST ? (unsigned)value
                                                                               : 0;
}

unsigned cli_width(void)
{
    struct winsize size = {0};
    if (!cli_stdout_is_terminal())
        return WIDTH_DEFAULT;
    unsigned width = columns_wanted();
    if (!width && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    if (!width)
        return WIDTH_DEFAULT;
    return width < WIDTH_LEAST ? WIDTH_LEAST : width;
}
