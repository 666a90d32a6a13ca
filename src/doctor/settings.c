/* SPDX-License-Identifier: MIT */
/* From the facts about the kernel to findings: its switches, and what it was built with. */
#include <stdio.h>
#include <string.h>

#include "doctor/reason.h"
#include "doctor/report.h"

static void add(struct cairn_doctor *d, enum cairn_doctor_group group, const char *key,
                const char *value, const char *why)
{
    cairn_doctor_add(d, &(struct cairn_doctor_finding){
                            .group = group, .key = key, .name = key, .value = value, .why = why});
}

static const char *yama_text(long long scope)
{
    static const char *const texts[] = {"processes of one user may look into each other",
                                        "a process may look into its children alone",
                                        "only root may look into others",
                                        "nobody may, until the machine is started anew"};
    return scope >= 0 && scope <= 3 ? texts[scope] : "";
}

static const char *kptr_text(long long value)
{
    static const char *const texts[] = {
        "addresses of the kernel are shown to root, and to all at perf_event_paranoid 1 or less",
        "addresses of the kernel are shown to root", "addresses of the kernel are shown to nobody"};
    return value >= 0 && value <= 2 ? texts[value] : "";
}

/* Documentation/admin-guide/sysctl/kernel.rst */
static const char *bpf_text(long long value)
{
    static const char *const texts[] = {
        "ordinary users may load some programs, none that looks at stacks",
        "refused to ordinary users, until the machine is started anew",
        "refused to ordinary users"};
    return value >= 0 && value <= 2 ? texts[value] : "";
}

static const char *meaning(enum cairn_doctor_setting setting, long long value)
{
    switch (setting) {
    case CAIRN_SETTING_PARANOID:
        return cairn_doctor_paranoid_text(value);
    case CAIRN_SETTING_MLOCK_KB:
        return "KiB of ring buffers for each CPU and user, without CAP_IPC_LOCK";
    case CAIRN_SETTING_SAMPLE_RATE:
        return "samples a second at most";
    case CAIRN_SETTING_MAX_STACK:
        return "frames that the kernel walks at most";
    case CAIRN_SETTING_KPTR:
        return kptr_text(value);
    case CAIRN_SETTING_YAMA:
        return yama_text(value);
    case CAIRN_SETTING_UNPRIVILEGED_BPF:
        return bpf_text(value);
    case CAIRN_SETTING_BPF_STATS:
        return value ? "run times of BPF programs are counted" : "";
    default:
        return "";
    }
}

void cairn_doctor_judge_settings(struct cairn_doctor *d, const struct cairn_doctor_facts *facts)
{
    char text[32];
    for (enum cairn_doctor_setting i = 0; i < CAIRN_N_SETTINGS; i++) {
        const char *name = cairn_doctor_setting_name(i);
        snprintf(text, sizeof text, "%lld", facts->settings[i].value);
        if (facts->settings[i].is_there)
            add(d, CAIRN_DOCTOR_SETTINGS, name, text, meaning(i, facts->settings[i].value));
        else
            add(d, CAIRN_DOCTOR_SETTINGS, name, "not there",
                i == CAIRN_SETTING_YAMA ? "no Yama: processes of one user may look into each other"
                                        : "");
    }
    add(d, CAIRN_DOCTOR_SETTINGS, "kernel.core_pattern", facts->core_pattern,
        facts->core_pattern[0] == '|' ? "core files go to a program, such as systemd-coredump "
                                        "(coredumpctl) or apport"
                                      : "");
    add(d, CAIRN_DOCTOR_SETTINGS, "lockdown", *facts->lockdown ? facts->lockdown : "not there", "");
    add(d, CAIRN_DOCTOR_SETTINGS, "security modules", *facts->lsm ? facts->lsm : "not known", "");
}

void cairn_doctor_judge_kernel(struct cairn_doctor *d, const struct cairn_doctor_facts *facts)
{
    static const char letters[] = "ymn";
    static const char *const shown[] = {"built in", "a module", "missing", "not known"};
    const struct cairn_doctor_config *config = &facts->config;
    add(d, CAIRN_DOCTOR_KERNEL, "release", facts->release, "");
    add(d, CAIRN_DOCTOR_KERNEL, "BTF (/sys/kernel/btf/vmlinux)",
        facts->has_btf ? "there" : "not there",
        facts->has_btf ? "" : "BPF programs that read the kernel's structures cannot be loaded");
    add(d, CAIRN_DOCTOR_KERNEL, "BPF programs of cairn",
        *facts->bpf_lacks ? "not in this build" : "in this build", facts->bpf_lacks);
    add(d, CAIRN_DOCTOR_KERNEL, "tracefs (/sys/kernel/tracing)",
        facts->has_tracefs ? "mounted" : "not mounted", "");
    add(d, CAIRN_DOCTOR_KERNEL, "configuration", *config->path ? config->path : "not known",
        *config->path ? "" : "neither /proc/config.gz nor a copy in /boot or /lib/modules");
    for (enum cairn_doctor_option i = 0; *config->path && i < CAIRN_N_OPTIONS; i++) {
        size_t which = strcspn(letters, (char[]){config->values[i], 0});
        add(d, CAIRN_DOCTOR_KERNEL, cairn_doctor_option_name(i), shown[which],
            cairn_doctor_option_use(i));
    }
}
