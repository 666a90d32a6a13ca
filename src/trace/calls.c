/* SPDX-License-Identifier: MIT */
#include "trace/calls.h"

#include <stdio.h>
#include <string.h>

#include "bpf/trace.h"

struct row {
    const char *name;
    int number;
};

/* By number; the files are made from headers (meson.build). */
static const struct row native[] = {
#include "trace/call_names.h"
};
static const struct row compat[] = {
#include "trace/compat_names.h"
    {NULL, -1}};
static const struct row errors[] = {
#include "trace/error_names.h"
};
static const struct row signals[] = {
#include "trace/signal_names.h"
};

enum {
    F = CAIRN_CALL_FILE,
    D = CAIRN_CALL_DESC,
    N = CAIRN_CALL_NET,
    P = CAIRN_CALL_PROCESS,
    M = CAIRN_CALL_MEMORY,
    S = CAIRN_CALL_SIGNAL,
    I = CAIRN_CALL_IPC
};

/* "name:kind", with blanks between; behind a kind F the name of a table in flags.c. The result's
 * kind comes last, behind "=". syscalls(2) and the manual pages of the calls. */
static const struct {
    const char *name;
    unsigned sets;
    const char *form;
} known[] = {
    {"accept", N | D, "fd:f addr:p addrlen:p =f"},
    {"accept4", N | D, "fd:f addr:p addrlen:p flags:Fsocket =f"},
    {"access", F, "path:s mode:Faccess =d"},
    {"alarm", 0, "seconds:u =u"},
    {"arch_prctl", P, "code:x addr:p =d"},
    {"bind", N | D, "fd:f addr:p addrlen:u =d"},
    {"brk", M, "addr:p =p"},
    {"chdir", F, "path:s =d"},
    {"chmod", F, "path:s mode:o =d"},
    {"chown", F, "path:s uid:d gid:d =d"},
    {"chroot", F, "path:s =d"},
    {"clock_nanosleep", 0, "clock:d flags:d request:p remain:p =d"},
    {"clone", P, "flags:Fclone stack:p parent_tid:p child_tid:p tls:p =d"},
    {"clone3", P, "args:p size:u =d"},
    {"close", D, "fd:f =d"},
    {"close_range", D, "first:u last:u flags:x =d"},
    {"connect", N | D, "fd:f addr:p addrlen:u =d"},
    {"copy_file_range", D, "fd_in:f off_in:p fd_out:f off_out:p count:u flags:x =u"},
    {"creat", F | D, "path:s mode:o =f"},
    {"dup", D, "fd:f =f"},
    {"dup2", D, "fd:f newfd:d =f"},
    {"dup3", D, "fd:f newfd:d flags:Fopen =f"},
    {"epoll_create1", D, "flags:Fopen =f"},
    {"epoll_ctl", D, "epfd:f op:Fepollop fd:f event:p =d"},
    {"epoll_pwait", D, "epfd:f events:p maxevents:d timeout:d sigmask:p size:u =d"},
    {"epoll_wait", D, "epfd:f events:p maxevents:d timeout:d =d"},
    {"eventfd2", D, "count:u flags:Fopen =f"},
    {"execve", F | P, "path:s argv:p envp:p =d"},
    {"execveat", F | P | D, "dirfd:a path:s argv:p envp:p flags:Fat =d"},
    {"exit", P, "status:d ="},
    {"exit_group", P, "status:d ="},
    {"faccessat", F | D, "dirfd:a path:s mode:Faccess =d"},
    {"faccessat2", F | D, "dirfd:a path:s mode:Faccess flags:Fat =d"},
    {"fallocate", D, "fd:f mode:x offset:l length:l =d"},
    {"fchdir", F | D, "fd:f =d"},
    {"fchmod", D, "fd:f mode:o =d"},
    {"fchmodat", F | D, "dirfd:a path:s mode:o =d"},
    {"fchown", D, "fd:f uid:d gid:d =d"},
    {"fchownat", F | D, "dirfd:a path:s uid:d gid:d flags:Fat =d"},
    {"fcntl", D, "fd:f cmd:Ffcntl arg:x =d"},
    {"fdatasync", D, "fd:f =d"},
    {"flock", D, "fd:f operation:Fflock =d"},
    {"fork", P, "=d"},
    {"fstat", D, "fd:f buf:p =d"},
    {"fsync", D, "fd:f =d"},
    {"ftruncate", D, "fd:f length:l =d"},
    {"futex", 0, "addr:p op:Ffutex value:d timeout:p addr2:p value3:d =d"},
    {"getcwd", F, "buf:p size:u =u"},
    {"getdents64", D, "fd:f buf:p count:u =u"},
    {"getpid", 0, "=d"},
    {"getppid", 0, "=d"},
    {"getrandom", 0, "buf:p count:u flags:x =u"},
    {"gettid", 0, "=d"},
    {"getuid", 0, "=d"},
    {"ioctl", D, "fd:f request:x arg:p =d"},
    {"kill", S | P, "pid:d signal:g =d"},
    {"link", F, "path:s newpath:s =d"},
    {"linkat", F | D, "dirfd:a path:s newdirfd:a newpath:s flags:Fat =d"},
    {"listen", N | D, "fd:f backlog:d =d"},
    {"lseek", D, "fd:f offset:l whence:Fwhence =l"},
    {"lstat", F, "path:s buf:p =d"},
    {"madvise", M, "addr:p length:u advice:Fmadvise =d"},
    {"memfd_create", D, "path:s flags:x =f"},
    {"mkdir", F, "path:s mode:o =d"},
    {"mkdirat", F | D, "dirfd:a path:s mode:o =d"},
    {"mlock", M, "addr:p length:u =d"},
    {"mmap", M | D, "addr:p length:u prot:Fprot flags:Fmap fd:f offset:x =p"},
    {"mount", F, "source:s path:s type:p flags:x data:p =d"},
    {"mprotect", M, "addr:p length:u prot:Fprot =d"},
    {"mremap", M, "addr:p old:u new:u flags:x newaddr:p =p"},
    {"msgget", I, "key:x flags:o =d"},
    {"msgrcv", I, "id:d buf:p size:u type:l flags:x =u"},
    {"msgsnd", I, "id:d buf:p size:u flags:x =d"},
    {"msync", M, "addr:p length:u flags:x =d"},
    {"munmap", M, "addr:p length:u =d"},
    {"nanosleep", 0, "request:p remain:p =d"},
    {"newfstatat", F | D, "dirfd:a path:s buf:p flags:Fat =d"},
    {"open", F | D, "path:s flags:Fopen mode:o =f"},
    {"openat", F | D, "dirfd:a path:s flags:Fopen mode:o =f"},
    {"openat2", F | D, "dirfd:a path:s how:p size:u =f"},
    {"pause", S, "=d"},
    {"pipe", D, "fds:p =d"},
    {"pipe2", D, "fds:p flags:Fopen =d"},
    {"poll", D, "fds:p count:u timeout:d =d"},
    {"ppoll", D, "fds:p count:u timeout:p sigmask:p size:u =d"},
    {"prctl", P, "option:d arg2:x arg3:x arg4:x arg5:x =d"},
    {"pread64", D, "fd:f buf:B count:u offset:l =u"},
    {"prlimit64", P, "pid:d resource:d new:p old:p =d"},
    {"pwrite64", D, "fd:f buf:b count:u offset:l =u"},
    {"read", D, "fd:f buf:B count:u =u"},
    {"readlink", F, "path:s buf:B size:u =u"},
    {"readlinkat", F | D, "dirfd:a path:s buf:B size:u =u"},
    {"readv", D, "fd:f iov:p count:u =u"},
    {"recvfrom", N | D, "fd:f buf:B count:u flags:Fmsg addr:p addrlen:p =u"},
    {"recvmsg", N | D, "fd:f message:p flags:Fmsg =u"},
    {"rename", F, "path:s newpath:s =d"},
    {"renameat", F | D, "dirfd:a path:s newdirfd:a newpath:s =d"},
    {"renameat2", F | D, "dirfd:a path:s newdirfd:a newpath:s flags:x =d"},
    {"rmdir", F, "path:s =d"},
    {"rt_sigaction", S, "signal:g action:p old:p size:u =d"},
    {"rt_sigprocmask", S, "how:Fsigmask set:p old:p size:u =d"},
    {"rt_sigreturn", S, "="},
    {"rt_sigsuspend", S, "set:p size:u =d"},
    {"sched_yield", 0, "=d"},
    {"select", D, "n:d read:p write:p except:p timeout:p =d"},
    {"semget", I, "key:x count:d flags:o =d"},
    {"semop", I, "id:d ops:p count:u =d"},
    {"sendfile", D | N, "out_fd:f in_fd:f offset:p count:u =u"},
    {"sendmsg", N | D, "fd:f message:p flags:Fmsg =u"},
    {"sendto", N | D, "fd:f buf:b count:u flags:Fmsg addr:p addrlen:u =u"},
    {"setsockopt", N | D, "fd:f level:d option:d value:p size:u =d"},
    {"getsockopt", N | D, "fd:f level:d option:d value:p size:p =d"},
    {"shmat", I | M, "id:d addr:p flags:x =p"},
    {"shmdt", I | M, "addr:p =d"},
    {"shmget", I, "key:x size:u flags:o =d"},
    {"shutdown", N | D, "fd:f how:d =d"},
    {"sigaltstack", S, "stack:p old:p =d"},
    {"socket", N | D, "family:Ffamily type:Fsocket protocol:d =f"},
    {"socketpair", N | D, "family:Ffamily type:Fsocket protocol:d fds:p =d"},
    {"splice", D, "fd_in:f off_in:p fd_out:f off_out:p count:u flags:x =u"},
    {"stat", F, "path:s buf:p =d"},
    {"statfs", F, "path:s buf:p =d"},
    {"statx", F | D, "dirfd:a path:s flags:Fat mask:x buf:p =d"},
    {"symlink", F, "target:s path:s =d"},
    {"symlinkat", F | D, "target:s dirfd:a path:s =d"},
    {"tgkill", S | P, "tgid:d tid:d signal:g =d"},
    {"truncate", F, "path:s length:l =d"},
    {"umask", 0, "mask:o =o"},
    {"uname", 0, "buf:p =d"},
    {"unlink", F, "path:s =d"},
    {"unlinkat", F | D, "dirfd:a path:s flags:Fat =d"},
    {"utimensat", F | D, "dirfd:a path:s times:p flags:Fat =d"},
    {"vfork", P, "=d"},
    {"wait4", P, "pid:d status:p options:Fwait usage:p =d"},
    {"waitid", P, "which:d id:d info:p options:Fwait usage:p =d"},
    {"write", D, "fd:f buf:b count:u =u"},
    {"writev", D, "fd:f iov:p count:u =u"},
    /* Of 32-bit programs alone. */
    {"_llseek", D, "fd:f high:u low:u result:p whence:Fwhence =d"},
    {"_newselect", D, "n:d read:p write:p except:p timeout:p =d"},
    {"chown32", F, "path:s uid:d gid:d =d"},
    {"clock_nanosleep_time64", 0, "clock:d flags:d request:p remain:p =d"},
    {"fchown32", D, "fd:f uid:d gid:d =d"},
    {"fcntl64", D, "fd:f cmd:Ffcntl arg:x =d"},
    {"fstat64", D, "fd:f buf:p =d"},
    {"fstatat64", F | D, "dirfd:a path:s buf:p flags:Fat =d"},
    {"futex_time64", 0, "addr:p op:Ffutex value:d timeout:p addr2:p value3:d =d"},
    {"getuid32", 0, "=d"},
    {"lstat64", F, "path:s buf:p =d"},
    {"mmap2", M | D, "addr:p length:u prot:Fprot flags:Fmap fd:f pages:x =p"},
    {"ppoll_time64", D, "fds:p count:u timeout:p sigmask:p size:u =d"},
    {"recv", N | D, "fd:f buf:B count:u flags:Fmsg =u"},
    {"send", N | D, "fd:f buf:b count:u flags:Fmsg =u"},
    {"sendfile64", D | N, "out_fd:f in_fd:f offset:p count:u =u"},
    {"sigaction", S, "signal:g action:p old:p =d"},
    {"sigprocmask", S, "how:Fsigmask set:p old:p =d"},
    {"sigreturn", S, "="},
    {"socketcall", N | D, "call:d args:p =d"},
    {"stat64", F, "path:s buf:p =d"},
    {"statfs64", F, "path:s size:u buf:p =d"},
    {"utimensat_time64", F | D, "dirfd:a path:s times:p flags:Fat =d"},
    {"waitpid", P, "pid:d status:p options:Fwait =d"},
};

static const struct {
    const char *name;
    unsigned set;
} sets[] = {{"file", F},    {"desc", D},   {"net", N},    {"network", N},
            {"process", P}, {"memory", M}, {"signal", S}, {"ipc", I}};

static const char *name_in(const struct row *rows, size_t n, long number)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].number == number)
            return rows[i].name;
    return NULL;
}

static int number_in(const struct row *rows, size_t n, const char *name, size_t size)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].name && strlen(rows[i].name) == size && memcmp(rows[i].name, name, size) == 0)
            return rows[i].number;
    return -1;
}

const char *cairn_call_name(uint32_t row)
{
    if (row < CAIRN_TRACE_NUMBERS)
        return name_in(native, sizeof native / sizeof *native, row);
    return name_in(compat, sizeof compat / sizeof *compat, row - CAIRN_TRACE_NUMBERS);
}

unsigned cairn_call_sets(const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].sets;
    return 0;
}

unsigned cairn_call_set_of(const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (strlen(sets[i].name) == size && memcmp(sets[i].name, text, size) == 0)
            return sets[i].set;
    return 0;
}

/* One "name:kind" of the form above. */
static void read_arg(const char *word, size_t size, struct cairn_call_arg *arg)
{
    const char *colon = memchr(word, ':', size);
    size_t length = (size_t)(colon - word);
    memcpy(arg->name, word, length);
    arg->name[length] = '\0';
    arg->kind = (enum cairn_call_kind)colon[1];
    arg->names = arg->kind == CAIRN_KIND_FLAGS ? colon + 2 : NULL;
}

void cairn_call_read_form(const char *form, struct cairn_syscall *call)
{
    for (const char *at = form;; at++) {
        size_t size = strcspn(at, " ");
        if (*at == '=') {
            call->no_return = size == 1;
            call->ret = size == 1 ? CAIRN_KIND_INT : (enum cairn_call_kind)at[1];
            return;
        }
        read_arg(at, size, &call->args[call->n_args++]);
        at += size;
    }
}

bool cairn_call_find(const char *name, struct cairn_syscall *ret_call)
{
    *ret_call = (struct cairn_syscall){.name = name, .ret = CAIRN_KIND_LONG, .n_args = -1};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, name) != 0)
            continue;
        ret_call->n_args = 0;
        ret_call->sets = known[i].sets;
        cairn_call_read_form(known[i].form, ret_call);
        return true;
    }
    return false;
}

/* Results inside the kernel (include/linux/errno.h): a signal ended the call, which is begun again
 * if the thread goes on. */
static const struct row restarts[] = {{"ERESTARTSYS", 512},
                                      {"ERESTARTNOINTR", 513},
                                      {"ERESTARTNOHAND", 514},
                                      {"ERESTART_RESTARTBLOCK", 516}};

const char *cairn_error_name(int number)
{
    if (number >= restarts[0].number)
        return name_in(restarts, sizeof restarts / sizeof *restarts, number);
    return name_in(errors, sizeof errors / sizeof *errors, number);
}

const char *cairn_signal_name(int number)
{
    return name_in(signals, sizeof signals / sizeof *signals, number);
}

int cairn_error_of(const char *name, size_t size)
{
    return number_in(errors, sizeof errors / sizeof *errors, name, size);
}

int cairn_signal_of(const char *name, size_t size)
{
    return number_in(signals, sizeof signals / sizeof *signals, name, size);
}
