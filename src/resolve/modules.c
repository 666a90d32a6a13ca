/* SPDX-License-Identifier: MIT */
#include "resolve/modules.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "resolve/vdso.h"

enum { BUILD_ID_DIGITS_MIN = 2, BUILD_ID_DIGITS_MAX = 128 };

void cairn_modules_done(struct cairn_modules *m)
{
    for (size_t i = 0; i < m->n_kernels; i++)
        cairn_kernel_done(&m->kernels[i].known->kernel);
    cairn_free(m->kernel.module_folder);
    cairn_symbolizer_free(m->symbolizer);
    cairn_strings_done(&m->strings);
    cairn_arena_done(&m->arena);
    cairn_table_done(&m->by_key);
    cairn_table_done(&m->by_file);
    cairn_free(m->list);
    cairn_free(m->build_ids);
    *m = (struct cairn_modules){0};
}

/* Lower-case hex of `text`; the number of digits, 0 where it is no build ID. */
static size_t read_build_id(const char *text, size_t size, char ret_id[BUILD_ID_DIGITS_MAX])
{
    size_t n = 0;
    for (; n < size && text[n] != ' ' && text[n] != '\t'; n++) {
        char c = text[n];
        if (c >= 'A' && c <= 'F')
            c = (char)(c - 'A' + 'a');
        if (n == BUILD_ID_DIGITS_MAX || !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return 0;
        ret_id[n] = c;
    }
    return n >= BUILD_ID_DIGITS_MIN && n % 2 == 0 ? n : 0;
}

static int add_build_id(struct cairn_modules *m, const char *line, size_t size, size_t number,
                        struct cairn_err *err)
{
    char id[BUILD_ID_DIGITS_MAX];
    size_t n = read_build_id(line, size, id), at = n;
    while (at < size && (line[at] == ' ' || line[at] == '\t'))
        at++;
    if (!n || at == size)
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "build IDs, line %zu: \"%.*s\", expected a build ID in hex, a blank and "
                          "a path",
                          number, (int)(size < 80 ? size : 80), line);
    if (cairn_grow((void **)&m->build_ids, &m->cap_build_ids, m->n_build_ids + 1,
                   sizeof *m->build_ids) < 0)
        return cairn_fail_memory(err);
    struct cairn_build_id *row = &m->build_ids[m->n_build_ids];
    row->id = cairn_strings_add(&m->strings, id, n);
    row->path = cairn_strings_add(&m->strings, line + at, size - at);
    if (row->id == UINT32_MAX || row->path == UINT32_MAX)
        return cairn_fail_memory(err);
    m->n_build_ids++;
    return CAIRN_OK;
}

int cairn_modules_read_build_ids(struct cairn_modules *m, const char *text, struct cairn_err *err)
{
    for (size_t number = 1; *text; number++) {
        size_t size = strcspn(text, "\n"), kept = size;
        const char *line = text;
        text += size + (text[size] == '\n');
        while (kept && strchr(" \t\r", line[kept - 1]))
            kept--;
        while (kept && strchr(" \t", *line)) {
            line++;
            kept--;
        }
        if (!kept || *line == '#')
            continue;
        int result = add_build_id(m, line, kept, number, err);
        if (result < 0)
            return result;
    }
    return CAIRN_OK;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The last line for this path wins; a line with a file name alone, or a text with a file name
 * alone, is compared by name. */
static uint32_t find_build_id(const struct cairn_modules *m, uint32_t path)
{
    const char *text = cairn_strings_get(&m->strings, path);
    uint32_t by_name = 0;
    for (size_t i = m->n_build_ids; i-- > 0;) {
        const char *listed = cairn_strings_get(&m->strings, m->build_ids[i].path);
        if (m->build_ids[i].path == path)
            return m->build_ids[i].id;
        bool names_only = !strchr(listed, '/') || !strchr(text, '/');
        if (!by_name && names_only && strcmp(base_name(listed), base_name(text)) == 0)
            by_name = m->build_ids[i].id;
    }
    return by_name;
}

static void log_found(const struct cairn_known_module *known)
{
    const struct cairn_module_info *info = cairn_module_info(known->module);
    cairn_log(CAIRN_LOG_INFO, "%s: %s%s%s, %s%s, build ID %s (%s)", known->path, info->path,
              info->debug_path ? ", names from " : "", info->debug_path ? info->debug_path : "",
              info->machine, info->has_lines ? "" : ", no line tables",
              info->build_id[0] ? info->build_id : "none",
              info->verified   ? "the one asked for"
              : info->mismatch ? "not the one asked for"
                               : "nobody said which was meant");
}

/* Whatever is wrong with one module loses that module and nothing else. */
static int find_files(struct cairn_modules *m, struct cairn_known_module *known,
                      struct cairn_err *err)
{
    struct cairn_err why = {0};
    if (known->module_kind == CAIRN_MODULE_VDSO)
        return cairn_vdso_open(m, known, err);
    if (known->module_kind == CAIRN_MODULE_VSYSCALL) {
        known->kind = CAIRN_KNOWN_LIST;
        known->missing = CAIRN_CAUSE_NONE;
        return cairn_vsyscall_open(m->symbolizer, &known->module, err);
    }
    if (!cairn_module_is_file(known->module_kind)) {
        known->missing = cairn_module_is_made(known->module_kind) ? CAIRN_CAUSE_ANONYMOUS
                                                                  : CAIRN_CAUSE_NOT_A_FILE;
        return CAIRN_OK;
    }
    /* Another host's path leads to another build here; by its name alone the file is looked for in
     * the folders with symbols. */
    bool is_elsewhere = m->is_elsewhere && !m->root && !known->build_id[0];
    int result =
        cairn_symbolizer_open(m->symbolizer, is_elsewhere ? base_name(known->path) : known->path,
                              known->build_id[0] ? known->build_id : NULL, &known->module, &why);
    if (result == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    /* A library may lie in memory that has a name; without one it is what a compiler made there. */
    bool is_made = result < 0 && !m->pid && cairn_module_is_made(known->module_kind);
    known->missing = result == CAIRN_OK      ? CAIRN_CAUSE_NONE
                     : is_made               ? CAIRN_CAUSE_ANONYMOUS
                     : result == CAIRN_E_ARG ? CAIRN_CAUSE_MISMATCH
                                             : CAIRN_CAUSE_NO_BINARY;
    known->is_by_path = result == CAIRN_OK;
    if (result == CAIRN_OK)
        log_found(known);
    else /* of a process the file that it has mapped may still be read, and the report says if not
          */
        cairn_log_err(result == CAIRN_E_ARG && !m->is_live ? CAIRN_LOG_WARNING : CAIRN_LOG_INFO,
                      &why);
    return CAIRN_OK;
}

/* A module without files, which is in the list once `m->n` counts it. */
static struct cairn_known_module *new_module(struct cairn_modules *m, const char *path,
                                             const char *build_id, struct cairn_err *err)
{
    struct cairn_known_module *known = cairn_arena_alloc(&m->arena, sizeof *known);
    if (!known || cairn_grow((void **)&m->list, &m->cap, m->n + 1, sizeof(void *)) < 0) {
        cairn_fail_memory(err);
        return NULL;
    }
    known->path = path;
    known->build_id = build_id;
    known->module_kind = cairn_module_kind_of(path, 0);
    m->list[m->n] = known;
    return known;
}

struct cairn_known_module *cairn_modules_add(struct cairn_modules *m, const char *path,
                                             const char *build_id, struct cairn_err *err)
{
    struct cairn_known_module *known = new_module(m, path, build_id, err);
    if (known)
        m->n++;
    return known;
}

static int add_module(struct cairn_modules *m, uint32_t path, uint32_t build_id,
                      struct cairn_known_module **ret_module, struct cairn_err *err)
{
    struct cairn_known_module *known = new_module(m, cairn_strings_get(&m->strings, path),
                                                  cairn_strings_get(&m->strings, build_id), err);
    if (!known)
        return CAIRN_E_NOMEM;
    int result = find_files(m, known, err);
    if (result < 0)
        return result;
    m->n++;
    *ret_module = known;
    return CAIRN_OK;
}

/* A hostile text may name a million modules; each look for files takes its time. */
static int add_rest(struct cairn_modules *m, struct cairn_known_module **ret_module,
                    struct cairn_err *err)
{
    if (!m->rest) {
        m->rest = cairn_arena_alloc(&m->arena, sizeof *m->rest);
        if (!m->rest)
            return cairn_fail_memory(err);
        m->rest->path = "further modules";
        m->rest->build_id = "";
        m->rest->missing = CAIRN_CAUSE_NO_BINARY;
        cairn_log(CAIRN_LOG_WARNING, "more than %d different modules: the rest is not looked for",
                  CAIRN_MODULES_MAX);
    }
    *ret_module = m->rest;
    return CAIRN_OK;
}

int cairn_modules_get(struct cairn_modules *m, uint32_t path, uint32_t build_id,
                      struct cairn_known_module **ret_module, struct cairn_err *err)
{
    if (!build_id)
        build_id = find_build_id(m, path);
    uint64_t key = (uint64_t)path << 32 | build_id;
    uint32_t index;
    if (cairn_table_find(&m->by_key, key, &index)) {
        *ret_module = m->list[index];
        return CAIRN_OK;
    }
    if (m->n == CAIRN_MODULES_MAX)
        return add_rest(m, ret_module, err);
    struct cairn_known_module *known = NULL;
    int result = add_module(m, path, build_id, &known, err);
    if (result < 0)
        return result;
    if (cairn_table_set(&m->by_key, key, (uint32_t)(m->n - 1)) < 0) {
        m->n--;
        return cairn_fail_memory(err);
    }
    *ret_module = known;
    return CAIRN_OK;
}

int cairn_modules_get_kernel(struct cairn_modules *m, uint32_t path, uint32_t build_id,
                             uint64_t text, struct cairn_known_module **ret_module,
                             struct cairn_err *err)
{
    const struct cairn_kernel_identity identity = {
        .build_id = cairn_strings_get(&m->strings, build_id),
        .release = m->kernel_release ? m->kernel_release : "",
        .text = text,
        .is_of_here = m->is_of_here,
    };
    for (size_t i = 0; i < m->n_kernels; i++)
        if (m->kernels[i].path == path && m->kernels[i].build_id == build_id &&
            m->kernels[i].text == text) {
            *ret_module = m->kernels[i].known;
            return CAIRN_OK;
        }
    if (m->n_kernels == CAIRN_KERNELS_MAX)
        return add_rest(m, ret_module, err);
    struct cairn_known_module *known =
        new_module(m, cairn_strings_get(&m->strings, path), identity.build_id, err);
    if (!known)
        return CAIRN_E_NOMEM;
    int result = cairn_kernel_open(&m->kernel, m->symbolizer, &identity, &known->kernel, err);
    if (result < 0)
        return result;
    known->kind = CAIRN_KNOWN_KERNEL;
    known->missing = known->kernel.missing;
    known->module = known->kernel.vmlinux ? known->kernel.vmlinux : known->kernel.list;
    m->n++;
    m->kernels[m->n_kernels++] = (struct cairn_known_kernel){path, build_id, text, known};
    *ret_module = known;
    return CAIRN_OK;
}

int cairn_modules_add_list(struct cairn_modules *m, const char *path, struct cairn_module *module,
                           struct cairn_known_module **ret_module, struct cairn_err *err)
{
    uint32_t text = cairn_strings_add_str(&m->strings, path);
    if (text == UINT32_MAX)
        return cairn_fail_memory(err);
    struct cairn_known_module *known =
        cairn_modules_add(m, cairn_strings_get(&m->strings, text), "", err);
    if (!known)
        return CAIRN_E_NOMEM;
    known->kind = CAIRN_KNOWN_LIST;
    known->missing = CAIRN_CAUSE_NONE;
    known->module = module;
    *ret_module = known;
    return CAIRN_OK;
}

void cairn_modules_count(struct cairn_known_module *module, enum cairn_cause cause)
{
    module->n_unique++;
    if (cause == CAIRN_CAUSE_NONE)
        module->n_unique_named++;
    else
        module->unique_by_cause[cause]++;
}
