/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/state.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heap/tidy.h"
#include "rt/pages.h"
#include "rt/seal.h"
#include "rt/sys.h"

enum {
    LEAST_CHUNKS = 16,
    OPENED_CHUNKS = 16,      /* at a time, 1 MiB: each call stops all threads that map memory */
    SHARE_OF_ADDRESSES = 16, /* of RLIMIT_AS: one part of so many */
    MOST_CHUNKS_32 = 1 << 12 /* 256 MiB, where addresses are few */
};

bool cairn_heap_state_keeps_fd;

static uint32_t chunks_wanted(uint64_t max_bytes)
{
    uint64_t most = sizeof(void *) == 4 ? MOST_CHUNKS_32 : CAIRN_HEAP_MAX_CHUNKS;
    uint64_t file_limit = cairn_sys_limit(RLIMIT_FSIZE);
    if (file_limit < max_bytes)
        max_bytes = file_limit;
    uint64_t limit = cairn_sys_limit(RLIMIT_AS);
    if (limit != UINT64_MAX && limit / SHARE_OF_ADDRESSES < max_bytes)
        max_bytes = limit / SHARE_OF_ADDRESSES;
    uint64_t chunks = max_bytes >> CAIRN_HEAP_CHUNK_BITS;
    if (chunks > most)
        chunks = most;
    return (uint32_t)(chunks < LEAST_CHUNKS ? LEAST_CHUNKS : chunks);
}

/* Makes the chunks below `end` accessible. */
static bool open_chunks(struct cairn_tracked_state *state, uint32_t end)
{
    uint32_t most = (uint32_t)(state->reserved_bytes >> CAIRN_HEAP_CHUNK_BITS);
    uint32_t to = (end + OPENED_CHUNKS - 1) / OPENED_CHUNKS * OPENED_CHUNKS;
    if (end <= state->n_open)
        return true;
    to = to < most ? to : most;
    /* What the header has as its bound may have been scribbled over. */
    if (end > most || !cairn_pages_open(cairn_heap_state_at(state, state->n_open),
                                        (size_t)(to - state->n_open) << CAIRN_HEAP_CHUNK_BITS))
        return false;
    state->n_open = to;
    return true;
}

/* As many chunks as wanted or fewer; 0: not even the least. */
static uint32_t reserve(struct cairn_tracked_state *state, uint32_t chunks)
{
    state->n_open = 0;
    for (state->header = NULL; !state->header && chunks >= LEAST_CHUNKS; chunks /= 2) {
        state->reserved_bytes = (size_t)chunks << CAIRN_HEAP_CHUNK_BITS;
        state->header = cairn_pages_map_file(state->file.fd, 0, state->reserved_bytes, NULL, false);
    }
    if (state->header && open_chunks(state, 1))
        return (uint32_t)(state->reserved_bytes >> CAIRN_HEAP_CHUNK_BITS);
    cairn_pages_unmap(state->header, state->reserved_bytes);
    state->header = NULL;
    return 0;
}

void cairn_heap_state_remove(struct cairn_tracked_state *state)
{
    int saved = errno;
    syscall(SYS_unlinkat, -100 /* AT_FDCWD */, state->file.path, 0);
    errno = saved;
}

static void set_row(struct cairn_tracked_state *state, uint32_t chunk,
                    enum cairn_heap_chunk_kind kind, uint32_t n, unsigned granule_bits,
                    uint64_t arg)
{
    struct cairn_heap_row *row = cairn_heap_state_row(state, chunk);
    row->n = n;
    row->granule_bits = (uint16_t)granule_bits;
    atomic_store_explicit(&row->arg, arg, memory_order_relaxed);
    atomic_store_explicit(&row->kind, (uint16_t)kind, memory_order_release);
}

/* The program that this process was before ended by becoming this one. */
static void mark_execed(const char *dir, uint64_t ticks, uint32_t number)
{
    char path[CAIRN_HEAP_PATH];
    struct cairn_heap_header before;
    int fd = cairn_heap_file_name(path, dir, ticks, number)
                 ? cairn_sys_open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0)
                 : -1;
    if (fd < 0)
        return;
    if (cairn_sys_read(fd, &before, sizeof(before)) == (long)sizeof(before) &&
        memcmp(before.magic, CAIRN_HEAP_MAGIC, sizeof(before.magic)) == 0) {
        uint32_t flags = (before.flags | CAIRN_HEAP_EXECED) & ~(uint32_t)CAIRN_HEAP_LIVE;
        cairn_sys_write_at(fd, &flags, sizeof(flags), offsetof(struct cairn_heap_header, flags));
    }
    cairn_sys_close(fd);
}

/* Beyond RLIMIT_FSIZE comes SIGXFSZ. */
static bool has_size(int fd, uint64_t bytes)
{
    return bytes <= cairn_sys_limit(RLIMIT_FSIZE) && cairn_sys_truncate(fd, bytes) == 0;
}

/* From now on without a descriptor, if the kernel has what that needs. `bytes`: that are in use. */
static void go_by_pages(struct cairn_tracked_state *state, uint64_t bytes)
{
    int fd = state->file.fd;
    state->by_pages = false;
    if (cairn_heap_state_keeps_fd || !has_size(fd, state->reserved_bytes))
        return;
    if (!cairn_pages_allocate(state->header, CAIRN_HEAP_CHUNK)) {
        cairn_sys_truncate(fd, bytes);
        return;
    }
    cairn_heap_file_close(fd);
    state->file.fd = -1;
    state->by_pages = true;
}

/* With the lock held, or by the only thread: allocates chunks. False: no room, or a seal. */
static bool allocate(struct cairn_tracked_state *state, uint32_t first, uint32_t n)
{
    uint64_t off = (uint64_t)first << CAIRN_HEAP_CHUNK_BITS;
    size_t bytes = (size_t)n << CAIRN_HEAP_CHUNK_BITS;
    if (!open_chunks(state, first + n))
        return false;
    return state->by_pages ? cairn_pages_allocate(cairn_heap_state_at(state, first), bytes)
                           : cairn_heap_file_grow(&state->file, off, bytes);
}

/* The same of chunks that were never used: those below n_ready need nothing. */
static bool allocate_next(struct cairn_tracked_state *state, uint32_t first, uint32_t n)
{
    return first + n <= state->n_ready || allocate(state, first, n);
}

void cairn_heap_state_reserve(struct cairn_tracked_state *state)
{
    cairn_lock_take(&state->lock);
    uint32_t n = atomic_load(&state->n_chunks), left = state->header->max_chunks - n;
    if (left > CAIRN_HEAP_RESERVED_CHUNKS)
        left = CAIRN_HEAP_RESERVED_CHUNKS;
    if (n + left <= state->reserved_bytes >> CAIRN_HEAP_CHUNK_BITS && allocate_next(state, n, left))
        state->n_ready = n + left;
    cairn_lock_give(&state->lock);
}

/* Chunk 0 and the header, in the file that is open. */
static bool begin(struct cairn_tracked_state *state, uint64_t ticks, uint64_t max_bytes)
{
    uint32_t chunks = cairn_heap_file_grow(&state->file, 0, CAIRN_HEAP_CHUNK)
                          ? reserve(state, chunks_wanted(max_bytes))
                          : 0;
    if (chunks == 0)
        return false;
    struct cairn_heap_header *header = state->header;
    header->version = CAIRN_HEAP_VERSION;
    header->word = sizeof(void *);
    header->pid = (uint32_t)getpid();
    header->start_ticks = ticks;
    header->max_chunks = chunks;
    atomic_store(&header->n_chunks, 1);
    atomic_store(&state->n_chunks, 1);
    set_row(state, 0, CAIRN_HEAP_TABLE, 1, 0, 0);
    return true;
}

bool cairn_heap_state_make(struct cairn_tracked_state *state, const char *dir, uint64_t max_bytes)
{
    uint32_t n_before;
    uint64_t ticks = cairn_heap_file_start_ticks("/proc/self/stat");
    if (!cairn_heap_file_make(&state->file, dir, ticks, &n_before))
        return false;
    if (!begin(state, ticks, max_bytes)) {
        cairn_heap_state_remove(state);
        cairn_sys_close(state->file.fd);
        return false;
    }
    if (n_before > 0)
        mark_execed(dir, ticks, n_before - 1);
    go_by_pages(state, CAIRN_HEAP_CHUNK);
    return true;
}

bool cairn_heap_state_make_in(struct cairn_tracked_state *state, int fd, uint64_t max_bytes)
{
    struct cairn_sys_stat found;
    if (cairn_sys_stat_fd(fd, &found) < 0)
        return false;
    state->file = (struct cairn_heap_file){.fd = fd, .dev = found.dev, .ino = found.ino};
    if (!begin(state, cairn_heap_file_start_ticks("/proc/self/stat"), max_bytes))
        return false;
    go_by_pages(state, CAIRN_HEAP_CHUNK);
    return true;
}

void cairn_heap_state_leave(struct cairn_tracked_state *state)
{
    int fd = state->by_pages ? -1 : cairn_heap_file_fd(&state->file);
    if (fd >= 0)
        cairn_sys_close(fd);
    cairn_pages_unmap(state->header, state->reserved_bytes);
    state->header = NULL;
}

static bool is_hole(const struct cairn_tracked_state *state, uint32_t chunk)
{
    return state->holes[chunk / 64] >> chunk % 64 & 1;
}

/* A hole that is read is allocated by that, or a SIGBUS. The file must be as long, though. */
int cairn_heap_state_copy(struct cairn_tracked_state *state, const char *dir)
{
    uint32_t n = atomic_load(&state->n_chunks), end;
    int fd = cairn_heap_file_copy_begin(dir, (uint64_t)n << CAIRN_HEAP_CHUNK_BITS);
    for (uint32_t i = 0; fd >= 0 && i < n; i = end) {
        bool hole = is_hole(state, i);
        for (end = i + 1; end < n && is_hole(state, end) == hole;)
            end++;
        uint32_t first = hole ? n - 1 : i;
        const void *from = hole ? NULL : cairn_heap_state_at(state, first);
        if ((!hole || end == n) &&
            !cairn_heap_file_copy(fd, from, (uint64_t)first << CAIRN_HEAP_CHUNK_BITS,
                                  (uint64_t)(end - first) << CAIRN_HEAP_CHUNK_BITS)) {
            cairn_heap_file_close(fd);
            return -1;
        }
    }
    return fd;
}

static void forget_threads(struct cairn_tracked_state *state)
{
    uint32_t n = atomic_load(&state->n_chunks);
    for (uint32_t i = 1; i < n; i++)
        if (atomic_load(&cairn_heap_state_row(state, i)->kind) == CAIRN_HEAP_DELTAS &&
            !is_hole(state, i)) {
            struct cairn_heap_thread *thread = cairn_heap_state_at(state, i);
            atomic_store(&thread->tid, 0);
        }
}

bool cairn_heap_state_become(struct cairn_tracked_state *state, int fd, const char *dir)
{
    uint64_t ticks = cairn_heap_file_start_ticks("/proc/self/stat");
    struct cairn_heap_file file;
    if (!cairn_heap_file_adopt(&file, fd, dir, ticks))
        return false;
    size_t opened = (size_t)state->n_open << CAIRN_HEAP_CHUNK_BITS;
    if ((opened < state->reserved_bytes &&
         !cairn_pages_map_file(file.fd, opened, state->reserved_bytes - opened,
                               (char *)state->header + opened, false)) ||
        !cairn_pages_map_file(file.fd, 0, opened, state->header, true))
        return false;
    int old = state->by_pages ? -1 : cairn_heap_file_fd(&state->file);
    if (old >= 0)
        cairn_sys_close(old);
    state->file = file;
    state->n_ready = 0;
    go_by_pages(state, (uint64_t)atomic_load(&state->n_chunks) << CAIRN_HEAP_CHUNK_BITS);
    atomic_store(&state->n_readers, 0);
    state->header->parent = state->header->pid;
    state->header->pid = (uint32_t)getpid();
    state->header->pid_space = cairn_heap_tidy_space();
    state->header->start_ticks = ticks;
    forget_threads(state);
    return true;
}

static void add_hole(struct cairn_tracked_state *state, uint32_t chunk)
{
    state->holes[chunk / 64] |= UINT64_C(1) << chunk % 64;
    state->n_holes++;
    state->no_room = false;
    if (state->first_hole > chunk / 64)
        state->first_hole = chunk / 64;
}

/* Allocates one; 0: there is none, or no room. */
static uint32_t take_hole(struct cairn_tracked_state *state)
{
    if (state->n_holes == 0 || state->no_room || cairn_seal_forbids_files())
        return 0;
    while (state->holes[state->first_hole] == 0)
        state->first_hole++;
    uint32_t bit = (uint32_t)__builtin_ctzll(state->holes[state->first_hole]);
    uint32_t chunk = state->first_hole * 64 + bit;
    state->no_room = !allocate(state, chunk, 1);
    if (state->no_room)
        return 0;
    state->holes[state->first_hole] &= ~(UINT64_C(1) << bit);
    state->n_holes--;
    return chunk;
}

/* Allocated on the disk, at the end of the file; the table has a row for each. 0: no room. */
static uint32_t append(struct cairn_tracked_state *state, uint32_t n)
{
    uint32_t first = atomic_load(&state->n_chunks);
    uint32_t to_table = (CAIRN_HEAP_TABLE_AT - first) % CAIRN_HEAP_TABLE_ROWS;
    bool needs_table = to_table < n;
    uint32_t table = first + to_table;
    uint64_t end = (uint64_t)(needs_table ? table + 1 : first) + n;
    if (end > state->header->max_chunks)
        return 0;
    if (needs_table) {
        /* A run does not go around a table: the few chunks before it are holes. */
        if (!allocate_next(state, table, 1))
            return 0;
        set_row(state, table, CAIRN_HEAP_TABLE, 1, 0, 0);
        for (; first < table; first++)
            add_hole(state, first);
        first = table + 1;
        atomic_store(&state->header->n_chunks, first);
        atomic_store(&state->n_chunks, first);
    }
    if (!allocate_next(state, first, n))
        return 0;
    atomic_store(&state->header->n_chunks, first + n);
    atomic_store(&state->n_chunks, first + n);
    return first;
}

static uint32_t take_locked(struct cairn_tracked_state *state, uint32_t n)
{
    if (n == 1 && state->n_spare > 0)
        return state->spare[--state->n_spare];
    uint32_t hole = n == 1 ? take_hole(state) : 0;
    if (hole)
        return hole;
    if (cairn_heap_state_has(state, CAIRN_HEAP_FULL))
        return 0;
    uint32_t first = append(state, n);
    /* What wants several can do without. */
    if (first == 0 && n == 1)
        atomic_fetch_or(&state->header->flags, CAIRN_HEAP_FULL);
    return first;
}

void *cairn_heap_state_take(struct cairn_tracked_state *state, enum cairn_heap_chunk_kind kind,
                            uint32_t n, unsigned granule_bits, uint64_t arg)
{
    cairn_lock_take(&state->lock);
    uint32_t first = take_locked(state, n);
    if (first != 0) {
        for (uint32_t i = 1; i < n; i++)
            set_row(state, first + i, CAIRN_HEAP_REST, 1, 0, 0);
        set_row(state, first, kind, n, granule_bits, arg);
    }
    cairn_lock_give(&state->lock);
    return first == 0 ? NULL : cairn_heap_state_at(state, first);
}

void cairn_heap_state_give(struct cairn_tracked_state *state, void *chunks, uint32_t n)
{
    uint32_t first = cairn_heap_state_chunk(state, chunks);
    cairn_lock_take(&state->lock);
    for (uint32_t i = 0; i < n; i++)
        set_row(state, first + i, CAIRN_HEAP_FREE, 1, 0, 0);
    memset(chunks, 0, (size_t)n << CAIRN_HEAP_CHUNK_BITS);
    for (uint32_t i = 0; i < n && state->n_spare < CAIRN_HEAP_SPARE_CHUNKS; i++)
        state->spare[state->n_spare++] = first + i;
    cairn_lock_give(&state->lock);
}

uint32_t cairn_heap_state_zeros(const _Atomic(uint64_t) *chunk)
{
    enum { LINE = 8, WORDS = CAIRN_HEAP_CHUNK / 8 };
    for (uint32_t i = 0; i < WORDS; i += LINE) {
        uint64_t any = 0;
        for (uint32_t k = 0; k < LINE; k++)
            any |= atomic_load_explicit(&chunk[i + k], memory_order_relaxed);
        if (any)
            return i;
    }
    return WORDS;
}

bool cairn_heap_state_is_unused(struct cairn_tracked_state *state, uint32_t chunk)
{
    return atomic_load(&state->n_readers) == 0 &&
           cairn_heap_state_zeros(cairn_heap_state_at(state, chunk)) == CAIRN_HEAP_CHUNK / 8;
}

static bool punch(struct cairn_tracked_state *state, uint32_t chunk)
{
    return state->by_pages
               ? cairn_pages_punch(cairn_heap_state_at(state, chunk), CAIRN_HEAP_CHUNK)
               : cairn_heap_file_shrink(&state->file, (uint64_t)chunk << CAIRN_HEAP_CHUNK_BITS,
                                        CAIRN_HEAP_CHUNK);
}

/* In this order: who reads either finds nothing there, or is seen, or has written already. */
bool cairn_heap_state_give_room(struct cairn_tracked_state *state, uint32_t chunk)
{
    struct cairn_heap_row *row = cairn_heap_state_row(state, chunk);
    uint16_t kind = atomic_load(&row->kind);
    atomic_store(&row->kind, CAIRN_HEAP_FREE);
    bool done = cairn_heap_state_is_unused(state, chunk);
    cairn_lock_take(&state->lock);
    if (done && punch(state, chunk))
        add_hole(state, chunk);
    else
        done = false;
    cairn_lock_give(&state->lock);
    if (!done)
        atomic_store(&row->kind, kind);
    return done;
}
