/* SPDX-License-Identifier: MIT */
/*
 * Live blocks one by one, in the texts that other programs read:
 *
 *     tracker   what small embedded trackers print, and who parses them expects to the byte
 *     ndk       backtraces as Android's debuggerd prints them, for ndk-stack
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "cli/heap.h"
#include "cli/numbers.h"

enum { FRAMES_MAX = 1024, ROOT_BYTES = 64 };

struct printing {
    struct cairn_buffer *out;
    struct cairn_heap *heap;
    struct cairn_resolver *resolver;
    const struct cairn_profile *profile;
    char root[ROOT_BYTES];
    const char *root_or_none; /* of a process that runs */
};

/* One line each, whatever a name holds. */
static void add_safe(struct cairn_buffer *out, const char *text)
{
    cairn_escape_terminal(out, text, strlen(text));
}

/* The outermost source frame is the function that the address is in; "" where it has no name: a
 * reader of these texts would take "libfoo.so+0x10 [function]" for one. */
static const char *function_of(const struct cairn_profile *profile, uint32_t number,
                               const struct cairn_frame_info *frame)
{
    struct cairn_frame_line line;
    if (frame->n_lines == 0 || frame->function_start ||
        cairn_profile_frame_line(profile, number, frame->n_lines - 1, &line) < 0)
        return "";
    return line.function;
}

/* By the file that its name came from, for the linker may have put segments at other places than
 * they have in it. Where that was not found, by the one that is at the path now. */
static uint64_t rel_of(const struct printing *p, const struct cairn_frame_info *frame)
{
    uint64_t vaddr;
    return cairn_resolver_frame_vaddr(p->resolver, frame, &vaddr, NULL) > 0
               ? vaddr
               : cairn_heap_rel(p->heap, p->root_or_none, frame);
}

/* Return addresses, a byte behind what is looked up. */
static void add_tracker_frame(const struct printing *p, size_t i, uint32_t number)
{
    struct cairn_frame_info frame = {.size = sizeof frame};
    if (cairn_profile_frame(p->profile, number, &frame) < 0)
        return;
    const char *function = function_of(p->profile, number, &frame);
    cairn_buffer_printf(p->out, "    #%zu: 0x%" PRIx64, i, frame.address + 1);
    if (*frame.module) {
        cairn_buffer_char(p->out, ' ');
        cli_add_base(p->out, frame.module);
        cairn_buffer_printf(p->out, "+0x%" PRIx64, rel_of(p, &frame) + 1);
    }
    if (*function) {
        cairn_buffer_str(p->out, " (");
        add_safe(p->out, function);
        cairn_buffer_char(p->out, ')');
    }
    cairn_buffer_char(p->out, '\n');
}

/* Lies in the call as debuggerd's do: ndk-stack looks up what it reads. */
static void add_ndk_frame(const struct printing *p, size_t i, uint32_t number)
{
    struct cairn_frame_info frame = {.size = sizeof frame};
    uint64_t off;
    if (cairn_profile_frame(p->profile, number, &frame) < 0)
        return;
    const char *function = function_of(p->profile, number, &frame);
    uint64_t pc = *frame.module ? rel_of(p, &frame) : frame.address;
    cairn_buffer_printf(p->out, "      #%02zu pc %016" PRIx64 "  ", i, pc);
    add_safe(p->out, *frame.module ? frame.module : "<unknown>");
    if (*function) {
        cairn_buffer_str(p->out, " (");
        add_safe(p->out, function);
        if (cairn_heap_function_off(p->heap, p->root_or_none, &frame, &off))
            cairn_buffer_printf(p->out, "+%" PRIu64, off);
        cairn_buffer_char(p->out, ')');
    }
    if (*frame.build_id) {
        cairn_buffer_str(p->out, " (BuildId: ");
        add_safe(p->out, frame.build_id);
        cairn_buffer_char(p->out, ')');
    }
    cairn_buffer_char(p->out, '\n');
}

static const char *module_of(const struct cairn_profile *profile, uint32_t frame_number)
{
    struct cairn_frame_info frame = {.size = sizeof frame};
    if (cairn_profile_frame(profile, frame_number, &frame) < 0 || !*frame.module)
        return "unknown";
    return frame.module;
}

static void add_tracker_block(const struct printing *p, size_t number,
                              const struct cairn_heap_block_info *block)
{
    uint32_t frames[FRAMES_MAX];
    size_t n = cairn_profile_stack(p->profile, block->stack, frames, FRAMES_MAX);
    n = n < FRAMES_MAX ? n : FRAMES_MAX;
    cairn_buffer_printf(p->out, "Leak #%zu: ptr=0x%" PRIx64 ", size=%" PRIu64 ", so=", number,
                        block->va, block->size);
    cli_add_base(p->out, n ? module_of(p->profile, frames[0]) : "unknown");
    cairn_buffer_char(p->out, '\n');
    if (block->has_stack) {
        cairn_buffer_printf(p->out, "  Backtrace (%zu frames):\n", n);
        for (size_t i = 0; i < n; i++)
            add_tracker_frame(p, i, frames[i]);
    }
    cairn_buffer_char(p->out, '\n');
}

/* The last part of the path that the command begins with. */
static void add_program(struct cairn_buffer *out, const char *command)
{
    size_t size = strcspn(command, " ");
    const char *slash = memrchr(command, '/', size), *name = slash ? slash + 1 : command;
    cairn_escape_terminal(out, name, (size_t)(command + size - name));
}

static void add_ndk_block(const struct printing *p, const struct cairn_heap_block_info *block)
{
    uint32_t frames[FRAMES_MAX];
    struct cairn_heap_process process = {.size = sizeof process};
    size_t n = cairn_profile_stack(p->profile, block->stack, frames, FRAMES_MAX);
    n = n < FRAMES_MAX ? n : FRAMES_MAX;
    cairn_buffer_str(p->out, "*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***\n");
    if (cairn_heap_process(p->heap, block->process, &process)) {
        cairn_buffer_printf(p->out, "pid: %d, tid: %d, name: ", process.pid, process.pid);
        add_program(p->out, process.command);
        cairn_buffer_str(p->out, "  >>> ");
        add_safe(p->out, process.command);
        cairn_buffer_str(p->out, " <<<\n");
    }
    cairn_buffer_printf(p->out, "live block at 0x%" PRIx64 ", %" PRIu64 " bytes\n\nbacktrace:\n",
                        block->va, block->size);
    for (size_t i = 0; block->has_stack && i < n; i++)
        add_ndk_frame(p, i, frames[i]);
    cairn_buffer_char(p->out, '\n');
}

static struct printing printing_of(struct cairn_buffer *out, struct cairn_heap *heap,
                                   const struct cli_heap_blocks *blocks, int pid)
{
    struct printing p = {
        .out = out, .heap = heap, .resolver = blocks->resolver, .profile = blocks->profile};
    snprintf(p.root, sizeof p.root, "/proc/%d/root", pid);
    return p;
}

void cli_heap_add_tracker(struct cairn_buffer *out, struct cairn_heap *heap,
                          const struct cli_heap_blocks *blocks, int pid)
{
    struct cairn_heap_totals t = {.size = sizeof t};
    struct printing p = printing_of(out, heap, blocks, pid);
    uint64_t bytes = 0;
    p.root_or_none = pid ? p.root : NULL;
    cairn_heap_totals(heap, &t);
    for (size_t i = 0; i < blocks->n; i++)
        bytes += blocks->items[i].size;
    cairn_buffer_printf(out,
                        "=== Memory Leak Report ===\n"
                        "Total Allocations: %" PRIu64 " (%" PRIu64 " bytes)\n"
                        "Total Frees: %" PRIu64 " (%" PRIu64 " bytes)\n"
                        "Current Leaks: %zu (%" PRIu64 " bytes)\n\n",
                        t.n_allocs, t.alloc_bytes, t.n_frees, t.free_bytes, blocks->n, bytes);
    if (blocks->n == 0)
        cairn_buffer_str(out, "No memory leaks detected.\n");
    for (size_t i = 0; i < blocks->n; i++)
        add_tracker_block(&p, i + 1, &blocks->items[i]);
}

void cli_heap_add_ndk(struct cairn_buffer *out, struct cairn_heap *heap,
                      const struct cli_heap_blocks *blocks, int pid)
{
    struct printing p = printing_of(out, heap, blocks, pid);
    p.root_or_none = pid ? p.root : NULL;
    for (size_t i = 0; i < blocks->n; i++)
        add_ndk_block(&p, &blocks->items[i]);
}
