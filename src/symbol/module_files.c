/* SPDX-License-Identifier: MIT */
#include "symbol/module_files.h"

#include <limits.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "elf/note.h"
#include "symbol/module.h"

/* A build ID outlives some changes of its file (strip, objcopy); the table of sections hardly any.
 * It has been read already, so looking at all of it costs nothing. */
static uint64_t layout_of(const struct cairn_elf *elf)
{
    enum { HEADER_SIZE = 52 }; /* of an ELF file, at least */
    struct cairn_span header, sections;
    uint64_t hash = 0;
    if (cairn_span_slice(elf->bytes, 0, HEADER_SIZE, &header))
        hash = cairn_cache_hash(header);
    if (cairn_span_slice(elf->bytes, elf->sections_off,
                         (uint64_t)elf->n_sections * elf->section_size, &sections))
        hash ^= cairn_cache_hash(sections);
    return hash;
}

static void describe_elf(const struct cairn_elf *elf, char build_id[2 * 64 + 1],
                         struct cairn_cache_file *file)
{
    struct cairn_span id;
    if (cairn_elf_build_id(elf, &id, NULL) == CAIRN_OK && id.size <= 64)
        for (size_t i = 0; i < id.size; i++) {
            build_id[2 * i] = "0123456789abcdef"[id.data[i] >> 4];
            build_id[2 * i + 1] = "0123456789abcdef"[id.data[i] & 15];
        }
    file->build_id = build_id;
    file->size = elf->bytes.size;
    file->layout = layout_of(elf);
}

/* A path that means the same in every run; "" where there is none: below /proc it depends on a
 * process and its root. */
static int put_path(const char *path, struct cairn_buffer *out, struct cairn_err *err)
{
    char cwd[PATH_MAX];
    if (strncmp(path, "/proc/", 6) == 0 || (path[0] != '/' && !getcwd(cwd, sizeof cwd)))
        path = "";
    if (path[0] && path[0] != '/')
        cairn_buffer_printf(out, "%s/", cwd);
    cairn_buffer_str(out, path);
    return out->failed ? cairn_fail_memory(err) : CAIRN_OK;
}

/* Bytes in memory have no identity that a later run could find: inode 0. */
static void describe_file(const struct cairn_file *found, struct cairn_cache_file *file)
{
    file->mtime_ns = found->mtime_ns;
    file->ctime_ns = found->ctime_ns;
    file->dev = found->dev;
    file->inode = found->is_copy ? 0 : found->inode;
    file->uid = found->uid;
    file->is_guarded = found->is_guarded;
}

static size_t add_others(const struct cairn_dwarf_files *files, struct cairn_cache_file *out)
{
    for (size_t i = 0; i < files->n; i++) {
        const struct cairn_side_file *side = files->files[i];
        out[i] = (struct cairn_cache_file){.role = CAIRN_CACHE_OTHER,
                                           .path = side->path,
                                           .build_id = "",
                                           .size = side->file.bytes.size};
        describe_file(&side->file, &out[i]);
    }
    return files->n;
}

int cairn_module_key_make(const struct cairn_module *m, bool all, struct cairn_module_key *ret_key,
                          struct cairn_err *err)
{
    *ret_key = (struct cairn_module_key){0};
    struct cairn_module_key *k = ret_key;
    bool both = m->has_image && m->debug.bytes.data != m->image.bytes.data;
    size_t n = 0;
    k->files = cairn_alloc(2 + (all ? m->files.n : 0), sizeof *k->files);
    if (!k->files || put_path(m->owned_bytes ? "" : m->path, &k->path, err) < 0) {
        cairn_module_key_done(k);
        return cairn_fail_memory(err);
    }
    const char *path = cairn_buffer_text(&k->path);
    k->files[n] = (struct cairn_cache_file){
        .role = m->has_image ? CAIRN_CACHE_IMAGE : CAIRN_CACHE_DEBUG,
        .path = path,
    };
    describe_file(m->has_image ? &m->found.image : &m->found.debug, &k->files[n]);
    describe_elf(&m->image, k->build_ids[0], &k->files[n++]);
    if (both) {
        k->files[n] = (struct cairn_cache_file){.role = CAIRN_CACHE_DEBUG,
                                                .path = m->debug_path ? m->debug_path : ""};
        describe_file(&m->found.debug, &k->files[n]);
        describe_elf(&m->debug, k->build_ids[1], &k->files[n++]);
    }
    if (all)
        n += add_others(&m->files, k->files + n);
    k->key = (struct cairn_cache_key){
        .path = path, .build_id = m->build_id, .files = k->files, .n_files = n};
    return CAIRN_OK;
}

void cairn_module_key_done(struct cairn_module_key *key)
{
    cairn_free(key->files);
    cairn_buffer_done(&key->path);
    *key = (struct cairn_module_key){0};
}
