/* SPDX-License-Identifier: MIT */
/*
 *     commands
 *       part  record -p PID                 user code, nothing is stopped
 *             kernel.perf_event_paranoid is 2: ...           reasons are wrapped,
 *             > sudo sysctl kernel.perf_event_paranoid=1     commands are not, to be copied
 */
#include "cli/doctor_text.h"

#include <string.h>

#include "base/escape.h"
#include "base/module_kind.h"
#include "cli/numbers.h"

enum {
    LEVEL_WIDTH = 4,
    INDENT = 2 + LEVEL_WIDTH + 2, /* of names */
    NAME_MOST = 44,               /* columns; a longer one pushes its value away, */
    VALUE_MOST = 24,              /* and one of these its meaning to the next line */
    WIDTH_LEAST = 40,             /* of a reason, whatever the terminal has */
    ID_SHOWN = 12                 /* digits of a build ID */
};

static const char *colour_of(const struct cli_doctor_form *form, enum cairn_doctor_level level)
{
    static const char *const colours[] = {"", "\033[32m", "\033[33m", "\033[31m"};
    return form->colour ? colours[level] : "";
}

static const char *style(const struct cli_doctor_form *form, const char *code)
{
    return form->colour ? code : "";
}

static void add_blanks(struct cairn_buffer *b, size_t n)
{
    while (n-- > 0)
        cairn_buffer_char(b, ' ');
}

static void add_safe(struct cairn_buffer *b, const char *text)
{
    cairn_escape_terminal(b, text, strlen(text));
}

/* Safe text in words, as many a line as fit behind the indentation; the first line begins where the
 * cursor is. */
static void add_wrapped(struct cairn_buffer *b, const char *text, size_t indent,
                        const struct cli_doctor_form *form)
{
    struct cairn_buffer safe = {0};
    add_safe(&safe, text);
    size_t width = form->width > indent + WIDTH_LEAST ? form->width - indent : WIDTH_LEAST;
    const char *start = cairn_buffer_text(&safe);
    for (const char *at = start; *at;) {
        size_t size = strlen(at), cut = size;
        if (size > width) {
            for (cut = width; cut > 0 && at[cut] != ' ';)
                cut--;
            if (!cut)
                cut = strcspn(at, " ");
        }
        add_blanks(b, at == start ? 0 : indent);
        cairn_buffer_add(b, at, cut);
        cairn_buffer_char(b, '\n');
        at += cut + strspn(at + cut, " ");
    }
    b->failed |= safe.failed;
    cairn_buffer_done(&safe);
}

static void add_why(struct cairn_buffer *b, const char *why, size_t indent,
                    const struct cli_doctor_form *form)
{
    if (!*why)
        return;
    add_blanks(b, indent);
    add_wrapped(b, why, indent, form);
}

static void add_fix(struct cairn_buffer *b, const char *fix, size_t indent,
                    const struct cli_doctor_form *form)
{
    if (!*fix)
        return;
    add_blanks(b, indent);
    cairn_buffer_printf(b, "%s> ", style(form, "\033[1m"));
    add_safe(b, fix);
    cairn_buffer_printf(b, "%s\n", style(form, "\033[m"));
}

/* Columns of a group. */
struct columns {
    size_t name, value; /* value: of facts with a meaning behind it */
};

static struct columns measure(const struct cairn_doctor *doctor, enum cairn_doctor_group group)
{
    struct columns columns = {0};
    for (size_t i = 0; i < cairn_doctor_count(doctor); i++) {
        const struct cairn_doctor_finding *finding = cairn_doctor_get(doctor, i);
        size_t name = strlen(finding->name), value = strlen(finding->value);
        if (finding->group != group)
            continue;
        if (name > columns.name && name <= NAME_MOST)
            columns.name = name;
        if (finding->level == CAIRN_DOCTOR_FACT && *finding->why && value > columns.value &&
            value <= VALUE_MOST)
            columns.value = value;
    }
    return columns;
}

static size_t pad(size_t width, size_t used)
{
    return (used < width ? width - used : 0) + 2;
}

/* What the value of a fact means, behind it. */
static void add_meaning(struct cairn_buffer *b, const struct cairn_doctor_finding *finding,
                        const struct columns *columns, const struct cli_doctor_form *form)
{
    size_t at = INDENT + columns->name + 2 + columns->value + 2;
    if (strlen(finding->value) > VALUE_MOST || form->width < at + WIDTH_LEAST) {
        cairn_buffer_char(b, '\n');
        add_why(b, finding->why, INDENT, form);
        return;
    }
    add_blanks(b, pad(columns->value, strlen(finding->value)));
    cairn_buffer_str(b, style(form, "\033[2m"));
    add_wrapped(b, finding->why, at, form);
    cairn_buffer_str(b, style(form, "\033[m"));
}

static void add_finding(struct cairn_buffer *b, const struct cairn_doctor_finding *finding,
                        const struct columns *columns, const struct cli_doctor_form *form)
{
    bool is_fact = finding->level == CAIRN_DOCTOR_FACT;
    const char *level = is_fact ? "" : cairn_doctor_level_name(finding->level);
    cairn_buffer_printf(b, "  %s%s%s", colour_of(form, finding->level), level,
                        is_fact ? "" : style(form, "\033[m"));
    add_blanks(b, pad(LEVEL_WIDTH, strlen(level)));
    add_safe(b, finding->name);
    if (*finding->value) {
        add_blanks(b, pad(columns->name, strlen(finding->name)));
        add_safe(b, finding->value);
    }
    if (is_fact && *finding->why) {
        add_meaning(b, finding, columns, form);
        return;
    }
    cairn_buffer_char(b, '\n');
    add_why(b, finding->why, INDENT, form);
    add_fix(b, finding->fix, INDENT, form);
}

static void add_group(struct cairn_buffer *b, const struct cairn_doctor *doctor,
                      enum cairn_doctor_group group, const struct cli_doctor_form *form)
{
    const struct columns columns = measure(doctor, group);
    bool any = false;
    for (size_t i = 0; i < cairn_doctor_count(doctor); i++) {
        const struct cairn_doctor_finding *finding = cairn_doctor_get(doctor, i);
        if (finding->group != group)
            continue;
        if (!any)
            cairn_buffer_printf(b, "\n%s%s%s\n", style(form, "\033[1m"),
                                cairn_doctor_group_name(group), style(form, "\033[m"));
        any = true;
        add_finding(b, finding, &columns, form);
    }
}

static void add_coverage(struct cairn_buffer *b, int percent)
{
    if (percent < 0)
        cairn_buffer_printf(b, "%6s", "");
    else
        cairn_buffer_printf(b, "%4d %%", percent);
}

static void add_module(struct cairn_buffer *b, const struct cairn_doctor_module *module,
                       const struct cli_doctor_form *form)
{
    static const char *const lines[] = {"no", "lines", "names", "yes"};
    cairn_buffer_printf(b, "  %-22s", *module->tables ? module->tables : "no");
    add_coverage(b, module->covered_percent);
    cairn_buffer_printf(b, "  %-14s  %-5s  %-*.*s  ", *module->symbols ? module->symbols : "no",
                        lines[(module->has_lines != 0) + 2 * (module->has_inlines != 0)], ID_SHOWN,
                        ID_SHOWN, *module->build_id ? module->build_id : "-");
    if (*module->path) {
        add_safe(b, module->path);
    } else {
        cairn_buffer_str(b, "code of no file, ");
        cli_add_size(b, module->code_bytes);
    }
    cairn_buffer_printf(b, "%s\n", module->is_deleted ? " (deleted)" : "");
    if (*module->debug_path) {
        cairn_buffer_printf(b, "    %swith ", style(form, "\033[2m"));
        add_safe(b, module->debug_path);
        cairn_buffer_printf(b, "%s\n", style(form, "\033[m"));
    }
    if (module->derived_percent)
        cairn_buffer_printf(b,
                            "    %s%d %% of its code has none: rules are made by following it%s\n",
                            style(form, "\033[2m"), module->derived_percent, style(form, "\033[m"));
    /* That there are no lines is seen in the table. */
    if ((!*module->tables && !module->derived_percent) || !*module->symbols) {
        add_why(b, module->why, 4, form);
        if (module->has_lines || !*module->build_id)
            add_fix(b, module->fix, 4, form);
    }
}

/* One command stands for all that lack the same. */
static void add_missing(struct cairn_buffer *b, const struct cairn_doctor *doctor,
                        const struct cli_doctor_form *form)
{
    const struct cairn_doctor_module *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < cairn_doctor_n_modules(doctor); i++) {
        const struct cairn_doctor_module *module = cairn_doctor_module(doctor, i);
        if (module->has_lines || !*module->build_id || !*module->fix ||
            cairn_module_kind_of(module->path, 0) != CAIRN_MODULE_FILE)
            continue;
        first = first ? first : module;
        n++;
    }
    if (!n)
        return;
    cairn_buffer_printf(b, "  %zu without a debug file: no lines, no inlined calls. %s:\n", n,
                        n == 1 ? "To get it" : "To get that of the first");
    add_fix(b, first->fix, 4, form);
}

static void add_modules(struct cairn_buffer *b, const struct cairn_doctor *doctor,
                        const struct cli_doctor_form *form)
{
    size_t n = cairn_doctor_n_modules(doctor);
    if (!n)
        return;
    cairn_buffer_printf(b, "\n%smodules%s\n", style(form, "\033[1m"), style(form, "\033[m"));
    cairn_buffer_printf(b, "  %s%-22s%6s  %-14s  %-5s  %-*s  %s%s\n", style(form, "\033[2m"),
                        "unwind tables", "code", "symbols", "lines", ID_SHOWN, "build ID", "file",
                        style(form, "\033[m"));
    for (size_t i = 0; i < n; i++)
        add_module(b, cairn_doctor_module(doctor, i), form);
    add_missing(b, doctor, form);
}

void cli_doctor_add_text(struct cairn_buffer *b, const struct cairn_doctor *doctor,
                         const struct cli_doctor_form *form)
{
    add_safe(b, cairn_doctor_title(doctor));
    cairn_buffer_char(b, '\n');
    for (int group = CAIRN_DOCTOR_COMMANDS; group <= CAIRN_DOCTOR_KERNEL; group++) {
        add_group(b, doctor, (enum cairn_doctor_group)group, form);
        if (group == CAIRN_DOCTOR_PROCESS)
            add_modules(b, doctor, form);
    }
}
