/* SPDX-License-Identifier: MIT */
#include "trace/alias.h"

#include <elf.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cairn/maps.h>

#include "base/error.h"
#include "base/file.h"
#include "elf/image.h"
#include "rt/program.h"
#include "trace/calls.h"

enum { EVENTS_MAX = 2, EVENT_BYTES = 1600, LIBC_BYTES = 256 };

static const char signal_name[] = "signal", malloc_name[] = "malloc", fault_name[] = "page-fault";
static const char software_fault[] = "software:page-faults";

static const struct {
    const char *name, *shown;
    const char *events[EVENTS_MAX];
} aliases[] = {
    {"exec", "exec", {"tracepoint:sched:sched_process_exec"}},
    {"fork", "fork", {"tracepoint:sched:sched_process_fork"}},
    {"exit", "exit", {"tracepoint:sched:sched_process_exit"}},
    {signal_name,
     "signal:NAME",
     {"tracepoint:signal:signal_generate", "tracepoint:signal:signal_deliver"}},
    {fault_name,
     "page-fault",
     {"tracepoint:exceptions:page_fault_user", "tracepoint:exceptions:page_fault_kernel"}},
    {"mmap", "mmap", {"syscall:mmap"}},
    {"brk", "brk", {"syscall:brk"}},
    {malloc_name, "malloc", {NULL}},
};
enum { ALIASES = sizeof aliases / sizeof *aliases };

/* Signals have a name behind a colon, and nothing else does. */
static size_t find(const char *text)
{
    const size_t size = strcspn(text, ":[");
    size_t i = 0;
    while (i < ALIASES &&
           (strlen(aliases[i].name) != size || memcmp(aliases[i].name, text, size) != 0 ||
            (text[size] == ':') != (aliases[i].name == signal_name)))
        i++;
    return i;
}

bool cairn_alias_is(const char *text)
{
    return find(text) < ALIASES;
}

const char *cairn_alias_name(size_t index)
{
    return index < ALIASES ? aliases[index].shown : NULL;
}

int cairn_alias_signal(const char *name)
{
    char *end, full[32];
    const long number = strtol(name, &end, 10);
    if (*name && !*end)
        return number > 0 && number < NSIG ? (int)number : -1;
    snprintf(full, sizeof full, "%s%s", strncmp(name, "SIG", 3) == 0 ? "" : "SIG", name);
    return cairn_signal_of(full, strlen(full));
}

/* A plain name, as the target's mappings have it. */
static bool is_libc(const char *path, const char **ret_name)
{
    static const char *const names[] = {"libc.so", "libc-2.", "libc.musl-", "ld-musl-"};
    const char *slash = strrchr(path, '/');
    *ret_name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(*ret_name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* The library that has the process's malloc, else, of a static program, its file. */
static bool libc_of_pid(int pid, char ret_file[LIBC_BYTES])
{
    struct cairn_maps *maps;
    const char *name;
    if (cairn_maps_read_pid(pid, &maps, NULL) < 0)
        return false;
    const char *program = NULL;
    ret_file[0] = '\0';
    for (size_t i = 0; i < cairn_maps_count(maps) && !ret_file[0]; i++) {
        const struct cairn_map *map = cairn_maps_get(maps, i);
        if (!(map->flags & CAIRN_MAP_FILE) || !(map->flags & CAIRN_MAP_EXEC))
            continue;
        if (is_libc(map->path, &name))
            snprintf(ret_file, LIBC_BYTES, "%s", name);
        program = program ? program : map->path;
    }
    if (!ret_file[0] && program)
        snprintf(ret_file, LIBC_BYTES, "%s", program);
    cairn_maps_free(maps);
    return ret_file[0] != '\0';
}

/* The program's loader, "" of a static program; false: it is no ELF file. */
static bool read_interpreter(const char *path, char ret_name[LIBC_BYTES])
{
    struct cairn_file file;
    struct cairn_elf elf;
    struct cairn_elf_segment segment;
    struct cairn_span text;
    ret_name[0] = '\0';
    if (cairn_file_open(path, &file, NULL) < 0)
        return false;
    const bool is_elf = cairn_elf_open(file.bytes, &elf, NULL) == CAIRN_OK;
    for (uint32_t i = 0; is_elf && cairn_elf_segment(&elf, i, &segment); i++)
        if (segment.type == PT_INTERP &&
            cairn_span_slice(file.bytes, segment.off, segment.file_size, &text))
            snprintf(ret_name, LIBC_BYTES, "%.*s",
                     (int)(text.size < LIBC_BYTES ? text.size : LIBC_BYTES - 1),
                     (const char *)text.data);
    cairn_file_close(&file);
    return is_elf;
}

static void libc_of_command(const char *command, char ret_file[LIBC_BYTES])
{
    char found[PATH_MAX], loader[LIBC_BYTES];
    const char *program = cairn_program_find_mapped(command, getenv("PATH"), found, sizeof found);
    snprintf(ret_file, LIBC_BYTES, "libc.so.6");
    if (!program || !read_interpreter(program, loader))
        return;
    if (!loader[0])
        snprintf(ret_file, LIBC_BYTES, "%s", program);
    else if (strstr(loader, "musl"))
        snprintf(ret_file, LIBC_BYTES, "%s", loader);
}

static void malloc_event(const struct cairn_probes *probes, char ret_event[EVENT_BYTES])
{
    char file[LIBC_BYTES] = "libc.so.6";
    if (probes->command)
        libc_of_command(probes->command, file);
    else if (probes->n_pids)
        (void)libc_of_pid(probes->pids[0], file);
    snprintf(ret_event, EVENT_BYTES, "uprobe:%s:malloc", file);
}

static int count_point(void *ctx, const char *group, const char *name)
{
    (void)group, (void)name;
    ++*(size_t *)ctx;
    return 0;
}

/* Not every CPU and kernel has them, and tracefs may not be there. */
static bool has_faults(void)
{
    size_t n = 0;
    (void)cairn_probe_list_points("exceptions", "page_fault_user", count_point, &n);
    return n > 0;
}

struct expanding {
    const char *filter;
    cairn_alias_fn fn;
    void *ctx;
    size_t n_taken;
    struct cairn_err refusal;
    struct cairn_err *err;
};

/* `condition` is joined to the filter. */
static int pass(struct expanding *to, const char *event, const char *condition)
{
    char text[EVENT_BYTES + 1200];
    const char *join = *condition && *to->filter ? " && (" : "";
    if (*condition || *to->filter)
        snprintf(text, sizeof text, "%s[%s%s%s%s]", event, condition, join, to->filter,
                 *join ? ")" : "");
    else
        snprintf(text, sizeof text, "%s", event);
    struct cairn_err refusal = {0};
    int code = to->fn(to->ctx, text, &refusal);
    to->n_taken += code == CAIRN_OK;
    if (code < 0)
        to->refusal = refusal;
    if (code < 0 && code != CAIRN_E_ARG && to->err)
        *to->err = refusal;
    return code == CAIRN_E_ARG ? CAIRN_OK : code;
}

static int condition_of(const char *name, char *ret_condition, size_t size, struct cairn_err *err)
{
    *ret_condition = '\0';
    if (strcmp(name, "*") == 0)
        return CAIRN_OK;
    const int number = cairn_alias_signal(name);
    if (number < 0) {
        cairn_fail(err, CAIRN_E_ARG, "signal:%.32s: there is no such signal", name);
        cairn_hint(err, "kill -l lists them; signal:'*' is all");
        return CAIRN_E_ARG;
    }
    snprintf(ret_condition, size, "sig == %d", number);
    return CAIRN_OK;
}

int cairn_alias_each(const struct cairn_probes *probes, const char *text, size_t size,
                     const char *filter, cairn_alias_fn fn, void *ctx, struct cairn_err *err)
{
    const size_t i = find(text);
    struct expanding to = {.filter = filter, .fn = fn, .ctx = ctx, .err = err};
    char made[EVENT_BYTES], condition[64] = "", name[32];
    int code = CAIRN_OK;
    const char *const *events = aliases[i].events;
    if (aliases[i].name == signal_name) {
        const size_t skip = sizeof signal_name;
        snprintf(name, sizeof name, "%.*s", (int)(size - skip < 31 ? size - skip : 31),
                 text + skip);
        code = condition_of(name, condition, sizeof condition, err);
    }
    if (code < 0)
        return code;
    if (aliases[i].name == malloc_name) {
        malloc_event(probes, made);
        code = pass(&to, made, condition);
    } else if (aliases[i].name == fault_name && !has_faults()) {
        code = pass(&to, software_fault, condition);
    } else {
        for (size_t k = 0; k < EVENTS_MAX && events[k] && code == CAIRN_OK; k++)
            code = pass(&to, events[k], condition);
    }
    if (code == CAIRN_OK && !to.n_taken) {
        if (err)
            *err = to.refusal;
        code = CAIRN_E_ARG;
    }
    return code;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), n = strlen(end);
    return size >= n && strcmp(text + size - n, end) == 0;
}

void cairn_alias_describe(const char *event, struct cairn_syscall *call)
{
    const bool is_signal = strncmp(event, "tracepoint:signal:", 18) == 0;
    const bool is_fault = strncmp(event, "tracepoint:exceptions:page_fault", 32) == 0;
    if (strncmp(event, "uprobe:", 7) == 0 && ends_with(event, ":malloc")) {
        call->n_args = 1;
        call->args[0] = (struct cairn_call_arg){.name = "size", .kind = CAIRN_KIND_SIZE};
    }
    for (int i = 0; i < call->n_args; i++) {
        struct cairn_call_arg *arg = &call->args[i];
        if (is_signal && strcmp(arg->name, "sig") == 0)
            arg->kind = CAIRN_KIND_SIGNAL;
        if (is_signal && strncmp(arg->name, "sa_", 3) == 0)
            arg->kind = CAIRN_KIND_HEX; /* the kernel prints %lx without a 0x */
        if (is_fault && strcmp(arg->name, "error_code") == 0)
            *arg = (struct cairn_call_arg){
                .name = "error_code", .kind = CAIRN_KIND_FLAGS, .names = "fault"};
    }
}
