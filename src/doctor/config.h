/* SPDX-License-Identifier: MIT */
/* Config: what the kernel was built with, by the file that its builder left: lines of
 * "CONFIG_BPF=y" and "# CONFIG_KPROBES is not set" (Documentation/kbuild/kconfig.rst). */
#ifndef CAIRN_DOCTOR_CONFIG_H
#define CAIRN_DOCTOR_CONFIG_H

#include "base/span.h"

/* In the order of option_rows. */
enum cairn_doctor_option {
    CAIRN_OPTION_PERF_EVENTS,
    CAIRN_OPTION_STACKTRACE,
    CAIRN_OPTION_USER_STACKTRACE,
    CAIRN_OPTION_KALLSYMS,
    CAIRN_OPTION_BPF_SYSCALL,
    CAIRN_OPTION_BPF_EVENTS,
    CAIRN_OPTION_BTF,
    CAIRN_OPTION_UPROBES,
    CAIRN_OPTION_UPROBE_EVENTS,
    CAIRN_OPTION_KPROBES,
    CAIRN_OPTION_FTRACE_SYSCALLS,
    CAIRN_OPTION_CROSS_MEMORY,
    CAIRN_OPTION_CHECKPOINT,
    CAIRN_N_OPTIONS
};

enum { CAIRN_CONFIG_PATH = 256 };

struct cairn_doctor_config {
    char path[CAIRN_CONFIG_PATH]; /* where it was found; "": nowhere */
    char values[CAIRN_N_OPTIONS]; /* 'y', 'm', 'n' (absent, too); '?' where there is no file */
};

/* "CONFIG_BPF_SYSCALL", and what it is needed for. Static text. */
const char *cairn_doctor_option_name(enum cairn_doctor_option option);
const char *cairn_doctor_option_use(enum cairn_doctor_option option);

/* All of the text, any bytes. */
void cairn_doctor_config_parse(struct cairn_span text, char ret_values[CAIRN_N_OPTIONS]);

/* ROOT/proc/config.gz, else ROOT/boot/config-RELEASE, else
 * ROOT/lib/modules/RELEASE/{config,build/.config}. */
void cairn_doctor_config_read(const char *root, const char *release,
                              struct cairn_doctor_config *ret_config);

#endif /* CAIRN_DOCTOR_CONFIG_H */
