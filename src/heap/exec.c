/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/exec.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "heap/file.h"
#include "heap/settings.h"
#include "heap/untracked.h"
#include "rt/seal.h"
#include "rt/sys.h"

#define PRELOAD "LD_PRELOAD"
#define DIR     "CAIRN_HEAP_DIR"
#define OURS    "CAIRN_HEAP_"
#define HIDE    "CAIRN_HEAP_HIDE=1"

extern char **environ;

enum {
    SETTINGS = 10,
    KEPT_BYTES = 8192,
    LIST_MAX = 1 << 15, /* pointers on a stack */
    TEXT_MAX = 1 << 16
};

/* What is handed on; written once, before main(). */
static struct {
    bool follows;        /* also where the environment was made anew */
    bool notes;          /* what is not tracked counts */
    const char *library; /* our file as LD_PRELOAD named it; NULL: we are not preloaded */
    const char *dir;
    const char *settings[SETTINGS + 1]; /* "CAIRN_HEAP_DIR=..."; ends with NULL */
    unsigned n;
    char text[KEPT_BYTES];
    size_t used;
} kept;

static bool is_us(const char *library, size_t size)
{
    static const char ours[] = "libcairn-heap.so";
    for (size_t i = 0; i + sizeof(ours) - 1 <= size; i++)
        if (memcmp(library + i, ours, sizeof(ours) - 1) == 0)
            return true;
    return false;
}

/* Our entry of a list; NULL: it has none. */
static const char *find_us(const char *list, size_t *ret_size)
{
    while (list && *list) {
        size_t n = cairn_program_entry(list);
        if (is_us(list, n)) {
            *ret_size = n;
            return list;
        }
        list += n + (list[n] != 0);
    }
    return NULL;
}

size_t cairn_heap_exec_take_out(char *list)
{
    size_t used = 0;
    for (char *from = list; *from;) {
        size_t n = cairn_program_entry(from), all = n + (from[n] != 0);
        if (!is_us(from, n)) {
            memmove(list + used, from, all);
            used += all;
        }
        from += all;
    }
    if (used > 0 && (list[used - 1] == ':' || list[used - 1] == ' '))
        used--;
    list[used] = 0;
    return used;
}

/* Is `line` "NAME=..."? */
static bool is_of(const char *line, const char *name)
{
    size_t n = strlen(name);
    return strnlen(line, n + 1) > n && memcmp(line, name, n) == 0 && line[n] == '=';
}

static bool is_ours(const char *line)
{
    return strnlen(line, sizeof(OURS)) >= sizeof(OURS) - 1 &&
           memcmp(line, OURS, sizeof(OURS) - 1) == 0;
}

static const char *value_of(char *const *env, const char *name)
{
    return cairn_heap_settings_find((const char *const *)env, name);
}

static const char *keep(const char *text, size_t size)
{
    if (size >= KEPT_BYTES - kept.used)
        return NULL;
    char *to = kept.text + kept.used;
    memcpy(to, text, size);
    to[size] = 0;
    kept.used += size + 1;
    return to;
}

/* Takes out what stands there for us alone. */
static void hide(char **env)
{
    char **to = env;
    for (char **from = env; *from; from++) {
        char *line = *from;
        bool stays = !is_ours(line);
        if (is_of(line, PRELOAD))
            stays = cairn_heap_exec_take_out(line + sizeof(PRELOAD)) > 0;
        if (stays)
            *to++ = line;
    }
    *to = NULL;
}

void cairn_heap_exec_begin(char **env)
{
    const char *follow = value_of(env, "CAIRN_HEAP_FOLLOW");
    size_t size = 0;
    uint64_t number = 1;
    if (follow && !cairn_heap_settings_number(follow, &number))
        number = 1;
    kept.notes = number > 0;
    kept.follows = number > 1;
    const char *us = find_us(value_of(env, PRELOAD), &size);
    kept.library = us ? keep(us, size) : NULL;
    bool is_hidden = false;
    for (char *const *line = env; line && *line; line++) {
        if (is_ours(*line) && is_of(*line, "CAIRN_HEAP_HIDE"))
            is_hidden = true;
        else if (is_ours(*line) && kept.n < SETTINGS)
            kept.n += (kept.settings[kept.n] = keep(*line, strlen(*line))) != NULL;
    }
    kept.dir = value_of((char *const *)kept.settings, DIR);
    if (is_hidden)
        hide(env);
}

/* The parent of a child that sealed itself asks the kernel once. */
bool cairn_heap_exec_may_ask(void)
{
    if (cairn_seal_forbids_files())
        return false;
    if (cairn_seal_of_child && cairn_seal_of_child != (uint32_t)getpid())
        cairn_seal_of_child = 0;
    return cairn_seal_of_child == 0;
}

/* Can the program, which has our rights at the most, open the library and make a state? */
static bool is_reachable(void)
{
    int fd = kept.library ? cairn_sys_open(kept.library, O_RDONLY, 0) : -1;
    if (fd >= 0)
        cairn_sys_close(fd);
    if (fd < 0)
        return !kept.library || kept.library[0] != '/';
    return !kept.dir || cairn_heap_file_may_make(kept.dir);
}

/* On the stack of the caller, which may be a thread's or a handler's: no more than is needed. */
static void measure(struct cairn_heap_exec *plan)
{
    size_t n = 0, us = kept.library ? strlen(kept.library) : 0;
    while (plan->env && plan->env[n])
        n++;
    plan->n = n + kept.n + 3; /* with HIDE, LD_PRELOAD and NULL */
    plan->bytes = sizeof(PRELOAD "=:") + us + (plan->preload ? strlen(plan->preload) : 0);
    if (plan->n > LIST_MAX || plan->bytes > TEXT_MAX)
        plan->change = CAIRN_HEAP_EXEC_NONE;
}

void cairn_heap_exec_plan(struct cairn_heap_exec *ret_plan, const char *path, char *const *env)
{
    size_t size;
    char interpreter[CAIRN_PROGRAM_INTERPRETER] = "";
    *ret_plan = (struct cairn_heap_exec){.env = env};
    if (!cairn_heap_exec_may_ask())
        return;
    struct cairn_heap_exec plan = {.env = env, .preload = value_of(env, PRELOAD)};
    enum cairn_program_kind kind =
        path ? cairn_program_judge(path, interpreter) : CAIRN_PROGRAM_UNKNOWN;
    if (kind == CAIRN_PROGRAM_SERVED && cairn_program_lists_sanitizer(plan.preload))
        kind = CAIRN_PROGRAM_SANITIZER;
    bool has_us = find_us(plan.preload, &size) != NULL;
    if (kind == CAIRN_PROGRAM_SERVED && (has_us || kept.follows) && !is_reachable())
        kind = CAIRN_PROGRAM_UNREACHABLE;
    bool is_complete = has_us && (!kept.dir || value_of(env, DIR));
    if (cairn_program_refuses(kind) && has_us)
        plan.change = CAIRN_HEAP_EXEC_OUT;
    else if (kind == CAIRN_PROGRAM_SERVED && kept.follows && kept.library && !is_complete)
        plan.change = CAIRN_HEAP_EXEC_IN;
    if (kept.notes && kind != CAIRN_PROGRAM_SERVED && kind != CAIRN_PROGRAM_UNKNOWN)
        plan.row = cairn_heap_untracked_note(kind, *interpreter ? interpreter : path);
    if (plan.change)
        measure(&plan);
    *ret_plan = plan;
}

static char *put(char *to, const char *text)
{
    size_t size = strlen(text);
    memcpy(to, text, size + 1);
    return to + size;
}

/* LD_PRELOAD with us in front of what it had. */
static void add_us(char *to, const char *list)
{
    size_t size;
    to = put(put(to, PRELOAD "="), find_us(list, &size) ? "" : kept.library);
    if (list && *list)
        put(put(to, to[-1] == '=' ? "" : ":"), list);
}

char *const *cairn_heap_exec_env(const struct cairn_heap_exec *plan, char **list, char *text)
{
    bool adds = plan->change == CAIRN_HEAP_EXEC_IN;
    size_t n = 0;
    if (plan->change == CAIRN_HEAP_EXEC_NONE)
        return plan->env;
    for (char *const *line = plan->env; line && *line; line++)
        if (!is_of(*line, PRELOAD) && !(adds && is_ours(*line)))
            list[n++] = *line;
    if (adds) {
        add_us(text, plan->preload);
        for (unsigned i = 0; i < kept.n; i++)
            list[n++] = (char *)(size_t)kept.settings[i];
        list[n++] = (char *)(size_t)HIDE;
        list[n++] = text;
    } else {
        char *copy = put(text, PRELOAD "=");
        put(copy, plan->preload);
        if (cairn_heap_exec_take_out(copy) > 0)
            list[n++] = text;
    }
    list[n] = NULL;
    return list;
}

void cairn_heap_exec_undo(const struct cairn_heap_exec *plan)
{
    cairn_heap_untracked_undo(plan->row);
}

const char *cairn_heap_exec_find(const char *name, char path[CAIRN_HEAP_EXEC_PATH])
{
    if (!cairn_heap_exec_may_ask())
        return NULL;
    return cairn_program_find(name, value_of(environ, "PATH"), path, CAIRN_HEAP_EXEC_PATH);
}
