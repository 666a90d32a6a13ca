/* SPDX-License-Identifier: MIT */
/* From the facts about this process to findings: what it may. */
#include <inttypes.h>
#include <stdio.h>

#include "base/buffer.h"
#include "doctor/allow.h"
#include "doctor/report.h"

static void add(struct cairn_doctor *d, const char *key, const char *name, const char *value,
                const char *why)
{
    cairn_doctor_add(
        d, &(struct cairn_doctor_finding){
               .group = CAIRN_DOCTOR_RIGHTS, .key = key, .name = name, .value = value, .why = why});
}

static size_t list_caps(struct cairn_buffer *b, uint64_t caps)
{
    size_t n = 0;
    for (const struct cairn_doctor_cap_name *cap = cairn_doctor_caps; cap->name; cap++)
        if (caps & CAIRN_CAP_BIT(cap->number))
            cairn_buffer_printf(b, "%s%s", n++ ? " " : "", cap->name);
    return n;
}

/* "all", "all but these", "these" or "none", of those that matter */
static void add_caps(struct cairn_doctor *d, const char *key, const char *name, uint64_t caps,
                     const char *why)
{
    struct cairn_buffer has = {0}, lacks = {0}, text = {0};
    size_t n = list_caps(&has, caps), n_lacks = list_caps(&lacks, ~caps);
    if (!n)
        cairn_buffer_str(&text, "none that matters here");
    else if (n_lacks <= n)
        cairn_buffer_printf(&text, "all%s%s", n_lacks ? " but " : "", cairn_buffer_text(&lacks));
    else
        cairn_buffer_str(&text, cairn_buffer_text(&has));
    add(d, key, name, cairn_buffer_text(&text), why);
    cairn_buffer_done(&has);
    cairn_buffer_done(&lacks);
    cairn_buffer_done(&text);
}

static void add_amount(struct cairn_buffer *b, uint64_t value, uint64_t unit)
{
    if (value == UINT64_MAX)
        cairn_buffer_str(b, "unlimited");
    else
        cairn_buffer_u64(b, value / unit);
}

static void add_limit(struct cairn_doctor *d, const char *key, const char *name,
                      const struct cairn_doctor_limit *limit, uint64_t unit, const char *why)
{
    struct cairn_buffer text = {0};
    if (limit->is_known) {
        add_amount(&text, limit->soft, unit);
        if (unit > 1 && limit->soft != UINT64_MAX)
            cairn_buffer_str(&text, " KiB");
        if (limit->soft != limit->hard) {
            cairn_buffer_str(&text, ", at most ");
            add_amount(&text, limit->hard, unit);
        }
    }
    add(d, key, name, text.size ? cairn_buffer_text(&text) : "not known", why);
    cairn_buffer_done(&text);
}

void cairn_doctor_judge_rights(struct cairn_doctor *d, const struct cairn_doctor_facts *facts)
{
    static const char *const filters[] = {"none", "strict", "a filter"};
    const struct cairn_doctor_facts *f = facts;
    char uid[32];
    snprintf(uid, sizeof uid, "uid %u", f->euid);
    add(d, "user", "user", uid, "");
    add_caps(d, "capabilities", "capabilities", f->caps, "");
    add_caps(d, "capabilities.bounding", "capabilities to be had", f->caps_bounding, "");
    add(d, "seccomp", "seccomp", f->seccomp < 0 ? "not known" : filters[f->seccomp],
        f->seccomp == 2 ? "some system calls may be refused; what was tried says which" : "");
    add(d, "no_new_privs", "no_new_privs", f->no_new_privs ? "set" : "not set",
        f->no_new_privs ? "sudo and file capabilities give nothing here" : "");
    add(d, "user_namespace", "user namespace", f->in_user_ns ? "an inner one" : "the first one",
        f->in_user_ns ? "capabilities count inside of it alone" : "");
    add(d, "pid_namespace", "pid namespace", f->in_pid_ns ? "an inner one" : "the first one",
        f->in_pid_ns ? "only processes of it are seen" : "");
    add(d, "container", "container", *f->container ? f->container : "no sign of one", "");
    add_limit(d, "limit.memlock", "RLIMIT_MEMLOCK", &f->memlock, 1024,
              "ring buffers beyond kernel.perf_event_mlock_kb; BPF before Linux 5.11");
    add_limit(d, "limit.nofile", "RLIMIT_NOFILE", &f->nofile, 1,
              "one for each thread and CPU that is sampled");
    add_limit(d, "limit.core", "RLIMIT_CORE", &f->core, 1024,
              f->core.is_known && !f->core.soft ? "programs that crash leave no core file here"
                                                : "");
}
