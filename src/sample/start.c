/* SPDX-License-Identifier: MIT */
#include "sample/start.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sample/arch.h"

enum {
    ENTRY_BYTES = 64,           /* _start is shorter on every libc */
    PROGRAM_BYTES = 4096,       /* between the top of the stack and main()'s caller */
    THREAD_BYTES = 1 << 20,     /* of a thread's stack that are read upwards */
    CHUNK_BYTES = 1 << 14,      /* at once */
    OVERLAP_BYTES = 1024,       /* what one chunk has in common with the last */
    FUNCTION_BYTES = 4096,      /* the libc functions on the way to main() are shorter */
    TRAMPOLINE_BYTES = 128,     /* a C++ trampoline's frame is smaller */
    LINKS_MAX = 4,              /* calls between _start and main() */
    SEARCHES_MAX = 40,          /* looks at one program's stack */
    THREADS_MAX = 1 << 12,      /* looks at threads' stacks in one capture */
    SEARCH_PAUSE_NS = 20000000, /* between them */
};

/* A piece of a stack. */
struct piece {
    uint64_t va;
    size_t n;
    uint64_t words[CHUNK_BYTES / sizeof(uint64_t)];
};

void cairn_starts_done(struct cairn_starts *starts)
{
    cairn_table_done(&starts->known);
    cairn_table_done(&starts->searched);
    *starts = (struct cairn_starts){0};
}

static void remember(struct cairn_starts *starts, struct cairn_space *space, uint64_t va)
{
    uint64_t key;
    if (cairn_space_place(space, va, &key))
        (void)cairn_table_set(&starts->known, key, 1); /* a cache: a lack of memory costs little */
}

bool cairn_starts_hold(const struct cairn_starts *starts, struct cairn_space *space, uint64_t va)
{
    uint64_t key;
    uint32_t one;
    if (space->entry && va - space->entry < ENTRY_BYTES)
        return true;
    return cairn_space_place(space, va, &key) && cairn_table_find(&starts->known, key, &one);
}

/* Goes down the stack from the word at `at`: the return address into each next function. */
static void follow_links(struct cairn_starts *starts, struct cairn_space *space,
                         const struct piece *stack, size_t at)
{
    struct cairn_call call, next;
    bool final;
    if (!cairn_call_read(space, stack->words[at], &call))
        return;
    for (unsigned link = 0; link < LINKS_MAX; link++) {
        uint64_t function = cairn_call_target(space, &call, &final);
        bool found = false;
        while (function && at-- > 0) {
            uint64_t ret = stack->words[at];
            found = ret - function < FUNCTION_BYTES && cairn_call_read(space, ret, &next);
            if (found)
                break;
        }
        if (!found)
            return;
        remember(starts, space, stack->words[at]);
        call = next;
    }
}

static bool learn_program(struct cairn_starts *starts, struct cairn_space *space)
{
    struct piece stack;
    uint64_t top = cairn_process_stack_start(space->code.pid);
    if (cairn_process_auxv(space->code.pid, AT_ENTRY, &space->entry, NULL) < 0 ||
        top < PROGRAM_BYTES)
        return false;
    stack.va = (top - PROGRAM_BYTES) & ~(uint64_t)7;
    stack.n = cairn_space_peek(space, stack.va, stack.words, PROGRAM_BYTES) / sizeof *stack.words;
    for (size_t i = stack.n; i-- > 0;) {
        if (stack.words[i] - space->entry >= ENTRY_BYTES || stack.words[i] == space->entry)
            continue;
        size_t known = starts->known.n;
        follow_links(starts, space, &stack, i);
        return starts->known.n > known;
    }
    return false;
}

void cairn_starts_learn_program(struct cairn_starts *starts, struct cairn_space *space,
                                uint64_t now_ns)
{
    if (space->n_searches >= SEARCHES_MAX || now_ns - space->searched_ns < SEARCH_PAUSE_NS)
        return;
    space->searched_ns = now_ns;
    space->n_searches++;
    if (learn_program(starts, space))
        space->n_searches = SEARCHES_MAX;
}

/* Is this the return address behind which a thread ends? */
static bool ends_thread(struct cairn_space *space, uint64_t ret)
{
    struct cairn_call call;
    uint8_t code[24];
    if (!cairn_call_read(space, ret, &call))
        return false;
    size_t n = cairn_space_peek(space, ret, code, sizeof code);
    return cairn_arch_exits((struct cairn_span){code, n});
}

/* The word at `at` is where clone's child ends. Below it lie the libc's call of the thread's
 * function and, where that is a C++ library's, the call of the function object. */
static void learn_links(struct cairn_starts *starts, struct cairn_space *space,
                        const struct piece *stack, size_t at)
{
    struct cairn_call call;
    uint64_t libc = cairn_stream_space_find(&space->code, stack->words[at])->file;
    remember(starts, space, stack->words[at]);
    bool found = false;
    while (!found && at-- > 0) {
        const struct cairn_stream_map *map =
            cairn_stream_space_find(&space->code, stack->words[at]);
        found = map && map->file == libc && cairn_call_read(space, stack->words[at], &call) &&
                !call.target;
    }
    if (!found)
        return;
    remember(starts, space, stack->words[at]);
    for (size_t n = TRAMPOLINE_BYTES / sizeof *stack->words; n > 0 && at-- > 0; n--) {
        const struct cairn_stream_map *map =
            cairn_stream_space_find(&space->code, stack->words[at]);
        if (map && map->is_cxx && cairn_call_read(space, stack->words[at], &call)) {
            remember(starts, space, stack->words[at]);
            return;
        }
    }
}

static bool learn_piece(struct cairn_starts *starts, struct cairn_space *space,
                        const struct piece *stack)
{
    for (size_t i = 0; i < stack->n; i++)
        if (ends_thread(space, stack->words[i])) {
            learn_links(starts, space, stack, i);
            return true;
        }
    return false;
}

static void learn_thread(struct cairn_starts *starts, struct cairn_space *space, uint64_t sp)
{
    struct piece stack = {.va = sp & ~(uint64_t)7};
    const uint64_t limit = stack.va + THREAD_BYTES;
    do {
        size_t n = cairn_space_peek(space, stack.va, stack.words, sizeof stack.words);
        stack.n = n / sizeof *stack.words;
        if (learn_piece(starts, space, &stack))
            return;
        stack.va += sizeof stack.words - OVERLAP_BYTES;
    } while (stack.n == sizeof stack.words / sizeof *stack.words && stack.va < limit);
}

bool cairn_starts_learn_thread(struct cairn_starts *starts, struct cairn_space *space, int tid,
                               uint64_t sp)
{
    uint32_t one;
    if (!sp || starts->searched.n >= THREADS_MAX ||
        cairn_table_find(&starts->searched, (uint64_t)tid, &one) ||
        cairn_table_set(&starts->searched, (uint64_t)tid, 1) < 0)
        return false;
    learn_thread(starts, space, sp);
    return true;
}

struct self {
    struct cairn_starts *starts;
    struct cairn_space *space;
};

static void *learn_this_thread(void *ctx)
{
    struct self *self = ctx;
    learn_thread(self->starts, self->space, (uint64_t)(uintptr_t)__builtin_frame_address(0));
    return NULL;
}

/* Before the program's own first instruction the kernel enters its loader, by hand-written code
 * that nothing describes. Programs of a machine have the same one. */
static void learn_loader(struct cairn_starts *starts, struct cairn_space *self)
{
    uint64_t base = getauxval(AT_BASE);
    ElfW(Ehdr) header;
    if (!base || cairn_space_peek(self, base, &header, sizeof header) != sizeof header ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return;
    for (uint64_t i = 0; i < ENTRY_BYTES; i++)
        remember(starts, self, base + header.e_entry + i);
}

void cairn_starts_learn_self(struct cairn_starts *starts)
{
    struct cairn_profile *scratch;
    pthread_t thread;
    if (cairn_profile_new(&scratch, NULL) < 0)
        return;
    struct cairn_spaces spaces;
    cairn_spaces_init(&spaces, scratch);
    struct self self = {starts, cairn_spaces_get(&spaces, getpid())};
    if (self.space && cairn_space_read(&spaces, self.space, NULL) == CAIRN_OK) {
        (void)learn_program(starts, self.space);
        learn_loader(starts, self.space);
        if (pthread_create(&thread, NULL, learn_this_thread, &self) == 0)
            pthread_join(thread, NULL);
    }
    cairn_spaces_done(&spaces);
    cairn_profile_free(scratch);
}
