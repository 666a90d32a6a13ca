/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Late: the tracker as it enters a process that runs already: libcairn-track. It exports no malloc,
 * has no thread-local storage, and records nothing before start(). Its loader makes the program's
 * calls reach the replacements in `cairn_late.rows`:
 *
 *     by dlopen(3)     the slots of chosen libraries lead here (late_hook.c)
 *     mapped by hand   a loader of cairn's own patches the functions themselves
 *
 * What a loader of its own must do, in this order. Nothing else is needed: no dlopen, no
 * constructor, no destructor, no TLS segment, no malloc.
 *
 *  1. Map the PT_LOAD segments; apply the relocations. There are R_*_RELATIVE, and GLOB_DAT or
 *     absolute ones of the two weak imports, each of which may stay 0:
 *         _r_debug         glibc's list of modules (in ld.so); 0: _dl_debug_addr is used
 *         _dl_debug_addr   musl's, the address of a pointer to it
 *     With both 0 stacks are walked by frame pointers alone.
 *     Memory and string functions, errno, system calls are the library's own.
 *  2. Find `cairn_late` in .dynsym and check `version` and `size`.
 *  3. Fill `*original` of each row that it will divert: the moved code or the function itself. A
 *     replacement calls originals of other rows only if those are not NULL. The rows that say
 *     CAIRN_LATE_NEEDED must be filled before start().
 *  4. Call start() in a thread with a thread pointer of its own: the table of threads is searched
 *     for it. On x86-64 word 0 at the pointer is the pointer itself (psABI, TLS variant II).
 *     For a thread made by clone(2): CLONE_SETTLS to 64 KiB of zeros, pointing to their middle.
 *  5. Divert the functions.
 *
 * A call comes to a replacement with the registers and the stack that the function itself would
 * have had: the replacement takes its caller's return address, stack pointer and frame pointer from
 * there. No replacement throws, but for the throwing operators new: where memory is short they jump
 * to the original, with no frame of ours on the stack.
 */
#ifndef CAIRN_HEAP_LATE_H
#define CAIRN_HEAP_LATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>

enum {
    CAIRN_LATE_VERSION = 1,
    CAIRN_LATE_DIR_BYTES = 512,
    /* The C library's allocator, which decides the distance of blocks (heap/shadow.h). */
    CAIRN_LATE_GRANULE_GLIBC = sizeof(void *) == 8 ? 5 : 3,
    CAIRN_LATE_GRANULE_MUSL = 4,
    CAIRN_LATE_GRANULE_OTHER = 3
};

/* What a replacement is for, as bits. */
enum cairn_late_role {
    CAIRN_LATE_BIRTH = 1,    /* makes blocks */
    CAIRN_LATE_DEATH = 2,    /* frees blocks: to be diverted for callers everywhere */
    CAIRN_LATE_CPP = 4,      /* an operator new or delete */
    CAIRN_LATE_LIBC = 8,     /* libc allocates for its caller (strdup): of slots alone */
    CAIRN_LATE_MODULES = 16, /* modules go away: to be diverted for callers everywhere */
    CAIRN_LATE_LOOKS = 64,   /* looks for libraries that were loaded since: of slots alone */
    CAIRN_LATE_NEEDED = 32   /* its original must be there before start() */
};

struct cairn_late_row {
    const char *name;
    void *replacement;
    /* For callers whose births are not wanted: it notes deaths alone. NULL: it makes no block of
     * another one, so `replacement` is not to be used for them unless it has no BIRTH. */
    void *elsewhere;
    /* For slots of chosen modules, where the function itself leads to `replacement`, which then
     * acts as `elsewhere` (settings: chosen). NULL: `replacement`. */
    void *chosen;
    void **original;
    uint32_t roles;
};

/* What start() needs. Zero: the default. */
struct cairn_late_settings {
    uint32_t size;
    uint32_t granule_bits; /* 0: CAIRN_LATE_GRANULE_OTHER */
    uint64_t max_bytes;    /* of the state; 0: a tenth of the memory */
    uint64_t sample_bytes; /* 0: every block */
    uint32_t depth;        /* frames of a stack; 0: 1,024 */
    uint32_t no_stacks;
    /* The state's file: an open descriptor, empty and writable, one more than its number (0: none),
     * which is closed before start() returns where the kernel is 5.14 or later; or a private folder
     * in which one is made. With neither it is as for a preloaded tracker (CAIRN_HEAP_DIR ...). */
    int32_t fd_plus_1;
    uint32_t from_environment; /* CAIRN_HEAP_* of the process come first */
    char dir[CAIRN_LATE_DIR_BYTES];
    uint32_t chosen; /* births are recorded of slots alone (slots()), deaths of every caller */
};

struct cairn_late_older;

enum cairn_late_slot_state {
    CAIRN_LATE_SLOT_UNSEEN,
    CAIRN_LATE_SLOT_DONE,
    CAIRN_LATE_SLOT_FOREIGN, /* held neither: left alone */
    CAIRN_LATE_SLOT_FAILED   /* could not be written */
};

/* A word of a module that calls go through. */
struct cairn_late_slot {
    uint64_t va, before, after;
    uint8_t is_active;    /* looked at by slots() */
    uint8_t is_wanted;    /* is to hold `after`; else `before` */
    uint8_t is_read_only; /* its page is made writable for the store */
    uint8_t state;        /* enum cairn_late_slot_state */
    uint32_t unused;
};

struct cairn_late_slots {
    uint32_t size, n;
    struct cairn_late_slot *slots;
};

struct cairn_late {
    uint32_t version, size; /* of this structure; later versions add fields at the end */
    const struct cairn_late_row *rows;
    uint32_t n_rows, row_bytes;
    /* Makes the state and records from then on. 0, or a negative code of <memory_tracker.h>. A
     * second call, after end() or not, forgets the blocks that are known, and records on. */
    int (*start)(const struct cairn_late_settings *settings);
    /* Births are recorded or not; deaths are, either way: what is freed meanwhile is no leak. */
    void (*record)(bool on);
    /* Marks the state as closed. The replacements stay valid and pass every call on. */
    void (*end)(void);
    /* The address of the state's first byte once start() is done; else NULL. */
    const void *(*state)(void);
    /* Blocks from before, once the functions are diverted (heap/late_older.h). 0, or a negative
     * code. In a thread as start(). */
    int (*older)(struct cairn_late_older *older);
    /* Stores what each active slot is to hold. 0, or a negative code. In a thread as start(). */
    int (*slots)(struct cairn_late_slots *slots);
};

CAIRN_API extern const struct cairn_late cairn_late;

#endif /* CAIRN_HEAP_LATE_H */
