/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Heap state: what the tracker inside a process writes, and who reads it from outside, while the
 * process runs or when it is gone: one file, mapped shared, in chunks of 64 KiB. Its name is
 * PID-STARTTICKS.heap; that of the program which the process became by exec, whose pid and start
 * are the same, PID-STARTTICKS.1.heap, and so on. It grows at its end; a chunk is allocated on the
 * disk before it is used, and never changes its purpose but for leaves that emptied. What each
 * chunk is for says the table of chunks, whose parts have places of their own:
 *
 *     chunk   0         1 ...           CAIRN_HEAP_TABLE_AT ... + CAIRN_HEAP_TABLE_ROWS ...
 *             header,   leaves, stacks, table: the next                       table: the next
 *             table     logs, threads   4,096 chunks
 *
 * Numbers are the machine's own, aligned to their size. Whoever reads believes nothing: the process
 * may have scribbled over it, may be writing at this moment, and may be hostile.
 */
#ifndef CAIRN_RT_HEAP_STATE_H
#define CAIRN_RT_HEAP_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CAIRN_HEAP_MAGIC "cairnheap" /* and a zero: ten bytes, then the version */

/* The folder in which trackers that were told none have their states; "-UID" behind it where others
 * have theirs beside. And what the name of one begins with that `cairn heap run` made. */
#define CAIRN_HEAP_FOLDER     "cairn-heap"
#define CAIRN_HEAP_RUN_FOLDER "cairn-heap."

enum {
    CAIRN_HEAP_VERSION = 3,
    CAIRN_HEAP_CHUNK_BITS = 16,
    CAIRN_HEAP_CHUNK = 1 << CAIRN_HEAP_CHUNK_BITS,
    CAIRN_HEAP_HEADER_BYTES = 4096,
    CAIRN_HEAP_TABLE_ROWS = 4096, /* of 16 bytes: what a chunk holds of them */
    CAIRN_HEAP_TABLE_AT = 3840,   /* rows that chunk 0 holds; also the first table's chunk */
    CAIRN_HEAP_MAX_CHUNKS = 1 << 20
};

/* What a chunk is for. */
enum cairn_heap_chunk_kind {
    CAIRN_HEAP_FREE,    /* not used yet, or no more */
    CAIRN_HEAP_TABLE,   /* rows of the table of chunks */
    CAIRN_HEAP_LEAF,    /* of the shadow table: `arg` is the va that its first entry stands for */
    CAIRN_HEAP_STACKS,  /* cairn_heap_stack[]: `arg` counts these chunks from 0 */
    CAIRN_HEAP_LOG,     /* stacks as differences: `arg` counts these chunks from 0 */
    CAIRN_HEAP_DELTAS,  /* of one thread: the first of `n` chunks; a cairn_heap_thread */
    CAIRN_HEAP_REST,    /* another of such chunks */
    CAIRN_HEAP_EPOCHS,  /* cairn_heap_epoch[]: `arg` counts these chunks from 0 */
    CAIRN_HEAP_MODULES, /* records of mappings: `arg` counts these chunks from 0 */
    CAIRN_HEAP_LARGE,   /* cairn_heap_large[]: `arg` counts these chunks from 0 */
    CAIRN_HEAP_MAPS     /* cairn_heap_map[]: `arg` counts these chunks from 0 */
};

struct cairn_heap_row {
    _Atomic(uint16_t) kind; /* written last */
    uint16_t granule_bits;  /* of a leaf: an entry stands for 1 << granule_bits bytes */
    uint32_t n;             /* chunks of a run, 1 for most */
    _Atomic(uint64_t) arg;
};

/*
 * A live block, by its address: the entry of the leaf at (va - first) >> granule_bits; 0: none.
 *
 *     63            40 39      26  25  24  22 21            0
 *     |    stack     |  epoch  | half | kind |     size     |
 *
 * half: bit 4 of the address, which an entry's place does not tell where granules are larger. What
 * is the same for a thread's next blocks lies between what is not, and kind upon size, so that both
 * are looked at at once.
 */
enum {
    CAIRN_HEAP_SIZE_BITS = 22,
    CAIRN_HEAP_KIND_AT = CAIRN_HEAP_SIZE_BITS,
    CAIRN_HEAP_KIND_BITS = 3,
    CAIRN_HEAP_HALF_AT = CAIRN_HEAP_KIND_AT + CAIRN_HEAP_KIND_BITS,
    CAIRN_HEAP_HALF = 1 << 4, /* bytes */
    CAIRN_HEAP_EPOCH_AT = CAIRN_HEAP_HALF_AT + 1,
    CAIRN_HEAP_EPOCH_BITS = 14,
    CAIRN_HEAP_STACK_AT = CAIRN_HEAP_EPOCH_AT + CAIRN_HEAP_EPOCH_BITS,
    CAIRN_HEAP_STACK_BITS = 24,
    CAIRN_HEAP_MAX_STACKS = (1 << CAIRN_HEAP_STACK_BITS) - 1,
    CAIRN_HEAP_SIZE_ASIDE = (1 << CAIRN_HEAP_SIZE_BITS) - 1, /* the size is in a cairn_heap_large */
    CAIRN_HEAP_MAX_EPOCHS = 1 << CAIRN_HEAP_EPOCH_BITS
};

/* By what a block came to be; what frees it is held against that. */
enum cairn_heap_kind {
    CAIRN_HEAP_KIND_NONE, /* no live block has it: no entry is 0 */
    CAIRN_HEAP_KIND_MALLOC,
    CAIRN_HEAP_KIND_NEW,
    CAIRN_HEAP_KIND_NEW_ARRAY,
    CAIRN_HEAP_KIND_MMAP
};

/* What entries of one kind and epoch have in common. */
static inline uint64_t cairn_heap_entry_base(unsigned kind, uint32_t epoch)
{
    epoch &= CAIRN_HEAP_MAX_EPOCHS - 1;
    return (uint64_t)epoch << CAIRN_HEAP_EPOCH_AT | (uint64_t)kind << CAIRN_HEAP_KIND_AT;
}

/* `size`: CAIRN_HEAP_SIZE_ASIDE at most. */
static inline uint64_t cairn_heap_entry_of(uint64_t base, uint64_t va, uint64_t stack,
                                           uint64_t size)
{
    uint64_t half = (va & CAIRN_HEAP_HALF) << (CAIRN_HEAP_HALF_AT - 4);
    return half | size | base | stack << CAIRN_HEAP_STACK_AT;
}

static inline uint64_t cairn_heap_entry(uint64_t va, uint32_t stack, uint32_t size, unsigned kind,
                                        uint32_t epoch)
{
    return cairn_heap_entry_of(cairn_heap_entry_base(kind, epoch), va, stack, size);
}

/* Of the entry for the granule that begins at `va`. */
static inline uint64_t cairn_heap_entry_va(uint64_t entry, uint64_t va, unsigned granule_bits)
{
    uint64_t half = entry >> CAIRN_HEAP_HALF_AT & 1;
    return granule_bits > 4 ? va + half * CAIRN_HEAP_HALF : va;
}

static inline uint32_t cairn_heap_entry_stack(uint64_t entry)
{
    return (uint32_t)(entry >> CAIRN_HEAP_STACK_AT);
}

static inline uint32_t cairn_heap_entry_size(uint64_t entry)
{
    return (uint32_t)entry & CAIRN_HEAP_SIZE_ASIDE;
}

static inline unsigned cairn_heap_entry_kind(uint64_t entry)
{
    return (unsigned)(entry >> CAIRN_HEAP_KIND_AT) & ((1u << CAIRN_HEAP_KIND_BITS) - 1);
}

static inline uint32_t cairn_heap_entry_epoch(uint64_t entry)
{
    return (uint32_t)(entry >> CAIRN_HEAP_EPOCH_AT) & (CAIRN_HEAP_MAX_EPOCHS - 1);
}

/* How many blocks one stands for that was recorded with a probability of 1 - exp(-bytes / mean),
 * where `mean` is the header's sample_bytes: 1 over that. What it stands for in bytes is that many
 * times its own. Sums of these are what sums of all blocks would be, but for a standard error of at
 * most the square root of mean * sum (of bytes: the variance of a block's share, (bytes / p)^2 *
 * (1 - p), is never more than mean * bytes / p). To 1 in 10^9. */
static inline double cairn_heap_weight(uint64_t bytes, uint64_t mean)
{
    double x = mean ? (double)(bytes ? bytes : 1) / (double)mean : 65;
    unsigned halvings = 0;
    if (x > 64)
        return 1;
    for (; x > 1.0 / 16; x /= 2)
        halvings++;
    double taken = x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4 * (1 - x / 5 * (1 - x / 6)))));
    for (; halvings > 0; halvings--)
        taken *= 2 - taken;
    return 1 / taken;
}

/* What a block counts for; 1 and its size where all are recorded. */
struct cairn_heap_share {
    uint64_t blocks, bytes;
};

/* `between`: in [0, 1), at random, so that on the average no part of a block is lost. */
static inline struct cairn_heap_share cairn_heap_share_of(uint64_t bytes, uint64_t mean,
                                                          double between)
{
    if (mean == 0)
        return (struct cairn_heap_share){1, bytes};
    double weight = cairn_heap_weight(bytes, mean), share = weight * (double)bytes;
    return (struct cairn_heap_share){(uint64_t)(weight + between),
                                     share < 9e18 ? (uint64_t)(share + 0.5) : bytes};
}

/* Of a block that lives, which is the same whenever it is asked for. */
static inline struct cairn_heap_share cairn_heap_live_share(uint64_t va, uint64_t bytes,
                                                            uint64_t mean)
{
    uint64_t mixed = (va ^ bytes << 44) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 32) * UINT64_C(0xff51afd7ed558ccd);
    return cairn_heap_share_of(bytes, mean, (double)(mixed >> 11) / 9007199254740992.0);
}

/* A block whose size does not fit into its entry. va 0: unused. */
struct cairn_heap_large {
    _Atomic(uint64_t) va, size;
};

/* A stack, by its number; number 0 is that of blocks which have none. What threads have not handed
 * in yet is in their deltas. Where not all blocks are recorded, all counts are of shares
 * (cairn_heap_share_of), and their own: blocks that live are better counted by their entries. */
struct cairn_heap_stack {
    _Atomic(uint64_t) log; /* where its record is in the file: chunk << 16 | offset; written last, 0
                              for number 0 */
    _Atomic(uint64_t) n_allocs, alloc_bytes;
    _Atomic(uint64_t) n_frees, free_bytes;
    _Atomic(uint32_t) n_temporary; /* freed before the thread's next allocation */
    /* The number of the high-water mark that the two below are of; an older one than the header's:
     * since then nothing changed, and live is peak. */
    _Atomic(uint32_t) peak;
    _Atomic(int64_t) peak_blocks, peak_bytes;
};

/* A record of the log, aligned to 8; none goes over the end of a chunk. The stack's frames from the
 * outermost on are the first n_shared of stack `base`, then rets[0 .. n). The base is the stack in
 * whose own record the last of these shared frames lies: base < this number, and the base's
 * n_shared is less than this one's; so no chain of bases is longer than a stack is deep. */
struct cairn_heap_log {
    uint32_t base; /* 0 if n_shared is */
    uint16_t n_shared, n;
    uint8_t end;        /* enum cairn_unwind_end: why there is none farther out */
    uint8_t flags;      /* enum cairn_heap_log_flag */
    uint16_t n_cut;     /* frames that --depth cut off at the outer end, at most 65,535 */
    uint32_t n_modules; /* records of mappings that there were: of these the last one that has an
                           address of `rets` is its module */
    uint64_t rets[];    /* outermost first */
};

enum cairn_heap_log_flag {
    CAIRN_HEAP_LOG_GUESSED = 1, /* there is a guessed frame among them */
    CAIRN_HEAP_LOG_CALLER = 2,  /* no stack was taken: its one frame is the caller of the allocation
                                   function */
    CAIRN_HEAP_LOG_IGNORED = 4, /* of blocks that the program says are no leaks, when they are born
                                   (__lsan_disable()); the stack `base` is the same otherwise */
    CAIRN_HEAP_LOG_BEFORE = 8,  /* of blocks that are older than the tracker: it has no frames */
    CAIRN_HEAP_LOG_KIND = 16    /* of blocks that no tracker saw: `rets` is a text that says of what
                                   kind they are, with zeros behind it */
};

/*
 * Blocks and their bytes, counted in one word so that they are read together:
 *
 *     63      43 42         0
 *     | blocks  |   bytes   |
 *
 * Handed in once the uppermost bit is set: after 2^20 blocks, whose bytes are fewer than 2^42, for
 * none of them is larger than an entry's size.
 */
enum { CAIRN_HEAP_COUNTED_AT = 43 };

static inline uint64_t cairn_heap_counted(uint64_t blocks, uint64_t bytes)
{
    return (blocks << CAIRN_HEAP_COUNTED_AT) + bytes;
}

static inline uint64_t cairn_heap_counted_blocks(uint64_t both)
{
    return both >> CAIRN_HEAP_COUNTED_AT;
}

static inline uint64_t cairn_heap_counted_bytes(uint64_t both)
{
    return both & ((UINT64_C(1) << CAIRN_HEAP_COUNTED_AT) - 1);
}

/* What a thread has not handed in: a table by the low bits of the stack's number. Of the stack's
 * composition at the high-water mark it is a part if `peak` is older than the header's: then it is
 * from before. */
struct cairn_heap_delta {
    _Atomic(uint64_t) key;           /* peak << 32 | stack */
    _Atomic(uint64_t) allocs, frees; /* cairn_heap_counted() */
    _Atomic(uint32_t) n_temporary;
    uint32_t unused;
};

struct cairn_heap_thread {
    _Atomic(uint32_t) tid;       /* 0: nobody's at present; what is in it still counts */
    uint32_t n_deltas;           /* a power of two */
    _Atomic(int64_t) live_bytes; /* not yet in the header's */
    uint64_t unused[6];
    struct cairn_heap_delta deltas[];
};

/* The line of time; a block carries the number of the epoch that it was born in. Epochs last a
 * second at first, longer the more there were, and end early where somebody sets a mark.
 *
 * Who begins one, the tracker or who sets a mark from outside, makes sure that the chunk of epoch
 * e + 1 is there (the tracker makes it when half of the one before is used), adds one to the
 * header's n_marks if it is a mark, exchanges the header's epoch e for e + 1, and if that was still
 * e fills in the new one, begin_ns last, and adds to the header's turn. The last epoch,
 * CAIRN_HEAP_MAX_EPOCHS - 1, never ends. */
struct cairn_heap_epoch {
    _Atomic(uint64_t) begin_ns;             /* CLOCK_MONOTONIC; written last */
    _Atomic(int64_t) live_bytes, rss_bytes; /* when it began; -1: not known */
    _Atomic(uint32_t) mark;                 /* the number of the mark that began it; 0: time did */
    uint32_t unused;
};

/* A mapping of code that a stack went through: appended when it is first met, and again when
 * another one lies there. An address of a stack is in the last record that covers it among the
 * first n_modules (cairn_heap_log); so what was unloaded keeps its names, if stacks from before are
 * not equal to those from after (their hash holds the generation). Aligned to 8; none goes over the
 * end of a chunk. */
struct cairn_heap_module {
    uint32_t bytes; /* of the record; 0: there are no more in this chunk. Written last */
    uint16_t n_build_id, n_path; /* bytes, behind the record: the build ID, then the path */
    uint64_t from, to, off;      /* as /proc/PID/maps has it */
    uint64_t inode;
    uint32_t dev_major, dev_minor;
};

/* Who asked for a mapping that lives: whole pages. */
enum cairn_heap_map_kind {
    CAIRN_HEAP_MAP_MEMORY,   /* the program, by mmap(2), with nothing behind it */
    CAIRN_HEAP_MAP_FILE,     /* the same, a file's bytes */
    CAIRN_HEAP_MAP_BREAK,    /* the program, by brk(2) or sbrk(3) */
    CAIRN_HEAP_MAP_ALLOCATOR /* what malloc is: the blocks in it are recorded by themselves */
};

/* A mapping, in no order; none overlaps another one. from 0: unused. What is left of one of which a
 * part was unmapped is a mapping of the same birth. Counts of stacks do not have them. */
struct cairn_heap_map {
    _Atomic(uint64_t) from, to; /* from is written last, and is 0 while others change */
    uint32_t stack, epoch;
    uint32_t kind; /* enum cairn_heap_map_kind */
    uint32_t unused;
};

/* Of the header. */
enum cairn_heap_flag {
    CAIRN_HEAP_LIVE = 1,   /* the process runs, as far as it says itself */
    CAIRN_HEAP_ENDED = 2,  /* exit(3) was reached */
    CAIRN_HEAP_EXECED = 4, /* it became another program, which has a file of its own */
    CAIRN_HEAP_FULL = 8,   /* recording stopped: no room, see n_unrecorded */
    CAIRN_HEAP_STACKS_ON = 16,
    CAIRN_HEAP_MAPPINGS = 32, /* mmap(2) and its kin are recorded too */
    /* A malloc of the program, or of a library, comes before ours. */
    CAIRN_HEAP_NOT_ASKED = 64,
    /* A library was loaded by RTLD_DEEPBIND or dlmopen(3): its calls of malloc and free may go past
     * ours. */
    CAIRN_HEAP_APART = 128,
    /* The allocator's functions are called by names that are not C's: mallocx, mi_malloc. */
    CAIRN_HEAP_OTHER_NAMES = 256,
    /* Set in a copy only: the process was running while it was copied. An entry may be half
     * written, or refer to data that was copied before. */
    CAIRN_HEAP_WAS_RUNNING = 512,
    CAIRN_HEAP_LATE = 1024,   /* the process ran before the tracker was in it */
    CAIRN_HEAP_CHOSEN = 2048, /* only what chosen libraries ask for is recorded */
    CAIRN_HEAP_UNSEEN = 4096  /* no tracker wrote it: it was made of a core file's blocks */
};

enum cairn_heap_pause {
    CAIRN_HEAP_PAUSED = 1,    /* births are not recorded, deaths are */
    CAIRN_HEAP_WAS_PAUSED = 2 /* now, or at some time before */
};

/* What went wrong, counted; blocks and bytes of each are told at the end of every report. */
enum cairn_heap_loss {
    CAIRN_HEAP_LOSS_FULL,        /* blocks not recorded: --max-memory, the disk or a limit */
    CAIRN_HEAP_LOSS_ADDRESS,     /* blocks above the table's width */
    CAIRN_HEAP_LOSS_NO_STACK,    /* blocks recorded without their stack: a capture was under way */
    CAIRN_HEAP_LOSS_STACKS_FULL, /* the same: there was no room for a new stack */
    CAIRN_HEAP_LOSS_UNKNOWN,     /* frees of blocks that are not in the table: born before it */
    CAIRN_HEAP_LOSS_INHERITED,   /* the same, in a child of fork: the parent's */
    CAIRN_HEAP_LOSS_MISMATCHED,  /* new freed by free, malloc by delete, new[] by delete */
    CAIRN_HEAP_LOSS_OVERLAP,     /* a block where another one is live: two in one granule */
    CAIRN_HEAP_LOSS_MAPPING,     /* a mapping made or unmade that could not be recorded */
    CAIRN_HEAP_LOSS_CHECK,       /* looks for lost blocks that the program asked for (__lsan_do_...)
                                    and nobody made */
    CAIRN_HEAP_LOSSES = 16
};

/* Programs of one kind at one path that this process started, or its children of fork(2) that had
 * no state yet, and that no tracker is in. */
enum { CAIRN_HEAP_UNTRACKED = 7, CAIRN_HEAP_UNTRACKED_PATH = 120 };
struct cairn_heap_untracked {
    _Atomic(uint32_t) kind;               /* enum cairn_program_kind (program.h); 0: unused */
    _Atomic(uint32_t) n;                  /* how often; 0: never, after all */
    char path[CAIRN_HEAP_UNTRACKED_PATH]; /* the end of it */
};

struct cairn_heap_header {
    char magic[10];
    uint16_t version;
    uint16_t machine; /* EM_* */
    uint8_t word;     /* bytes of an address */
    uint8_t granule_bits;
    _Atomic(uint32_t) flags; /* enum cairn_heap_flag */
    uint32_t pid, parent;    /* parent: whose state a fork left behind, 0: none */
    uint64_t start_ticks;    /* field 22 of /proc/PID/stat (proc(5)): tells pids apart */
    uint64_t begin_ns;       /* CLOCK_REALTIME when epoch 0 began */
    uint64_t sample_bytes;   /* one block in so many bytes is recorded; 0: all */
    uint32_t depth;          /* frames that are kept of a stack */
    _Atomic(uint32_t) n_chunks;
    uint32_t max_chunks;
    _Atomic(uint32_t) n_stacks; /* numbers given out, 0 counted too */
    _Atomic(uint32_t) epoch;    /* the present one */
    _Atomic(uint32_t) n_marks;
    _Atomic(uint32_t) n_counters; /* cairn_heap_thread tables: how many threads counted at once */
    _Atomic(uint32_t) n_threads;  /* that ever allocated or freed */
    _Atomic(int64_t) live_bytes, peak_bytes;
    _Atomic(uint64_t) peak_ns; /* CLOCK_MONOTONIC */
    _Atomic(uint64_t) loss_blocks[CAIRN_HEAP_LOSSES], loss_bytes[CAIRN_HEAP_LOSSES];
    /* All mappings that ever were made, those that live, and their highest bytes. The allocator's
     * are not among them. */
    _Atomic(uint64_t) n_mapped, mapped_bytes;
    _Atomic(uint64_t) live_maps, live_map_bytes, peak_map_bytes;
    char command[256];  /* as /proc/PID/cmdline, cut */
    uint64_t pid_space; /* the number of /proc/PID/ns/pid: in which `pid` counts; 0: not known */
    _Atomic(uint32_t) paused; /* enum cairn_heap_pause; written by others, who add to the turn */
    /* The stack of blocks that are older than the tracker, and bytes of the heap in which they were
     * not found; 0: they are not known. */
    _Atomic(uint32_t) older;
    _Atomic(uint64_t) older_unread_bytes;
    /* On a line of its own, for all threads look at it with each block. */
    _Alignas(64) union {
        _Atomic(uint64_t) turn_and_peak;
        struct {
            _Atomic(uint32_t) turn; /* another one, in another bit than the lowest, whenever the
                                       peak, the epoch or CAIRN_HEAP_STACKS_ON has become another */
            _Atomic(uint32_t) peak; /* the number of the high-water mark: a new one each time that
                                       live_bytes is 1/128 higher than at the last mark */
        };
    };
    /* All zero in files from before there was this. The last one counts what finds no other. */
    _Alignas(64) struct cairn_heap_untracked untracked[CAIRN_HEAP_UNTRACKED + 1];
};

/*
 * A thread adds its live bytes to the header's when they leave [-down, up]. For one thread the
 * header's peak_bytes is exact but for `up`, less than 1 % of it. For n threads each holds back 1/n
 * of 1/256, or a few KiB: so that threads with little memory do not meet at the header with each
 * block.
 */
enum { CAIRN_HEAP_HELD_BYTES = 2048 };

static inline int64_t cairn_heap_held_up(int64_t peak_bytes, uint32_t n_threads)
{
    int64_t share = (peak_bytes >> 8) / (n_threads ? n_threads : 1), least = peak_bytes >> 6;
    if (n_threads <= 1)
        return peak_bytes >> 7;
    least = least < CAIRN_HEAP_HELD_BYTES ? least : CAIRN_HEAP_HELD_BYTES;
    return share > least ? share : least;
}

static inline int64_t cairn_heap_held_down(int64_t peak_bytes, uint32_t n_threads)
{
    int64_t share = (peak_bytes >> 8) / (n_threads ? n_threads : 1);
    int64_t least = n_threads <= 1 ? 2 * CAIRN_HEAP_HELD_BYTES : CAIRN_HEAP_HELD_BYTES;
    return share > least ? share : least;
}

/* The most by which peak_bytes is wrong. A thread learns that there are more threads when their
 * number doubles. */
static inline uint64_t cairn_heap_peak_error(int64_t peak_bytes, uint32_t n_threads)
{
    if (peak_bytes < 0 || n_threads <= 1)
        return peak_bytes < 0 ? 0 : (uint64_t)cairn_heap_held_up(peak_bytes, 1);
    int64_t up = cairn_heap_held_up(peak_bytes, n_threads);
    int64_t down = cairn_heap_held_down(peak_bytes, n_threads);
    return 2 * (uint64_t)n_threads * (uint64_t)(up > down ? up : down);
}

/* What is added to turn: by the tracker, and by others, who cannot do so in one step: what either
 * makes of it is no number that it had. */
enum { CAIRN_HEAP_NEXT_TURN = 2, CAIRN_HEAP_OTHERS_TURN = 0x3c6ef372 };
#define CAIRN_HEAP_NEXT_PEAK (UINT64_C(1) << 32 | CAIRN_HEAP_NEXT_TURN)

_Static_assert(sizeof(struct cairn_heap_header) <= CAIRN_HEAP_HEADER_BYTES, "it has a page");
_Static_assert(sizeof(struct cairn_heap_row) == 16, "as the table counts");
_Static_assert(sizeof(struct cairn_heap_stack) == 64, "a cache line");
_Static_assert(sizeof(struct cairn_heap_map) == 32, "no holes");
_Static_assert(sizeof(struct cairn_heap_delta) == 32, "two of them a cache line");

#endif /* CAIRN_RT_HEAP_STATE_H */
