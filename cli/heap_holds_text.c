/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <cairn/symbolizer.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/escape.h"
#include "cli/heap_holds.h"
#include "cli/numbers.h"
#include "cli/term.h"

enum { NAME_BYTES = 1024, SHOWN_MAX = 64, INDENT_MAX = 24 };

void cli_holds_add_name(struct cairn_buffer *out, const char *name)
{
    char symbol[NAME_BYTES], plain[NAME_BYTES];
    size_t size = strcspn(name, "+ ");
    if (size >= sizeof symbol) {
        cairn_escape_terminal(out, name, strlen(name));
        return;
    }
    memcpy(symbol, name, size);
    symbol[size] = 0;
    (void)cairn_symbol_demangle(symbol, plain, sizeof plain);
    cairn_escape_terminal(out, plain, strlen(plain));
    cairn_escape_terminal(out, name + size, strlen(name + size));
}

static void add_thread(struct cairn_buffer *out, const struct cairn_heap_holds_path *p)
{
    if (p->tid)
        cairn_buffer_printf(out, " of thread %d", p->tid);
}

static void add_stack(struct cairn_buffer *out, struct cairn_heap_holds *holds,
                      const struct cairn_heap_holds_path *p)
{
    cairn_buffer_str(out, "the stack");
    add_thread(out, p);
    if (p->stack) {
        cairn_buffer_str(out, ", in ");
        cli_heap_add_place(out, cairn_heap_holds_profile(holds), p->stack);
    }
}

/* Names are texts of the process. */
static void add_root(struct cairn_buffer *out, struct cairn_heap_holds *holds,
                     const struct cairn_heap_holds_path *p)
{
    switch (p->root) {
    case CAIRN_HEAP_ROOT_VARIABLE:
        cairn_buffer_str(out, "variable ");
        cli_holds_add_name(out, p->name);
        break;
    case CAIRN_HEAP_ROOT_THREAD_LOCAL:
        cairn_buffer_str(out, "thread-local data");
        add_thread(out, p);
        cairn_buffer_str(out, *p->name ? ": " : "");
        cli_holds_add_name(out, p->name);
        break;
    case CAIRN_HEAP_ROOT_KEY:
        cairn_buffer_str(out, "pthread key ");
        if (p->number >= 0)
            cairn_buffer_printf(out, "%d", p->number);
        cli_holds_add_name(out, p->name);
        add_thread(out, p);
        break;
    case CAIRN_HEAP_ROOT_STACK:
        add_stack(out, holds, p);
        break;
    case CAIRN_HEAP_ROOT_REGISTER:
        cairn_buffer_str(out, "a register");
        add_thread(out, p);
        break;
    case CAIRN_HEAP_ROOT_SIGNAL_STACK:
        cairn_buffer_str(out, "sigaltstack");
        add_thread(out, p);
        break;
    case CAIRN_HEAP_ROOT_EPOLL:
        cairn_buffer_printf(out, "epoll set of fd %d, for fd %d", p->number, p->fd);
        break;
    case CAIRN_HEAP_ROOT_TIMER:
        cairn_buffer_str(out, "a timer (timer_create)");
        break;
    case CAIRN_HEAP_ROOT_ENDED:
        cairn_buffer_str(out, "a thread that has ended");
        break;
    case CAIRN_HEAP_ROOT_FREE:
        cairn_buffer_printf(out, "memory between blocks, at 0x%" PRIx64, p->va);
        break;
    default:
        cairn_buffer_printf(out, "memory at 0x%" PRIx64, p->va);
        cairn_buffer_str(out, *p->name ? ", " : "");
        cli_holds_add_name(out, p->name);
        break;
    }
}

static void add_type(struct cairn_buffer *out, const char *type)
{
    static const char head[] = "vtable for ";
    char mangled[NAME_BYTES], plain[NAME_BYTES];
    if (!*type)
        return;
    snprintf(mangled, sizeof mangled, "_ZTV%s", type);
    (void)cairn_symbol_demangle(mangled, plain, sizeof plain);
    const char *name = strncmp(plain, head, strlen(head)) == 0 ? plain + strlen(head) : plain;
    cairn_buffer_char(out, ' ');
    cairn_escape_terminal(out, name, strlen(name));
}

static void add_block(struct cairn_buffer *out, struct cairn_heap_holds *holds,
                      const struct cairn_heap_holds_step *s)
{
    cli_add_size(out, s->bytes);
    cairn_buffer_printf(out, " at 0x%" PRIx64, s->va);
    add_type(out, s->type);
    cairn_buffer_str(out, ": ");
    cli_heap_add_place(out, cairn_heap_holds_profile(holds), s->stack);
}

static bool is_alike(const struct cairn_heap_holds_step *a, const struct cairn_heap_holds_step *b)
{
    return a->stack == b->stack && a->from == b->from && a->into == b->into &&
           a->is_doubtful == b->is_doubtful;
}

/* How many blocks from `index` on are of one stack and point to the next one alike: a list. */
static size_t run_of(const struct cairn_heap_holds *holds, size_t path, size_t index)
{
    struct cairn_heap_holds_step first = {.size = sizeof first}, next = {.size = sizeof next};
    size_t n = 1;
    if (!cairn_heap_holds_step(holds, path, index, &first))
        return 0;
    while (cairn_heap_holds_step(holds, path, index + n, &next) && is_alike(&first, &next))
        n++;
    return n;
}

static void add_step(struct cairn_buffer *out, struct cairn_heap_holds *holds, size_t index,
                     const struct cairn_heap_holds_step *s)
{
    cairn_buffer_str(out, "    ");
    if (index)
        cairn_buffer_printf(out, "+%" PRIu64 " ", s->from);
    cairn_buffer_str(out, "-> ");
    if (s->is_doubtful)
        cairn_buffer_str(out, "(doubtful) ");
    if (s->into)
        cairn_buffer_printf(out, "+%" PRIu64 " in ", s->into);
    add_block(out, holds, s);
    cairn_buffer_char(out, '\n');
}

static void add_path(struct cairn_buffer *out, struct cairn_heap_holds *holds, size_t path,
                     const struct cairn_heap_holds_path *p)
{
    enum { LIST = 4 };
    size_t shown = 0;
    add_root(out, holds, p);
    cairn_buffer_char(out, '\n');
    for (size_t i = 0; i < p->n_steps; shown++) {
        struct cairn_heap_holds_step step = {.size = sizeof step};
        size_t run = run_of(holds, path, i);
        (void)cairn_heap_holds_step(holds, path, i, &step);
        if (shown >= SHOWN_MAX && i + 1 < p->n_steps) {
            cairn_buffer_printf(out, "    ... %zu more blocks\n", p->n_steps - 1 - i);
            i = p->n_steps - 1;
            continue;
        }
        if (run >= LIST) { /* the last one is written whole */
            cairn_buffer_printf(out, "    +%" PRIu64 " -> and on through ", step.from);
            cli_add_counted(out, run - 1, "block");
            cairn_buffer_str(out, " of one stack\n");
            i += run - 1;
            (void)cairn_heap_holds_step(holds, path, i, &step);
        }
        add_step(out, holds, i, &step);
        i++;
    }
}

void cli_holds_add(struct cairn_buffer *out, struct cairn_heap_holds *holds)
{
    struct cairn_heap_holds_path path = {.size = sizeof path};
    struct cairn_heap_holds_step block = {.size = sizeof block};
    struct cairn_heap_holds_info info = {.size = sizeof info};
    cairn_heap_holds_info(holds, &info);
    (void)cairn_heap_holds_block(holds, &block);
    cli_add_size(out, block.bytes);
    cairn_buffer_printf(out, " at 0x%" PRIx64, block.va);
    if (block.age_ns != UINT64_MAX) {
        cairn_buffer_str(out, ", ");
        cli_add_duration(out, block.age_ns);
        cairn_buffer_str(out, " old");
    }
    cairn_buffer_char(out, '\n');
    cli_heap_add_stack(out, cairn_heap_holds_profile(holds), block.stack);
    cairn_buffer_char(out, '\n');
    if (!info.n_paths)
        cairn_buffer_str(out, "No pointer to it was found: it may be lost.\n");
    else if (info.is_doubtful)
        cairn_buffer_str(out, "held by doubtful pointers alone:\n");
    else
        cairn_buffer_str(out, "held by\n");
    for (size_t i = 0; cairn_heap_holds_path(holds, i, &path); i++)
        add_path(out, holds, i, &path);
}

static void add_node(struct cairn_buffer *out, struct cairn_heap_holds *holds, uint64_t all,
                     const struct cairn_heap_holds_node *node, unsigned depth)
{
    struct cairn_buffer size = {0};
    cli_add_size(&size, node->retained_bytes);
    cairn_buffer_printf(out, "%10s %5.1f %% ", cairn_buffer_text(&size),
                        all ? 100.0 * (double)node->retained_bytes / (double)all : 0.0);
    cairn_buffer_done(&size);
    cairn_buffer_printf(out, "%*s", (int)(depth < INDENT_MAX ? depth : INDENT_MAX) * 2, "");
    if (node->root)
        cli_holds_add_name(out, node->root);
    else
        cli_heap_add_place(out, cairn_heap_holds_profile(holds), node->stack);
    cairn_buffer_str(out, "  [");
    cli_add_counted(out, node->retained_blocks, "block");
    if (node->blocks && node->blocks != node->retained_blocks) {
        cairn_buffer_str(out, ", itself ");
        cli_add_size(out, node->bytes);
    }
    cairn_buffer_str(out, "]\n");
}

int cli_holds_add_tree(struct cairn_buffer *out, struct cairn_heap_holds *holds, uint64_t n_shown,
                       struct cairn_err *err)
{
    struct cairn_heap_holds_info info = {.size = sizeof info};
    size_t *order = NULL, n = 0;
    unsigned *depths = NULL;
    cairn_heap_holds_info(holds, &info);
    int code = cli_holds_order(holds, n_shown, &order, &depths, &n, err);
    for (size_t i = 0; code == CAIRN_OK && i < n; i++) {
        struct cairn_heap_holds_node node = {.size = sizeof node};
        (void)cairn_heap_holds_node(holds, order[i], &node);
        add_node(out, holds, info.retained_bytes, &node, depths[i]);
    }
    if (code == CAIRN_OK) {
        cli_add_size(out, info.retained_bytes);
        cairn_buffer_str(out, " in ");
        cli_add_counted(out, info.retained_blocks, "block");
        cairn_buffer_str(out, " held");
        if (n < info.n_nodes)
            cairn_buffer_printf(out, "; %zu of %zu rows: --top 0 prints all", n, info.n_nodes);
        cairn_buffer_char(out, '\n');
    }
    cairn_free(order);
    cairn_free(depths);
    return code;
}

void cli_holds_say(struct cairn_heap_holds *holds, bool is_core)
{
    struct cairn_heap_holds_info info = {.size = sizeof info};
    struct cairn_buffer out = {0};
    cairn_heap_holds_info(holds, &info);
    cli_add_size(&out, info.bytes);
    cairn_buffer_str(&out, " in ");
    cli_add_counted(&out, info.n_blocks, "block");
    cairn_buffer_str(&out, ", ");
    cli_add_counted(&out, info.n_pointers, "pointer");
    cairn_buffer_str(&out, "; read ");
    cli_add_size(&out, info.read_bytes);
    cairn_buffer_printf(&out, " in %.1f s", (double)info.duration_ns / 1e9);
    if (info.stopped_ns)
        cairn_buffer_printf(&out, "; the process was stopped for %.0f ms",
                            (double)info.stopped_ns / 1e6);
    else if (!is_core)
        cairn_buffer_str(&out, "; the process ran on");
    cli_say("%s", cairn_buffer_text(&out));
    if (!info.is_confirmed)
        cli_say("pointers moved in each of %u looks, so a path may be out of date: --consistent "
                "stops the process for one",
                info.n_tries);
    cairn_buffer_done(&out);
}
