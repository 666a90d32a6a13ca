/* SPDX-License-Identifier: MIT */
#include "trace/flags.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct value {
    const char *name;
    uint64_t bits;
};

/* A table's first `n_values` names are values of the bits in `mask`; the others are bits. */
struct table {
    const char *name;
    uint64_t mask;
    const struct value *values, *bits;
};

#define ROW(name)                                                                                  \
    {                                                                                              \
#name, (uint64_t)(name)                                                                    \
    }
#define END                                                                                        \
    {                                                                                              \
        NULL, 0                                                                                    \
    }

static const struct value none[] = {END};
static const struct value open_values[] = {ROW(O_RDONLY), ROW(O_WRONLY), ROW(O_RDWR), END};
static const struct value open_bits[] = {ROW(O_CREAT),
                                         ROW(O_EXCL),
                                         ROW(O_NOCTTY),
                                         ROW(O_TRUNC),
                                         ROW(O_APPEND),
                                         ROW(O_NONBLOCK),
                                         ROW(O_SYNC),
                                         ROW(O_DSYNC),
                                         ROW(O_ASYNC),
                                         ROW(O_DIRECT),
                                         ROW(O_TMPFILE),
                                         ROW(O_DIRECTORY),
                                         ROW(O_NOFOLLOW),
                                         ROW(O_CLOEXEC),
                                         ROW(O_NOATIME),
                                         ROW(O_PATH),
                                         END};
static const struct value at_bits[] = {ROW(AT_SYMLINK_NOFOLLOW), ROW(AT_REMOVEDIR),
                                       ROW(AT_SYMLINK_FOLLOW),   ROW(AT_NO_AUTOMOUNT),
                                       ROW(AT_EMPTY_PATH),       END};
static const struct value access_values[] = {ROW(F_OK), END};
static const struct value access_bits[] = {ROW(R_OK), ROW(W_OK), ROW(X_OK), END};
static const struct value prot_values[] = {ROW(PROT_NONE), END};
static const struct value prot_bits[] = {ROW(PROT_READ), ROW(PROT_WRITE), ROW(PROT_EXEC), END};
static const struct value map_values[] = {ROW(MAP_SHARED), ROW(MAP_PRIVATE), END};
static const struct value map_bits[] = {ROW(MAP_FIXED),
                                        ROW(MAP_ANONYMOUS),
                                        ROW(MAP_GROWSDOWN),
                                        ROW(MAP_DENYWRITE),
                                        ROW(MAP_LOCKED),
                                        ROW(MAP_NORESERVE),
                                        ROW(MAP_POPULATE),
                                        ROW(MAP_NONBLOCK),
                                        ROW(MAP_STACK),
                                        ROW(MAP_HUGETLB),
                                        END};
static const struct value madvise_values[] = {
    ROW(MADV_NORMAL),   ROW(MADV_RANDOM),     ROW(MADV_SEQUENTIAL),
    ROW(MADV_WILLNEED), ROW(MADV_DONTNEED),   ROW(MADV_FREE),
    ROW(MADV_HUGEPAGE), ROW(MADV_NOHUGEPAGE), END};
static const struct value family_values[] = {ROW(AF_UNIX),    ROW(AF_INET),   ROW(AF_INET6),
                                             ROW(AF_NETLINK), ROW(AF_PACKET), END};
static const struct value socket_values[] = {ROW(SOCK_STREAM), ROW(SOCK_DGRAM), ROW(SOCK_RAW),
                                             ROW(SOCK_SEQPACKET), END};
static const struct value socket_bits[] = {ROW(SOCK_CLOEXEC), ROW(SOCK_NONBLOCK), END};
static const struct value msg_bits[] = {
    ROW(MSG_OOB),     ROW(MSG_PEEK),     ROW(MSG_DONTROUTE), ROW(MSG_TRUNC),    ROW(MSG_DONTWAIT),
    ROW(MSG_WAITALL), ROW(MSG_NOSIGNAL), ROW(MSG_MORE),      ROW(MSG_ERRQUEUE), END};
static const struct value whence_values[] = {ROW(SEEK_SET), ROW(SEEK_CUR), ROW(SEEK_END), END};
static const struct value flock_values[] = {ROW(LOCK_SH), ROW(LOCK_EX), ROW(LOCK_UN), END};
static const struct value flock_bits[] = {ROW(LOCK_NB), END};
static const struct value fcntl_values[] = {ROW(F_DUPFD),
                                            ROW(F_GETFD),
                                            ROW(F_SETFD),
                                            ROW(F_GETFL),
                                            ROW(F_SETFL),
                                            ROW(F_GETLK),
                                            ROW(F_SETLK),
                                            ROW(F_SETLKW),
                                            ROW(F_SETOWN),
                                            ROW(F_GETOWN),
                                            {"F_DUPFD_CLOEXEC", 1030},
                                            END};
static const struct value epollop_values[] = {ROW(EPOLL_CTL_ADD), ROW(EPOLL_CTL_DEL),
                                              ROW(EPOLL_CTL_MOD), END};
static const struct value sigmask_values[] = {ROW(SIG_BLOCK), ROW(SIG_UNBLOCK), ROW(SIG_SETMASK),
                                              END};
static const struct value futex_values[] = {ROW(FUTEX_WAIT),
                                            ROW(FUTEX_WAKE),
                                            ROW(FUTEX_REQUEUE),
                                            ROW(FUTEX_CMP_REQUEUE),
                                            ROW(FUTEX_WAKE_OP),
                                            ROW(FUTEX_LOCK_PI),
                                            ROW(FUTEX_UNLOCK_PI),
                                            ROW(FUTEX_TRYLOCK_PI),
                                            ROW(FUTEX_WAIT_BITSET),
                                            ROW(FUTEX_WAKE_BITSET),
                                            END};
static const struct value futex_bits[] = {ROW(FUTEX_PRIVATE_FLAG), ROW(FUTEX_CLOCK_REALTIME), END};
static const struct value wait_bits[] = {ROW(WNOHANG), ROW(WUNTRACED), ROW(WCONTINUED),
                                         ROW(WEXITED), ROW(WNOWAIT),   END};
static const struct value clone_bits[] = {ROW(CLONE_VM),
                                          ROW(CLONE_FS),
                                          ROW(CLONE_FILES),
                                          ROW(CLONE_SIGHAND),
                                          ROW(CLONE_VFORK),
                                          ROW(CLONE_PARENT),
                                          ROW(CLONE_THREAD),
                                          ROW(CLONE_NEWNS),
                                          ROW(CLONE_SYSVSEM),
                                          ROW(CLONE_SETTLS),
                                          ROW(CLONE_PARENT_SETTID),
                                          ROW(CLONE_CHILD_CLEARTID),
                                          ROW(CLONE_CHILD_SETTID),
                                          ROW(CLONE_NEWUSER),
                                          ROW(CLONE_NEWPID),
                                          ROW(CLONE_NEWNET),
                                          END};

/* Of a page fault on x86-64 (arch/x86/include/asm/trap_pf.h). */
static const struct value fault_values[] = {{"read|not_present", 0},
                                            {"read|protection", 1},
                                            {"write|not_present", 2},
                                            {"write|protection", 3},
                                            {"instruction|not_present", 16},
                                            {"instruction|protection", 17},
                                            END};
static const struct value fault_bits[] = {
    {"protection", 1},   {"write", 2},           {"user", 4},          {"reserved_bit", 8},
    {"instruction", 16}, {"protection_key", 32}, {"shadow_stack", 64}, END};

static const struct table tables[] = {
    {"open", O_ACCMODE, open_values, open_bits},
    {"at", 0, none, at_bits},
    {"access", 7, access_values, access_bits},
    {"prot", 7, prot_values, prot_bits},
    {"map", MAP_TYPE, map_values, map_bits},
    {"madvise", UINT64_MAX, madvise_values, none},
    {"family", UINT64_MAX, family_values, none},
    {"socket", 15, socket_values, socket_bits},
    {"msg", 0, none, msg_bits},
    {"whence", UINT64_MAX, whence_values, none},
    {"flock", 11, flock_values, flock_bits},
    {"fcntl", UINT64_MAX, fcntl_values, none},
    {"epollop", UINT64_MAX, epollop_values, none},
    {"sigmask", UINT64_MAX, sigmask_values, none},
    {"futex", 127, futex_values, futex_bits},
    {"wait", 0, none, wait_bits},
    {"clone", 0xff, none, clone_bits},
    {"fault", 19, fault_values, fault_bits},
};

static const struct table *table_of(const char *name)
{
    size_t size = strcspn(name, " ");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (strlen(tables[i].name) == size && memcmp(tables[i].name, name, size) == 0)
            return &tables[i];
    return NULL;
}

static void put_name(struct cairn_buffer *out, size_t start, const char *name)
{
    if (out->size > start)
        cairn_buffer_char(out, '|');
    cairn_buffer_str(out, name);
}

void cairn_flags_put(struct cairn_buffer *out, const char *name, uint64_t value)
{
    const struct table *table = table_of(name);
    const size_t start = out->size;
    uint64_t rest = value;
    for (const struct value *v = table ? table->values : none; v->name; v++)
        if ((value & table->mask) == v->bits) {
            put_name(out, start, v->name);
            rest &= ~table->mask;
            break;
        }
    for (const struct value *v = table ? table->bits : none; v->name; v++)
        if (v->bits && (rest & v->bits) == v->bits) {
            put_name(out, start, v->name);
            rest &= ~v->bits;
        }
    if (!rest && out->size > start)
        return;
    if (out->size > start)
        cairn_buffer_char(out, '|');
    if (rest < 10)
        cairn_buffer_u64(out, rest);
    else
        cairn_buffer_printf(out, "0x%llx", (unsigned long long)rest);
}

static bool find_in(const struct value *values, const char *name, size_t size, uint64_t *ret_value)
{
    for (const struct value *v = values; v->name; v++)
        if (strlen(v->name) == size && memcmp(v->name, name, size) == 0) {
            *ret_value = v->bits;
            return true;
        }
    return false;
}

bool cairn_flags_find(const char *name, size_t size, uint64_t *ret_value)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (find_in(tables[i].values, name, size, ret_value) ||
            find_in(tables[i].bits, name, size, ret_value))
            return true;
    return false;
}
