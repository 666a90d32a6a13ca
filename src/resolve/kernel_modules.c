/* SPDX-License-Identifier: MIT */
#include "resolve/kernel_modules.h"

#include <elf.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/table.h"
#include "proc/kernel.h"
#include "symbol/kernel_files.h"
#include "symbol/kernel_module.h"

enum { NOTES_BYTES_MAX = 1 << 16 };

/* One module, looked for once. */
struct known {
    const char *name;
    struct cairn_module *file; /* NULL: none was found, or it is no use */
    struct cairn_kernel_sections sections;
    bool warned;
};

struct cairn_kernel_modules {
    char *folder; /* NULL: none */
    struct cairn_kernel_files *files;
    struct cairn_strings names;
    struct cairn_table by_name; /* number of the name -> index */
    struct known *known;
    size_t n, cap;
    struct cairn_symbol_frame *frames; /* of the last answer */
    size_t cap_frames;
};

int cairn_kernel_modules_new(struct cairn_symbolizer *symbolizer,
                             const struct cairn_kernel_module_places *places,
                             struct cairn_kernel_modules **ret_modules, struct cairn_err *err)
{
    struct cairn_kernel_modules *m = cairn_alloc(1, sizeof *m);
    const char *folder = places->folder ? places->folder : places->is_live ? "/sys/module" : NULL;
    if (!m)
        return cairn_fail_memory(err);
    m->folder = folder ? cairn_strdup(folder) : NULL;
    int code = folder && !m->folder
                   ? cairn_fail_memory(err)
                   : cairn_kernel_files_new(symbolizer, places->release, &m->files, err);
    if (code < 0)
        cairn_kernel_modules_free(m);
    else
        *ret_modules = m;
    return code;
}

void cairn_kernel_modules_free(struct cairn_kernel_modules *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->n; i++)
        cairn_kernel_sections_done(&m->known[i].sections);
    cairn_free(m->known);
    cairn_free(m->frames);
    cairn_table_done(&m->by_name);
    cairn_strings_done(&m->names);
    cairn_kernel_files_free(m->files);
    cairn_free(m->folder);
    cairn_free(m);
}

/* FOLDER/NAME/notes/.note.gnu.build-id, as the kernel keeps it. "" where it does not. */
static int read_build_id(const struct cairn_kernel_modules *m, const char *name,
                         char ret_id[CAIRN_KERNEL_BUILD_ID_SIZE], struct cairn_err *err)
{
    struct cairn_buffer path = {0}, notes = {0};
    ret_id[0] = 0;
    if (!m->folder)
        return CAIRN_OK;
    cairn_buffer_printf(&path, "%s/%s/notes/.note.gnu.build-id", m->folder, name);
    int code = path.failed
                   ? CAIRN_E_NOMEM
                   : cairn_file_slurp(cairn_buffer_text(&path), NOTES_BYTES_MAX, &notes, NULL);
    if (code == CAIRN_OK)
        cairn_kernel_note_build_id(cairn_buffer_span(&notes), ret_id);
    cairn_buffer_done(&path);
    cairn_buffer_done(&notes);
    return code == CAIRN_E_NOMEM ? cairn_fail_memory(err) : CAIRN_OK;
}

/* By build ID wherever debug files are, and by name in the symbol folders; then where modules are
 * installed. */
static int open_file(struct cairn_kernel_modules *m, struct cairn_symbolizer *symbolizer,
                     struct known *known, struct cairn_err *err)
{
    char id[CAIRN_KERNEL_BUILD_ID_SIZE];
    int code = read_build_id(m, known->name, id, err);
    return code < 0
               ? code
               : cairn_kernel_files_open(m->files, symbolizer, known->name, id, &known->file, err);
}

/* As the kernel says it, else as its list shows it. */
static int find_sections(const struct cairn_kernel_modules *m, struct known *known,
                         const struct cairn_module *list, struct cairn_err *err)
{
    struct cairn_buffer path = {0};
    const char *how = "as /sys/module says";
    int code = CAIRN_OK;
    if (m->folder) {
        cairn_buffer_printf(&path, "%s/%s/sections", m->folder, known->name);
        code = path.failed ? cairn_fail_memory(err)
                           : cairn_kernel_sections_read(known->file, cairn_buffer_text(&path),
                                                        &known->sections, err);
        cairn_buffer_done(&path);
    }
    if (code == CAIRN_OK && !known->sections.n) {
        how = "reckoned from the kernel's list";
        cairn_kernel_sections_done(&known->sections);
        code = cairn_kernel_sections_reckon(known->file, list, known->name, &known->sections, err);
    }
    if (code < 0)
        return code;
    const char *file = cairn_module_info(known->file)->path;
    if (known->sections.n)
        cairn_log(CAIRN_LOG_INFO, "kernel module %s: %s, %zu sections of code, %s", known->name,
                  file, known->sections.n, how);
    else
        cairn_log(CAIRN_LOG_WARNING,
                  "kernel module %s: where %s lies is not known: /sys/module/%s/sections is hidden "
                  "from all but root, and its symbols are not those of the kernel's list",
                  known->name, file, known->name);
    return CAIRN_OK;
}

static int add_known(struct cairn_kernel_modules *m, struct cairn_symbolizer *symbolizer,
                     uint32_t number, const struct cairn_module *list, struct cairn_err *err)
{
    struct known known = {.name = cairn_strings_get(&m->names, number)};
    if (cairn_grow((void **)&m->known, &m->cap, m->n + 1, sizeof *m->known) < 0)
        return cairn_fail_memory(err);
    bool is_name = known.name[0] != '.' && !strchr(known.name, '/');
    int code = is_name ? open_file(m, symbolizer, &known, err) : CAIRN_OK;
    if (code == CAIRN_OK && known.file && cairn_module_info(known.file)->elf_type != ET_REL)
        known.file = NULL;
    if (code == CAIRN_OK && known.file)
        code = find_sections(m, &known, list, err);
    if (code == CAIRN_OK && cairn_table_set(&m->by_name, number, (uint32_t)m->n) < 0)
        code = cairn_fail_memory(err);
    if (code < 0)
        cairn_kernel_sections_done(&known.sections);
    else
        m->known[m->n++] = known;
    return code;
}

static int get_known(struct cairn_kernel_modules *m, struct cairn_symbolizer *symbolizer,
                     const char *name, const struct cairn_module *list, struct known **ret_known,
                     struct cairn_err *err)
{
    uint32_t index, number = cairn_strings_add_str(&m->names, name);
    if (number == UINT32_MAX)
        return cairn_fail_memory(err);
    if (!cairn_table_find(&m->by_name, number, &index)) {
        int code = add_known(m, symbolizer, number, list, err);
        if (code < 0)
            return code;
        index = (uint32_t)(m->n - 1);
    }
    *ret_known = &m->known[index];
    return CAIRN_OK;
}

/* The answer is the symbolizer's: ours says in which module the functions are. */
static int take_answer(struct cairn_kernel_modules *m, const struct known *known,
                       struct cairn_symbol *symbol, struct cairn_err *err)
{
    if (cairn_grow((void **)&m->frames, &m->cap_frames, symbol->n_frames, sizeof *m->frames) < 0)
        return cairn_fail_memory(err);
    memcpy(m->frames, symbol->frames, symbol->n_frames * sizeof *m->frames);
    for (uint32_t i = 0; i < symbol->n_frames; i++)
        m->frames[i].module = known->name;
    symbol->frames = m->frames;
    return CAIRN_OK;
}

int cairn_kernel_modules_symbolize(struct cairn_kernel_modules *m,
                                   struct cairn_symbolizer *symbolizer, const char *name,
                                   const struct cairn_module *list, uint64_t va, bool *ret_found,
                                   struct cairn_symbol *ret_symbol, struct cairn_err *err)
{
    struct known *known = NULL;
    struct cairn_symbol symbol;
    struct cairn_err why;
    uint64_t vaddr;
    bool agrees = false;
    *ret_found = false;
    int code = get_known(m, symbolizer, name, list, &known, err);
    if (code < 0 || !known->file || !cairn_kernel_sections_find(&known->sections, va, &vaddr))
        return code;
    code = cairn_symbolize(symbolizer, known->file, vaddr, &symbol, &why);
    if (code == CAIRN_OK && symbol.state == CAIRN_SYMBOL_NAMED)
        code = cairn_kernel_module_agrees(known->file, vaddr, list, va, &agrees, &why);
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    if (code < 0) {
        cairn_log_err(CAIRN_LOG_WARNING, &why);
        known->file = NULL;
        return CAIRN_OK;
    }
    if (!agrees) {
        if (!known->warned)
            cairn_log(CAIRN_LOG_WARNING,
                      "kernel module %s: %s has other functions than the kernel's list where they "
                      "lie: of another build? Such addresses get no lines",
                      name, cairn_module_info(known->file)->path);
        known->warned = true;
        return CAIRN_OK;
    }
    *ret_found = true;
    *ret_symbol = symbol;
    return take_answer(m, known, ret_symbol, err);
}
