/* SPDX-License-Identifier: MIT */
#include "attach/late_table.h"

#include <elf.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "heap/late.h"

static uint64_t no_import(void *ctx, const char *name)
{
    (void)ctx;
    (void)name;
    return 0;
}

/* `size` bytes of the library as they would be at base 0. */
static int read_at(const struct cairn_image *image, uint64_t vaddr, void *out, size_t size,
                   struct cairn_err *err)
{
    struct cairn_elf_segment segment;
    for (uint32_t i = 0; cairn_elf_segment(&image->elf, i, &segment); i++) {
        uint64_t at = vaddr - segment.vaddr;
        uint8_t *bytes;
        if (segment.type != PT_LOAD || vaddr < segment.vaddr || at > segment.file_size ||
            segment.file_size - at < size)
            continue;
        int result = cairn_image_relocate(image, &segment, 0, no_import, NULL, &bytes, err);
        if (result < 0)
            return result;
        memcpy(out, bytes + at, size);
        cairn_free(bytes);
        return CAIRN_OK;
    }
    return cairn_fail(err, CAIRN_E_FORMAT, "%s: its table lies outside of it, at 0x%llx",
                      image->path, (unsigned long long)vaddr);
}

static int read_wish(const struct cairn_image *image, const struct cairn_late_row *row,
                     struct cairn_late_wish *ret, struct cairn_err *err)
{
    struct cairn_span name;
    const char *text = cairn_elf_bytes_at(&image->elf, (uintptr_t)row->name, &name)
                           ? cairn_span_str(name, 0)
                           : NULL;
    if (!text || strlen(text) >= sizeof ret->name)
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: a row of its table has no name", image->path);
    *ret = (struct cairn_late_wish){.replacement = (uintptr_t)row->replacement,
                                    .original = (uintptr_t)row->original,
                                    .roles = row->roles};
    memcpy(ret->name, text, strlen(text));
    return CAIRN_OK;
}

static int read_rows(const struct cairn_image *image, const struct cairn_late *late,
                     struct cairn_late_table *table, struct cairn_err *err)
{
    struct cairn_late_row *rows = cairn_alloc(late->n_rows, sizeof *rows);
    table->wishes = cairn_alloc(late->n_rows, sizeof *table->wishes);
    int result = rows && table->wishes ? CAIRN_OK : cairn_fail_memory(err);
    if (result == CAIRN_OK)
        result = read_at(image, (uintptr_t)late->rows, rows, late->n_rows * sizeof *rows, err);
    for (uint32_t i = 0; result == CAIRN_OK && i < late->n_rows; i++, table->n++)
        result = read_wish(image, &rows[i], &table->wishes[i], err);
    cairn_free(rows);
    return result;
}

int cairn_late_table_read(const struct cairn_image *image, struct cairn_late_table *ret_table,
                          struct cairn_err *err)
{
    struct cairn_late_table table = {0};
    struct cairn_late late;
    if (!cairn_image_find(image, "cairn_late", &table.late))
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: is not the tracker that is loaded late",
                          image->path);
    int result = read_at(image, table.late, &late, sizeof late, err);
    if (result < 0)
        return result;
    if (late.version != CAIRN_LATE_VERSION || late.size < sizeof late ||
        late.row_bytes != sizeof(struct cairn_late_row) || late.n_rows > CAIRN_LATE_ROWS_MAX)
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: is of version %u, and this cairn is of %d",
                          image->path, late.version, CAIRN_LATE_VERSION);
    result = read_rows(image, &late, &table, err);
    if (result < 0)
        cairn_late_table_done(&table);
    else
        *ret_table = table;
    return result;
}

void cairn_late_table_done(struct cairn_late_table *table)
{
    cairn_free(table->wishes);
    *table = (struct cairn_late_table){0};
}
