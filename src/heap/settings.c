/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/settings.h"

#include <string.h>
#include <sys/auxv.h>

#include "rt/heap_state.h"
#include "rt/pages.h"
#include "rt/sys.h"

enum {
    ENVIRONMENT_BYTES = 1 << 20,
    MAX_VARIABLES = 1 << 14,
    SHARE_OF_RAM = 10,
    LEAST_BYTES = 16 << 16
};

extern char **environ;

/* What follows NAME= in `text`; NULL: it begins otherwise. */
static const char *value_in(const char *text, const char *name)
{
    while (*name && *text == *name) {
        text++;
        name++;
    }
    return *name == 0 && *text == '=' ? text + 1 : NULL;
}

const char *cairn_heap_settings_find(const char *const *list, const char *name)
{
    for (; list && *list; list++) {
        const char *value = value_in(*list, name);
        if (value && *value)
            return value;
    }
    return NULL;
}

bool cairn_heap_settings_number(const char *text, uint64_t *ret)
{
    uint64_t value = 0;
    size_t n = 0;
    for (; text[n] >= '0' && text[n] <= '9' && n < 19; n++)
        value = value * 10 + (uint64_t)(text[n] - '0');
    if (n == 0 || text[n])
        return false;
    *ret = value;
    return true;
}

/* Before libc has set environ, as the kernel has it. */
struct early {
    const char *list[MAX_VARIABLES + 1];
    char text[ENVIRONMENT_BYTES];
};

static const char *const *read_early(struct early *early)
{
    long n = cairn_sys_read_file("/proc/self/environ", early->text, sizeof(early->text));
    uint32_t n_list = 0;
    for (long i = 0; i < n && n_list < MAX_VARIABLES; i += (long)strlen(early->text + i) + 1)
        early->list[n_list++] = early->text + i;
    early->list[n_list] = NULL;
    return early->list;
}

/* `folder``name`, made if it is not there. */
static bool make_dir(char *ret, const char *folder, const char *name, bool with_uid)
{
    char digits[12];
    size_t at = 0, first = sizeof(digits) - 1;
    digits[first] = 0;
    for (uint32_t uid = cairn_sys_uid(); with_uid; uid /= 10) {
        digits[--first] = (char)('0' + uid % 10);
        if (uid < 10)
            break;
    }
    const char *parts[] = {folder, name, with_uid ? "-" : "", digits + first};
    for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size_t n = strlen(parts[i]);
        if (n >= CAIRN_HEAP_PATH - at)
            return false;
        memcpy(ret + at, parts[i], n + 1);
        at += n;
    }
    cairn_sys_mkdir(ret, 0700);
    return cairn_heap_file_may_make(ret);
}

static bool choose_dir(char *ret, const char *const *list)
{
    const char *given = cairn_heap_settings_find(list, "CAIRN_HEAP_DIR");
    if (given) {
        size_t n = strlen(given);
        if (n < CAIRN_HEAP_PATH)
            memcpy(ret, given, n + 1);
        return n < CAIRN_HEAP_PATH;
    }
    const char *runtime = cairn_heap_settings_find(list, "XDG_RUNTIME_DIR");
    const char *temporary = cairn_heap_settings_find(list, "TMPDIR");
    return (runtime && make_dir(ret, runtime, "/" CAIRN_HEAP_FOLDER, false)) ||
           make_dir(ret, "/dev/shm", "/" CAIRN_HEAP_FOLDER, true) ||
           make_dir(ret, temporary ? temporary : "/tmp", "/" CAIRN_HEAP_FOLDER, true);
}

static uint64_t number_or(const char *const *list, const char *name, uint64_t otherwise)
{
    const char *text = cairn_heap_settings_find(list, name);
    uint64_t value;
    return text && cairn_heap_settings_number(text, &value) ? value : otherwise;
}

bool cairn_heap_settings_of(struct cairn_heap_settings *settings, const char *const *list)
{
    uint64_t depth = number_or(list, "CAIRN_HEAP_DEPTH", CAIRN_HEAP_FRAMES);
    settings->depth = (uint32_t)(depth < 1                   ? 1
                                 : depth > CAIRN_HEAP_FRAMES ? (uint64_t)CAIRN_HEAP_FRAMES
                                                             : depth);
    settings->no_stacks = number_or(list, "CAIRN_HEAP_STACKS", 1) == 0;
    settings->sample_bytes = number_or(list, "CAIRN_HEAP_SAMPLE", 0);
    settings->mappings = number_or(list, "CAIRN_HEAP_MMAP", 0) != 0;
    settings->fork_copy = number_or(list, "CAIRN_HEAP_FORK_COPY", 0) != 0;
    settings->max_bytes =
        number_or(list, "CAIRN_HEAP_MAX_MEMORY", cairn_sys_ram_bytes() / SHARE_OF_RAM);
    if (settings->max_bytes < LEAST_BYTES)
        settings->max_bytes = LEAST_BYTES;
    settings->own_dir = !cairn_heap_settings_find(list, "CAIRN_HEAP_DIR");
    return choose_dir(settings->dir, list);
}

bool cairn_heap_settings_read(struct cairn_heap_settings *ret)
{
    if (getauxval(AT_SECURE))
        return false;
    if (environ)
        return cairn_heap_settings_of(ret, (const char *const *)environ);
    struct early *early = cairn_pages_map(sizeof(*early));
    bool done = early && cairn_heap_settings_of(ret, read_early(early));
    cairn_pages_unmap(early, sizeof(*early));
    return done;
}
