/* SPDX-License-Identifier: MIT */
/* One file beside the module: opened, and its sections read as far as names need them. */
#include <limits.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "symbol/dwarf_files.h"

enum {
    JOINED_MAX = 256 << 20
}; /* bytes of sections of one name; honest ones have some thousands */

struct wanted {
    const char *name;
    struct cairn_span *span;
};

static void free_file(struct cairn_side_file **file)
{
    struct cairn_side_file *f = *file;
    if (!f)
        return;
    cairn_dwarf_units_done(&f->units);
    cairn_dwarf_units_done(&f->type_units);
    for (size_t i = 0; i < CAIRN_SIDE_SECTIONS; i++)
        cairn_elf_data_done(&f->sections[i]);
    cairn_file_close(&f->file);
    cairn_free(f->path);
    cairn_free(f);
}

void cairn_side_file_free(struct cairn_side_file *file)
{
    free_file(&file);
}

/* How many sections have the name. */
static uint32_t count_pieces(const struct cairn_elf *elf, const char *name)
{
    struct cairn_elf_section section;
    uint32_t n = 0;
    for (uint32_t i = 0; i < elf->n_sections; i++)
        n += cairn_elf_section(elf, i, &section) && strcmp(section.name, name) == 0;
    return n;
}

/* Appends the contents of one section. */
static int join_piece(const struct cairn_elf *elf, const struct cairn_elf_section *section,
                      struct cairn_buffer *all, struct cairn_err *err)
{
    struct cairn_elf_data piece;
    int code = cairn_elf_read_section_of(elf, section, &piece, err);
    if (code < 0)
        return code;
    if (piece.bytes.size > JOINED_MAX - all->size)
        code = cairn_fail(err, CAIRN_E_LIMIT, "sections %s are more than %d bytes together",
                          section->name, JOINED_MAX);
    else
        cairn_buffer_add(all, piece.bytes.data, piece.bytes.size);
    cairn_elf_data_done(&piece);
    return all->failed ? cairn_fail_memory(err) : code;
}

/* GCC gives each type unit of a .dwo a section of its own, all of one name: they are one. */
static int join_pieces(const struct cairn_elf *elf, const char *name,
                       struct cairn_elf_data *ret_data, struct cairn_err *err)
{
    struct cairn_buffer all = {0};
    struct cairn_elf_section section;
    int code = CAIRN_OK;
    for (uint32_t i = 0; code == CAIRN_OK && i < elf->n_sections; i++)
        if (cairn_elf_section(elf, i, &section) && strcmp(section.name, name) == 0)
            code = join_piece(elf, &section, &all, err);
    if (code < 0)
        cairn_buffer_done(&all);
    else
        *ret_data = (struct cairn_elf_data){.bytes = cairn_buffer_span(&all), .owned = all.data};
    return code;
}

static int read_sections(struct cairn_side_file *f, const struct wanted *wanted,
                         struct cairn_err *err)
{
    for (size_t i = 0; i < CAIRN_SIDE_SECTIONS && wanted[i].name; i++) {
        int code = count_pieces(&f->elf, wanted[i].name) > 1
                       ? join_pieces(&f->elf, wanted[i].name, &f->sections[i], err)
                       : cairn_elf_read_section(&f->elf, wanted[i].name, &f->sections[i], err);
        if (code < 0)
            return code;
        *wanted[i].span = f->sections[i].bytes;
    }
    return CAIRN_OK;
}

/* What every file of a module takes from it. */
static struct cairn_dwarf sections_of(const struct cairn_dwarf_files *files,
                                      const struct cairn_side_file *f)
{
    const struct cairn_dwarf *d = files->owner.dwarf;
    struct cairn_dwarf own = {
        .path = f->path, .swap = f->elf.swap, .code = d->code, .n_code = d->n_code};
    if (f->kind != CAIRN_SIDE_SUP) {
        own.is_dwo = true;
        own.addr = d->addr;
        own.ranges = d->ranges;
    }
    return own;
}

static int read_sup(struct cairn_side_file *f, struct cairn_err *err)
{
    const struct wanted wanted[CAIRN_SIDE_SECTIONS] = {
        {".debug_info", &f->info.info},
        {".debug_abbrev", &f->info.abbrev},
        {".debug_str", &f->info.str},
        {".debug_line_str", &f->info.line_str},
        {".debug_str_offsets", &f->info.str_offsets},
    };
    return read_sections(f, wanted, err);
}

static int read_index(const struct cairn_side_file *f, const char *name, struct cairn_span section,
                      struct cairn_dwarf_split_index *ret_index, struct cairn_err *err)
{
    int code = cairn_dwarf_split_index_read(section, f->elf.swap, ret_index, err);
    return code < 0 ? cairn_fail_in(err, code, name) : code;
}

static int read_split(struct cairn_side_file *f, struct cairn_err *err)
{
    struct cairn_span cu_index, tu_index;
    const struct wanted wanted[CAIRN_SIDE_SECTIONS] = {
        {".debug_info.dwo", &f->info.info},
        {".debug_abbrev.dwo", &f->info.abbrev},
        {".debug_str.dwo", &f->info.str},
        {".debug_str_offsets.dwo", &f->info.str_offsets},
        {".debug_rnglists.dwo", &f->info.rnglists},
        {".debug_types.dwo", &f->types.info},
        {".debug_cu_index", &cu_index},
        {".debug_tu_index", &tu_index},
    };
    int code = read_sections(f, wanted, err);
    if (code < 0)
        return code;
    if (!f->info.info.size)
        return cairn_fail(err, CAIRN_E_FORMAT, "it has no section .debug_info.dwo");
    if (f->kind != CAIRN_SIDE_PACKAGE)
        return CAIRN_OK;
    if (!cu_index.size)
        return cairn_fail(err, CAIRN_E_FORMAT, "it has no section .debug_cu_index");
    code = read_index(f, ".debug_cu_index", cu_index, &f->package.units, err);
    if (code == CAIRN_OK)
        code = read_index(f, ".debug_tu_index", tu_index, &f->package.types, err);
    return code;
}

static int init_units(struct cairn_dwarf_files *files, struct cairn_side_file *f,
                      struct cairn_err *err)
{
    const struct cairn_dwarf_package *package = f->kind == CAIRN_SIDE_PACKAGE ? &f->package : NULL;
    int code = cairn_dwarf_units_init(&f->units, &f->info, err);
    f->units.number = ++files->n_units;
    f->units.package = package;
    if (code < 0 || !f->types.info.size)
        return code;
    struct cairn_span types = f->types.info;
    f->types = f->info;
    f->types.info = types;
    f->types.is_types = true;
    code = cairn_dwarf_units_init(&f->type_units, &f->types, err);
    f->type_units.number = ++files->n_units;
    f->type_units.package = package;
    f->units.types = &f->type_units;
    return code;
}

static bool is_same(const struct cairn_file *a, const struct cairn_file *b)
{
    return a && a->bytes.size && a->dev == b->dev && a->inode == b->inode;
}

static int read_file(struct cairn_dwarf_files *files, struct cairn_side_file *f,
                     struct cairn_err *err)
{
    if (is_same(files->owner.image, &f->file) || is_same(files->owner.debug, &f->file))
        return cairn_fail(err, CAIRN_E_FORMAT, "it is the very file that refers to it");
    int code = cairn_elf_open(f->file.bytes, &f->elf, err);
    if (code < 0)
        return code;
    f->elf.is_vouched =
        f->file.is_guarded || cairn_debugfile_finder_vouches(files->owner.finder, f->path);
    f->info = sections_of(files, f);
    code = f->kind == CAIRN_SIDE_SUP ? read_sup(f, err) : read_split(f, err);
    return code < 0 ? code : init_units(files, f, err);
}

static int keep(struct cairn_dwarf_files *files, struct cairn_side_file *f, struct cairn_err *err)
{
    uint64_t key = cairn_hash_bytes(f->path, strlen(f->path));
    if (cairn_grow((void **)&files->files, &files->cap, files->n + 1, sizeof *files->files) < 0 ||
        cairn_table_set(&files->file_of, key, (uint32_t)files->n) < 0)
        return cairn_fail_memory(err);
    files->files[files->n++] = f;
    return CAIRN_OK;
}

static struct cairn_side_file *find_known(const struct cairn_dwarf_files *files, const char *path)
{
    uint32_t index;
    if (!cairn_table_find(&files->file_of, cairn_hash_bytes(path, strlen(path)), &index) ||
        strcmp(files->files[index]->path, path) != 0)
        return NULL;
    return files->files[index];
}

/* What a path means now: files are told apart by it, and may be remembered for longer than this
 * process has its folder. NULL: memory is gone. */
static char *absolute(const char *path)
{
    struct cairn_buffer text = {0};
    char cwd[PATH_MAX];
    if (path[0] != '/' && getcwd(cwd, sizeof cwd))
        cairn_buffer_printf(&text, "%s/", cwd);
    cairn_buffer_str(&text, path);
    char *whole = text.failed ? NULL : cairn_strdup(cairn_buffer_text(&text));
    cairn_buffer_done(&text);
    return whole;
}

int cairn_side_file_open(struct cairn_dwarf_files *files, enum cairn_side_file_kind kind,
                         const char *path, struct cairn_side_file **ret_file, struct cairn_err *err)
{
    CAIRN_AUTO(free_file) struct cairn_side_file *f = cairn_alloc(1, sizeof *f);
    if (!f || !(f->path = absolute(path)))
        return cairn_fail_memory(err);
    struct cairn_side_file *known = find_known(files, f->path);
    if (known) {
        *ret_file = known->kind == kind ? known : NULL;
        return CAIRN_OK;
    }
    f->kind = kind;
    const char *root = cairn_debugfile_finder_root(files->owner.finder);
    int code = cairn_file_open_below(root, f->path, &f->file, err);
    if (code < 0)
        return code;
    code = read_file(files, f, err);
    if (code < 0)
        return cairn_fail_in(err, code, f->path);
    code = keep(files, f, err);
    if (code < 0)
        return code;
    *ret_file = CAIRN_TAKE(f);
    return CAIRN_OK;
}
