/* SPDX-License-Identifier: MIT */
#include "base/tar.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"

enum { BLOCK = 512, USTAR_NAME_MAX = 100 };
static const uint64_t ustar_bytes_max = 077777777777;

/* POSIX.1-2001, ustar Interchange Format. */
struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100],
        magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "one block");

static int put(const struct cairn_tar *tar, const void *bytes, size_t size, struct cairn_err *err)
{
    if (size && tar->write(tar->ctx, bytes, size) != 0)
        return cairn_fail(err, CAIRN_E_IO, "the archive cannot be written");
    return CAIRN_OK;
}

static int pad(const struct cairn_tar *tar, uint64_t size, struct cairn_err *err)
{
    static const char zeros[BLOCK];
    return put(tar, zeros, (size_t)(-size % BLOCK), err);
}

/* Text that is too long is cut: the pax header has it whole. */
static void set_text(char *field, size_t size, const char *text)
{
    size_t n = strlen(text);
    memcpy(field, text, n < size ? n : size);
}

static int put_header(const struct cairn_tar *tar, char type, const char *name, const char *link,
                      uint64_t size, struct cairn_err *err)
{
    struct header h = {.type = type, .magic = "ustar", .version = {'0', '0'}};
    const unsigned char *byte = (const unsigned char *)&h;
    unsigned sum = 0;
    set_text(h.name, sizeof h.name, name);
    set_text(h.link, sizeof h.link, link);
    memcpy(h.mode, "0000644", 8);
    memcpy(h.uid, "0000000", 8);
    memcpy(h.gid, "0000000", 8);
    memcpy(h.mtime, "00000000000", 12);
    snprintf(h.size, sizeof h.size, "%011llo",
             (unsigned long long)(size > ustar_bytes_max ? 0 : size));
    memset(h.checksum, ' ', sizeof h.checksum);
    for (size_t i = 0; i < sizeof h; i++)
        sum += byte[i];
    snprintf(h.checksum, sizeof h.checksum, "%06o", sum & 0777777);
    return put(tar, &h, sizeof h, err);
}

/* "LENGTH KEY=VALUE\n", where the length counts itself. */
static void add_record(struct cairn_buffer *out, const char *key, const char *value)
{
    size_t rest = strlen(key) + strlen(value) + 3, size = rest + 1;
    for (size_t before = 0; before != size;) {
        before = size;
        size = rest + (size_t)snprintf(NULL, 0, "%zu", size);
    }
    cairn_buffer_printf(out, "%zu %s=%s\n", size, key, value);
}

static int put_pax(const struct cairn_tar *tar, const char *name, const char *link, uint64_t size,
                   struct cairn_err *err)
{
    struct cairn_buffer records = {0};
    char number[24];
    if (strlen(name) > USTAR_NAME_MAX)
        add_record(&records, "path", name);
    if (strlen(link) > USTAR_NAME_MAX)
        add_record(&records, "linkpath", link);
    snprintf(number, sizeof number, "%llu", (unsigned long long)size);
    if (size > ustar_bytes_max)
        add_record(&records, "size", number);
    int code = records.failed ? cairn_fail_memory(err) : CAIRN_OK;
    if (code == CAIRN_OK && records.size) {
        code = put_header(tar, 'x', "pax", "", records.size, err);
        if (code == CAIRN_OK)
            code = put(tar, records.data, records.size, err);
        if (code == CAIRN_OK)
            code = pad(tar, records.size, err);
    }
    cairn_buffer_done(&records);
    return code;
}

int cairn_tar_file(const struct cairn_tar *tar, const char *name, struct cairn_span bytes,
                   struct cairn_err *err)
{
    int code = put_pax(tar, name, "", bytes.size, err);
    if (code == CAIRN_OK)
        code = put_header(tar, '0', name, "", bytes.size, err);
    if (code == CAIRN_OK)
        code = put(tar, bytes.data, bytes.size, err);
    return code < 0 ? code : pad(tar, bytes.size, err);
}

int cairn_tar_link(const struct cairn_tar *tar, const char *name, const char *target,
                   struct cairn_err *err)
{
    int code = put_pax(tar, name, target, 0, err);
    return code < 0 ? code : put_header(tar, '2', name, target, 0, err);
}

int cairn_tar_end(const struct cairn_tar *tar, struct cairn_err *err)
{
    static const char zeros[2 * BLOCK];
    return put(tar, zeros, sizeof zeros, err);
}
