/* SPDX-License-Identifier: MIT */
#include "base/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/error.h"
#include "base/open.h"

enum {
    PATH_BYTES = 4096,
    SILENT_MAX = 16,
    FUSE_MAGIC = 0x65735546, /* linux/magic.h has it since 5.17 */
    COPY_DEADLINE_MS = 5000, /* of 256 MB out of a cache */
    PIECE = CAIRN_APART_BYTES / 2,
    FIRST_BYTES = 1 << 15, /* read at first */
    COPY_SEALS = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW
};

/* Results of the helper beside errnos, which are below 4096. */
enum { NOT_REGULAR = 5000, OTHER_INODE, TOO_LARGE, TOO_MANY, IS_SILENT };
enum { IS_PLAIN, IS_FUSE };

struct wish {
    uint64_t device; /* out: of what was looked at last; 0: not known yet */
    uint64_t inode;
    uint64_t silent[SILENT_MAX]; /* devices that did not answer: not asked again */
    bool has_folder, is_strict;
    char root[PATH_BYTES]; /* "": none */
    char path[PATH_BYTES];
};

/* Notes the device, by what the kernel knows without asking a server. */
static bool is_silent(uint8_t *io, const struct wish *wish, int path_fd)
{
    struct statx st;
    if (statx(path_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) < 0)
        return false;
    const uint64_t device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
    memcpy(io, &device, sizeof device);
    for (size_t i = 0; i < SILENT_MAX; i++)
        if (device && wish->silent[i] == device)
            return true;
    return false;
}

/* The kernel finds the root of a mount without asking its server, but a name in it by asking. So
 * the device is known before a look-up that does not end. */
static bool leads_to_silent(uint8_t *io, const struct wish *wish)
{
    char path[PATH_BYTES];
    for (size_t i = 1; wish->path[i]; i++) {
        if (wish->path[i] != '/')
            continue;
        memcpy(path, wish->path, i);
        path[i] = '\0';
        int fd = open(path, O_PATH | O_CLOEXEC);
        bool silent = fd >= 0 && is_silent(io, wish, fd);
        if (fd >= 0)
            close(fd);
        if (silent)
            return true;
    }
    return false;
}

/* An O_PATH descriptor, if its device is not known as silent. */
static long check_place(uint8_t *io, const struct wish *wish, int fd)
{
    if (fd < 0)
        return -errno;
    if (!is_silent(io, wish, fd))
        return fd;
    close(fd);
    return -IS_SILENT;
}

/* A mount may be crossed on the way to the last folder, such as /tmp, but none in it. */
static long find_strictly(uint8_t *io, const struct wish *wish, int folder)
{
    char path[PATH_BYTES];
    memcpy(path, wish->path, sizeof path);
    char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    if (is_silent(io, wish, folder))
        return -IS_SILENT;
    if (slash)
        *slash = '\0';
    long place = slash
                     ? check_place(io, wish, cairn_open_place_in(folder, path, CAIRN_OPEN_NO_LINKS))
                     : folder;
    if (place < 0)
        return place;
    const unsigned limits = CAIRN_OPEN_NO_LINKS | CAIRN_OPEN_NO_MOUNTS;
    long found = check_place(io, wish, cairn_open_place_in((int)place, name, limits));
    if (place != folder)
        close((int)place);
    return found;
}

/* An O_PATH descriptor, or what is wrong. Devices were not touched by it. */
static long find(uint8_t *io, const struct wish *wish, int folder)
{
    if (wish->is_strict)
        return find_strictly(io, wish, folder);
    if (!wish->has_folder && leads_to_silent(io, wish))
        return -IS_SILENT;
    return check_place(io, wish,
                       wish->has_folder ? cairn_open_place_in(folder, wish->path, 0)
                                        : cairn_open_place_below(wish->root, wish->path));
}

static long reopen(const struct wish *wish, int path_fd, int *ret_fd)
{
    struct stat st;
    struct statfs system;
    if (fstat(path_fd, &st) < 0)
        return -errno;
    if (wish->inode && (uint32_t)wish->inode != (uint32_t)st.st_ino)
        return -OTHER_INODE;
    int fd = cairn_open_again(path_fd, NULL, O_RDONLY);
    if (fd < 0)
        return errno == EINVAL ? -NOT_REGULAR : -errno;
    *ret_fd = fd;
    return fstatfs(fd, &system) == 0 && system.f_type == FUSE_MAGIC ? IS_FUSE : IS_PLAIN;
}

static long open_for_caller(uint8_t *io, int folder, int *ret_fd)
{
    struct wish wish;
    memcpy(&wish, io, sizeof wish);
    long path_fd = find(io, &wish, folder);
    if (path_fd < 0)
        return path_fd;
    long result = reopen(&wish, (int)path_fd, ret_fd);
    close((int)path_fd);
    return result;
}

static long copy_bytes(int from, int to, uint8_t *io)
{
    uint64_t done = 0;
    for (ssize_t got; (got = read(from, io, PIECE)) != 0; done += (uint64_t)got) {
        if (got < 0)
            return -errno;
        if (done + (uint64_t)got > CAIRN_FOREIGN_COPY_MAX)
            return -TOO_LARGE;
        if (write(to, io, (size_t)got) != got)
            return -ENOMEM;
    }
    return (long)done;
}

static long copy_for_caller(uint8_t *io, int fd, int *ret_fd)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int copy = (int)syscall(SYS_memfd_create, "cairn-foreign", flags);
    if (copy < 0)
        return -errno;
    long result = copy_bytes(fd, copy, io);
    if (result >= 0 && fcntl(copy, F_ADD_SEALS, COPY_SEALS) < 0)
        result = -errno;
    if (result >= 0)
        *ret_fd = copy;
    else
        close(copy);
    return result;
}

static int fail(long result, const char *path, struct cairn_err *err)
{
    switch (result) {
    case -NOT_REGULAR:
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: expected a regular file", path);
    case -OTHER_INODE:
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: is another file by now", path);
    case -TOO_LARGE:
        return cairn_fail(err, CAIRN_E_LIMIT, "%s: on FUSE, and larger than %d MB", path,
                          CAIRN_FOREIGN_COPY_MAX / 1000000);
    case -TOO_MANY:
        return cairn_fail(err, CAIRN_E_LIMIT, "%s: on FUSE, and %d MB of such files were read",
                          path, CAIRN_FOREIGN_COPIES_MAX / 1000000);
    case -EUSERS:
        return cairn_fail(err, CAIRN_E_LIMIT,
                          "%s: not opened: %d reads of this run did not end, and wait still", path,
                          CAIRN_APART_LEFT_MAX);
    case -IS_SILENT:
    case -ETIMEDOUT:
        return cairn_fail(err, CAIRN_E_LIMIT,
                          "%s: did not answer in time: it lies on FUSE, or its process keeps its "
                          "mappings locked",
                          path);
    default:
        return cairn_fail_os(err, (int)-result, "%s", path);
    }
}

/* Guarded by `lock`: devices whose server did not answer, the latest ones. */
static uint64_t silent[SILENT_MAX];
static unsigned n_silent;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void add_silent(uint64_t device)
{
    pthread_mutex_lock(&lock);
    silent[n_silent++ % SILENT_MAX] = device;
    pthread_mutex_unlock(&lock);
}

static int wish_of(const struct cairn_foreign_wish *wish, struct wish *ret_wish)
{
    *ret_wish = (struct wish){
        .inode = wish->inode, .has_folder = wish->folder >= 0, .is_strict = wish->is_strict};
    pthread_mutex_lock(&lock);
    memcpy(ret_wish->silent, silent, sizeof silent);
    pthread_mutex_unlock(&lock);
    int root_size =
            snprintf(ret_wish->root, sizeof ret_wish->root, "%s", wish->root ? wish->root : ""),
        size = snprintf(ret_wish->path, sizeof ret_wish->path, "%s", wish->path);
    return size < PATH_BYTES && root_size < PATH_BYTES ? 0 : -ENAMETOOLONG;
}

static long ask(cairn_apart_fn fn, struct wish *wish, int folder, void *out, size_t out_size,
                int *ret_fd)
{
    const struct cairn_apart_call call = {
        .fn = fn,
        .fd = folder,
        .in = wish,
        .in_size = sizeof *wish,
        .out = out,
        .out_size = out_size,
        .ret_fd = ret_fd,
        .noted = &wish->device,
        .note_size = sizeof wish->device,
    };
    long result = cairn_apart_do(&call);
    if (result == -ETIMEDOUT && wish->device)
        add_silent(wish->device);
    return result;
}

/* Copies stay in memory until their users close them: what one run may copy is bounded. */
static bool may_keep(uint64_t bytes)
{
    static uint64_t copied;
    return __atomic_add_fetch(&copied, bytes, __ATOMIC_RELAXED) <= CAIRN_FOREIGN_COPIES_MAX;
}

/* A mapping of a FUSE file would wait for its server at each page. Takes `fd` over. */
static long copy(int fd, uint64_t device, int *ret_fd)
{
    const struct cairn_apart_call call = {
        .fn = copy_for_caller, .deadline_ms = COPY_DEADLINE_MS, .fd = fd, .ret_fd = ret_fd};
    long result = cairn_apart_do(&call);
    close(fd);
    if (result == -ETIMEDOUT)
        add_silent(device);
    if (result >= 0 && !may_keep((uint64_t)result)) {
        close(*ret_fd);
        result = -TOO_MANY;
    }
    return result;
}

int cairn_foreign_open(const struct cairn_foreign_wish *wish, int *ret_fd, struct cairn_err *err)
{
    struct wish in;
    int fd = -1;
    long result = wish_of(wish, &in);
    if (result == 0)
        result = ask(open_for_caller, &in, wish->folder, &in.device, sizeof in.device, &fd);
    if (result == IS_FUSE)
        result = copy(fd, in.device, &fd);
    if (result < 0)
        return fail(result, wish->path, err);
    if (fd < 0)
        return cairn_fail_os(err, EMFILE, "%s", wish->path);
    *ret_fd = fd;
    return CAIRN_OK;
}

int cairn_foreign_open_path(const char *path, int *ret_fd, struct cairn_err *err)
{
    const struct cairn_foreign_wish wish = {.path = path, .folder = -1};
    return cairn_foreign_open(&wish, ret_fd, err);
}

bool cairn_foreign_is_copy(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS); /* -1: no file in memory */
    return seals >= 0 && (seals & COPY_SEALS) == COPY_SEALS;
}

/* What cairn_foreign_stat() returns. */
struct looked {
    struct stat st;
    bool is_guarded;
};

static long stat_for_caller(uint8_t *io, int folder, int *ret_fd)
{
    struct wish wish;
    struct looked looked;
    (void)ret_fd;
    memcpy(&wish, io, sizeof wish);
    memset(&looked, 0, sizeof looked); /* its padding goes to the caller, too */
    long path_fd = find(io, &wish, folder);
    if (path_fd < 0)
        return path_fd == -IS_SILENT ? -ETIMEDOUT : path_fd;
    long result = fstat((int)path_fd, &looked.st) < 0 ? -errno : 0;
    if (result == 0) {
        looked.is_guarded = cairn_open_is_guarded((int)path_fd, &looked.st);
        memcpy(io, &looked, sizeof looked);
    }
    close((int)path_fd);
    return result;
}

int cairn_foreign_stat_of(const struct cairn_foreign_wish *wish, struct stat *ret_st,
                          bool *ret_is_guarded)
{
    struct wish in;
    struct looked looked;
    long result = wish_of(wish, &in);
    if (result == 0)
        result = ask(stat_for_caller, &in, wish->folder, &looked, sizeof looked, NULL);
    if (result < 0)
        return (int)result;
    *ret_st = looked.st;
    if (ret_is_guarded)
        *ret_is_guarded = looked.is_guarded;
    return 0;
}

int cairn_foreign_stat(const char *path, struct stat *ret_st, bool *ret_is_guarded)
{
    const struct cairn_foreign_wish wish = {.path = path, .folder = -1};
    return cairn_foreign_stat_of(&wish, ret_st, ret_is_guarded);
}

static long head_for_caller(uint8_t *io, int folder, int *ret_fd)
{
    uint8_t head[CAIRN_FOREIGN_HEAD_MAX];
    int fd = -1;
    (void)ret_fd;
    long result = open_for_caller(io, folder, &fd);
    if (result < 0)
        return result;
    ssize_t got = pread(fd, head, sizeof head, 0);
    result = got < 0 ? -errno : got;
    close(fd);
    if (got > 0)
        memcpy(io, head, (size_t)got);
    return result;
}

size_t cairn_foreign_head(const char *path, void *out, size_t size)
{
    const struct cairn_foreign_wish wish = {.path = path, .folder = -1};
    struct wish in;
    uint8_t head[CAIRN_FOREIGN_HEAD_MAX];
    long got = wish_of(&wish, &in);
    if (got == 0)
        got = ask(head_for_caller, &in, -1, head, sizeof head, NULL);
    if (got <= 0)
        return 0;
    if ((size_t)got < size)
        size = (size_t)got;
    memcpy(out, head, size);
    return size;
}

static long read_piece(uint8_t *io, int fd, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(fd, io + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (long)done;
}

static long read_first(uint8_t *io, int fd, int *ret_fd)
{
    (void)ret_fd;
    return read_piece(io, fd, FIRST_BYTES);
}

static long read_more(uint8_t *io, int fd, int *ret_fd)
{
    (void)ret_fd;
    return read_piece(io, fd, CAIRN_APART_BYTES);
}

static int slurp(int fd, const char *path, size_t limit, struct cairn_buffer *out,
                 struct cairn_err *err)
{
    const size_t start = out->size;
    /* Most are texts of /proc of some kilobytes: a piece of a megabyte would be mapped for each. */
    for (size_t piece = FIRST_BYTES;; piece = CAIRN_APART_BYTES) {
        if (!cairn_buffer_reserve(out, piece))
            return cairn_fail_memory(err);
        const struct cairn_apart_call call = {
            .fn = piece == FIRST_BYTES ? read_first : read_more,
            .fd = fd,
            .out = out->data + out->size,
            .out_size = piece,
            .out_is_result = true,
        };
        long got = cairn_apart_do(&call);
        if (got < 0)
            return fail(got, path, err);
        out->size += (size_t)got;
        if (out->size - start > limit)
            return cairn_fail(err, CAIRN_E_LIMIT, "%s: larger than %zu bytes", path, limit);
        if ((size_t)got < piece)
            return CAIRN_OK;
    }
}

int cairn_foreign_slurp(const char *path, size_t limit, struct cairn_buffer *ret_bytes,
                        struct cairn_err *err)
{
    size_t start = ret_bytes->size;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return cairn_fail_os(err, errno, "%s", path);
    int code = slurp(fd, path, limit, ret_bytes, err);
    close(fd);
    if (code < 0)
        ret_bytes->size = start;
    if (ret_bytes->data)
        ret_bytes->data[ret_bytes->size] = 0;
    return code;
}
