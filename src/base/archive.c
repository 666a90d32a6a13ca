/* SPDX-License-Identifier: MIT */
#include "base/archive.h"

#include "base/error.h"
#include "base/reader.h"
#include "base/zip.h"

/* Numbers are little-endian; a field of all ones is in the zip64 record or field instead. */
enum {
    LOCAL_MAGIC = 0x04034b50,
    ENTRY_MAGIC = 0x02014b50,
    END_MAGIC = 0x06054b50,
    END64_MAGIC = 0x06064b50,
    LOCATOR64_MAGIC = 0x07064b50,
    LOCAL_BYTES = 30,
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR64_BYTES = 20,
    COMMENT_MAX = 0xffff,
    EXTRA_ZIP64 = 1,
    FLAG_ENCRYPTED = 1,
    METHOD_DEFLATE = 8,
    DEFLATE_RATIO_MAX = 1032, /* RFC 1951: 258 bytes by 2 bits */
    ENTRIES_MAX = 1 << 20,    /* that are looked at; the largest real archives have 100,000 */
};

static struct cairn_reader reader_at(struct cairn_span bytes, uint64_t off)
{
    bool little_host = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    struct cairn_reader r = cairn_reader_of(bytes, !little_host);
    cairn_reader_seek(&r, off);
    return r;
}

/* Does this record stand at `off`? Then `*ret_r` is behind its magic. */
static bool record_at(struct cairn_span bytes, uint64_t off, uint32_t magic,
                      struct cairn_reader *ret_r)
{
    *ret_r = reader_at(bytes, off);
    return cairn_reader_u32(ret_r) == magic && !ret_r->failed;
}

bool cairn_archive_is_one(struct cairn_span bytes)
{
    struct cairn_reader r;
    return record_at(bytes, 0, LOCAL_MAGIC, &r) || record_at(bytes, 0, END_MAGIC, &r);
}

/* The end record: the last one whose comment reaches exactly to the end of the file. */
static bool find_end(struct cairn_span bytes, uint64_t *ret_off)
{
    for (uint64_t comment = 0; comment <= COMMENT_MAX && END_BYTES + comment <= bytes.size;
         comment++) {
        uint64_t off = bytes.size - END_BYTES - comment;
        struct cairn_reader r;
        if (!record_at(bytes, off, END_MAGIC, &r))
            continue;
        cairn_reader_skip(&r, END_BYTES - 6);
        if (cairn_reader_u16(&r) != comment)
            continue;
        *ret_off = off;
        return true;
    }
    return false;
}

struct directory {
    uint64_t n, size, off;
    uint64_t end; /* of the directory in the file: where the next record begins */
};

/* Prefixed archives say where their zip64 record is without counting the prefix. */
static bool read_end64(struct cairn_span bytes, uint64_t end_off, struct directory *d)
{
    struct cairn_reader r;
    if (end_off < LOCATOR64_BYTES ||
        !record_at(bytes, end_off - LOCATOR64_BYTES, LOCATOR64_MAGIC, &r))
        return false;
    cairn_reader_skip(&r, 4);
    d->end = cairn_reader_u64(&r);
    if (!record_at(bytes, d->end, END64_MAGIC, &r)) {
        if (end_off < LOCATOR64_BYTES + END64_BYTES)
            return false;
        d->end = end_off - LOCATOR64_BYTES - END64_BYTES;
        if (!record_at(bytes, d->end, END64_MAGIC, &r))
            return false;
    }
    cairn_reader_skip(&r, 8 + 2 + 2 + 4 + 4 + 8);
    d->n = cairn_reader_u64(&r);
    d->size = cairn_reader_u64(&r);
    d->off = cairn_reader_u64(&r);
    return !r.failed;
}

int cairn_archive_open(struct cairn_span bytes, struct cairn_archive *ret_archive,
                       struct cairn_err *err)
{
    struct cairn_archive archive = {.bytes = bytes};
    struct directory d = {0};
    struct cairn_reader r;
    if (!find_end(bytes, &d.end))
        return cairn_fail(err, CAIRN_E_FORMAT, "no zip archive: no end record in its last 64 KiB");
    uint64_t end_off = d.end;
    record_at(bytes, end_off, END_MAGIC, &r);
    cairn_reader_skip(&r, 6);
    d.n = cairn_reader_u16(&r);
    d.size = cairn_reader_u32(&r);
    d.off = cairn_reader_u32(&r);
    if (d.n == UINT16_MAX || d.size == UINT32_MAX || d.off == UINT32_MAX)
        (void)read_end64(bytes, end_off, &d); /* without it the numbers may be meant */
    if (d.size > d.end || d.off > d.end - d.size)
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "zip archive: its directory, 0x%llx bytes at 0x%llx, does not end before "
                          "0x%llx",
                          (unsigned long long)d.size, (unsigned long long)d.off,
                          (unsigned long long)d.end);
    /* What is in front of the archive pushed the directory away from where it says it is. */
    archive.prefix_bytes = d.end - d.size - d.off;
    if (d.n && !record_at(bytes, d.end - d.size, ENTRY_MAGIC, &r))
        archive.prefix_bytes = 0; /* something stands between the directory and the end */
    cairn_span_slice(bytes, d.off + archive.prefix_bytes, d.size, &archive.directory);
    archive.n_entries = d.n;
    *ret_archive = archive;
    return CAIRN_OK;
}

/* What did not fit the entry itself, in this order. */
static void read_extra(struct cairn_span extra, struct cairn_archive_entry *entry)
{
    struct cairn_reader r = reader_at(extra, 0);
    uint64_t *const places[] = {&entry->plain_bytes, &entry->packed_bytes, &entry->header_off};
    while (cairn_reader_more(&r)) {
        uint16_t id = cairn_reader_u16(&r);
        struct cairn_span field = cairn_reader_take(&r, cairn_reader_u16(&r));
        if (r.failed || id != EXTRA_ZIP64)
            continue;
        struct cairn_reader words = reader_at(field, 0);
        for (size_t i = 0; i < 3; i++) {
            uint64_t value = *places[i] == UINT32_MAX ? cairn_reader_u64(&words) : *places[i];
            *places[i] = words.failed ? UINT64_MAX : value;
        }
        return;
    }
}

static bool is_plain_name(struct cairn_span name)
{
    size_t start = 0;
    for (size_t i = 0; i <= name.size; i++) {
        if (i < name.size && (name.data[i] < 0x20 || name.data[i] == 0x7f))
            return false;
        if (i < name.size && name.data[i] != '/')
            continue;
        if (i - start == 2 && name.data[start] == '.' && name.data[start + 1] == '.')
            return false;
        start = i + 1;
    }
    return name.size && name.data[0] != '/';
}

/* One entry; false at the end and where the directory is damaged. */
static bool read_entry(const struct cairn_archive *archive, size_t *pos,
                       struct cairn_archive_entry *entry)
{
    struct cairn_reader r;
    if (!record_at(archive->directory, *pos, ENTRY_MAGIC, &r))
        return false;
    cairn_reader_skip(&r, 4);
    entry->encrypted = cairn_reader_u16(&r) & FLAG_ENCRYPTED;
    entry->method = cairn_reader_u16(&r);
    cairn_reader_skip(&r, 8); /* time, date, CRC */
    entry->packed_bytes = cairn_reader_u32(&r);
    entry->plain_bytes = cairn_reader_u32(&r);
    uint16_t name_size = cairn_reader_u16(&r), extra_size = cairn_reader_u16(&r);
    uint16_t comment_size = cairn_reader_u16(&r);
    cairn_reader_skip(&r, 8); /* disk, attributes */
    entry->header_off = cairn_reader_u32(&r);
    entry->name = cairn_reader_take(&r, name_size);
    struct cairn_span extra = cairn_reader_take(&r, extra_size);
    cairn_reader_skip(&r, comment_size);
    if (r.failed)
        return false;
    read_extra(extra, entry);
    *pos = r.pos;
    return true;
}

bool cairn_archive_next(const struct cairn_archive *archive, size_t *pos,
                        struct cairn_archive_entry *ret_entry)
{
    for (unsigned n = 0; n < ENTRIES_MAX && read_entry(archive, pos, ret_entry); n++)
        if (is_plain_name(ret_entry->name))
            return true;
    return false;
}

int cairn_archive_find(const struct cairn_archive *archive, const char *name,
                       struct cairn_archive_entry *ret_entry, struct cairn_err *err)
{
    struct cairn_archive_entry entry;
    struct cairn_span wanted = cairn_span_of(name);
    for (size_t pos = 0; cairn_archive_next(archive, &pos, &entry);) {
        if (!cairn_span_equal(entry.name, wanted))
            continue;
        *ret_entry = entry;
        return CAIRN_OK;
    }
    return cairn_fail(err, CAIRN_E_MISSING, "%s: no such entry in the archive", name);
}

/* The bytes behind the local header; false where they are not all in front of the directory. */
static bool find_data(const struct cairn_archive *archive, const struct cairn_archive_entry *entry,
                      struct cairn_span *ret_data)
{
    uint64_t off;
    struct cairn_reader r;
    if (__builtin_add_overflow(archive->prefix_bytes, entry->header_off, &off) ||
        !record_at(archive->bytes, off, LOCAL_MAGIC, &r))
        return false;
    cairn_reader_skip(&r, LOCAL_BYTES - 4 - 4);
    uint16_t name_size = cairn_reader_u16(&r), extra_size = cairn_reader_u16(&r);
    cairn_reader_skip(&r, (uint64_t)name_size + extra_size);
    size_t directory = (size_t)(archive->directory.data - archive->bytes.data);
    return !r.failed && r.pos <= directory && entry->packed_bytes <= directory - r.pos &&
           cairn_span_slice(archive->bytes, r.pos, entry->packed_bytes, ret_data);
}

int cairn_archive_data(const struct cairn_archive *archive, const struct cairn_archive_entry *entry,
                       struct cairn_span *ret_data, struct cairn_err *err)
{
    int name_size = (int)entry->name.size;
    const char *name = (const char *)entry->name.data;
    if (entry->method || entry->encrypted)
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "%.*s is %s in the archive, expected a stored entry, as one is that is "
                          "mapped from there",
                          name_size, name, entry->encrypted ? "encrypted" : "compressed");
    if (entry->packed_bytes != entry->plain_bytes || !find_data(archive, entry, ret_data))
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "%.*s: its 0x%llx bytes, header at 0x%llx, are not within the archive",
                          name_size, name, (unsigned long long)entry->packed_bytes,
                          (unsigned long long)entry->header_off);
    return CAIRN_OK;
}

int cairn_archive_unpack(const struct cairn_archive *archive,
                         const struct cairn_archive_entry *entry, uint64_t limit,
                         struct cairn_buffer *ret_bytes, struct cairn_err *err)
{
    struct cairn_span packed;
    if (entry->encrypted || (entry->method && entry->method != METHOD_DEFLATE))
        return cairn_fail(err, CAIRN_E_SUPPORT, "packed by method %u%s, expected 0 or 8",
                          entry->method, entry->encrypted ? ", encrypted" : "");
    if (entry->plain_bytes > limit)
        return cairn_fail(err, CAIRN_E_LIMIT, "claims %llu bytes, at most %llu",
                          (unsigned long long)entry->plain_bytes, (unsigned long long)limit);
    if (!find_data(archive, entry, &packed) ||
        (!entry->method && entry->packed_bytes != entry->plain_bytes))
        return cairn_fail(err, CAIRN_E_FORMAT, "header at 0x%llx: not within the archive",
                          (unsigned long long)entry->header_off);
    if (entry->method && entry->plain_bytes / DEFLATE_RATIO_MAX > packed.size)
        return cairn_fail(err, CAIRN_E_FORMAT, "claims %llu bytes, packed into %zu",
                          (unsigned long long)entry->plain_bytes, packed.size);
    size_t size = (size_t)entry->plain_bytes;
    if (!entry->method)
        cairn_buffer_add(ret_bytes, packed.data, packed.size);
    else if (!cairn_buffer_reserve(ret_bytes, size))
        return cairn_fail_memory(err);
    if (ret_bytes->failed)
        return cairn_fail_memory(err);
    if (!entry->method)
        return CAIRN_OK;
    int code = cairn_zip_inflate_raw(packed, ret_bytes->data + ret_bytes->size, size, err);
    ret_bytes->size += code == CAIRN_OK ? size : 0;
    return code;
}

bool cairn_archive_find_at(const struct cairn_archive *archive, uint64_t off,
                           struct cairn_archive_entry *ret_entry, struct cairn_span *ret_data)
{
    struct cairn_archive_entry entry;
    struct cairn_span data;
    for (size_t pos = 0; cairn_archive_next(archive, &pos, &entry);) {
        if (entry.method || entry.encrypted || !find_data(archive, &entry, &data) ||
            off - (uint64_t)(data.data - archive->bytes.data) >= data.size)
            continue;
        *ret_entry = entry;
        *ret_data = data;
        return true;
    }
    return false;
}

const char *cairn_archive_split(const char *path)
{
    const char *at = strstr(path, "!/");
    return at && at > path && at[2] ? at : NULL;
}
