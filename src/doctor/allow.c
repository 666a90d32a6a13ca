/* SPDX-License-Identifier: MIT */
#include "doctor/allow.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"

const struct cairn_doctor_cap_name cairn_doctor_caps[] = {
    {CAIRN_CAP_BPF, "bpf"},
    {CAIRN_CAP_CHECKPOINT_RESTORE, "checkpoint_restore"},
    {CAIRN_CAP_DAC_READ_SEARCH, "dac_read_search"},
    {CAIRN_CAP_IPC_LOCK, "ipc_lock"},
    {CAIRN_CAP_PERFMON, "perfmon"},
    {CAIRN_CAP_SYS_ADMIN, "sys_admin"},
    {CAIRN_CAP_SYS_PTRACE, "sys_ptrace"},
    {CAIRN_CAP_SYS_RESOURCE, "sys_resource"},
    {CAIRN_CAP_SYSLOG, "syslog"},
    {0, NULL},
};

bool cairn_facts_may_sample(const struct cairn_doctor_facts *f)
{
    return cairn_facts_has(f, CAIRN_CAP_PERFMON) || cairn_facts_has(f, CAIRN_CAP_SYS_ADMIN);
}

bool cairn_facts_may_load(const struct cairn_doctor_facts *f)
{
    return cairn_facts_has(f, CAIRN_CAP_SYS_ADMIN) ||
           (cairn_facts_has(f, CAIRN_CAP_BPF) && cairn_facts_has(f, CAIRN_CAP_PERFMON));
}

/* Kernels from before the finer capabilities know the coarse one alone. */
static uint64_t known_caps(const struct cairn_doctor_facts *f, uint64_t caps)
{
    const uint64_t of_5_8 = CAIRN_CAP_BIT(CAIRN_CAP_PERFMON) | CAIRN_CAP_BIT(CAIRN_CAP_BPF);
    const uint64_t of_5_9 = CAIRN_CAP_BIT(CAIRN_CAP_CHECKPOINT_RESTORE);
    uint64_t unknown =
        (cairn_facts_before(f, 5, 8) ? of_5_8 : 0) | (cairn_facts_before(f, 5, 9) ? of_5_9 : 0);
    return caps & unknown ? (caps & ~unknown) | CAIRN_CAP_BIT(CAIRN_CAP_SYS_ADMIN) : caps;
}

/* "cap_bpf,cap_perfmon" by ("cap_", ","), "--cap-add BPF --cap-add PERFMON" by ("--cap-add ", " ",
 * upper). */
static void add_caps(struct cairn_buffer *b, uint64_t caps, const char *before, const char *between,
                     bool upper)
{
    bool first = true;
    for (const struct cairn_doctor_cap_name *cap = cairn_doctor_caps; cap->name; cap++) {
        if (!(caps & CAIRN_CAP_BIT(cap->number)))
            continue;
        cairn_buffer_printf(b, "%s%s", first ? "" : between, before);
        for (const char *c = cap->name; *c; c++)
            cairn_buffer_char(b, upper ? (char)toupper((unsigned char)*c) : *c);
        first = false;
    }
}

static bool is_run_by(const struct cairn_doctor_facts *f, const char *name)
{
    return strcmp(f->container, name) == 0;
}

static void add_container(struct cairn_buffer *b, const struct cairn_doctor_facts *f, uint64_t caps,
                          bool filtered)
{
    if (is_run_by(f, "docker") || is_run_by(f, "podman")) {
        /* Without root on the host, root in it has nothing of what counts outside. */
        cairn_buffer_printf(b, "%s%s run%s", f->in_user_ns ? "sudo " : "", f->container,
                            filtered ? " --security-opt seccomp=unconfined" : "");
        if (caps)
            add_caps(b, caps, " --cap-add ", "", true);
    } else if (is_run_by(f, "kubernetes")) {
        cairn_buffer_str(b, "securityContext: {capabilities: {add: [");
        add_caps(b, caps, "", ", ", true);
        cairn_buffer_printf(b, "]}%s}", filtered ? ", seccompProfile: {type: Unconfined}" : "");
    } else {
        cairn_buffer_printf(b, "start the container %s%s",
                            filtered ? "without its seccomp filter" : "",
                            filtered && caps ? " and " : "");
        if (caps)
            add_caps(b, caps, "with cap_", ", ", false);
    }
}

/* Without a container. */
static void add_here(struct cairn_buffer *b, const struct cairn_doctor_facts *f, uint64_t caps,
                     const char *sysctl)
{
    bool is_held = f->no_new_privs || (caps & ~f->caps_bounding);
    if (f->in_user_ns)
        cairn_buffer_str(b, "outside of this user namespace: ");
    else if (is_held && f->euid != 0)
        cairn_buffer_str(b, "outside of what keeps this process from getting rights: ");
    if (sysctl) {
        cairn_buffer_printf(b, "sudo sysctl %s", sysctl);
    } else if (f->euid == 0 && !f->in_user_ns) {
        cairn_buffer_str(b, "start it as root with ");
        add_caps(b, caps, "cap_", ", ", false);
        cairn_buffer_str(b, ", which was taken away here");
    } else if (f->in_user_ns || is_held) {
        cairn_buffer_str(b, "run it with sudo");
    } else {
        cairn_buffer_str(b, "run it with sudo, or once: sudo setcap ");
        add_caps(b, caps, "cap_", ",", false);
        cairn_buffer_str(b, "+ep \"$(command -v cairn)\"");
    }
}

static void hand_out(struct cairn_buffer *b, char ret_fix[CAIRN_REASON_BYTES])
{
    snprintf(ret_fix, CAIRN_REASON_BYTES, "%s", b->failed ? "" : cairn_buffer_text(b));
    cairn_buffer_done(b);
}

void cairn_doctor_allow(const struct cairn_doctor_facts *f, uint64_t caps, const char *sysctl,
                        char ret_fix[CAIRN_REASON_BYTES])
{
    struct cairn_buffer b = {0};
    caps = known_caps(f, caps);
    if (*f->container && caps)
        add_container(&b, f, caps, false);
    if (*f->container && sysctl)
        cairn_buffer_printf(&b, "%son the host: sudo sysctl %s", b.size ? "; or " : "", sysctl);
    if (!*f->container)
        add_here(&b, f, caps, sysctl);
    hand_out(&b, ret_fix);
}

void cairn_doctor_allow_call(const struct cairn_doctor_facts *f, uint64_t caps,
                             char ret_fix[CAIRN_REASON_BYTES])
{
    struct cairn_buffer b = {0};
    if (*f->container)
        add_container(&b, f, known_caps(f, caps), true);
    else
        cairn_buffer_str(&b, "start cairn outside of the sandbox that set the filter (of a service "
                             "of systemd: SystemCallFilter=)");
    hand_out(&b, ret_fix);
}
