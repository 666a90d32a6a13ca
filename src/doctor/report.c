/* SPDX-License-Identifier: MIT */
#include "doctor/report.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "bpf/load.h"

const char *cairn_doctor_text(struct cairn_doctor *d, const char *text)
{
    uint32_t number = cairn_strings_add_str(&d->texts, text);
    if (number != UINT32_MAX)
        return cairn_strings_get(&d->texts, number);
    d->failed = true;
    return "";
}

void cairn_doctor_add(struct cairn_doctor *d, const struct cairn_doctor_finding *finding)
{
    struct cairn_doctor_finding copy = *finding;
    if (cairn_grow((void **)&d->findings, &d->cap, d->n + 1, sizeof copy) < 0) {
        d->failed = true;
        return;
    }
    copy.size = sizeof copy;
    copy.key = cairn_doctor_text(d, finding->key);
    copy.name = cairn_doctor_text(d, finding->name);
    copy.value = cairn_doctor_text(d, finding->value);
    copy.why = cairn_doctor_text(d, finding->why);
    copy.fix = cairn_doctor_text(d, finding->fix);
    d->findings[d->n++] = copy;
}

void cairn_doctor_add_module(struct cairn_doctor *d, const struct cairn_doctor_module *module)
{
    struct cairn_doctor_module copy = *module;
    if (cairn_grow((void **)&d->modules, &d->cap_modules, d->n_modules + 1, sizeof copy) < 0) {
        d->failed = true;
        return;
    }
    copy.size = sizeof copy;
    copy.path = cairn_doctor_text(d, module->path);
    copy.build_id = cairn_doctor_text(d, module->build_id);
    copy.tables = cairn_doctor_text(d, module->tables);
    copy.symbols = cairn_doctor_text(d, module->symbols);
    copy.debug_path = cairn_doctor_text(d, module->debug_path);
    copy.why = cairn_doctor_text(d, module->why);
    copy.fix = cairn_doctor_text(d, module->fix);
    d->modules[d->n_modules++] = copy;
}

void cairn_doctor_free(struct cairn_doctor *doctor)
{
    if (!doctor)
        return;
    cairn_strings_done(&doctor->texts);
    cairn_free(doctor->findings);
    cairn_free(doctor->modules);
    cairn_free(doctor);
}

static void free_at(struct cairn_doctor **doctor)
{
    cairn_doctor_free(*doctor);
}

/* What the kernel allows is tried without libbpf; cairn itself may be built without. */
static void ask_build(struct cairn_doctor_facts *facts)
{
    static const struct cairn_bpf_need need = {"BPF", 0, 0};
    struct cairn_err why;
    if (cairn_bpf_check(&need, &why) == CAIRN_E_SUPPORT && strstr(why.msg, "in this build"))
        snprintf(facts->bpf_lacks, sizeof facts->bpf_lacks, "%.*s",
                 (int)sizeof facts->bpf_lacks - 1, why.msg);
}

static int examine(struct cairn_doctor *d, int pid, struct cairn_err *err)
{
    struct cairn_doctor_facts facts;
    struct cairn_doctor_tries tries;
    char title[512];
    cairn_doctor_read_facts("", &facts);
    ask_build(&facts);
    int code = cairn_doctor_try_all(&tries, err);
    if (code < 0)
        return code;
    snprintf(title, sizeof title, "Linux %s, %s, uid %u%s%s", facts.release, facts.machine,
             facts.euid, *facts.container ? ", in a container: " : "", facts.container);
    d->title = cairn_doctor_text(d, title);
    cairn_doctor_judge_commands(d, &facts, &tries);
    cairn_doctor_judge_tries(d, &facts, &tries);
    code = pid ? cairn_doctor_look_at(d, &facts, pid, err) : CAIRN_OK;
    if (code < 0)
        return code;
    cairn_doctor_judge_rights(d, &facts);
    cairn_doctor_judge_settings(d, &facts);
    cairn_doctor_judge_kernel(d, &facts);
    return d->failed ? cairn_fail_memory(err) : CAIRN_OK;
}

int cairn_doctor_new(const struct cairn_doctor_opts *opts, struct cairn_doctor **ret_doctor,
                     struct cairn_err *err)
{
    struct cairn_doctor_opts known = {0};
    if (opts && opts->size >= sizeof known)
        known = *opts;
    else if (opts)
        return cairn_fail(err, CAIRN_E_ARG, "size of struct cairn_doctor_opts is %zu", opts->size);
    if (known.pid < 0)
        return cairn_fail(err, CAIRN_E_ARG, "pid %d", known.pid);
    CAIRN_AUTO(free_at) struct cairn_doctor *d = cairn_alloc(1, sizeof *d);
    if (!d)
        return cairn_fail_memory(err);
    d->title = "";
    int code = examine(d, known.pid, err);
    if (code == CAIRN_OK)
        *ret_doctor = CAIRN_TAKE(d);
    return code;
}

const char *cairn_doctor_title(const struct cairn_doctor *doctor)
{
    return doctor->title;
}

size_t cairn_doctor_count(const struct cairn_doctor *doctor)
{
    return doctor->n;
}

const struct cairn_doctor_finding *cairn_doctor_get(const struct cairn_doctor *doctor, size_t index)
{
    return index < doctor->n ? &doctor->findings[index] : NULL;
}

size_t cairn_doctor_n_modules(const struct cairn_doctor *doctor)
{
    return doctor->n_modules;
}

const struct cairn_doctor_module *cairn_doctor_module(const struct cairn_doctor *doctor,
                                                      size_t index)
{
    return index < doctor->n_modules ? &doctor->modules[index] : NULL;
}

const char *cairn_doctor_group_name(enum cairn_doctor_group group)
{
    static const char *const names[] = {"commands", "tried",    "process",
                                        "rights",   "settings", "kernel"};
    return (unsigned)group < sizeof names / sizeof *names ? names[group] : "?";
}

const char *cairn_doctor_level_name(enum cairn_doctor_level level)
{
    static const char *const names[] = {"fact", "yes", "part", "no"};
    return (unsigned)level < sizeof names / sizeof *names ? names[level] : "?";
}
