/* SPDX-License-Identifier: MIT */
/*
 * Walk: what the program in the kernel that walks stacks and who loads it have in common. Compiled
 * into both; kernel types alone.
 *
 * From an address to its rule:
 *
 *     tgid ──► space   mappings with code, sorted ──► range: text offset, first strip
 *     strip ──► segment and place in it, or the one rule that covers the strip
 *     segment  [ strip | strip | strip | ... ]     2 MiB each, created as tables arrive
 *
 * A strip is 256 KiB of text, cut from a module's table (unwind/table.h). As in that table, a page
 * is 256 bytes of text, pages[p] is the first row that starts in page p or later, and low[] is the
 * low byte of the address at which each row starts:
 *
 *     pages u32[1024 + 1] | pad | rules u32[n] | low u8[n]     n rows; row 0 is valid from the
 *                                                              first byte of the strip
 *
 * Segments hang in a map of maps, which the kernel fills one by one, so that tables grow without
 * the program being loaded again. A strip never lies in two segments, and all that is looked up in
 * it is masked to stay in one: wrong numbers give wrong rules, nothing worse.
 *
 * A space is valid for one program in one process: its `stack_start` is the place that execve(2)
 * chose by chance for the arguments (proc(5), stat, field 28). It is the same in children that were
 * forked, so that they are walked by their parent's space before anybody has heard of them; behind
 * an execve it differs, and the stack is walked by the files that are mapped (walk_files.bpf.h)
 * instead of by another program's tables.
 *
 *     stack   top page copied, a page more at a time as frames lie higher; [low, low + size)
 *     frames  leaf first: exact, then return addresses; the top bits: how it was found
 *     copy    where the tables did not lead to the end: all registers and the top of the stack
 *     pieces  where an interpreter is on the stack, behind a copy: what its frames are made of
 *     count   hash of frames, thread and space ──► samples; who is not there yet crosses over whole
 */
#ifndef CAIRN_BPF_WALK_H
#define CAIRN_BPF_WALK_H

#include <linux/types.h>

#include <cairn/unwind_end.h>

#include "guest/sketch.h"

enum {
    CAIRN_BPF_STRIP_SHIFT = 18, /* 256 KiB of text */
    CAIRN_BPF_STRIP_PAGES = 1024,
    CAIRN_BPF_STRIP_RULES = 4112, /* bytes from the strip's begin to rules[] */
    CAIRN_BPF_STRIPS_MAX = 1 << 16,
    CAIRN_BPF_SEGMENT_BYTES = 2 << 20, /* the largest strip has 1.3 MB */
    CAIRN_BPF_SEGMENTS_MAX = 256,
    CAIRN_BPF_RANGES_MAX = 500,
    CAIRN_BPF_SPACES_MAX = 16384,
    CAIRN_BPF_FILES_MAX = 1 << 16,
    CAIRN_BPF_MET_MAX = 8, /* mappings that one walk asks for */
    CAIRN_BPF_FRAMES_MAX = 1024,
    CAIRN_BPF_OUTER_FRAMES = 256, /* of them: the outermost of a deeper stack; a power of two */
    CAIRN_BPF_INNER_FRAMES = CAIRN_BPF_FRAMES_MAX - CAIRN_BPF_OUTER_FRAMES,
    CAIRN_BPF_BEYOND_MAX = 15 << 10, /* frames that are walked for the outermost */
    CAIRN_BPF_KERNEL_FRAMES_MAX = 127,
    CAIRN_BPF_WINDOW_WORDS = 1024,
    CAIRN_BPF_CACHE_ENTRIES = 2048,
    CAIRN_BPF_COUNTS_MAX = 1 << 16,
    CAIRN_BPF_RING_BYTES = 8 << 20,
    CAIRN_BPF_COPY_REGS = 36,         /* words: struct pt_regs of any CPU */
    CAIRN_BPF_COPY_MAX = 64 << 10,    /* bytes of a stack that are handed over */
    CAIRN_BPF_COPY_THREAD = 32 << 10, /* where its end is not known */
    CAIRN_BPF_FRUITLESS_MAX = 4096,
    CAIRN_BPF_PLACE_SHIFT = 12,
    CAIRN_BPF_COPY_PAGES = 64,       /* that they are looked for in: a bit for each */
    CAIRN_BPF_PIECES_MAX = 64 << 10, /* bytes of an interpreter's memory, nearly */
    CAIRN_BPF_SEEN_PIECES = 64,
    CAIRN_BPF_HITS_MAX = 256,  /* luaconf.h lets a state have 200 calls from C */
    CAIRN_BPF_STATES_MAX = 32, /* of an interpreter, on one stack */
    CAIRN_BPF_GUESTS_MAX = 4096,
    CAIRN_BPF_WORDS_MAX = 64, /* of a stack, that a remembered walk has read */
    CAIRN_BPF_GUEST_LOOPS_MAX = 4,
    CAIRN_BPF_STACK_MAX = 8 << 20 /* a frame pointer that far above the stack pointer is none */
};

/* strips[]: a rule for all of the strip, or a place:  63 [segment + 1][at / 16][rows] 0 */
enum {
    CAIRN_BPF_STRIP_ROWS_BITS = 24,
    CAIRN_BPF_STRIP_AT_BITS = 24,
};

/* One mapping with code. */
struct cairn_bpf_range {
    __u64 start, end; /* va, [start, end) */
    __u64 to_text;    /* va + to_text: the offset in the module's text, from its page 0 on */
    __u32 strip;      /* number of its first one */
    __u16 n_strips;   /* 0: no table */
    __u16 flags;      /* enum cairn_bpf_range_flag */
};

enum cairn_bpf_range_flag {
    CAIRN_BPF_FP_OK = 1,  /* where no rule is, a frame pointer may be believed */
    CAIRN_BPF_NO_ROOM = 2 /* it has a table, for which there is no room */
};

/* A piece of a file that is mapped at once, as /proc/PID/maps has it. */
struct cairn_bpf_file {
    __u64 dev, inode, off; /* major << 32 | minor; of the vdso 0, 0 and its size */
    __u64 changed_ns;      /* st_ctim: a number is soon another file's, and a file soon rewritten;
                              0: not known */
};

/* What is known of it. */
struct cairn_bpf_module {
    __u64 text; /* its first byte: an offset in the module's text */
    __u32 id;   /* another one for each that is made */
    __u32 strip;
    __u16 n_strips, flags; /* as of a range */
    __u32 reserved;
    __u64 used_ns; /* by a walk, about when; CLOCK_MONOTONIC */
};

struct cairn_bpf_space {
    __u64 stack_start; /* mm->start_stack of the program whose mappings these are */
    __u32 id;          /* another one at each change; children have their parent's */
    __u32 n;
    struct cairn_bpf_range ranges[CAIRN_BPF_RANGES_MAX];
};

/* Of a stack, before its frames. */
struct cairn_bpf_stack {
    __u64 hash;
    __u64 time_ns;     /* CLOCK_MONOTONIC */
    __u64 sp;          /* of the innermost frame */
    __u32 pid, tid;    /* in the pid namespace of who loaded the program */
    __u32 id;          /* of the space that it was walked by; from CAIRN_BPF_ID_BY_FILES on: of the
                          program, that was walked by its files; 0: none */
    __u16 n, n_kernel; /* user frames, and kernel frames behind them */
    __u8 end;          /* enum cairn_unwind_end */
    __u8 what;         /* enum cairn_bpf_message */
    __u16 goes_on;     /* the stack does, behind the copy */
    __u32 copied;      /* bytes of the stack, from sp / 8 * 8 on, behind the frames and
                          CAIRN_BPF_COPY_REGS words of registers, without the gaps between pages;
                          0: no copy, and no registers */
    __u64 pages;       /* which pages, from that of sp on, the copy has, one behind the other; those
                          that nothing was ever written to are not there */
    __u64 value;       /* of the event, since the one before: attr.sample_period as it was then */
    __u32 beyond;      /* how many frames the stack has more than these; see cairn_bpf_frame_at() */
    __u32 pieces;      /* bytes of an interpreter's memory behind the copy: struct
                          cairn_guest_piece, one behind the other; 0: none */
};

/* The interpreters in a process, with the addresses of their loops there. */
struct cairn_bpf_guest {
    __u64 stack_start;   /* as of a space */
    __u64 low, high;     /* all loops lie within */
    __u32 n, makes_code; /* how many; one of them runs code that it makes */
    __u64 dispatch;      /* LuaJIT's DISPATCH register, as last seen; 0: not seen yet */
    struct cairn_guest_sketch loops[CAIRN_BPF_GUEST_LOOPS_MAX]; /* behind `n` are empty ones */
};

/*
 * Where the frame number `i` lies, the innermost is 0. Of a stack with more frames than there is
 * capacity for, the innermost stay, and the last entries are a ring of the outermost:
 *
 *     [ 0 1 2 ... INNER - 1 | ... newest | oldest ... ]
 */
static inline __u32 cairn_bpf_frame_at(__u32 beyond, __u32 i)
{
    if (!beyond || i < CAIRN_BPF_INNER_FRAMES)
        return i;
    return CAIRN_BPF_INNER_FRAMES +
           ((i - CAIRN_BPF_INNER_FRAMES + beyond) & (CAIRN_BPF_OUTER_FRAMES - 1));
}

#define CAIRN_BPF_ID_BY_FILES (1u << 31)

enum cairn_bpf_message {
    CAIRN_BPF_STACK = 1, /* a new one: stands for its first sample */
    CAIRN_BPF_ASK = 2,   /* no frames: this process should be looked at */
    CAIRN_BPF_AGAIN = 3, /* no frames: one that came before, by hash, tid and id; where times are
                            wanted */
    CAIRN_BPF_SLEPT = 4, /* no frames, but what off_cpu.h has of it: a time off the CPU that ended
                            now, of `value` ns, with a stack that came before; as AGAIN */
    CAIRN_BPF_EVENT = 5  /* no frames, but what trace.h has of it: an event, with a stack that came
                            before */
};

/* The frame was found by a frame pointer, not by a rule. */
#define CAIRN_BPF_BY_FP (1ull << 63)
/* The address is no return address, though the frame is not the innermost: a signal's. */
#define CAIRN_BPF_EXACT (1ull << 62)
/* Of the innermost frame: the instruction before the address is meant, which has just ended. */
#define CAIRN_BPF_BEHIND (1ull << 61)
#define CAIRN_BPF_MARKS  (CAIRN_BPF_BY_FP | CAIRN_BPF_EXACT | CAIRN_BPF_BEHIND)

struct cairn_bpf_count {
    __u64 hash;
    __u32 tid;
    __u32 id;
};

/* Where walks end, in one space: what holds for an address mostly holds for its neighbours. */
struct cairn_bpf_place {
    __u64 page; /* ip >> CAIRN_BPF_PLACE_SHIFT */
    __u32 id;
    __u32 end; /* enum cairn_unwind_end */
};

/* What came of a stack since it was handed over. */
struct cairn_bpf_sum {
    __u64 n, value;
};

struct cairn_bpf_cached {
    __u64 va; /* in the space `id`, or, of a module, the offset in its text */
    __u32 id;
    __u32 rule; /* and what else is known of the place, above bit 29 */
};

/* The words that a walk read: all that it depends on beside the registers. */
struct cairn_bpf_words {
    __u16 n, end;  /* `end`: bytes from the stack pointer to behind the highest word */
    __u16 uses_fp; /* and the frame pointer, as it was in the innermost frame */
    __u16 is_bad;  /* the walk depends on more: such a stack is not remembered */
    __u16 off[CAIRN_BPF_WORDS_MAX]; /* from sp / 8 * 8 on */
    __u64 value[CAIRN_BPF_WORDS_MAX];
};

/* What the loops of walk_guest.bpf.h are at, while they look for an interpreter's states and copy
 * its calls and functions. */
struct cairn_bpf_job {
    __u64 first, end; /* of the copied stack, or of a piece: numbers of words in `frames` */
    __u64 at;         /* where the loop that runs looks next */
    __u64 ci, base;   /* the next call, and the one at which the calls end */
    __u64 max;        /* of LuaJIT's stack: its end */
    __u32 row, n_found;
};

/* What one CPU works in. */
struct cairn_bpf_walk_cpu {
    __u64 n_samples;  /* stacks walked and counted */
    __u64 n_lost;     /* the ring was full */
    __u64 n_double;   /* of threads that two events see */
    __u64 n_copied;   /* stacks that came with a copy */
    __u64 n_outside;  /* of threads that have no number in the namespace of who loaded this */
    __u64 n_misses;   /* frames whose rule was not in the cache */
    __u64 n_no_guest; /* stacks with an interpreter that might not be copied */
    __u64 busy, asked_ns;
    __u64 copies_ns, copies_left; /* since then so many bytes more may be copied */
    __u64 deep_ns;                /* until then no walk goes on beyond what is kept */
    __u64 inner_hash;             /* of the frames that stay whatever comes */
    __u32 beyond_max, reserved;
    __u64 low, size;      /* the window: va of its first byte, and how many are valid */
    __u64 ip, sp, fp, lr; /* on x86-64 rdi, of the innermost frame */
    __u64 fp_va;          /* where `fp` was read from; 0: it is the register */
    __u64 ax;             /* x86-64's rax, of the innermost frame */
    __u64 behind;         /* CAIRN_BPF_BEHIND, or 0, for the walk that begins */
    __u64 replaced;       /* the page of the return addresses that uretprobes put; 0: none */
    __u8 code[16];        /* what is looked at where no rule is of it */
    __u32 exact, end;
    __u32 sp_is_floor; /* the frame begins at sp or above: all that its callee told */
    __u32 has_tree; /* the kernel can be asked what is mapped; 0: not, or nobody was walked yet */
    struct cairn_bpf_range met[CAIRN_BPF_MET_MAX]; /* mappings that this walk has asked for */
    __u32 met_ids[CAIRN_BPF_MET_MAX];              /* of their modules; 0: none */
    __u32 n_met, is_missing;
    /* From here to `key`: local variables and contexts of loops, which do not fit on the stack. A
     * program and the functions that it calls share 512 bytes, and each function takes a multiple
     * of 32 (Linux 6.1, kernel/bpf/verifier.c, check_max_stack_depth). */
    struct cairn_bpf_range mapping; /* the one that is looked up, and its file */
    struct cairn_bpf_file file;
    __u64 node[32];        /* of the tree of mappings */
    __u64 tree_root, vdso; /* of the process; 0: not read yet, or unreadable */
    struct {
        __u64 at, low, high, ret; /* struct return_instance *, see look_at_return() */
    } search;
    struct {
        __u64 of, low, at; /* struct return_instance *, see repair_return() */
    } repair;
    struct { /* at most `most` bytes of [low, low + all), to words of `frames` from `at` on */
        __u64 low, all, most, at;
    } copy;
    struct cairn_bpf_job job;
    struct cairn_bpf_count key; /* of the stack that was walked */
    struct cairn_bpf_cached cache[CAIRN_BPF_CACHE_ENTRIES];
    __u64 window[CAIRN_BPF_WINDOW_WORDS];
    /* What is copied of interpreters: the states that were found, and pieces that were copied. */
    struct {
        __u64 va, global, main, row;
    } states[CAIRN_BPF_STATES_MAX];
    __u64 n_states, n_hits;
    __u64 hits[CAIRN_BPF_HITS_MAX]; /* words of `frames` that lead into a loop */
    __u64 seen[CAIRN_BPF_SEEN_PIECES];
    __u64 piece_at, piece_end;    /* words of `frames` */
    struct cairn_bpf_words words; /* where stacks are remembered */
    struct cairn_bpf_stack stack;
    __u64 frames[CAIRN_BPF_FRAMES_MAX + CAIRN_BPF_KERNEL_FRAMES_MAX + 1 + CAIRN_BPF_COPY_REGS +
                 CAIRN_BPF_COPY_MAX / 8 + CAIRN_BPF_PIECES_MAX / 8 + 64];
};

#endif /* CAIRN_BPF_WALK_H */
