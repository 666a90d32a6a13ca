/* SPDX-License-Identifier: MIT */
/*
 * Hooks: how a function can be diverted while threads run it, copies of its first instructions that
 * do the same at another address, and hooks in the own process.
 *
 * No byte of a second instruction is ever changed, so no thread can stand inside the change:
 *
 *     one   the instruction at the patch address has 5 bytes or more: jmp rel32
 *     pad   jmp rel8 to padding nearby; jmp rel32 there
 *     pun   jmp rel32 whose last bytes are the bytes of the instructions that follow
 *     late  like one, pad or pun at a later instruction; those before it can run twice
 *     b     aarch64: one branch
 *
 * Plans and moved code: bytes in, answers out. These functions are thread-safe, signal-safe and
 * allocate nothing. Those of hooks in the own process are thread-safe, and not signal-safe: a
 * signal handler may call hooked functions, but neither make nor remove hooks. Enums end open:
 * later versions add values.
 */
#ifndef CAIRN_HOOK_H
#define CAIRN_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cairn_hook_cpu {
    CAIRN_HOOK_CPU_NONE, /* not known */
    CAIRN_HOOK_X86_64,
    CAIRN_HOOK_AARCH64,
    CAIRN_HOOK_A32, /* arm */
    CAIRN_HOOK_T32  /* Thumb; addresses without bit 0 */
};

/* Why something is refused. */
enum cairn_hook_reason {
    CAIRN_HOOK_FINE,
    CAIRN_HOOK_NO_CPU,       /* nothing is known of this CPU's instructions */
    CAIRN_HOOK_CUT_OFF,      /* the bytes end inside an instruction */
    CAIRN_HOOK_NOT_CODE,     /* an instruction that no program has, or that is not known */
    CAIRN_HOOK_TOO_LARGE,    /* more instructions or a longer copy than the limits below */
    CAIRN_HOOK_OUT_OF_REACH, /* a distance does not fit from the new place */
    CAIRN_HOOK_CALLS,        /* a call that would leave a return address a shadow stack refuses */
    CAIRN_HOOK_READS_PC,     /* reads its own address in a way that cannot be rewritten */
    CAIRN_HOOK_NO_REGISTER,  /* the jump back has no register to use */
    CAIRN_HOOK_EXCLUSIVE,    /* between a load-exclusive and its store, or a transaction */
    CAIRN_HOOK_BRANCHES_IN,  /* a branch leads into the middle of what is moved or changed */
    CAIRN_HOOK_BACKWARDS,    /* the function jumps back to the changed instruction */
    CAIRN_HOOK_TOO_SHORT,    /* first instruction and following bytes leave no free target */
    CAIRN_HOOK_HOOKED,       /* another tool diverts it already */
    CAIRN_HOOK_UNCHECKED,    /* the copy failed its check: an error of this library */
    CAIRN_HOOK_MISALIGNED,   /* an address that no instruction of this CPU can have */
    CAIRN_HOOK_RETURNS_IN    /* a call that returns between the moved instructions */
};

/* "x86-64", "aarch64", "arm", "thumb", as `cairn hook move --cpu` takes them; NULL for others. */
CAIRN_API const char *cairn_hook_cpu_name(enum cairn_hook_cpu cpu);
CAIRN_API enum cairn_hook_cpu cairn_hook_cpu_of_name(const char *name);

/* "a distance does not fit from the new place"; static text, never NULL. */
CAIRN_API const char *cairn_hook_reason_text(enum cairn_hook_reason reason);

/* ---- Moved code ---- */

enum {
    CAIRN_HOOK_LEAST_MAX = 64, /* bytes that may be asked for */
    CAIRN_HOOK_COPY_MAX = 512, /* bytes of a copy, with the jump back */
    CAIRN_HOOK_INSNS_MAX = 32  /* instructions of a copy */
};

/* Which instructions are moved, and where. */
struct cairn_hook_piece {
    size_t size; /* sizeof this struct; later versions add fields at the end */
    enum cairn_hook_cpu cpu;
    const uint8_t *code;   /* the bytes at `from_va`, borrowed for the call */
    size_t n_code;         /* give 16 more than `least` where they can be read */
    uint64_t from_va;      /* where they run */
    uint64_t to_va;        /* where the copy will run */
    size_t least;          /* whole instructions that cover so many bytes are moved, 1 or more */
    bool has_shadow_stack; /* of the process: calls are refused */
};

/* The copy. Its last instructions jump to `from_va + taken`, unless the last moved instruction
 * never gets there. */
struct cairn_hook_copy {
    size_t taken;  /* bytes of the original that it stands for */
    size_t n_code; /* bytes of `code` */
    uint8_t code[CAIRN_HOOK_COPY_MAX];
    /* The i-th instruction: from_va + from_off[i] became to_va + to_off[i]; one entry more for the
     * end of what was taken, which is where the jump back is. */
    size_t n_insns;
    uint8_t from_off[CAIRN_HOOK_INSNS_MAX + 1];
    uint16_t to_off[CAIRN_HOOK_INSNS_MAX + 1];
    enum cairn_hook_reason reason; /* of a refusal, */
    uint64_t reason_va;            /* and the address of the instruction */
};

/*
 * Registers, flags, memory writes, the stack below sp, the return addresses of calls and the
 * address left to are those of the original. The copy was decoded again and compared before this
 * returns true. False: `reason` and `reason_va` alone are set.
 */
CAIRN_API bool cairn_hook_move(const struct cairn_hook_piece *piece,
                               struct cairn_hook_copy *ret_copy);

/* ---- Plans ---- */

enum cairn_hook_way {
    CAIRN_HOOK_WAY_NONE, /* `reason` says why */
    CAIRN_HOOK_WAY_ONE,
    CAIRN_HOOK_WAY_PAD,
    CAIRN_HOOK_WAY_PUN,
    CAIRN_HOOK_WAY_LATE,
    CAIRN_HOOK_WAY_BRANCH /* aarch64 */
};

/* Bytes around the entry that a plan wants to see. Fewer before: less padding is found. Fewer
 * behind: a jump back is not seen. */
enum { CAIRN_HOOK_BEFORE = 512, CAIRN_HOOK_BEHIND = 4096 };

/* The lowest address in [low, high) from which on `n_bytes` can be mapped, all below `high`; 0:
 * none. Pages that hold them must be unmapped, or the caller's own islands. */
typedef uint64_t cairn_hook_free_fn(void *context, uint64_t low, uint64_t high, uint64_t n_bytes);

struct cairn_hook_function {
    size_t size; /* sizeof this struct; later versions add fields at the end */
    enum cairn_hook_cpu cpu;
    const uint8_t *code; /* bytes around the entry, of one executable mapping; borrowed */
    size_t n_code;
    uint64_t code_va;         /* of code[0] */
    uint64_t entry_va;        /* of the function */
    uint64_t entry_bytes;     /* of the function; 0: not known */
    const uint8_t *unpatched; /* n_code bytes as the file has them, or NULL: shows what other tools
                                 changed */
    uint64_t module_low, module_high; /* the module's mappings; 0, 0: not known */
    cairn_hook_free_fn *find_free;    /* NULL: all but the module is taken for free */
    void *context;
    size_t island_bytes;   /* that an island needs from its target on; 0: 64 */
    bool has_shadow_stack; /* of the process */
};

/*
 * Two plans may want the same padding. To divert several functions of a module, store each patch
 * into the bytes that the next plan sees.
 */
struct cairn_hook_plan {
    enum cairn_hook_way way;
    enum cairn_hook_way how; /* of LATE: one, pad or pun at the later instruction; else as `way` */
    enum cairn_hook_reason reason; /* of NONE, */
    uint64_t reason_va;            /* and the address of the instruction */
    uint64_t leads_to;             /* of HOOKED: the target of the jump found; 0: not known */

    uint64_t patch_va;  /* the changed instruction: the entry, or behind endbr64, bti, paciasp, or a
                           later instruction */
    size_t patch_bytes; /* of it may change, 1 to 5 */
    uint64_t resume_va; /* behind the changed instruction and what was moved with it */
    size_t move_bytes;  /* `least` of the piece from entry_va that calls the original: the move
                           takes [entry_va, resume_va) */

    /* These 8 bytes change, at once. They lie in one line of the cache. */
    uint64_t word_va;
    bool is_aligned; /* word_va is a multiple of 8 */
    uint8_t word_before[8];

    /* Padding that leads on. It is written first: no thread runs there before. */
    uint64_t pad_va;
    size_t pad_bytes; /* 5; 0: no padding is used */
    uint8_t pad_before[8];

    /* The jump can lead to each address in [target_low, target_high). `island_va`: of pun, one of
     * them where an island can be mapped; else 0, and the caller chooses. */
    uint64_t target_low, target_high;
    uint64_t island_va;

    /* aarch64: what an island runs first, for a paciasp that stays before the change (autiasp). */
    size_t undo_bytes; /* 4; 0: nothing */
    uint8_t undo[8];
};

/* How the function can be diverted. Always fills the plan; true: `way` is not NONE. */
CAIRN_API bool cairn_hook_plan(const struct cairn_hook_function *function,
                               struct cairn_hook_plan *ret_plan);

/* What is written to lead to a target: first `pad` (n_pad bytes at plan->pad_va; 0: none), then
 * `word` at plan->word_va at once: while threads run there, by a page in the old one's place, or
 * with all of them stopped. A write through /proc/PID/mem can be seen half done. To undo it,
 * word_before, then pad_before. */
struct cairn_hook_patch {
    size_t n_pad;
    uint8_t pad[8];
    uint8_t word[8];
};

/* False: the target is not in [target_low, target_high), or there is no way. */
CAIRN_API bool cairn_hook_aim(const struct cairn_hook_plan *plan, uint64_t target_va,
                              struct cairn_hook_patch *ret_patch);

/* "one", "pad", "pun", "late", "b", "none"; static text, never NULL. */
CAIRN_API const char *cairn_hook_way_name(enum cairn_hook_way way);

/* ---- Islands ---- */

/* A jump to any address that clobbers nothing (x86-64), or only x16 and x17 (aarch64): 14 or 16
 * bytes. Returns their number; 0: no such CPU here. */
enum { CAIRN_HOOK_JUMP_MAX = 16 };
CAIRN_API size_t cairn_hook_far_jump(enum cairn_hook_cpu cpu, uint64_t target_va,
                                     uint8_t ret_code[CAIRN_HOOK_JUMP_MAX]);

/* ---- Hooks in the own process: x86-64 and aarch64, in libcairn-hook and libcairn ---- */

/*
 * Any thread may hook and remove while others run the function. Nobody is stopped. No page is ever
 * writable and executable, none loses a protection, and mprotect(2) is not used for code:
 * /proc/self/mem writes it. Memory comes from mmap(2), never from malloc, and is never given back:
 * some 600 bytes for a function, and 4 KiB of pages that its jump reaches.
 *
 * Hooks of one function form a chain. The newest is called first. Its original calls the hook that
 * came before, the original of the oldest the function. Hooks may go in any order.
 *
 * A child of fork(2) has all hooks of its parent, and may make and remove its own. A child of
 * vfork(2) must do neither.
 *
 * A replacement runs in place of the function, with its caller's registers and stack: stacks,
 * exceptions and debuggers see no frame of this library. It must not be unloaded before the hook is
 * removed and every thread has left it. It may be called during calls of this library (a hook of
 * memcpy(3)); hooking and removing fail then with CAIRN_E_ARG, as they do in a signal handler that
 * interrupts such a call.
 */
struct cairn_hook; /* opaque */

enum cairn_hook_flag {
    /* What the replacement calls does not come to it again in the same thread, but goes on to the
     * original. This puts a frame between caller and replacement, which hands on 128 bytes of
     * arguments on the stack. After longjmp(3) out of the replacement the thread counts as inside
     * until it calls the function from a frame above. */
    CAIRN_HOOK_GUARDED = 1,
    /* Only ways that change one instruction. There are no others yet. */
    CAIRN_HOOK_NO_STEPPED = 2,
    /* Also where another tool has diverted the function: our jump replaces its jump. Remove the
     * hooks in reverse order. */
    CAIRN_HOOK_ON_TOP = 4,
    /* Of way `pad`: removal leaves the jump in the padding, where nothing leads any more, and does
     * not wait for threads that may stand there. For functions that are hooked often. */
    CAIRN_HOOK_KEEP_PADDING = 8,
    /* Registers unwind tables of the moved code with libgcc, for handlers of signals that walk the
     * stack from inside of it. Stacks that go through a hooked function do not need them. With any
     * registered table, libgcc takes a lock for each exception. Does nothing without libgcc. */
    CAIRN_HOOK_UNWIND_TABLES = 16
};

/*
 * Diverts a function to `replacement`. *ret_original (may be NULL) is what the replacement calls in
 * its place; it is stored before any thread can come to the replacement, by one atomic store, and
 * stays valid after removal. Where threads may still be in the replacement of an earlier hook with
 * the same *ret_original, it reads that by an atomic load. Takes about 0.1 ms for the first hook of
 * a function, then some microseconds.
 *
 * CAIRN_E_ARG: no function, unknown flags, or the address points into data
 * CAIRN_E_MISSING: nothing is mapped there: its library was unloaded
 * CAIRN_E_ACCESS: the instructions cannot be read, or the kernel lets nobody write them
 * CAIRN_E_EXISTS: another tool diverts the function; the message names where to
 * CAIRN_E_SUPPORT: it cannot be diverted, with the reason (enum cairn_hook_reason); made at run
 * time
 *     (JIT); shared memory; or another CPU
 * CAIRN_E_NOMEM: no memory, or no page in reach of the jump
 */
CAIRN_API int cairn_hook_function(void *function, void *replacement, unsigned flags,
                                  void **ret_original, struct cairn_hook **ret_hook,
                                  struct cairn_err *err);

/* Whose slots. All zero but `size`: those of all modules that are loaded now. */
struct cairn_hook_where {
    size_t size; /* sizeof this struct; later versions add fields at the end */
    /* Names: "libfoo.so.1" is held against the last part of each module's path, one with a slash
     * against the whole path. `*` stands for any characters, `?` for one. */
    const char *const *modules;
    size_t n_modules;          /* 0: all */
    const char *const *except; /* but these */
    size_t n_except;
    const char *version; /* of the symbol that is asked for: "GLIBC_2.14"; NULL: any */
    bool later;          /* also of modules that are loaded later */
    unsigned flags;      /* enum cairn_hook_flag */
};

/*
 * Replaces the words by which modules call the function `name`, and pointers to it in their data. A
 * hooked call costs the replacement's own call and nothing more. Calls without a slot are not seen:
 * of a library to its own function, through a copy of a pointer, by dlsym(3). `where` NULL: all
 * that are loaded now. All is copied.
 *
 * The original leads to what the slots held, which all must have in common; slots that lead
 * elsewhere stay as they are. Of several hooks of a name, one for fewer slots is called first, and
 * of those for the same slots the newest.
 *
 * `later`: with glibc the slots of a new library are replaced before its constructors run.
 * Elsewhere, or where _dl_catch_exception cannot be diverted, cairn_hook_refresh() does it.
 *
 * CAIRN_E_ARG, CAIRN_E_LIMIT: a name that is empty or too long, a wrong `size`
 * CAIRN_E_MISSING: no module has such a function, or none that is meant has a slot of it
 * CAIRN_E_EXISTS: all slots that are meant lead elsewhere; the message names one
 * CAIRN_E_SUPPORT: the slots overlap with those of another hook, and neither contains the other
 * CAIRN_E_ACCESS: a slot could not be written
 */
CAIRN_API int cairn_hook_slots(const char *name, void *replacement,
                               const struct cairn_hook_where *where, void **ret_original,
                               struct cairn_hook **ret_hook, struct cairn_err *err);

/*
 * Removes a hook; NULL: nothing. It is not called any more but by threads that are on their way.
 * With the last hook of a function its bytes are restored. Whatever this returns, the hook is gone;
 * an error says what could not be restored:
 *
 * CAIRN_E_EXISTS: another tool has changed the bytes or slots since: they stay. Calls that still
 * come
 *     go on to the function; those that come through such a slot, to the replacement
 * CAIRN_E_MISSING: the library was unloaded: nothing is to be restored
 * CAIRN_E_LIMIT: a thread was not seen outside of the padding within 100 ms: its jump stays, which
 *     nothing leads to
 * CAIRN_E_ACCESS: the kernel lets nobody write the code any more
 * CAIRN_E_ARG: it was removed already
 */
CAIRN_API int cairn_hook_remove(struct cairn_hook *hook, struct cairn_err *err);

/* Replaces the slots of libraries that were loaded since, for hooks with `later`. */
CAIRN_API void cairn_hook_refresh(void);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_HOOK_H */
