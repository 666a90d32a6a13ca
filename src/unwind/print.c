/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * A stack as text, from where nothing may be called: what a crash handler has to say. All that it
 * needs lies on pages of its own, for a handler's stack may be a few kilobytes.
 */
#include <string.h>

#include <cairn/unwind.h>

#include "base/address.h"
#include "rt/pages.h"
#include "rt/text.h"
#include "unwind/print_symbol.h"

struct print {
    struct cairn_text out;
    struct cairn_unwind_info info;
    uint8_t how[CAIRN_MAX_FRAMES];
    uintptr_t ips[CAIRN_MAX_FRAMES], lookups[CAIRN_MAX_FRAMES];
    struct cairn_print_maps maps;
    struct cairn_print_symbol symbol;
};

static void print_frame(struct print *p, size_t i)
{
    const struct cairn_print_map *map = cairn_print_maps_find(&p->maps, p->lookups[i]);
    cairn_text_put(&p->out, "#");
    cairn_text_put_decimal(&p->out, i, 5);
    cairn_text_put_hex(&p->out, p->ips[i], 2 * sizeof(void *));
    if (!map) {
        cairn_text_put(&p->out, " (in no mapping)\n");
        return;
    }
    const char *path = p->maps.paths + map->path;
    cairn_print_symbol_find(&p->maps, map, p->ips[i], p->lookups[i], &p->symbol);
    if (p->symbol.name[0]) {
        cairn_text_put(&p->out, " ");
        cairn_text_put_name(&p->out, p->symbol.name);
        cairn_text_put(&p->out, "+");
        cairn_text_put_hex(&p->out, p->symbol.off, 1);
    }
    cairn_text_put(&p->out, " (");
    cairn_text_put_name(&p->out, path[0] ? path : "memory without a file");
    if (p->symbol.has_rel) {
        cairn_text_put(&p->out, "+");
        cairn_text_put_hex(&p->out, p->symbol.rel, 1);
    }
    cairn_text_put(&p->out, cairn_frame_is_guess(p->how[i]) ? ") guessed\n" : ")\n");
    cairn_text_flush(&p->out);
}

static void print_stack(struct print *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        /* Nothing has called the frame between a signal's handler and what it interrupted. */
        bool is_signals = i + 1 < n && p->how[i + 1] == CAIRN_HOW_SIGNAL;
        enum cairn_address_kind kind = cairn_frame_is_exact(p->how[i]) || is_signals
                                           ? CAIRN_ADDRESS_EXACT
                                           : CAIRN_ADDRESS_RETURN;
        p->lookups[i] = (uintptr_t)cairn_lookup_address(p->ips[i], kind);
    }
    if (!cairn_print_maps_read(&p->maps, p->lookups, n))
        cairn_text_put(&p->out, "/proc/self/maps cannot be read: addresses alone\n");
    for (size_t i = 0; i < n; i++)
        print_frame(p, i);
    if (p->info.end != CAIRN_END_OUTERMOST) {
        cairn_text_put(&p->out, "the stack ends here: ");
        cairn_text_put(&p->out, cairn_unwind_end_text(p->info.end));
        cairn_text_put(&p->out, "\n");
    }
    cairn_text_flush(&p->out);
}

/* Kept apart, for its frame is large. */
__attribute__((noinline, cold)) static void say_why_not(int fd)
{
    struct cairn_text text;
    text.fd = fd;
    text.failed = false;
    text.n = 0;
    cairn_text_put(&text, "no memory for a stack\n");
    cairn_text_flush(&text);
}

static struct print *open_print(int fd)
{
    struct print *p = cairn_pages_map(sizeof *p);
    if (!p) {
        say_why_not(fd);
        return NULL;
    }
    p->out.fd = fd;
    p->info.size = sizeof p->info;
    p->info.how = p->how;
    return p;
}

static size_t close_print(struct print *p, size_t n)
{
    print_stack(p, n);
    cairn_pages_unmap(p, sizeof *p);
    return n;
}

/* The first frame that is found is this function's. */
CAIRN_API size_t cairn_unwind_print(int fd)
{
    struct print *p = open_print(fd);
    if (!p)
        return 0;
    size_t n = cairn_unwind_here(p->ips, CAIRN_MAX_FRAMES, &p->info);
    if (n > 0) {
        n--;
        memmove(p->ips, p->ips + 1, n * sizeof *p->ips);
        memmove(p->how, p->how + 1, n);
    }
    return close_print(p, n);
}

CAIRN_API size_t cairn_unwind_print_context(int fd, const void *ucontext)
{
    struct print *p = open_print(fd);
    return p ? close_print(p, cairn_unwind_context(ucontext, p->ips, CAIRN_MAX_FRAMES, &p->info))
             : 0;
}
