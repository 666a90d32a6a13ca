/* SPDX-License-Identifier: MIT */
/* What a printed stack reads: the input is /proc/self/maps, an ELF file that is mapped, and the
 * image of one in memory. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwind/print_maps.h"
#include "unwind/print_symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { IMAGE_BYTES = 1 << 16, FILE_AT = 0x400000, ENTRY_AT = 24 /* e_entry */ };

static struct cairn_print_maps maps;
static struct cairn_print_symbol symbol;
static const uintptr_t vas[] = {0, 0x1000, 0x401000, (uintptr_t)-1};

/* Where the input says that it begins: a byte that its symbols may cover. */
static uintptr_t entry_of(const uint8_t *data, size_t size)
{
    uintptr_t entry = 0;
    if (size >= ENTRY_AT + sizeof entry)
        memcpy(&entry, data + ENTRY_AT, sizeof entry);
    return entry % IMAGE_BYTES;
}

static void check_symbol(void)
{
    if (!memchr(symbol.name, 0, sizeof symbol.name))
        __builtin_trap();
}

static void read_as_maps(const uint8_t *data, size_t size)
{
    memset(&maps, 0, sizeof maps);
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        size_t n = end ? (size_t)(end - data) - at : size - at;
        if (n < sizeof maps.line) {
            memcpy(maps.line, data + at, n);
            maps.line[n] = 0;
            cairn_print_maps_add(&maps, maps.line, vas, sizeof vas / sizeof *vas);
        }
        at += n + 1;
    }
    for (size_t i = 0; i < maps.n; i++)
        if (maps.maps[i].path >= maps.n_paths)
            __builtin_trap();
    if (maps.n > CAIRN_PRINT_MAPS || (maps.n_paths && maps.paths[maps.n_paths - 1] != 0))
        __builtin_trap();
}

/* By the whole way of a frame: opened again by its path, and held against the inode. */
static void read_as_file(const uint8_t *data, size_t size)
{
    static int fd = -1;
    struct stat status;
    if (fd < 0)
        fd = memfd_create("file", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size ||
        fstat(fd, &status) < 0)
        __builtin_trap();
    memset(&maps, 0, sizeof maps);
    maps.n_paths = (size_t)snprintf(maps.paths, sizeof maps.paths, "/proc/self/fd/%d", fd) + 1;
    maps.maps[maps.n++] = (struct cairn_print_map){
        .from = FILE_AT, .to = FILE_AT + IMAGE_BYTES, .inode = status.st_ino};
    uintptr_t va = FILE_AT + entry_of(data, size);
    cairn_print_symbol_find(&maps, &maps.maps[0], va + 1, va, &symbol);
    check_symbol();
}

static void read_as_image(const uint8_t *data, size_t size)
{
    static uint8_t *image;
    if (!image)
        image =
            mmap(NULL, 2 * IMAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (image == MAP_FAILED || mprotect(image + IMAGE_BYTES, IMAGE_BYTES, PROT_NONE) < 0)
        __builtin_trap();
    memset(image, 0, IMAGE_BYTES);
    memcpy(image, data, size < IMAGE_BYTES ? size : IMAGE_BYTES);
    uintptr_t va = (uintptr_t)image + entry_of(data, size);
    cairn_print_symbol_in_memory((uintptr_t)image, va + 1, va, &symbol);
    check_symbol();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_as_maps(data, size);
    read_as_file(data, size);
    read_as_image(data, size);
    return 0;
}
