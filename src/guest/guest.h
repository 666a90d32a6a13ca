/* SPDX-License-Identifier: MIT */
/*
 * Guest: an interpreter that runs inside a native process. Bytes in, answers out:
 *
 *     a module's file ─────────► cairn_guest_file    which interpreters are there, and their loops
 *     native frames, memory ───► frames and states   what each state of the interpreter runs
 *     places of the frames ────► weave.h             native and guest frames as one list
 *
 * A guest is a folder below src/guest with one struct cairn_guest. It never asks for a file's name
 * or for a symbol: it knows its interpreter by what the file holds and what memory proves. Memory
 * comes through a callback: of a stopped process, a copy, a core file, a test. All of it is the
 * target's word: each size, length and list has a bound below.
 *
 * Nothing here opens a file, knows a pid or prints. Threads: a result belongs to one thread at a
 * time.
 */
#ifndef CAIRN_GUEST_GUEST_H
#define CAIRN_GUEST_GUEST_H

#include <cairn/frame.h>
#include <cairn/guest.h>

#include "base/memory.h"
#include "base/strings.h"
#include "elf/image.h"
#include "guest/own.h"
#include "guest/sketch.h"

/* No module, no registers, no native frame. */
#define CAIRN_GUEST_NONE UINT32_MAX

enum {
    CAIRN_GUEST_NO_REG = 255,
    CAIRN_GUEST_REGS = 33,            /* DWARF numbers 0 to 32: x86-64 has 17, aarch64 33 */
    CAIRN_GUEST_FRAMES_MAX = 1 << 16, /* of one thread */
    CAIRN_GUEST_STATES_MAX = 256,     /* of one thread */
    CAIRN_GUEST_LOOKS_MAX = 1 << 24,  /* at native frames, in search of functions, in one read */
    CAIRN_GUEST_RESTING_BYTES = 128,  /* of a state */
    CAIRN_GUEST_OF_FILE_MAX = 4,      /* interpreters in one file */
    CAIRN_GUEST_NAME_MAX = 1024       /* bytes of a name or of a chunk's name; the rest is cut */
};

struct cairn_guest;

/* The interpreter in a module's file. */
struct cairn_guest_file {
    const struct cairn_guest *guest;
    char version[24];        /* "Lua 5.4.4", "LuaJIT 2.1.0-beta3" */
    uint64_t loop, loop_end; /* vaddrs: code of the loop that runs byte code, all of the
                                        assembler for LuaJIT; equal: not found */
    uint8_t state_reg;       /* DWARF's number of the register that holds the state there;
                                        CAIRN_GUEST_NO_REG: not known */
    struct cairn_own own;    /* its functions, once cairn_own_find() was asked */
    uint32_t variant;        /* the guest's own: which of its layouts, if it is known */
    const char *unread;      /* the reason why its frames cannot be read; it has no loop
                                        then. NULL: none is known. Static text. */
};

static inline bool cairn_guest_has_loop(const struct cairn_guest_file *file)
{
    return file->loop != file->loop_end;
}

/* A module of the process, where it is mapped. */
struct cairn_guest_module {
    const struct cairn_guest_file *file; /* borrowed */
    uint64_t bias;                       /* va - vaddr */
};

/* Registers of one native frame, by DWARF number. */
struct cairn_guest_regs {
    uint64_t ip;
    uint64_t known; /* bit n: value[n] is that of the frame */
    uint64_t value[CAIRN_GUEST_REGS];
};

/* A native frame of the thread, innermost first. */
struct cairn_guest_native {
    uint64_t ip;       /* va to look up: of a return address one byte less */
    uint64_t sp;       /* at that place */
    uint64_t function; /* va where its function begins; 0: unknown */
    uint32_t module;   /* of thread->modules, for code of an interpreter's file; CAIRN_GUEST_NONE */
    uint32_t regs;     /* of thread->regs; CAIRN_GUEST_NONE: not at hand */
};

/* Memory of what does not change while a function lives: its code, its lines and its names. */
struct cairn_guest_constant {
    struct cairn_memory memory;
    /* NULL: it is read at the frames' moment. Else it was read at others, and who asks for a
     * function holds against it what the frame has of that; where they differ all is read anew. */
    void (*renew)(void *ctx);
};

/* All that is known of a stopped thread. All is borrowed. Registers are at hand for the innermost
 * frame, for those that cairn_guest_wants_regs() asked for, and for code in no file. */
struct cairn_guest_thread {
    struct cairn_memory memory; /* of one moment */
    struct cairn_guest_constant constant;
    uint16_t machine; /* EM_X86_64, EM_AARCH64 */
    const struct cairn_guest_module *modules;
    size_t n_modules;
    const struct cairn_guest_native *natives;
    size_t n_natives;
    const struct cairn_guest_regs *regs;
    size_t n_regs;
};

/* Names in files, which the caller reads. */
struct cairn_guest_names {
    void *ctx;
    /* A line of a source file, as its chunk is named; without its end, cut to `size`. */
    bool (*source_line)(void *ctx, const char *file, uint32_t line, char *to, size_t size);
    /* The name of a native function that begins at `va`. */
    bool (*function)(void *ctx, uint64_t va, char *to, size_t size);
};

/* A frame of an interpreter. Texts are numbers of result->strings. */
struct cairn_guest_frame {
    uint8_t kind;         /* enum cairn_guest_kind */
    bool is_tail_called;  /* its caller is not on the stack */
    bool is_inlined;      /* into the next frame, by a compiler */
    bool is_about;        /* the line is near the true one, in the same function */
    bool is_of_file;      /* `chunk` names a file */
    uint32_t state;       /* of result->states */
    uint32_t name;        /* of the function; 0: none, or cairn_guest_name() knows it */
    uint32_t called;      /* the name by which its caller called it, if no other is known; 0 */
    uint32_t chunk;       /* where its text is: "@file" is "file", "=name" is "name", any other text
                             is [string "its first line"]; 0: unknown */
    uint32_t line;        /* 0: unknown */
    uint32_t defined;     /* line of its definition; 0: unknown, or a chunk */
    uint32_t defined_end; /* last line of it */
    uint32_t trace;       /* its number, of compiled code; 0: none */
    uint64_t id;          /* va of what the interpreter has of the function, or of its code in C */
    /* It stands directly inside (is called by) this native frame: before natives[place] in a list
     * that begins with the innermost frame. n_natives: outside of all. */
    uint32_t place;
};

/* Does a thread run the state? */
enum cairn_guest_rest {
    CAIRN_GUEST_RUNS,
    CAIRN_GUEST_SUSPENDED, /* a coroutine that has yielded */
    CAIRN_GUEST_NOT_BEGUN  /* a coroutine that has not run; its frame is the function that it will
                              call */
};

/* Was an object freed that its interpreter's allocator leaves as it was? */
enum cairn_guest_life { CAIRN_GUEST_MAY_LIVE, CAIRN_GUEST_LIVES, CAIRN_GUEST_IS_FREE };

/* Where a walk through the heap of an interpreter stands; the guest's own. All-zero at first. */
struct cairn_guest_heap_walk {
    uint64_t from, to;   /* a segment of the heap; equal: none */
    uint64_t before, at; /* where the last chunk that was read begins and ends */
    bool is_used;        /* the last one */
    uint64_t n_steps;    /* of all segments */
};

/* A state of an interpreter, such as a lua_State. */
struct cairn_guest_state {
    uint32_t module; /* of thread->modules */
    uint64_t va;
    uint8_t rest;      /* enum cairn_guest_rest */
    bool may_be_freed; /* it rests, and nothing proves that it was not collected */
    const char *mode;  /* what LuaJIT does now: "interpreted", "compiled", "gc", ...; NULL: unknown.
                          Static. */
    const char *doubt; /* why its frames may be wrong, a static text; NULL: they fit */
};

struct cairn_guest_result {
    struct cairn_strings strings;
    struct cairn_guest_frame *frames; /* innermost first; places never go down */
    size_t n_frames, cap_frames;
    struct cairn_guest_state *states;
    size_t n_states, cap_states;
    uint8_t
        *own; /* by native frame: nonzero for the interpreter's own code, which views may hide */
    size_t n_own, cap_own;
    struct cairn_guest_frame beyond; /* the last frame that was not kept */
};

/* An interpreter. */
struct cairn_guest {
    enum cairn_language language; /* of its frames */
    const char *name;             /* "Lua", "LuaJIT" */
    /* Is it in that file? Fills *ret_file if so. */
    bool (*look)(const struct cairn_elf *elf, struct cairn_guest_file *ret_file);
    /* Adds the frames and the states of one thread, and marks its own code. CAIRN_E_NOMEM. */
    int (*read)(const struct cairn_guest_thread *thread, struct cairn_guest_result *result);
    /* The registers of the caller of a native frame that has no unwind rule which holds, because
     * the interpreter made its code or wrote it by hand (sp is known): the next frame outwards that
     * a native walk can go on from. False: not this guest's code. NULL: it makes none. */
    bool (*step)(const struct cairn_guest_thread *thread, const struct cairn_guest_module *module,
                 const struct cairn_guest_regs *regs, struct cairn_guest_regs *ret_caller);
    /* May the object at `va`, of which these are the first CAIRN_GUEST_RESTING_BYTES, be a state
     * that no thread runs? It reads no more than that. Is asked for each word of a heap where the
     * byte `type_at` is `type`. NULL: the interpreter has no coroutines. */
    uint8_t type_at, type;
    bool (*may_rest)(const struct cairn_guest_file *file, const uint8_t *bytes, uint64_t va);
    /* If it is one: adds it and its frames. CAIRN_E_NOMEM. */
    int (*rest)(const struct cairn_guest_thread *thread, uint32_t module, uint64_t va,
                struct cairn_guest_result *result);
    /* Does the state at `va`, which rests, live? Is asked in the order of addresses. NULL: what
     * its allocator frees does not look like a state any more. */
    uint8_t (*life)(struct cairn_memory memory, uint64_t va, struct cairn_guest_heap_walk *walk);
    /* What a program in the kernel needs to copy frames of it; false: no such program can. */
    bool (*sketch)(const struct cairn_guest_file *file, struct cairn_guest_sketch *ret_sketch);
};

extern const struct cairn_guest cairn_guest_lua, cairn_guest_luajit;

/* The interpreters in a file, one of each kind; returns how many, 0 for most files. Takes some
 * milliseconds for a file that has the text of an interpreter in it, microseconds for others. */
size_t cairn_guest_look(const struct cairn_elf *elf,
                        struct cairn_guest_file ret_files[CAIRN_GUEST_OF_FILE_MAX]);
void cairn_guest_file_done(struct cairn_guest_file *file);

/* Are a frame's callee-saved registers wanted, for its `ip` (as above) lies in the loop? */
static inline bool cairn_guest_wants_regs(const struct cairn_guest_module *module, uint64_t ip)
{
    return ip - module->bias - module->file->loop < module->file->loop_end - module->file->loop;
}

/* All guests of the thread. `result` was all-zero or is used again; strings stay.
 * CAIRN_E_NOMEM. */
int cairn_guest_read(const struct cairn_guest_thread *thread, struct cairn_guest_result *result);

/* The coroutine at `va` of the interpreter in thread->modules[module], if it is one that no thread
 * runs: one state and its frames, else none. The thread has no native frames. CAIRN_E_NOMEM. */
int cairn_guest_read_resting(const struct cairn_guest_thread *thread, uint32_t module, uint64_t va,
                             struct cairn_guest_result *result);

/* Names functions by source files and by tables of modules. It reads no memory of the target, so
 * that the thread may run. CAIRN_E_NOMEM. */
int cairn_guest_name(struct cairn_guest_result *result, const struct cairn_guest_names *names);
void cairn_guest_result_done(struct cairn_guest_result *result);

/* For guests: memory of the moment, and what that has not, constant memory. */
struct cairn_memory cairn_guest_any(const struct cairn_guest_thread *thread);

/* For guests: one more, all-zero but for what is given. NULL: no memory. Frames beyond the limit
 * are not kept, and their state is in doubt; nobody may add more states than the limit. */
struct cairn_guest_frame *cairn_guest_add_frame(struct cairn_guest_result *result, uint32_t state,
                                                enum cairn_guest_kind kind, uint32_t place);
struct cairn_guest_state *cairn_guest_add_state(struct cairn_guest_result *result, uint32_t module,
                                                uint64_t va);
/* The outermost native frame in [from, to) of the function that begins at the va; CAIRN_GUEST_NONE.
 * Each look at a frame is taken off `*n_looks`, and without any nothing is found. */
uint32_t cairn_guest_find_function(const struct cairn_guest_thread *thread, uint64_t function,
                                   uint32_t from, uint32_t to, uint64_t *n_looks);
void cairn_guest_mark_own(struct cairn_guest_result *result, size_t native);

#endif /* CAIRN_GUEST_GUEST_H */
