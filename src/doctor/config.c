/* SPDX-License-Identifier: MIT */
#include "doctor/config.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/zip.h"

enum { FILE_BYTES_MAX = 4 << 20 };

static const struct {
    const char *name, *use;
} option_rows[CAIRN_N_OPTIONS] = {
    [CAIRN_OPTION_PERF_EVENTS] = {"CONFIG_PERF_EVENTS", "sampling by perf_event"},
    [CAIRN_OPTION_STACKTRACE] = {"CONFIG_STACKTRACE", "kernel stacks of sleeping threads"},
    [CAIRN_OPTION_USER_STACKTRACE] = {"CONFIG_USER_STACKTRACE_SUPPORT",
                                      "user stacks walked by the kernel"},
    [CAIRN_OPTION_KALLSYMS] = {"CONFIG_KALLSYMS", "names of kernel functions"},
    [CAIRN_OPTION_BPF_SYSCALL] = {"CONFIG_BPF_SYSCALL", "BPF programs"},
    [CAIRN_OPTION_BPF_EVENTS] = {"CONFIG_BPF_EVENTS", "BPF programs at samples and tracepoints"},
    [CAIRN_OPTION_BTF] = {"CONFIG_DEBUG_INFO_BTF", "BPF programs that fit any kernel"},
    [CAIRN_OPTION_UPROBES] = {"CONFIG_UPROBES", "probes in programs"},
    [CAIRN_OPTION_UPROBE_EVENTS] = {"CONFIG_UPROBE_EVENTS", "probes in programs, by perf_event"},
    [CAIRN_OPTION_KPROBES] = {"CONFIG_KPROBES", "probes in the kernel"},
    [CAIRN_OPTION_FTRACE_SYSCALLS] = {"CONFIG_FTRACE_SYSCALLS", "tracepoints of system calls"},
    [CAIRN_OPTION_CROSS_MEMORY] = {"CONFIG_CROSS_MEMORY_ATTACH", "process_vm_readv"},
    [CAIRN_OPTION_CHECKPOINT] = {"CONFIG_CHECKPOINT_RESTORE", "files that were deleted but run"},
};

const char *cairn_doctor_option_name(enum cairn_doctor_option option)
{
    return option_rows[option].name;
}

const char *cairn_doctor_option_use(enum cairn_doctor_option option)
{
    return option_rows[option].use;
}

static void take_line(const char *line, size_t size, char values[CAIRN_N_OPTIONS])
{
    for (int i = 0; i < CAIRN_N_OPTIONS; i++) {
        size_t n = strlen(option_rows[i].name);
        if (size == n + 2 && memcmp(line, option_rows[i].name, n) == 0 && line[n] == '=' &&
            (line[n + 1] == 'y' || line[n + 1] == 'm'))
            values[i] = line[n + 1];
    }
}

void cairn_doctor_config_parse(struct cairn_span text, char ret_values[CAIRN_N_OPTIONS])
{
    const char *at = (const char *)text.data, *end = at + text.size;
    memset(ret_values, 'n', CAIRN_N_OPTIONS);
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t size = stop ? (size_t)(stop - at) : (size_t)(end - at);
        size_t line = size && at[size - 1] == '\r' ? size - 1 : size;
        take_line(at, line, ret_values);
        at += size + (stop != NULL);
    }
}

static bool take_file(const char *root, const char *path, struct cairn_doctor_config *config)
{
    struct cairn_buffer where = {0}, bytes = {0}, plain = {0};
    cairn_buffer_printf(&where, "%s%s", root, path);
    bool ok = !where.failed &&
              cairn_file_slurp(cairn_buffer_text(&where), FILE_BYTES_MAX, &bytes, NULL) == CAIRN_OK;
    struct cairn_span text = cairn_buffer_span(&bytes);
    if (ok && cairn_zip_is_gzip(text)) {
        ok = cairn_zip_gunzip(text, FILE_BYTES_MAX, &plain, NULL) == CAIRN_OK;
        text = cairn_buffer_span(&plain);
    }
    ok = ok && text.size && memmem(text.data, text.size, "CONFIG_", 7);
    if (ok) {
        cairn_doctor_config_parse(text, config->values);
        snprintf(config->path, sizeof config->path, "%s", path);
    }
    cairn_buffer_done(&where);
    cairn_buffer_done(&bytes);
    cairn_buffer_done(&plain);
    return ok;
}

void cairn_doctor_config_read(const char *root, const char *release,
                              struct cairn_doctor_config *ret_config)
{
    static const char *const forms[] = {"/boot/config-%s", "/lib/modules/%s/config",
                                        "/lib/modules/%s/build/.config"};
    char path[CAIRN_CONFIG_PATH];
    *ret_config = (struct cairn_doctor_config){0};
    memset(ret_config->values, '?', sizeof ret_config->values);
    if (take_file(root, "/proc/config.gz", ret_config) || !*release || strchr(release, '/'))
        return;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *hole = strstr(forms[i], "%s");
        snprintf(path, sizeof path, "%.*s%s%s", (int)(hole - forms[i]), forms[i], release,
                 hole + 2);
        if (take_file(root, path, ret_config))
            return;
    }
}
