/* SPDX-License-Identifier: MIT */
/*
 * The files that a profile's modules need, as one tar archive in the layout of perf's folder:
 *
 *     .build-id/ab/cdef01            -> ../../usr/lib/libfoo.so.1/abcdef01
 *     usr/lib/libfoo.so.1/abcdef01/elf, debug
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/module_kind.h"
#include "base/strings.h"
#include "base/tar.h"
#include "debugfile/debugfile.h"
#include "debugfile/dwarf_places.h"
#include "dwarf/sup.h"
#include "profile/profile.h"
#include "symstore/store.h"

enum { NAME_MAX_BYTES = 2048, ID_DIGITS_MIN = 8, SUPS_MAX = 4096 };

struct wanted {
    const char *path, *build_id;
};

struct pack {
    struct cairn_symbol_pack_opts opts;
    struct cairn_tar tar;
    struct cairn_debugfile_finder *finder;
    struct cairn_symbol_packed *sum;
    struct cairn_strings sups; /* build IDs of supplementary files that are in */
    struct cairn_err *err;
};

static int by_path_and_id(const void *left, const void *right)
{
    const struct wanted *a = left, *b = right;
    int order = strcmp(a->build_id, b->build_id);
    return order ? order : strcmp(a->path, b->path);
}

/* The modules that samples reach, each once. */
static int list_modules(const struct cairn_profile *p, struct wanted **ret_list, size_t *ret_n,
                        struct cairn_err *err)
{
    struct cairn_profile_reach reach = {0};
    struct wanted *list = cairn_alloc(p->n_modules, sizeof *list);
    size_t n = 0, kept = 0;
    if (!list || !cairn_profile_reach(p, &reach)) {
        cairn_free(list);
        return cairn_fail_memory(err);
    }
    for (size_t i = 1; i < p->n_modules; i++)
        if (reach.modules[i] && cairn_module_is_file((enum cairn_module_kind)p->modules[i].kind))
            list[n++] = (struct wanted){cairn_strings_get(&p->strings, p->modules[i].path),
                                        cairn_strings_get(&p->strings, p->modules[i].build_id)};
    cairn_profile_reach_done(&reach);
    if (n)
        qsort(list, n, sizeof *list, by_path_and_id);
    for (size_t i = 0; i < n; i++)
        if (!kept || by_path_and_id(&list[kept - 1], &list[i]) != 0)
            list[kept++] = list[i];
    *ret_list = list;
    *ret_n = kept;
    return CAIRN_OK;
}

/* A folder's name out of a module's path: relative, without "..", whatever a profile says. */
static void put_name(struct cairn_buffer *out, const char *path)
{
    size_t size = cairn_module_path_size(path), start = out->size;
    if (size > NAME_MAX_BYTES) {
        path += size - NAME_MAX_BYTES;
        size = NAME_MAX_BYTES;
    }
    for (size_t i = 0; i < size;) {
        size_t n = strcspn(path + i, "/");
        n = n < size - i ? n : size - i;
        bool is_step = (n == 1 && path[i] == '.') || (n == 2 && !memcmp(path + i, "..", 2));
        if (n && !is_step) {
            if (out->size > start)
                cairn_buffer_char(out, '/');
            for (size_t k = i; k < i + n; k++)
                cairn_buffer_char(out, (unsigned char)path[k] < ' ' ? '_' : path[k]);
        }
        i += n + 1;
    }
    if (out->size == start)
        cairn_buffer_char(out, '_');
}

static int put_link(struct pack *k, const char *folder, const char *id)
{
    struct cairn_buffer name = {0}, target = {0};
    cairn_buffer_printf(&name, ".build-id/%.2s/%s", id, id + 2);
    cairn_buffer_printf(&target, "../../%s", folder);
    int code = name.failed || target.failed ? cairn_fail_memory(k->err)
                                            : cairn_tar_link(&k->tar, cairn_buffer_text(&name),
                                                             cairn_buffer_text(&target), k->err);
    cairn_buffer_done(&name);
    cairn_buffer_done(&target);
    return code;
}

/* The bytes as they are in the file, not what was made of them. */
static struct cairn_span stored(const struct cairn_file *file)
{
    return file->owned ? file->mapping : file->bytes;
}

static int put_file(struct pack *k, const char *folder, const char *name,
                    const struct cairn_file *file)
{
    struct cairn_buffer path = {0};
    cairn_buffer_printf(&path, "%s/%s", folder, name);
    int code = path.failed
                   ? cairn_fail_memory(k->err)
                   : cairn_tar_file(&k->tar, cairn_buffer_text(&path), stored(file), k->err);
    cairn_buffer_done(&path);
    k->sum->n_files += code == CAIRN_OK;
    k->sum->bytes += code == CAIRN_OK ? stored(file).size : 0;
    return code;
}

/* Binary and debug file under one build ID; either may be NULL. */
static int put_module(struct pack *k, const char *path, const char *id,
                      const struct cairn_file *image, const struct cairn_file *debug)
{
    struct cairn_buffer folder = {0};
    put_name(&folder, path);
    cairn_buffer_printf(&folder, "/%s", id);
    const char *text = cairn_buffer_text(&folder);
    int code = folder.failed ? cairn_fail_memory(k->err) : put_link(k, text, id);
    if (code == CAIRN_OK && image)
        code = put_file(k, text, "elf", image);
    if (code == CAIRN_OK && debug)
        code = put_file(k, text, "debug", debug);
    cairn_buffer_done(&folder);
    return code;
}

struct sup_search {
    char id[CAIRN_BUILD_ID_TEXT];
    struct cairn_candidate found;
};

static int try_sup(void *ctx, const char *path)
{
    struct sup_search *s = ctx;
    struct cairn_candidate c;
    struct cairn_err ignored;
    const struct cairn_candidate_place place = {.is_vouched = false};
    if (cairn_candidate_open(path, &place, &c, &ignored) < 0)
        return 0;
    if (strcmp(c.build_id, s->id) == 0) {
        s->found = c;
        return 1;
    }
    cairn_candidate_close(&c);
    return 0;
}

static bool read_altlink(struct cairn_span bytes, struct cairn_dwarf_sup *ret_link, char *ret_id)
{
    static const char digits[] = "0123456789abcdef";
    struct cairn_elf elf;
    struct cairn_elf_section section;
    struct cairn_span link;
    if (cairn_elf_open(bytes, &elf, NULL) < 0 ||
        !cairn_elf_find_section(&elf, ".gnu_debugaltlink", &section) ||
        !cairn_elf_section_bytes(&elf, &section, &link) || !link.size ||
        cairn_dwarf_read_altlink(link, ret_link, NULL) < 0 ||
        2 * ret_link->id.size >= CAIRN_BUILD_ID_TEXT || 2 * ret_link->id.size < ID_DIGITS_MIN)
        return false;
    for (size_t i = 0; i < ret_link->id.size; i++) {
        ret_id[2 * i] = digits[ret_link->id.data[i] >> 4];
        ret_id[2 * i + 1] = digits[ret_link->id.data[i] & 15];
    }
    ret_id[2 * ret_link->id.size] = '\0';
    return true;
}

/* What dwz(1) moved out of several debug files is one file more, once for all of them. */
static int put_sup(struct pack *k, const struct cairn_debugfile_found *found)
{
    struct cairn_dwarf_sup link = {0};
    struct sup_search s = {0};
    const char *from = found->debug_path ? found->debug_path : found->image_path;
    struct cairn_span bytes = found->debug_path ? found->debug.bytes : found->image.bytes;
    if (!read_altlink(bytes, &link, s.id) || k->sups.n > SUPS_MAX)
        return CAIRN_OK;
    size_t before = k->sups.n;
    uint32_t number = cairn_strings_add_str(&k->sups, s.id);
    if (number == UINT32_MAX)
        return cairn_fail_memory(k->err);
    if (before && number < before)
        return CAIRN_OK;
    const struct cairn_dwarf_places places = {.finder = k->finder,
                                              .image_path = found->image_path,
                                              .debug_path = found->debug_path,
                                              .try_path = try_sup,
                                              .ctx = &s};
    if (cairn_dwarf_places_sup(&places, from, link.name, s.id) != 1)
        return CAIRN_OK; /* the reader of the archive lacks what is missing here, too */
    int code = put_module(k, link.name, s.id, NULL, &s.found.file);
    cairn_candidate_close(&s.found);
    return code;
}

static void tell(struct pack *k, const struct wanted *w, const char *why)
{
    k->sum->n_missing++;
    if (k->opts.missing)
        k->opts.missing(k->opts.ctx, w->path, w->build_id, why);
}

static int pack_one(struct pack *k, const struct wanted *w)
{
    struct cairn_debugfile_found found;
    struct cairn_err why;
    if (strlen(w->build_id) < ID_DIGITS_MIN) {
        tell(k, w, "the profile has no build ID of it");
        return CAIRN_OK;
    }
    int code = cairn_debugfile_find(k->finder, w->path, w->build_id, &found, &why);
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(k->err);
    if (code < 0 || !found.verified) {
        tell(k, w, code < 0 ? why.msg : "the file that was found has no build ID");
        if (code == CAIRN_OK)
            cairn_debugfile_found_done(&found);
        return CAIRN_OK;
    }
    code = put_module(k, w->path, w->build_id, found.image_path ? &found.image : NULL,
                      found.debug_path ? &found.debug : NULL);
    if (code == CAIRN_OK)
        code = put_sup(k, &found);
    k->sum->n_modules += code == CAIRN_OK;
    cairn_debugfile_found_done(&found);
    return code;
}

int cairn_symbol_pack(const struct cairn_profile *profile,
                      const struct cairn_symbol_pack_opts *opts, cairn_write_fn write, void *ctx,
                      struct cairn_symbol_packed *packed, struct cairn_err *err)
{
    struct cairn_symbol_packed sum = {0};
    struct pack k = {.tar = {write, ctx}, .sum = &sum, .err = err};
    struct wanted *list = NULL;
    size_t n = 0, size = packed->size < sizeof sum ? packed->size : sizeof sum;
    memcpy(&k.opts, opts, opts->size < sizeof k.opts ? opts->size : sizeof k.opts);
    const struct cairn_debugfile_places places = {.symbol_dirs = k.opts.symbol_dirs,
                                                  .n_symbol_dirs = k.opts.n_symbol_dirs,
                                                  .debug_dir = k.opts.debug_dir,
                                                  .fetches = true};
    sum.size = packed->size;
    int code = cairn_debugfile_finder_new(&places, &k.finder, err);
    if (code == CAIRN_OK)
        code = list_modules(profile, &list, &n, err);
    for (size_t i = 0; i < n && code == CAIRN_OK; i++)
        if (!i || strcmp(list[i].build_id, list[i - 1].build_id) != 0 || !*list[i].build_id)
            code = pack_one(&k, &list[i]);
    if (code == CAIRN_OK)
        code = cairn_tar_end(&k.tar, err);
    cairn_free(list);
    cairn_strings_done(&k.sups);
    cairn_debugfile_finder_free(k.finder);
    memcpy(packed, &sum, size);
    return code;
}
