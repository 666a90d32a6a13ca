/* SPDX-License-Identifier: MIT */
#include "trace/memory.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "bpf/memory.h"
#include "proc/process.h"
#include "trace/memory_file.h"

enum { KERNEL_BIT = 63, KIND_BYTES = sizeof "mem:" - 1 };

static const char expected[] = "mem:[FILE:]SYMBOL[+OFFSET][/BYTES]:w, or :rw or :x";

/* Behind the last colon: cuts it off. */
static int cut_type(const char *event, char *text, uint32_t *ret_type, struct cairn_err *err)
{
    static const struct {
        const char *name;
        uint32_t type;
    } types[] = {{"w", HW_BREAKPOINT_W}, {"rw", HW_BREAKPOINT_RW}, {"x", HW_BREAKPOINT_X}};
    char *colon = strrchr(text, ':');
    for (size_t i = 0; colon && i < sizeof types / sizeof *types; i++)
        if (strcmp(colon + 1, types[i].name) == 0) {
            *colon = '\0';
            *ret_type = types[i].type;
            return CAIRN_OK;
        }
    if (colon && strcmp(colon + 1, "r") == 0)
        return cairn_fail(err, CAIRN_E_ARG,
                          "%s: x86-64 has no breakpoint for reads alone, expected :rw", event);
    return cairn_fail(err, CAIRN_E_ARG, "event \"%.128s\": expected %s", event, expected);
}

/* The first colon that stands alone: C++ names have pairs. */
static char *find_colon(char *text)
{
    for (char *at = strchr(text, ':'); at; at = strchr(at, ':')) {
        if (at[1] != ':')
            return at;
        at += 2;
    }
    return NULL;
}

static int read_number(const char *event, const char *text, uint64_t *ret_value,
                       struct cairn_err *err)
{
    char *end;
    errno = 0;
    *ret_value = strtoull(text, &end, 0);
    if (!isdigit((unsigned char)*text) || *end || errno)
        return cairn_fail(err, CAIRN_E_ARG, "%s: \"%.32s\" is no number", event, text);
    return CAIRN_OK;
}

/* "name/8" or "name+0x10": cuts it off where a digit follows, for operator/ and operator+ are
 * names. */
static int cut_number(const char *event, char *text, char mark, uint64_t *ret_value,
                      struct cairn_err *err)
{
    char *at = strrchr(text, mark);
    *ret_value = 0;
    if (!at || !isdigit((unsigned char)at[1]))
        return CAIRN_OK;
    *at = '\0';
    return read_number(event, at + 1, ret_value, err);
}

static int check(const char *event, const struct cairn_memory_spec *spec, bool has_bytes,
                 struct cairn_err *err)
{
    if (has_bytes && !spec->bytes)
        return cairn_fail(err, CAIRN_E_ARG, "%s: 0 bytes, expected 1, 2, 4 or 8", event);
    if (has_bytes && spec->type == HW_BREAKPOINT_X)
        return cairn_fail(err, CAIRN_E_ARG, "%s: an instruction has no number of bytes", event);
    if (!spec->file && !spec->symbol && spec->address + spec->off < spec->address)
        return cairn_fail(err, CAIRN_E_ARG, "%s: the offset leads beyond all addresses", event);
    return CAIRN_OK;
}

int cairn_memory_parse(const char *event, char *text, struct cairn_memory_spec *ret_spec,
                       struct cairn_err *err)
{
    struct cairn_memory_spec spec = {0};
    int code = cut_type(event, text, &spec.type, err);
    if (code < 0)
        return code;
    char *colon = find_colon(text), *name = colon ? colon + 1 : text;
    if (colon)
        *colon = '\0';
    spec.file = colon ? text : NULL;
    const size_t size = strlen(name);
    code = cut_number(event, name, '/', &spec.bytes, err);
    const bool has_bytes = strlen(name) < size;
    if (code == CAIRN_OK)
        code = cut_number(event, name, '+', &spec.off, err);
    if (code < 0)
        return code;
    if (!*name || (spec.file && !*spec.file))
        return cairn_fail(err, CAIRN_E_ARG, "event \"%.128s\": expected %s", event, expected);
    if (isdigit((unsigned char)*name))
        code = read_number(event, name, &spec.address, err);
    else
        spec.symbol = name;
    if (code == CAIRN_OK)
        code = check(event, &spec, has_bytes, err);
    if (code == CAIRN_OK)
        *ret_spec = spec;
    return code;
}

int cairn_memory_split(const char *event, uint64_t va, uint64_t bytes, uint32_t *ret_n,
                       uint32_t *ret_bytes, struct cairn_err *err)
{
    const uint64_t most = CAIRN_MEMORY_PLACE_BYTES;
    const uint64_t one = bytes < most ? bytes : most;
    if (bytes > most * CAIRN_MEMORY_PLACES_MAX || (bytes & (one - 1)) || (one & (one - 1))) {
        cairn_fail(err, CAIRN_E_ARG,
                   "%s: %" PRIu64 " bytes, but breakpoints cover 1, 2, 4, 8, 16, 24 or 32", event,
                   bytes);
        cairn_hint(err, "name a part by its offset and size, such as +0x10/8 behind the symbol: "
                        "ptype /o in gdb, or pahole, shows the members");
        return CAIRN_E_ARG;
    }
    if (va & (one - 1)) {
        uint64_t fits = one;
        while (va & (fits - 1))
            fits /= 2;
        cairn_fail(err, CAIRN_E_ARG,
                   "%s: %" PRIu64 " bytes at 0x%" PRIx64
                   " are not aligned: the CPU takes no such breakpoint",
                   event, bytes, va);
        cairn_hint(err,
                   "here %" PRIu64 " fit%s: give /%" PRIu64 ", and the rest by events of its "
                   "own",
                   fits, fits == 1 ? "s" : "", fits);
        return CAIRN_E_ARG;
    }
    *ret_n = (uint32_t)(bytes / one);
    *ret_bytes = (uint32_t)one;
    return CAIRN_OK;
}

static void describe(struct cairn_probe *probe, uint32_t type)
{
    static const struct cairn_syscall access = {
        .ret = CAIRN_KIND_HEX,
        .n_args = CAIRN_MEMORY_ARGS,
        .args = {[CAIRN_MEMORY_ADDRESS] = {"address", CAIRN_KIND_POINTER, NULL},
                 [CAIRN_MEMORY_SYMBOL] = {"symbol", CAIRN_KIND_HEX, NULL},
                 [CAIRN_MEMORY_VALUE] = {"value", CAIRN_KIND_LONG, NULL},
                 [CAIRN_MEMORY_PREVIOUS] = {"previous", CAIRN_KIND_LONG, NULL}}};
    const char *name = probe->call.name;
    probe->call = access;
    probe->call.name = name;
    if (type == HW_BREAKPOINT_X)
        probe->call.n_args = CAIRN_MEMORY_SYMBOL + 1;
}

/* One breakpoint. `label`: what the address is called. */
static int add_place(struct cairn_probes *probes, const char *event, const char *label,
                     const struct cairn_trace_memory_at *at, uint64_t rel, bool is_of_library,
                     struct cairn_err *err)
{
    struct cairn_probe *probe = cairn_probes_append(probes, event, "", label, err);
    if (!probe)
        return CAIRN_E_NOMEM;
    describe(probe, at->type);
    probe->at.memory = *at;
    probe->rel = rel;
    probe->is_of_library = is_of_library;
    return CAIRN_OK;
}

/* "counter+0x8", of a plain address what is mapped there. */
static void put_label(struct cairn_buffer *out, const struct cairn_memory_spec *spec,
                      const char *mapping, uint64_t off)
{
    cairn_buffer_clear(out);
    if (!spec->symbol) {
        cairn_buffer_str(out, *mapping ? mapping : "anonymous memory");
        return;
    }
    if (spec->file)
        cairn_buffer_printf(out, "%s:", spec->file);
    cairn_buffer_str(out, spec->symbol);
    if (spec->off + off)
        cairn_buffer_printf(out, "+0x%" PRIx64, spec->off + off);
}

/* The places of one process, or of the command, whose addresses are added later. */
static int add_places(struct cairn_probes *probes, const char *event,
                      const struct cairn_memory_spec *spec, const struct cairn_memory_found *found,
                      struct cairn_err *err)
{
    struct cairn_buffer label = {0};
    uint32_t n = 1;
    struct cairn_trace_memory_at at = {
        .type = spec->type, .pid = found->pid, .stack_start = found->stack_start};
    int code = CAIRN_OK;
    if (spec->type != HW_BREAKPOINT_X)
        code = cairn_memory_split(event, found->va ? found->va : found->rel, found->bytes, &n,
                                  &at.bytes, err);
    for (uint32_t i = 0; i < n && code == CAIRN_OK; i++) {
        const uint64_t off = (uint64_t)i * at.bytes;
        at.va = found->va ? found->va + off : 0;
        put_label(&label, spec, found->mapping, off);
        code = label.failed ? cairn_fail_memory(err)
                            : add_place(probes, event, cairn_buffer_text(&label), &at,
                                        (found->is_of_library ? 0 : found->rel) + off,
                                        found->is_of_library, err);
    }
    cairn_buffer_done(&label);
    return code;
}

static bool is_of_kernel(const struct cairn_memory_spec *spec)
{
    return !spec->file && !spec->symbol && spec->address >> KERNEL_BIT;
}

static int add_of_kernel(struct cairn_probes *probes, const char *event,
                         const struct cairn_memory_spec *spec, struct cairn_err *err)
{
    const struct cairn_memory_found found = {.va = spec->address + spec->off,
                                             .bytes = spec->bytes ? spec->bytes : sizeof(long),
                                             .mapping = "[kernel]"};
    return add_places(probes, event, spec, &found, err);
}

int cairn_memory_add(struct cairn_probes *probes, const char *event, char *text,
                     struct cairn_err *err)
{
    struct cairn_memory_spec spec;
    struct cairn_memory_found found;
    int code = cairn_memory_parse(event, text, &spec, err);
    if (code < 0)
        return code;
    if (is_of_kernel(&spec))
        return add_of_kernel(probes, event, &spec, err);
    if (!probes->n_pids && !probes->command) {
        cairn_fail(err, CAIRN_E_ARG, "%s: an address is one of a process", event);
        cairn_hint(err, "give --pid PID, or -- COMMAND; of all processes addresses of the kernel "
                        "can be watched");
        return CAIRN_E_ARG;
    }
    if (probes->command) {
        code = cairn_memory_find_ahead(probes, event, &spec, &found, err);
        return code < 0 ? code : add_places(probes, event, &spec, &found, err);
    }
    for (size_t i = 0; i < probes->n_pids && code == CAIRN_OK; i++) {
        code = cairn_memory_find(event, probes->pids[i], &spec, &found, err);
        if (code == CAIRN_OK)
            code = add_places(probes, event, &spec, &found, err);
        cairn_memory_found_done(&found);
    }
    return code;
}

/* The library that the loader took may be another file than the one that was found before. */
static int place_in_library(const struct cairn_probe *probe, int pid, uint64_t *ret_va,
                            struct cairn_err *err)
{
    struct cairn_memory_spec spec;
    struct cairn_memory_found found = {0};
    char *text = cairn_strdup(probe->event + KIND_BYTES);
    if (!text)
        return cairn_fail_memory(err);
    int code = cairn_memory_parse(probe->event, text, &spec, err);
    if (code == CAIRN_OK)
        code = cairn_memory_find(probe->event, pid, &spec, &found, err);
    const uint64_t bytes = spec.type == HW_BREAKPOINT_X ? 0 : probe->at.memory.bytes;
    if (code == CAIRN_OK && bytes && (probe->rel + bytes > found.bytes || found.va & (bytes - 1)))
        code = cairn_fail(err, CAIRN_E_ARG, "%s: the library that is mapped is another one",
                          probe->event);
    if (code == CAIRN_OK)
        *ret_va = found.va + probe->rel;
    cairn_memory_found_done(&found);
    cairn_free(text);
    return code;
}

int cairn_memory_place(struct cairn_probe *probe, int pid, struct cairn_err *err)
{
    struct cairn_trace_memory_at *at = &probe->at.memory;
    uint64_t va;
    int code = probe->is_of_library
                   ? place_in_library(probe, pid, &va, err)
                   : cairn_memory_find_late(probe->event, pid, probe->rel, at->type, &va, err);
    if (code < 0)
        return code;
    at->pid = pid;
    at->stack_start = cairn_process_stack_start(pid);
    at->va = va;
    return CAIRN_OK;
}

/* "0x0000002a (42)": as wide as it is. */
static void put_value(struct cairn_buffer *out, uint32_t bytes, uint64_t value)
{
    const uint32_t unused = bytes && bytes < sizeof value ? 64 - 8 * bytes : 0;
    cairn_buffer_printf(out, "0x%0*" PRIx64 " (%" PRId64 ")", (int)(2 * bytes),
                        value << unused >> unused, (int64_t)value);
}

void cairn_memory_put(struct cairn_buffer *out, const struct cairn_probe *probe,
                      const uint64_t *args, int arg)
{
    if (arg < 0 || arg >= CAIRN_MEMORY_ARGS || !(args[CAIRN_MEMORY_KNOWN] >> arg & 1))
        cairn_buffer_char(out, '?');
    else if (arg == CAIRN_MEMORY_SYMBOL)
        cairn_buffer_str(out, probe->name);
    else if (arg == CAIRN_MEMORY_ADDRESS)
        cairn_buffer_printf(out, "0x%" PRIx64, args[arg]);
    else
        put_value(out, probe->at.memory.bytes, args[arg]);
}
