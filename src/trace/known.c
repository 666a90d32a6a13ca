/* SPDX-License-Identifier: MIT */
#include "trace/known.h"

#include <string.h>

/* In the form of calls.c. POSIX and C; arguments that only some calls have are left out. */
static const struct {
    const char *name, *form;
} known[] = {
    {"malloc", "size:u =p"},
    {"calloc", "n:u size:u =p"},
    {"realloc", "ptr:p size:u =p"},
    {"reallocarray", "ptr:p n:u size:u =p"},
    {"free", "ptr:p =x"},
    {"posix_memalign", "ret_ptr:p alignment:u size:u =d"},
    {"aligned_alloc", "alignment:u size:u =p"},
    {"memalign", "alignment:u size:u =p"},
    {"fopen", "path:s mode:s =p"},
    {"fopen64", "path:s mode:s =p"},
    {"freopen", "path:s mode:s file:p =p"},
    {"fdopen", "fd:f mode:s =p"},
    {"popen", "command:s mode:s =p"},
    {"fclose", "file:p =d"},
    {"fread", "buf:p size:u n:u file:p =u"},
    {"fwrite", "buf:p size:u n:u file:p =u"},
    {"fputs", "text:s file:p =d"},
    {"puts", "text:s =d"},
    {"open", "path:s flags:Fopen =f"},
    {"open64", "path:s flags:Fopen =f"},
    {"openat", "dirfd:a path:s flags:Fopen =f"},
    {"openat64", "dirfd:a path:s flags:Fopen =f"},
    {"creat", "path:s mode:o =f"},
    {"close", "fd:f =d"},
    {"read", "fd:f buf:p count:u =l"},
    {"write", "fd:f buf:p count:u =l"},
    {"access", "path:s mode:Faccess =d"},
    {"stat", "path:s buf:p =d"},
    {"lstat", "path:s buf:p =d"},
    {"unlink", "path:s =d"},
    {"remove", "path:s =d"},
    {"rename", "path:s newpath:s =d"},
    {"mkdir", "path:s mode:o =d"},
    {"rmdir", "path:s =d"},
    {"chdir", "path:s =d"},
    {"opendir", "path:s =p"},
    {"readlink", "path:s buf:p size:u =l"},
    {"realpath", "path:s resolved:p =p"},
    {"execve", "path:s argv:p envp:p =d"},
    {"execv", "path:s argv:p =d"},
    {"execvp", "file:s argv:p =d"},
    {"system", "command:s =d"},
    {"dlopen", "path:s flags:X =p"},
    {"dlsym", "handle:p name:s =p"},
    {"getenv", "name:s =p"},
    {"setenv", "name:s value:s overwrite:d =d"},
    {"unsetenv", "name:s =d"},
    {"getaddrinfo", "node:s service:s hints:p ret_list:p =d"},
    {"strlen", "text:s =u"},
    {"strdup", "text:s =p"},
    {"strcmp", "a:s b:s =d"},
    {"strchr", "text:s character:d =p"},
    {"strstr", "text:s part:s =p"},
    {"strcpy", "to:p from:s =p"},
    {"atoi", "text:s =d"},
    {"memcpy", "to:p from:p size:u =p"},
    {"memmove", "to:p from:p size:u =p"},
    {"memset", "to:p byte:d size:u =p"},
    {"memcmp", "a:p b:p size:u =d"},
    {"usleep", "microseconds:U =d"},
    {"sleep", "seconds:U =d"},
    {"exit", "status:d =d"},
    {"kill", "pid:d signal:g =d"},
    {"raise", "signal:g =d"},
};

/* "libc", "libc.so.6", "libc-2.31.so", "libc.musl-x86_64.so.1", "ld-musl-x86_64.so.1", and "libdl"
 * of glibc before 2.34. */
static bool is_libc(const char *path, size_t size)
{
    static const char *const names[] = {"libc.so", "libc-2.", "libc.musl-", "ld-musl-", "libdl.so"};
    size_t at = size;
    while (at && path[at - 1] != '/')
        at--;
    if (size - at == 4 && memcmp(path + at, "libc", 4) == 0)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (size - at >= strlen(names[i]) && memcmp(path + at, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static const struct {
    const char *name;
    bool has_args, has_result;
} kinds[] = {
    {"uprobe:", true, false}, {"uretprobe:", false, true}, {"uprobe+uretprobe:", true, true}};
enum { KINDS = sizeof kinds / sizeof *kinds };

void cairn_known_describe(const char *event, struct cairn_syscall *call)
{
    size_t kind = 0;
    while (kind < KINDS && strncmp(event, kinds[kind].name, strlen(kinds[kind].name)) != 0)
        kind++;
    if (kind == KINDS)
        return;
    const char *file = event + strlen(kinds[kind].name);
    const char *colon = strchr(file, ':');
    if (!colon || !is_libc(file, (size_t)(colon - file)))
        return;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, colon + 1) == 0) {
            struct cairn_syscall as = {0};
            cairn_call_read_form(known[i].form, &as);
            if (kinds[kind].has_result)
                call->ret = as.ret;
            if (kinds[kind].has_args) {
                call->n_args = as.n_args;
                memcpy(call->args, as.args, sizeof as.args);
            }
            return;
        }
}
