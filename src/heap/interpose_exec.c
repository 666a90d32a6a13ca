/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Interpose exec: exec(3) and posix_spawn(3) in all their forms, so that a program which a
 * preloaded tracker would harm is started without one, one that was started with an environment of
 * its own is tracked, and what is not tracked is known (exec.h). In libcairn-heap alone.
 *
 * system(3) and popen(3) call libc's own functions, by which they start a shell: its calls are
 * ours.
 */
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cairn/api.h>

#include "heap/exec.h"
#include "heap/next.h"
#include "rt/sys.h"

extern char **environ;

enum { ARGUMENTS_MAX = 1 << 15, LINK_BYTES = 1024, EMPTY_PATH = 0x1000 /* AT_EMPTY_PATH */ };
enum { CURRENT_FOLDER = -100 /* AT_FDCWD */ };

CAIRN_API int cairn_execve(const char *path, char *const *argv, char *const *env) __asm__("execve");
CAIRN_API int cairn_execv(const char *path, char *const *argv) __asm__("execv");
CAIRN_API int cairn_execvp(const char *name, char *const *argv) __asm__("execvp");
CAIRN_API int cairn_execvpe(const char *name, char *const *argv,
                            char *const *env) __asm__("execvpe");
CAIRN_API int cairn_execl(const char *path, const char *arg, ...) __asm__("execl");
CAIRN_API int cairn_execle(const char *path, const char *arg, ...) __asm__("execle");
CAIRN_API int cairn_execlp(const char *name, const char *arg, ...) __asm__("execlp");
CAIRN_API int cairn_fexecve(int fd, char *const *argv, char *const *env) __asm__("fexecve");
CAIRN_API int cairn_execveat(int folder, const char *path, char *const *argv, char *const *env,
                             int flags) __asm__("execveat");
CAIRN_API int cairn_posix_spawn(pid_t *pid, const char *path,
                                const posix_spawn_file_actions_t *acts,
                                const posix_spawnattr_t *attributes, char *const *argv,
                                char *const *env) __asm__("posix_spawn");
CAIRN_API int cairn_posix_spawnp(pid_t *pid, const char *name,
                                 const posix_spawn_file_actions_t *acts,
                                 const posix_spawnattr_t *attributes, char *const *argv,
                                 char *const *env) __asm__("posix_spawnp");

static struct {
    int (*execve)(const char *, char *const *, char *const *);
    int (*execvpe)(const char *, char *const *, char *const *);
    int (*fexecve)(int, char *const *, char *const *);
    int (*execveat)(int, const char *, char *const *, char *const *, int);
    int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                       const posix_spawnattr_t *, char *const *, char *const *);
    int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                        const posix_spawnattr_t *, char *const *, char *const *);
} real;

#define REAL(name) CAIRN_HEAP_NEXT(real, name)

/* `call` of the real function with `env_`; what comes back other than 0 has started nothing. */
#define WITH_ENVIRONMENT(path, given, call)                                                        \
    ({                                                                                             \
        struct cairn_heap_exec plan_;                                                              \
        cairn_heap_exec_plan(&plan_, (path), (given));                                             \
        char **list_ = __builtin_alloca(plan_.change ? plan_.n * sizeof(*list_) : 1);              \
        char *text_ = __builtin_alloca(plan_.change ? plan_.bytes : 1);                            \
        char *const *env_ = cairn_heap_exec_env(&plan_, list_, text_);                             \
        int result_ = (call);                                                                      \
        if (result_ != 0)                                                                          \
            cairn_heap_exec_undo(&plan_);                                                          \
        result_;                                                                                   \
    })

static int none(void)
{
    errno = ENOSYS;
    return -1;
}

int cairn_execve(const char *path, char *const *argv, char *const *env)
{
    if (!REAL(execve))
        return none();
    return WITH_ENVIRONMENT(path, env, real.execve(path, argv, env_));
}

int cairn_execv(const char *path, char *const *argv)
{
    return cairn_execve(path, argv, environ);
}

int cairn_execvpe(const char *name, char *const *argv, char *const *env)
{
    char path[CAIRN_HEAP_EXEC_PATH];
    if (!REAL(execvpe))
        return none();
    return WITH_ENVIRONMENT(cairn_heap_exec_find(name, path), env, real.execvpe(name, argv, env_));
}

int cairn_execvp(const char *name, char *const *argv)
{
    return cairn_execvpe(name, argv, environ);
}

/* Arguments of a call up to NULL, and what comes behind it. */
#define ARGUMENTS(argv, behind)                                                                    \
    va_list list;                                                                                  \
    size_t n = 1;                                                                                  \
    va_start(list, arg);                                                                           \
    while (arg && n < ARGUMENTS_MAX && va_arg(list, char *))                                       \
        n++;                                                                                       \
    va_end(list);                                                                                  \
    char **argv = __builtin_alloca((n + 1) * sizeof(*argv));                                       \
    va_start(list, arg);                                                                           \
    argv[0] = (char *)(size_t)arg;                                                                 \
    for (size_t i = 1; arg && i <= n; i++)                                                         \
        argv[i] = va_arg(list, char *);                                                            \
    argv[arg ? n : 0] = NULL;                                                                      \
    behind;                                                                                        \
    va_end(list)

int cairn_execl(const char *path, const char *arg, ...)
{
    ARGUMENTS(argv, (void)0);
    return cairn_execve(path, argv, environ);
}

int cairn_execle(const char *path, const char *arg, ...)
{
    char *const *env;
    ARGUMENTS(argv, env = va_arg(list, char *const *));
    return cairn_execve(path, argv, env);
}

int cairn_execlp(const char *name, const char *arg, ...)
{
    ARGUMENTS(argv, (void)0);
    return cairn_execvpe(name, argv, environ);
}

/* Where a descriptor's file is. */
static const char *path_of(int fd, char path[LINK_BYTES])
{
    char link[40] = "/proc/self/fd/", digits[12];
    size_t first = sizeof(digits), at = strlen(link);
    if (fd < 0 || !cairn_heap_exec_may_ask())
        return NULL;
    do
        digits[--first] = (char)('0' + fd % 10);
    while (fd /= 10);
    memcpy(link + at, digits + first, sizeof(digits) - first);
    long n = cairn_sys_read_link(link, path, LINK_BYTES - 1);
    if (n <= 0)
        return NULL;
    path[n] = 0;
    return path;
}

int cairn_fexecve(int fd, char *const *argv, char *const *env)
{
    char path[LINK_BYTES];
    if (!REAL(fexecve))
        return none();
    return WITH_ENVIRONMENT(path_of(fd, path), env, real.fexecve(fd, argv, env_));
}

/* Only what has a path of its own is judged, or is what `folder` has open. */
int cairn_execveat(int folder, const char *path, char *const *argv, char *const *env, int flags)
{
    char found[LINK_BYTES];
    const char *where = path && (path[0] == '/' || folder == CURRENT_FOLDER) ? path : NULL;
    if (!REAL(execveat))
        return none();
    if (path && !path[0] && flags & EMPTY_PATH)
        where = path_of(folder, found);
    return WITH_ENVIRONMENT(where, env, real.execveat(folder, path, argv, env_, flags));
}

int cairn_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *acts,
                      const posix_spawnattr_t *attributes, char *const *argv, char *const *env)
{
    if (!REAL(posix_spawn))
        return ENOSYS;
    return WITH_ENVIRONMENT(path, env, real.posix_spawn(pid, path, acts, attributes, argv, env_));
}

int cairn_posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *acts,
                       const posix_spawnattr_t *attributes, char *const *argv, char *const *env)
{
    char path[CAIRN_HEAP_EXEC_PATH];
    if (!REAL(posix_spawnp))
        return ENOSYS;
    return WITH_ENVIRONMENT(cairn_heap_exec_find(name, path), env,
                            real.posix_spawnp(pid, name, acts, attributes, argv, env_));
}
