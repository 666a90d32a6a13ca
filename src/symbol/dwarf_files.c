/* SPDX-License-Identifier: MIT */
/* The files of one module together: where the functions of its units are. */
#include "symbol/dwarf_files.h"

#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "dwarf/split.h"

enum {
    WARNINGS_MAX = 8,        /* about damaged files of one module */
    COUNTED_MAX = 100 * 1000 /* .dwo files that are looked for, only to be counted */
};

/* The module's type units of DWARF 4. */
static int open_types(struct cairn_dwarf_files *files, const struct cairn_elf *elf,
                      struct cairn_err *err)
{
    struct cairn_dwarf_units *main = files->owner.units;
    struct cairn_err why;
    int code = cairn_elf_read_section(elf, ".debug_types", &files->type_section, &why);
    if (code == CAIRN_OK && !files->type_section.bytes.size)
        return CAIRN_OK;
    if (code == CAIRN_OK) {
        files->types = *files->owner.dwarf;
        files->types.info = files->type_section.bytes;
        files->types.is_types = true;
        code = cairn_dwarf_units_init(&files->type_units, &files->types, &why);
    }
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    if (code < 0) {
        cairn_fail_in(&why, code, files->owner.path);
        cairn_log_err(CAIRN_LOG_WARNING, &why);
        return CAIRN_OK;
    }
    files->type_units.number = ++files->n_units;
    files->type_units.alt = main->alt;
    main->types = &files->type_units;
    return CAIRN_OK;
}

int cairn_dwarf_files_open(struct cairn_dwarf_files *files, const struct cairn_dwarf_owner *owner,
                           const struct cairn_elf *elf, struct cairn_err *err)
{
    files->owner = *owner;
    int code = cairn_dwarf_files_open_sup(files, elf, err);
    if (code == CAIRN_OK)
        code = open_types(files, elf, err);
    return code;
}

void cairn_dwarf_files_done(struct cairn_dwarf_files *files)
{
    for (size_t i = 0; i < files->n_functions; i++)
        cairn_dwarf_functions_done(&files->functions[i]);
    cairn_free(files->functions);
    cairn_table_done(&files->functions_of);
    for (size_t i = 0; i < files->n; i++)
        cairn_side_file_free(files->files[i]);
    cairn_free(files->files);
    cairn_table_done(&files->file_of);
    cairn_free(files->homes);
    cairn_dwarf_units_done(&files->type_units);
    cairn_elf_data_done(&files->type_section);
    *files = (struct cairn_dwarf_files){0};
}

/* The search for the functions of one skeleton. */
struct split_search {
    struct cairn_dwarf_files *files;
    struct cairn_dwarf_unit *skeleton;
    struct cairn_dwarf_home found; /* units NULL: nothing yet */
    struct cairn_err refused; /* why the first file that is there was not taken; code 0: none */
    struct cairn_err *err;
};

static struct cairn_dwarf_places places_of(const struct cairn_dwarf_files *files,
                                           cairn_dwarf_try_fn try_path, void *ctx)
{
    return (struct cairn_dwarf_places){.finder = files->owner.finder,
                                       .image_path = files->owner.image_path,
                                       .debug_path = files->owner.debug_path,
                                       .try_path = try_path,
                                       .ctx = ctx};
}

static int tell_damage(struct cairn_dwarf_files *files, const struct cairn_err *why,
                       struct cairn_err *err)
{
    if (why->code == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    cairn_log_err(++files->n_told <= WARNINGS_MAX ? CAIRN_LOG_WARNING : CAIRN_LOG_INFO, why);
    return CAIRN_OK;
}

/* A file that is there but of no use: the search goes on, and tells if nothing better comes. */
static int refuse(struct split_search *s, const struct cairn_err *why)
{
    if (why->code == CAIRN_E_NOMEM)
        return cairn_fail_memory(s->err);
    if (!s->refused.code)
        s->refused = *why;
    return 0;
}

static int try_package(void *ctx, const char *path)
{
    struct split_search *s = ctx;
    struct cairn_err why;
    int code = cairn_side_file_open(s->files, CAIRN_SIDE_PACKAGE, path, &s->files->package, &why);
    if (code == CAIRN_E_MISSING)
        return 0;
    if (code < 0)
        return tell_damage(s->files, &why, s->err);
    return s->files->package != NULL;
}

static int need_package(struct split_search *s)
{
    if (s->files->has_package)
        return CAIRN_OK;
    struct cairn_dwarf_places places = places_of(s->files, try_package, s);
    int code = cairn_dwarf_places_package(&places);
    if (code < 0)
        return cairn_fail_memory(s->err);
    s->files->has_package = true;
    if (s->files->package)
        cairn_log(CAIRN_LOG_INFO, "%s: functions from %s", s->files->owner.path,
                  s->files->package->path);
    return CAIRN_OK;
}

/* Asks one file for the skeleton's other half. 1: there it is. */
static int ask_file(struct split_search *s, struct cairn_side_file *file)
{
    struct cairn_err why;
    struct cairn_dwarf_unit *unit;
    int code = cairn_dwarf_split_find(&file->units, s->skeleton, &unit, &why);
    if (code == CAIRN_OK) {
        s->found = (struct cairn_dwarf_home){&file->units, unit};
        return 1;
    }
    if (code == CAIRN_E_MISSING)
        return 0;
    cairn_fail_in(&why, code, file->path);
    return refuse(s, &why);
}

static int try_dwo(void *ctx, const char *path)
{
    struct split_search *s = ctx;
    struct cairn_err why;
    struct cairn_side_file *file;
    int code = cairn_side_file_open(s->files, CAIRN_SIDE_DWO, path, &file, &why);
    if (code == CAIRN_E_MISSING)
        return 0;
    if (code < 0)
        return refuse(s, &why);
    return file ? ask_file(s, file) : 0;
}

static int try_existence(void *ctx, const char *path)
{
    struct stat st;
    (void)ctx;
    return cairn_file_stat(path, &st);
}

/* Is there anything for this skeleton, as far as one can tell without reading it? */
static int count_missing(struct cairn_dwarf_files *files, const struct cairn_dwarf_unit *skeleton,
                         size_t *n_missing)
{
    struct cairn_dwarf_contribution c;
    if (files->package &&
        cairn_dwarf_split_index_find(&files->package->package.units, skeleton->signature, &c))
        return CAIRN_OK;
    struct cairn_dwarf_places places = places_of(files, try_existence, NULL);
    int found = skeleton->dwo_name
                    ? cairn_dwarf_places_dwo(&places, skeleton->comp_dir, skeleton->dwo_name)
                    : 0;
    *n_missing += found == 0;
    return found < 0 ? found : CAIRN_OK;
}

/* How many .dwo files the module names, and how many of them are not there. */
static int count_dwos(struct split_search *s, size_t *ret_n, size_t *ret_missing)
{
    struct cairn_dwarf_units *units = s->files->owner.units;
    size_t n = 0, n_missing = 0;
    int code = cairn_dwarf_units_read_all(units, s->err);
    for (size_t i = 0; code == CAIRN_OK && i < units->n && n < COUNTED_MAX; i++) {
        struct cairn_err why;
        code = cairn_dwarf_unit_open(units, units->units[i], &why);
        if (code < 0) {
            code = code == CAIRN_E_MISSING ? CAIRN_OK : tell_damage(s->files, &why, s->err);
        } else if (units->units[i]->is_split) {
            n++;
            code = count_missing(s->files, units->units[i], &n_missing);
        }
    }
    *ret_n = n;
    *ret_missing = n_missing;
    return code < 0 ? cairn_fail_memory(s->err) : code;
}

#define LOST                                                                                       \
    "inline frames are missing there, names come from the symbol table and lines from the "        \
    "program itself"

static int tell_missing(struct split_search *s)
{
    struct cairn_dwarf_files *files = s->files;
    const char *name = s->skeleton->dwo_name ? s->skeleton->dwo_name : "without a name";
    size_t n, n_missing;
    if (files->told_missing) {
        cairn_log(CAIRN_LOG_INFO, "%s: %s is missing", files->owner.path, name);
        return CAIRN_OK;
    }
    files->told_missing = true;
    int code = count_dwos(s, &n, &n_missing);
    if (code < 0)
        return code;
    struct cairn_err why;
    cairn_fail(&why, CAIRN_E_MISSING,
               "%s: %zu of %zu .dwo files are missing, the first is %s: " LOST, files->owner.path,
               n_missing ? n_missing : 1, n, name);
    cairn_hint(&why, "give the folder that holds them, or their .dwp, with --symbols");
    cairn_log_err(CAIRN_LOG_WARNING, &why);
    return CAIRN_OK;
}

/* Another build is told of once for the module, like what is missing: mostly all are. */
static void tell_refused(struct split_search *s)
{
    struct cairn_dwarf_files *files = s->files;
    bool is_other = s->refused.code == CAIRN_E_ARG;
    bool is_news = is_other ? !files->told_other : ++files->n_told <= WARNINGS_MAX;
    struct cairn_err why;
    files->told_other |= is_other;
    cairn_fail(&why, s->refused.code, "%s: " LOST, s->refused.msg);
    cairn_hint(&why, "give the folder with the .dwo files of %s with --symbols", files->owner.path);
    cairn_log_err(is_news ? CAIRN_LOG_WARNING : CAIRN_LOG_INFO, &why);
}

static int search_split(struct split_search *s)
{
    struct cairn_dwarf_files *files = s->files;
    int code = need_package(s);
    if (code == CAIRN_OK && files->package)
        code = ask_file(s, files->package);
    if (code == CAIRN_OK && s->skeleton->dwo_name) {
        struct cairn_dwarf_places places = places_of(files, try_dwo, s);
        code = cairn_dwarf_places_dwo(&places, s->skeleton->comp_dir, s->skeleton->dwo_name);
    }
    if (code < 0)
        return cairn_fail_memory(s->err);
    if (s->found.units)
        return CAIRN_OK;
    s->found = (struct cairn_dwarf_home){files->owner.units, s->skeleton};
    files->is_incomplete = true;
    if (s->refused.code) {
        tell_refused(s);
        return CAIRN_OK;
    }
    return tell_missing(s);
}

int cairn_dwarf_files_home(struct cairn_dwarf_files *files, struct cairn_dwarf_unit *unit,
                           struct cairn_dwarf_home *ret_home, struct cairn_err *err)
{
    struct split_search s = {.files = files, .skeleton = unit, .err = err};
    if (!unit->is_split) {
        *ret_home = (struct cairn_dwarf_home){files->owner.units, unit};
        return CAIRN_OK;
    }
    if (unit->number >= files->n_homes) {
        size_t n = (size_t)unit->number + 1;
        if (cairn_grow((void **)&files->homes, &files->cap_homes, n, sizeof *files->homes) < 0)
            return cairn_fail_memory(err);
        memset(files->homes + files->n_homes, 0, (n - files->n_homes) * sizeof *files->homes);
        files->n_homes = n;
    }
    if (!files->homes[unit->number].units) {
        int code = search_split(&s);
        if (code < 0)
            return code;
        files->homes[unit->number] = s.found;
    }
    *ret_home = files->homes[unit->number];
    return CAIRN_OK;
}

int cairn_dwarf_files_functions(struct cairn_dwarf_files *files, struct cairn_dwarf_units *home,
                                struct cairn_dwarf_unit *unit,
                                const struct cairn_dwarf_functions **ret_functions,
                                struct cairn_err *err)
{
    uint64_t key = (uint64_t)home->number << 32 | unit->number;
    uint32_t index;
    if (cairn_table_find(&files->functions_of, key, &index)) {
        *ret_functions = &files->functions[index];
        return CAIRN_OK;
    }
    struct cairn_dwarf_functions read = {0};
    struct cairn_err why;
    int code = cairn_dwarf_unit_open(home, unit, &why);
    if (code == CAIRN_OK)
        code = cairn_dwarf_functions_read(home->d, unit, &read, &why);
    if (code == CAIRN_E_NOMEM ||
        cairn_grow((void **)&files->functions, &files->cap_functions, files->n_functions + 1,
                   sizeof *files->functions) < 0 ||
        cairn_table_set(&files->functions_of, key, (uint32_t)files->n_functions) < 0) {
        cairn_dwarf_functions_done(&read);
        return cairn_fail_memory(err);
    }
    files->functions[files->n_functions++] = read;
    *ret_functions = &files->functions[files->n_functions - 1];
    return CAIRN_OK;
}

static size_t units_bytes(const struct cairn_dwarf_units *units)
{
    return units->n * (sizeof **units->units + 2 * sizeof *units->units);
}

size_t cairn_dwarf_files_bytes(const struct cairn_dwarf_files *files)
{
    size_t bytes = units_bytes(&files->type_units) + files->cap_homes * sizeof *files->homes +
                   files->cap_functions * sizeof *files->functions;
    if (files->type_section.owned)
        bytes += files->type_section.bytes.size;
    for (size_t i = 0; i < files->n_functions; i++)
        bytes += files->functions[i].cap_scopes * sizeof *files->functions->scopes +
                 files->functions[i].cap_nodes * sizeof *files->functions->nodes;
    for (size_t i = 0; i < files->n; i++) {
        const struct cairn_side_file *f = files->files[i];
        bytes += sizeof *f + units_bytes(&f->units) + units_bytes(&f->type_units);
        for (size_t k = 0; k < CAIRN_SIDE_SECTIONS; k++)
            if (f->sections[k].owned)
                bytes += f->sections[k].bytes.size;
    }
    return bytes;
}
