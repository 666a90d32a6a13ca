/* SPDX-License-Identifier: MIT */
#include "attach/image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "attach/cpu.h"
#include "base/alloc.h"
#include "base/error.h"

#ifndef DT_RELRSZ
#define DT_RELRSZ 35 /* gABI; older <elf.h> have none */
#endif

/* One symbol that a relocation speaks of. */
struct symbol {
    const char *name;
    uint64_t vaddr;
    bool is_defined, is_weak;
};

static bool read_symbol(const struct cairn_image *image, uint32_t number, struct symbol *ret)
{
    Elf64_Sym raw;
    struct cairn_span bytes;
    if (!cairn_span_slice(image->dynamic.symbols, (uint64_t)number * sizeof raw, sizeof raw,
                          &bytes))
        return false;
    memcpy(&raw, bytes.data, sizeof raw);
    const char *name = cairn_elf_dynamic_name(&image->elf, &image->dynamic, number);
    *ret = (struct symbol){.name = name ? name : "",
                           .vaddr = raw.st_value,
                           .is_defined = raw.st_shndx != SHN_UNDEF,
                           .is_weak = ELF64_ST_BIND(raw.st_info) == STB_WEAK};
    return true;
}

bool cairn_image_find(const struct cairn_image *image, const char *name, uint64_t *ret_vaddr)
{
    struct symbol symbol;
    for (uint32_t i = 1; i < image->dynamic.n_symbols && read_symbol(image, i, &symbol); i++)
        if (symbol.is_defined && strcmp(symbol.name, name) == 0) {
            *ret_vaddr = symbol.vaddr;
            return true;
        }
    return false;
}

/* What is not done here. */
static int check_dynamic(const struct cairn_image *image, const struct cairn_elf_segment *segment,
                         struct cairn_err *err)
{
    struct cairn_span bytes;
    Elf64_Dyn entry;
    if (!cairn_span_slice(image->elf.bytes, segment->off, segment->file_size, &bytes))
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: its dynamic section lies outside of it",
                          image->path);
    for (; bytes.size >= sizeof entry; bytes = cairn_span_from(bytes, sizeof entry)) {
        memcpy(&entry, bytes.data, sizeof entry);
        if (entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag == DT_TEXTREL || (entry.d_tag == DT_RELRSZ && entry.d_un.d_val))
            return cairn_fail(err, CAIRN_E_FORMAT,
                              "%s: has relocations that are not applied here (dynamic tag %lld)",
                              image->path, (long long)entry.d_tag);
    }
    return CAIRN_OK;
}

static int check_segment(struct cairn_image *image, const struct cairn_elf_segment *segment,
                         struct cairn_err *err)
{
    if (segment->type == PT_TLS)
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: wants thread-local storage, which nobody gives",
                          image->path);
    if (segment->type == PT_DYNAMIC)
        return check_dynamic(image, segment, err);
    if (segment->type != PT_LOAD)
        return CAIRN_OK;
    struct cairn_span ignored;
    uint64_t end = segment->vaddr + segment->mem_size;
    if (segment->mem_size < segment->file_size || end < segment->vaddr ||
        end > CAIRN_IMAGE_BYTES_MAX || (segment->vaddr - segment->off) % CAIRN_IMAGE_PAGE != 0 ||
        !cairn_span_slice(image->elf.bytes, segment->off, segment->file_size, &ignored))
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: a segment of it at 0x%llx cannot be",
                          image->path, (unsigned long long)segment->vaddr);
    end = (end + CAIRN_IMAGE_PAGE - 1) / CAIRN_IMAGE_PAGE * CAIRN_IMAGE_PAGE;
    image->bytes = image->bytes > end ? image->bytes : end;
    return CAIRN_OK;
}

static int check(struct cairn_image *image, struct cairn_err *err)
{
    struct cairn_elf_segment segment;
    uint64_t first = 1;
    if (!image->elf.is64 || image->elf.type != ET_DYN || image->elf.machine != cairn_cpu_machine)
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: is no library of this CPU", image->path);
    if (!cairn_elf_first_vaddr(&image->elf, CAIRN_IMAGE_PAGE, &first) || first != 0)
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: does not begin at address 0", image->path);
    for (uint32_t i = 0; cairn_elf_segment(&image->elf, i, &segment); i++) {
        int result = check_segment(image, &segment, err);
        if (result < 0)
            return result;
    }
    return CAIRN_OK;
}

int cairn_image_open(const char *path, struct cairn_image *ret_image, struct cairn_err *err)
{
    struct cairn_image image = {.fd = open(path, O_RDONLY | O_CLOEXEC), .path = path};
    if (image.fd < 0)
        return cairn_fail_os(err, errno, "%s", path);
    int result = cairn_file_open_fd(image.fd, path, &image.file, err);
    if (result == CAIRN_OK)
        result = cairn_elf_open(image.file.bytes, &image.elf, err);
    if (result == CAIRN_OK) {
        cairn_elf_read_dynamic(&image.elf, &image.dynamic);
        result = check(&image, err);
    }
    if (result < 0)
        cairn_image_close(&image);
    else
        *ret_image = image;
    return result;
}

void cairn_image_close(struct cairn_image *image)
{
    cairn_file_close(&image->file);
    if (image->fd >= 0)
        close(image->fd);
    image->fd = -1;
}

/* What a relocation writes. */
static int value_of(const struct cairn_image *image, const struct cairn_elf_reloc *reloc,
                    uint64_t base, cairn_image_import_fn import, void *ctx, uint64_t *ret_value,
                    struct cairn_err *err)
{
    struct symbol symbol;
    if (reloc->type == cairn_cpu_relocs.relative) {
        *ret_value = base + reloc->addend;
        return CAIRN_OK;
    }
    if (reloc->type != cairn_cpu_relocs.absolute && reloc->type != cairn_cpu_relocs.glob_dat &&
        reloc->type != cairn_cpu_relocs.jump_slot)
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: has a relocation of kind %u at 0x%llx",
                          image->path, reloc->type, (unsigned long long)reloc->vaddr);
    if (!read_symbol(image, reloc->symbol, &symbol))
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: has no symbol %u, which a relocation names",
                          image->path, reloc->symbol);
    uint64_t va = symbol.is_defined ? base + symbol.vaddr : import(ctx, symbol.name);
    if (!va && !symbol.is_weak)
        return cairn_fail(err, CAIRN_E_MISSING, "%s: asks for %s, which is nowhere", image->path,
                          symbol.name);
    *ret_value = va ? va + reloc->addend : 0;
    return CAIRN_OK;
}

static int apply(const struct cairn_image *image, const struct cairn_elf_segment *segment,
                 const struct cairn_elf_relocs *table, uint64_t base, cairn_image_import_fn import,
                 void *ctx, uint8_t *bytes, struct cairn_err *err)
{
    struct cairn_elf_reloc reloc;
    for (uint64_t i = 0; cairn_elf_reloc(&image->elf, table, i, &reloc); i++) {
        uint64_t at = reloc.vaddr - segment->vaddr, value = 0;
        if (reloc.vaddr < segment->vaddr || at >= segment->mem_size)
            continue;
        if (at > segment->file_size || segment->file_size - at < sizeof value ||
            !table->has_addends)
            return cairn_fail(err, CAIRN_E_FORMAT,
                              "%s: has a relocation at 0x%llx, where none can be", image->path,
                              (unsigned long long)reloc.vaddr);
        int result = value_of(image, &reloc, base, import, ctx, &value, err);
        if (result < 0)
            return result;
        memcpy(bytes + at, &value, sizeof value);
    }
    return CAIRN_OK;
}

int cairn_image_relocate(const struct cairn_image *image, const struct cairn_elf_segment *segment,
                         uint64_t base, cairn_image_import_fn import, void *ctx,
                         uint8_t **ret_bytes, struct cairn_err *err)
{
    struct cairn_span from = {0};
    uint8_t *bytes = cairn_alloc(1, segment->file_size ? (size_t)segment->file_size : 1);
    if (!bytes)
        return cairn_fail_memory(err);
    int result = cairn_span_slice(image->elf.bytes, segment->off, segment->file_size, &from)
                     ? CAIRN_OK
                     : cairn_fail(err, CAIRN_E_FORMAT, "%s: was cut off", image->path);
    if (result == CAIRN_OK && from.size)
        memcpy(bytes, from.data, from.size);
    for (size_t i = 0; result == CAIRN_OK && i < image->dynamic.n_relocs; i++)
        result = apply(image, segment, &image->dynamic.relocs[i], base, import, ctx, bytes, err);
    if (result < 0)
        cairn_free(bytes);
    else
        *ret_bytes = bytes;
    return result;
}
