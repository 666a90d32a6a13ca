/* SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "cli/doctor_text.h"

static void add_group(struct cairn_json *json, const struct cairn_doctor *doctor,
                      enum cairn_doctor_group group)
{
    cairn_json_open(json, cairn_doctor_group_name(group), '[');
    for (size_t i = 0; i < cairn_doctor_count(doctor); i++) {
        const struct cairn_doctor_finding *finding = cairn_doctor_get(doctor, i);
        if (finding->group != group)
            continue;
        cairn_json_open(json, NULL, '{');
        cairn_json_str(json, "key", finding->key);
        cairn_json_str(json, "name", finding->name);
        cairn_json_str(json, "level", cairn_doctor_level_name(finding->level));
        cairn_json_str(json, "value", finding->value);
        cairn_json_str(json, "why", finding->why);
        cairn_json_str(json, "fix", finding->fix);
        cairn_json_close(json, '}');
    }
    cairn_json_close(json, ']');
}

static void add_module(struct cairn_json *json, const struct cairn_doctor_module *module)
{
    cairn_json_open(json, NULL, '{');
    cairn_json_str(json, "path", module->path);
    cairn_json_bool(json, "deleted", module->is_deleted);
    cairn_json_u64(json, "code_bytes", module->code_bytes);
    cairn_json_str(json, "build_id", module->build_id);
    cairn_json_str(json, "tables", module->tables);
    if (module->covered_percent >= 0)
        cairn_json_i64(json, "covered_percent", module->covered_percent);
    else
        cairn_json_str(json, "covered_percent", NULL);
    cairn_json_i64(json, "derived_percent", module->derived_percent);
    cairn_json_str(json, "symbols", module->symbols);
    cairn_json_bool(json, "lines", module->has_lines);
    cairn_json_bool(json, "inlines", module->has_inlines);
    cairn_json_str(json, "debug_file", module->debug_path);
    cairn_json_str(json, "why", module->why);
    cairn_json_str(json, "fix", module->fix);
    cairn_json_close(json, '}');
}

void cli_doctor_add_json(struct cairn_buffer *b, const struct cairn_doctor *doctor,
                         const struct cli_doctor_form *form)
{
    struct cairn_json json = {.out = b};
    cairn_json_open(&json, NULL, '{');
    cairn_json_str(&json, "title", cairn_doctor_title(doctor));
    if (form->pid)
        cairn_json_i64(&json, "pid", form->pid);
    else
        cairn_json_str(&json, "pid", NULL);
    for (int group = CAIRN_DOCTOR_COMMANDS; group <= CAIRN_DOCTOR_KERNEL; group++)
        add_group(&json, doctor, (enum cairn_doctor_group)group);
    cairn_json_open(&json, "modules", '[');
    for (size_t i = 0; i < cairn_doctor_n_modules(doctor); i++)
        add_module(&json, cairn_doctor_module(doctor, i));
    cairn_json_close(&json, ']');
    cairn_json_close(&json, '}');
}
