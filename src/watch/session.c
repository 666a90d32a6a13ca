/* SPDX-License-Identifier: MIT */
/* A program under the tracker, from its start: a folder for the states, and the environment. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/heap.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/installed.h"
#include "proc/at_exit.h"
#include "proc/child.h"
#include "rt/heap_state.h"
#include "rt/program.h"
#include "watch/asked.h"
#include "watch/heap.h"
#include "watch/missed.h"

#define PRELOAD "LD_PRELOAD="

enum { VARIABLES_MAX = 10, LINE_BYTES = 2 * PATH_MAX };

struct cairn_heap_session {
    char folder[PATH_MAX];
    int lock; /* of the folder, shared, as long as somebody waits for what comes into it */
    int pid;  /* that was started; 0: none */
    bool holds_exit;
    struct cairn_at_exit at_exit; /* with holds_exit */
    struct cairn_asked asked;
    bool is_paused;                        /* at_exit, until there is an answer */
    bool is_kept;                          /* the folder outlives the session */
    struct cairn_heap_missed_list *missed; /* NULL: nothing is looked for */
    char *env[VARIABLES_MAX + 1];          /* ends with NULL */
    size_t n_env;
};

static int use_library(const char *given, char *ret_path, size_t size, struct cairn_err *err)
{
    char path[PATH_MAX];
    if (!given)
        return cairn_installed_library("libcairn-heap.so", ret_path, size, err);
    if (!realpath(given, path))
        return cairn_fail_os(err, errno, "%s", given);
    if (strpbrk(path, ": \t")) { /* ld.so(8): what separates the entries of LD_PRELOAD */
        cairn_fail(err, CAIRN_E_ARG, "%s: the loader takes no path with blanks or colons", path);
        cairn_hint(err, "copy it to another place");
        return CAIRN_E_ARG;
    }
    snprintf(ret_path, size, "%s", path);
    return CAIRN_OK;
}

/* Root makes no folder where another user could replace it: sudo may keep the caller's
 * XDG_RUNTIME_DIR or TMPDIR. */
static bool may_hold(const char *place)
{
    struct stat st;
    return geteuid() != 0 || (stat(place, &st) == 0 && st.st_uid == 0 &&
                              (!(st.st_mode & (S_IWGRP | S_IWOTH)) || (st.st_mode & S_ISVTX)));
}

/* In memory where there is such a place: what is recorded is gone with the machine anyway. */
static int make_folder(char *ret_path, size_t size, struct cairn_err *err)
{
    const char *places[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm", getenv("TMPDIR"), "/tmp"};
    int os_errno = ENOENT;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!places[i] || places[i][0] != '/' || !may_hold(places[i]))
            continue;
        int n = snprintf(ret_path, size, "%s/" CAIRN_HEAP_RUN_FOLDER "XXXXXX", places[i]);
        if (n > 0 && (size_t)n < size && mkdtemp(ret_path))
            return CAIRN_OK;
        os_errno = errno;
    }
    cairn_fail_os(err, os_errno, "no folder could be made for what is recorded");
    cairn_hint(err, "TMPDIR names a folder that may be written");
    return CAIRN_E_IO;
}

__attribute__((format(printf, 2, 3))) static bool set(struct cairn_heap_session *s, const char *fmt,
                                                      ...)
{
    char line[LINE_BYTES];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof line || s->n_env == VARIABLES_MAX)
        return false;
    s->env[s->n_env] = cairn_strdup(line);
    return s->env[s->n_env] && ++s->n_env;
}

static bool set_all(struct cairn_heap_session *s, const struct cairn_heap_opts *o,
                    const char *library)
{
    const char *old = getenv("LD_PRELOAD");
    bool done = old && *old ? set(s, PRELOAD "%s:%s", library, old) : set(s, PRELOAD "%s", library);
    done = done && set(s, "CAIRN_HEAP_DIR=%s", s->folder);
    done = done && (!o->depth || set(s, "CAIRN_HEAP_DEPTH=%u", o->depth));
    done = done && (!o->no_stacks || set(s, "CAIRN_HEAP_STACKS=0"));
    done = done && (!o->mappings || set(s, "CAIRN_HEAP_MMAP=1"));
    done = done && (!o->fork_copy || set(s, "CAIRN_HEAP_FORK_COPY=1"));
    done = done && set(s, "CAIRN_HEAP_FOLLOW=%d", o->no_follow ? 0 : 2);
    done = done && (!o->sample_bytes ||
                    set(s, "CAIRN_HEAP_SAMPLE=%llu", (unsigned long long)o->sample_bytes));
    return done && (!o->max_memory ||
                    set(s, "CAIRN_HEAP_MAX_MEMORY=%llu", (unsigned long long)o->max_memory));
}

int cairn_heap_session_new(const struct cairn_heap_opts *opts,
                           struct cairn_heap_session **ret_session, struct cairn_err *err)
{
    struct cairn_heap_opts o = {0};
    char library[PATH_MAX];
    memcpy(&o, opts, opts->size < sizeof o ? opts->size : sizeof o);
    int result = use_library(o.library, library, sizeof library, err);
    if (result < 0)
        return result;
    struct cairn_heap_session *s = cairn_alloc(1, sizeof *s);
    if (!s)
        return cairn_fail_memory(err);
    result = make_folder(s->folder, sizeof s->folder, err);
    if (result < 0) {
        cairn_free(s);
        return result;
    }
    /* Where it cannot be, nobody learns from it that we live. */
    s->lock = open(s->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (s->lock >= 0)
        (void)flock(s->lock, LOCK_SH);
    s->holds_exit = o.hold_exit;
    s->asked = (struct cairn_asked){.listener = -1, .asker = -1};
    if (o.answer)
        cairn_asked_open(&s->asked, s->folder);
    if (!set_all(s, &o, library)) {
        cairn_heap_session_free(s);
        return cairn_fail(err, CAIRN_E_LIMIT, "LD_PRELOAD is too long");
    }
    *ret_session = s;
    return CAIRN_OK;
}

/* `held` is the folder; -1: it could not be opened. */
static void remove_folder(const char *path, int held)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = held >= 0 ? openat(held, ".", flags) : open(path, flags);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder && fd >= 0)
        close(fd);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    rmdir(path);
}

void cairn_heap_session_free(struct cairn_heap_session *s)
{
    if (!s)
        return;
    cairn_asked_close(&s->asked, s->folder);
    if (!s->is_kept)
        remove_folder(s->folder, s->lock);
    if (s->lock >= 0)
        close(s->lock);
    for (size_t i = 0; i < s->n_env; i++)
        cairn_free(s->env[i]);
    cairn_heap_missed_free(s->missed);
    cairn_free(s);
}

void cairn_heap_session_keep(struct cairn_heap_session *s)
{
    s->is_kept = true;
}

const char *cairn_heap_session_folder(const struct cairn_heap_session *s)
{
    return s->folder;
}

const char *cairn_heap_session_env(const struct cairn_heap_session *s, size_t index)
{
    return index < s->n_env ? s->env[index] : NULL;
}

static bool is_preload(const char *line)
{
    return strncmp(line, PRELOAD, strlen(PRELOAD)) == 0;
}

static bool is_replaced(const struct cairn_heap_session *s, const char *line)
{
    size_t name = strcspn(line, "=") + 1;
    for (size_t i = 0; i < s->n_env; i++)
        if (strncmp(s->env[i], line, name) == 0)
            return true;
    return false;
}

/* The tracker is left out where it would do harm; what the program starts may be tracked then, if
 * that is preloaded again. */
static bool is_refused(const char *command)
{
    char path[PATH_MAX];
    return cairn_program_lists_sanitizer(getenv("LD_PRELOAD")) ||
           (cairn_heap_find_program(command, path, sizeof path) &&
            cairn_program_refuses(cairn_program_judge(path, NULL)));
}

int cairn_heap_session_start(struct cairn_heap_session *s, char *const *argv, int *ret_pid,
                             struct cairn_err *err)
{
    struct cairn_child child;
    size_t n = 0, old = 0;
    while (environ && environ[old])
        old++;
    char **env = cairn_alloc(old + s->n_env + 1, sizeof *env);
    if (!env)
        return cairn_fail_memory(err);
    bool refused = is_refused(argv[0]);
    s->holds_exit &= !refused; /* LeakSanitizer ends a program that is traced */
    for (size_t i = 0; i < old; i++)
        if (!is_replaced(s, environ[i]) || (refused && is_preload(environ[i])))
            env[n++] = environ[i];
    for (size_t i = 0; i < s->n_env; i++)
        if (!refused || !is_preload(s->env[i]))
            env[n++] = s->env[i];
    int result = cairn_child_start(argv, env, &child, err);
    cairn_free(env);
    if (result == CAIRN_OK && s->holds_exit) {
        result = cairn_at_exit_seize(child.pid, &s->at_exit, err);
        if (result != CAIRN_OK)
            cairn_child_drop(&child);
    }
    if (result != CAIRN_OK)
        return result;
    result = cairn_child_release(&child, argv[0], s->holds_exit ? cairn_at_exit_serve : NULL,
                                 &s->at_exit, err);
    if (result != CAIRN_OK && s->holds_exit)
        cairn_at_exit_drop(&s->at_exit); /* else it would stand at its end */
    if (result != CAIRN_OK)
        return result;
    *ret_pid = s->pid = child.pid;
    cairn_heap_missed_free(s->missed);
    s->missed = cairn_heap_missed_new(argv[0]);
    return CAIRN_OK;
}

enum cairn_heap_turn cairn_heap_session_turn(struct cairn_heap_session *session, int *ret_status)
{
    static const enum cairn_heap_turn turns[] = {[CAIRN_AT_EXIT_RUNS] = CAIRN_HEAP_TURN_RUNS,
                                                 [CAIRN_AT_EXIT_STANDS] = CAIRN_HEAP_TURN_STANDS,
                                                 [CAIRN_AT_EXIT_ENDED] = CAIRN_HEAP_TURN_ENDED};
    if (session->holds_exit) {
        enum cairn_at_exit_turn turn = cairn_at_exit_turn(&session->at_exit);
        *ret_status = session->at_exit.status;
        return turns[turn];
    }
    pid_t got = waitpid(session->pid, ret_status, WNOHANG);
    return got == 0 || (got < 0 && errno == EINTR) ? CAIRN_HEAP_TURN_RUNS : CAIRN_HEAP_TURN_ENDED;
}

void cairn_heap_session_let_go(struct cairn_heap_session *session)
{
    if (session->holds_exit)
        cairn_at_exit_let_go(&session->at_exit);
}

int cairn_heap_session_fd(const struct cairn_heap_session *s)
{
    return s->asked.listener;
}

int cairn_heap_session_asked(struct cairn_heap_session *s, int *ret_pid,
                             enum cairn_heap_asked_kind *ret_kind)
{
    enum cairn_heap_ask_kind kind;
    if (!cairn_asked_next(&s->asked, ret_pid, &kind))
        return 0;
    s->is_paused = s->holds_exit && *ret_pid == s->pid && cairn_at_exit_pause(&s->at_exit);
    *ret_kind = (enum cairn_heap_asked_kind)kind;
    return 1;
}

void cairn_heap_session_answer(struct cairn_heap_session *s, enum cairn_heap_asked_verdict verdict,
                               int exit_status)
{
    const struct cairn_heap_answer answer = {(uint32_t)verdict, (uint32_t)exit_status};
    if (s->is_paused)
        cairn_at_exit_resume(&s->at_exit);
    s->is_paused = false;
    cairn_asked_answer(&s->asked, &answer);
}

void cairn_heap_session_look(struct cairn_heap_session *s)
{
    if (s->missed)
        cairn_heap_missed_look(s->missed, s->pid);
}

int cairn_heap_session_missed(const struct cairn_heap_session *s, size_t index,
                              struct cairn_heap_missed *missed)
{
    struct cairn_heap_missed found;
    uint32_t kind;
    if (!s->missed || !cairn_heap_missed_get(s->missed, index, &found, &kind))
        return 0;
    cairn_heap_missed_copy(missed, &found);
    return 1;
}

int cairn_heap_session_read(struct cairn_heap_session *s, struct cairn_heap **ret_heap,
                            struct cairn_err *err)
{
    struct cairn_heap_missed missed;
    uint32_t kind;
    int result = cairn_heap_read_folder(s->folder, ret_heap, err);
    if (result == CAIRN_OK)
        cairn_heap_resolve_untracked(*ret_heap);
    for (size_t i = 0;
         result == CAIRN_OK && s->missed && cairn_heap_missed_get(s->missed, i, &missed, &kind);
         i++)
        cairn_heap_add_untracked(*ret_heap, missed.path, kind);
    return result;
}
