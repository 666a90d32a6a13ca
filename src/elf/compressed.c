/* SPDX-License-Identifier: MIT */
/*
 * Compressed sections. Two ways to write them:
 *
 *     SHF_COMPRESSED: Elf64_Chdr  u32 type  u32 0  u64 size  u64 align | stream      (file's order)
 *                     Elf32_Chdr  u32 type  u32 size  u32 align        | stream
 *     .zdebug_*:      'Z' 'L' 'I' 'B'  u64 size (big-endian)           | zlib stream
 */
#include "elf/compressed.h"

#include <elf.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/budget.h"
#include "base/error.h"
#include "base/zip.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

enum { SECTION_NAME_MAX = 64 };

static const uint64_t plain_bytes_max = 4ull << 30;
static const uint64_t modest_bytes_max = 64ull << 20; /* up to here any ratio is believed */
static const uint64_t ratio_max = 1032;               /* deflate cannot do better */

/* What the header says; `stream` is the rest. */
struct claim {
    uint32_t method;
    uint64_t plain_size;
    struct cairn_span stream;
};

static bool read_claim(const struct cairn_elf *elf, struct cairn_span bytes, struct claim *ret)
{
    struct cairn_reader r = cairn_reader_of(bytes, elf->swap);
    ret->method = cairn_reader_u32(&r);
    if (elf->is64)
        cairn_reader_skip(&r, sizeof(uint32_t)); /* ch_reserved */
    ret->plain_size = cairn_reader_word(&r, elf->is64 ? 8 : 4);
    cairn_reader_skip(&r, elf->is64 ? 8 : 4); /* ch_addralign */
    ret->stream = cairn_reader_take(&r, cairn_reader_left(&r));
    return !r.failed;
}

static bool read_old_claim(struct cairn_span bytes, struct claim *ret)
{
    bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    struct cairn_reader r = cairn_reader_of(bytes, little);
    struct cairn_span magic = cairn_reader_take(&r, 4);
    ret->method = ELFCOMPRESS_ZLIB;
    ret->plain_size = cairn_reader_u64(&r);
    ret->stream = cairn_reader_take(&r, cairn_reader_left(&r));
    return !r.failed && memcmp(magic.data, "ZLIB", 4) == 0;
}

size_t cairn_elf_plain_bytes_max(size_t packed_bytes)
{
    uint64_t most =
        packed_bytes < plain_bytes_max / ratio_max ? packed_bytes * ratio_max : plain_bytes_max;
    most = most > modest_bytes_max ? most : modest_bytes_max;
    return most < SIZE_MAX ? (size_t)most : SIZE_MAX;
}

static int check_claim(const struct claim *claim, const char *name, struct cairn_err *err)
{
    if (claim->method != ELFCOMPRESS_ZLIB && claim->method != ELFCOMPRESS_ZSTD)
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "section %s is compressed by method %u, expected 1 (zlib) or 2 (zstd)",
                          name, claim->method);
    bool bomb =
        claim->plain_size > modest_bytes_max && claim->plain_size / ratio_max > claim->stream.size;
    if (bomb || claim->plain_size > plain_bytes_max)
        return cairn_fail(
            err, CAIRN_E_LIMIT,
            "section %s claims %llu bytes out of %zu compressed ones, more than 4 GiB "
            "or %llu times as many",
            name, (unsigned long long)claim->plain_size, claim->stream.size,
            (unsigned long long)ratio_max);
    return CAIRN_OK;
}

static int inflate(const struct claim *claim, const char *name, struct cairn_elf_data *ret_data,
                   struct cairn_err *err)
{
    int code;
    size_t size = (size_t)claim->plain_size;
    uint8_t *plain = cairn_alloc(size, 1);
    if (!plain)
        return cairn_fail_memory(err);
    code = claim->method == ELFCOMPRESS_ZLIB
               ? cairn_zip_inflate_exact(claim->stream, plain, size, err)
               : cairn_zip_zstd_exact(claim->stream, plain, size, err);
    if (code < 0) {
        cairn_free(plain);
        return cairn_fail_in(err, code, name);
    }
    *ret_data = (struct cairn_elf_data){.bytes = {plain, size}, .owned = plain};
    return CAIRN_OK;
}

static int inflate_claim(const struct cairn_elf *elf, const struct claim *claim, const char *name,
                         struct cairn_elf_data *ret_data, struct cairn_err *err)
{
    struct cairn_budget_turn turn;
    int code = check_claim(claim, name, err);
    if (code < 0)
        return code;
    if (elf->is_vouched)
        return inflate(claim, name, ret_data, err);
    code = cairn_budget_begin((size_t)claim->plain_size, name, &turn, err);
    if (code < 0)
        return code;
    code = inflate(claim, name, ret_data, err);
    cairn_budget_end(&turn);
    return code;
}

int cairn_elf_read_section_of(const struct cairn_elf *elf, const struct cairn_elf_section *section,
                              struct cairn_elf_data *ret_data, struct cairn_err *err)
{
    struct cairn_span bytes;
    if (!cairn_elf_section_bytes(elf, section, &bytes))
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "section %s at 0x%llx (0x%llx bytes) runs past the file (0x%zx)",
                          section->name, (unsigned long long)section->off,
                          (unsigned long long)section->size, elf->bytes.size);
    bool old = strncmp(section->name, ".zdebug_", strlen(".zdebug_")) == 0;
    bool is_compressed = old || (section->flags & SHF_COMPRESSED);
    if (!is_compressed || bytes.size == 0) {
        *ret_data = (struct cairn_elf_data){.bytes = bytes};
        return CAIRN_OK;
    }
    struct claim claim;
    if (!(old ? read_old_claim(bytes, &claim) : read_claim(elf, bytes, &claim)))
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "section %s: no compression header in its 0x%zx bytes", section->name,
                          bytes.size);
    return inflate_claim(elf, &claim, section->name, ret_data, err);
}

int cairn_elf_read_section(const struct cairn_elf *elf, const char *name,
                           struct cairn_elf_data *ret_data, struct cairn_err *err)
{
    struct cairn_elf_section section;
    bool found = cairn_elf_find_section(elf, name, &section);
    if (!found && strncmp(name, ".debug_", strlen(".debug_")) == 0) {
        char old[SECTION_NAME_MAX];
        snprintf(old, sizeof old, ".z%s", name + 1);
        found = cairn_elf_find_section(elf, old, &section);
    }
    if (found)
        return cairn_elf_read_section_of(elf, &section, ret_data, err);
    *ret_data = (struct cairn_elf_data){0};
    return CAIRN_OK;
}

void cairn_elf_data_done(struct cairn_elf_data *data)
{
    cairn_free(data->owned);
    *data = (struct cairn_elf_data){0};
}
