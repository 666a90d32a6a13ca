/* SPDX-License-Identifier: MIT */
#include "cache/entry.h"

#include <cairn/version.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/reader.h"
#include "cache/seal.h"

enum {
    VERSION = 3,     /* of what is laid out here; payloads have their own */
    ALIGN = 64,      /* of the payload: a cache line, and any number */
    FIXED_SIZE = 64, /* up to the first text */
    CHECKSUM_AT = 48,
    FILES_MAX = 1 << 20,        /* .dwo files of one module; big browsers have 40,000 */
    FILE_BYTES_MIN = 3 + 52 + 2 /* of one dependency: two empty texts, and numbers */
};

static const char magic[8] = "cairnSYM";

uint64_t cairn_cache_hash(struct cairn_span bytes)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes.size; i++)
        hash = (hash ^ bytes.data[i]) * 0x100000001b3u;
    return hash;
}

static void put_text(struct cairn_buffer *out, const char *text)
{
    cairn_buffer_add(out, text, strlen(text) + 1);
}

static void put_file(struct cairn_buffer *out, const struct cairn_cache_file *file)
{
    cairn_buffer_le(out, file->role, 1);
    cairn_buffer_le(out, file->absent, 1);
    cairn_buffer_le(out, file->is_guarded, 1);
    cairn_buffer_le(out, file->size, 8);
    cairn_buffer_le(out, file->mtime_ns, 8);
    cairn_buffer_le(out, file->layout, 8);
    cairn_buffer_le(out, file->dev, 8);
    cairn_buffer_le(out, file->inode, 8);
    cairn_buffer_le(out, file->ctime_ns, 8);
    cairn_buffer_le(out, file->uid, 4);
    put_text(out, file->path);
    put_text(out, file->build_id);
}

/* Where the payload of an entry begins whose header has this size. */
static uint64_t payload_at(uint64_t header_size)
{
    return (header_size + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
}

void cairn_cache_entry_write(const struct cairn_cache_entry_header *header,
                             struct cairn_span payload, struct cairn_buffer *out)
{
    static const uint8_t zeros[ALIGN];
    size_t start = out->size;
    cairn_buffer_add(out, magic, sizeof magic);
    cairn_buffer_le(out, VERSION, 4);
    cairn_buffer_le(out, header->kind, 4);
    cairn_buffer_le(out, 0, 8); /* header size */
    cairn_buffer_le(out, 0, 8); /* size of the entry */
    cairn_buffer_le(out, payload.size, 8);
    cairn_buffer_le(out, header->n_files, 8);
    cairn_buffer_le(out, 0, 8); /* checksum */
    cairn_buffer_le(out, cairn_cache_sum(payload), 8);
    put_text(out, cairn_version());
    put_text(out, header->module);
    put_text(out, header->build_id);
    for (size_t i = 0; i < header->n_files; i++)
        put_file(out, &header->files[i]);
    size_t size = out->size - start;
    cairn_buffer_set_le(out, start + 16, size, 8);
    cairn_buffer_set_le(out, start + 24, payload_at(size) + payload.size, 8);
    if (!out->failed)
        cairn_buffer_set_le(out, start + CHECKSUM_AT,
                            cairn_cache_hash((struct cairn_span){out->data + start, size}), 8);
    cairn_buffer_add(out, zeros, (size_t)(payload_at(size) - size));
}

/* The checksum is taken of the header with zeros in its own place. */
static bool checksum_is_right(struct cairn_span header)
{
    struct cairn_span before = {header.data, CHECKSUM_AT};
    uint64_t hash = cairn_cache_hash(before), said = 0;
    for (size_t i = CHECKSUM_AT; i < header.size; i++) {
        bool own = i < CHECKSUM_AT + 8;
        if (own)
            said |= (uint64_t)header.data[i] << 8 * (i - CHECKSUM_AT);
        hash = (hash ^ (own ? 0 : header.data[i])) * 0x100000001b3u;
    }
    return hash == said;
}

static int read_files(struct cairn_reader *r, uint64_t n, struct cairn_cache_entry_read *entry,
                      struct cairn_err *err)
{
    if (n > FILES_MAX || n > cairn_reader_left(r) / FILE_BYTES_MIN)
        return cairn_fail(err, CAIRN_E_FORMAT, "header of %zu bytes with %llu dependencies",
                          r->bytes.size, (unsigned long long)n);
    entry->files = cairn_alloc((size_t)n, sizeof *entry->files);
    if (!entry->files)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < n; i++) {
        struct cairn_cache_file *file = &entry->files[i];
        file->role = cairn_reader_u8(r);
        file->absent = cairn_reader_u8(r) != 0;
        file->is_guarded = cairn_reader_u8(r) != 0;
        file->size = cairn_reader_u64(r);
        file->mtime_ns = cairn_reader_u64(r);
        file->layout = cairn_reader_u64(r);
        file->dev = cairn_reader_u64(r);
        file->inode = cairn_reader_u64(r);
        file->ctime_ns = cairn_reader_u64(r);
        file->uid = cairn_reader_u32(r);
        file->path = cairn_reader_str(r);
        file->build_id = cairn_reader_str(r);
    }
    entry->header.files = entry->files;
    entry->header.n_files = (size_t)n;
    return CAIRN_OK;
}

/* The texts and dependencies; `r` holds the header alone, and stands behind its numbers. */
static int read_texts(struct cairn_reader *r, uint64_t n_files,
                      struct cairn_cache_entry_read *entry, struct cairn_err *err)
{
    const char *maker = cairn_reader_str(r);
    entry->header.module = cairn_reader_str(r);
    entry->header.build_id = cairn_reader_str(r);
    if (!r->failed && strcmp(maker, cairn_version()) != 0)
        return cairn_fail(err, CAIRN_E_SUPPORT, "made by cairn %.40s, this is %s", maker,
                          cairn_version());
    int code = read_files(r, n_files, entry, err);
    if (code == CAIRN_OK && (r->failed || r->pos != r->bytes.size))
        code = cairn_fail(err, CAIRN_E_FORMAT, "header ends at 0x%zx, expected 0x%zx", r->pos,
                          r->bytes.size);
    return code;
}

int cairn_cache_entry_read(struct cairn_span bytes, struct cairn_cache_entry_read *ret_entry,
                           struct cairn_err *err)
{
    bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    struct cairn_reader r = cairn_reader_of(bytes, big);
    struct cairn_span found = cairn_reader_take(&r, sizeof magic);
    if (!cairn_span_equal(found, (struct cairn_span){(const uint8_t *)magic, sizeof magic}))
        return cairn_fail(err, CAIRN_E_FORMAT, "does not begin as an entry of the cache");
    uint32_t version = cairn_reader_u32(&r), kind = cairn_reader_u32(&r);
    uint64_t header_size = cairn_reader_u64(&r), size = cairn_reader_u64(&r);
    uint64_t payload_size = cairn_reader_u64(&r), n_files = cairn_reader_u64(&r);
    cairn_reader_skip(&r, 8); /* checksum of the header */
    uint64_t payload_sum = cairn_reader_u64(&r);
    if (!r.failed && version != VERSION)
        return cairn_fail(err, CAIRN_E_SUPPORT, "version %u, expected %d", version, VERSION);
    if (r.failed || size != bytes.size || header_size < FIXED_SIZE || header_size > size ||
        payload_at(header_size) > size || payload_size != size - payload_at(header_size))
        return cairn_fail(err, CAIRN_E_FORMAT, "%zu bytes, its header says %llu", bytes.size,
                          (unsigned long long)size);
    struct cairn_span header = {bytes.data, (size_t)header_size};
    if (!checksum_is_right(header))
        return cairn_fail(err, CAIRN_E_FORMAT, "checksum of its header is wrong");
    r = cairn_reader_of(header, big);
    cairn_reader_seek(&r, FIXED_SIZE);
    struct cairn_cache_entry_read entry = {.header.kind = (enum cairn_cache_kind)kind,
                                           .payload_sum = payload_sum};
    int code = read_texts(&r, n_files, &entry, err);
    if (code < 0) {
        cairn_cache_entry_done(&entry);
        return code;
    }
    (void)cairn_span_slice(bytes, size - payload_size, payload_size, &entry.payload);
    *ret_entry = entry;
    return CAIRN_OK;
}

void cairn_cache_entry_done(struct cairn_cache_entry_read *entry)
{
    cairn_free(entry->files);
    *entry = (struct cairn_cache_entry_read){0};
}

bool cairn_cache_file_identical(const struct cairn_cache_file *a, const struct cairn_cache_file *b)
{
    return a->inode && a->dev == b->dev && a->inode == b->inode && a->uid == b->uid &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

bool cairn_cache_file_equal(const struct cairn_cache_file *a, const struct cairn_cache_file *b)
{
    if (a->role != b->role || a->absent != b->absent || a->size != b->size ||
        a->layout != b->layout || a->is_guarded != b->is_guarded ||
        strcmp(a->build_id, b->build_id) != 0)
        return false;
    if (!a->is_guarded)
        return cairn_cache_file_identical(a, b);
    return a->build_id[0] || (a->mtime_ns == b->mtime_ns && strcmp(a->path, b->path) == 0);
}
