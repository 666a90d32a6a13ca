/* SPDX-License-Identifier: MIT */
#include "debugfile/other_file.h"

#include <elf.h>

#include "base/archive.h"
#include "base/error.h"

struct other {
    const char *magic;
    size_t size; /* of the magic */
    const char *what;
    const char *before, *after; /* the path, of the hint; NULL: there is no hint */
};

#define MAGIC(text)   (text), sizeof(text) - 1
#define LLVM_READS_IT "llvm-symbolizer --obj=", " ADDR reads it"

static const struct other others[] = {
    {MAGIC("!<arch>\n"), "an archive of objects", "ar x ",
     " takes the objects out; name addresses of one of them, or of the linked program"},
    {MAGIC("!<thin>\n"), "a thin archive", "ar t ",
     " lists its objects; name addresses of one of them, or of the linked program"},
    {MAGIC("\xce\xfa\xed\xfe"), "a Mach-O file (macOS, iOS)", LLVM_READS_IT},
    {MAGIC("\xcf\xfa\xed\xfe"), "a Mach-O file (macOS, iOS)", LLVM_READS_IT},
    {MAGIC("MZ"), "a PE file (Windows)", LLVM_READS_IT},
    {MAGIC("\0asm"), "a WebAssembly module", LLVM_READS_IT},
    {MAGIC("BC\xc0\xde"), "LLVM bitcode", "compile and link it first: clang -c ", ""},
    {MAGIC("MODULE "), "a symbol file of Breakpad", "minidump-stackwalk MINIDUMP FOLDER reads ",
     ""},
    {MAGIC("MDMP"), "a minidump", "minidump-stackwalk ", " FOLDER reads it"},
    {MAGIC("PERFILE2"), "a recording of perf", "cairn report ", " shows it with names"},
    {MAGIC("#!"), "a script", NULL, NULL},
};

/* Nobody can guess what is in an archive: one entry that can be looked at is named. */
static void hint_entries(struct cairn_span bytes, const char *path, struct cairn_err *err)
{
    struct cairn_archive archive;
    struct cairn_archive_entry entry;
    struct cairn_span data;
    if (cairn_archive_open(bytes, &archive, NULL) < 0)
        return;
    for (size_t pos = 0; cairn_archive_next(&archive, &pos, &entry);) {
        if (entry.name.size > 3 && !memcmp(entry.name.data + entry.name.size - 3, ".so", 3) &&
            cairn_archive_data(&archive, &entry, &data, NULL) == CAIRN_OK) {
            cairn_hint(err, "it is a zip archive: name a library in it, as %s!/%.*s", path,
                       (int)entry.name.size, (const char *)entry.name.data);
            return;
        }
    }
    cairn_hint(err, "it is a zip archive without a stored (uncompressed) library");
}

void cairn_other_file_name(struct cairn_span bytes, const char *path, struct cairn_err *err)
{
    if (cairn_archive_is_one(bytes)) {
        hint_entries(bytes, path, err);
        return;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct other *other = &others[i];
        if (bytes.size < other->size || memcmp(bytes.data, other->magic, other->size) != 0)
            continue;
        cairn_fail(err, CAIRN_E_FORMAT, "is %s, expected an ELF file", other->what);
        if (other->before)
            cairn_hint(err, "%s%s%s", other->before, path, other->after);
        return;
    }
}

int cairn_other_file_fail_type(uint16_t elf_type, const char *path, struct cairn_err *err)
{
    if (elf_type != ET_CORE)
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "ELF type is %u, expected 1 (relocatable), 2 (executable) or 3 (shared "
                          "object)",
                          elf_type);
    int code = cairn_fail(err, CAIRN_E_FORMAT,
                          "is a core file, expected a program, a library or an object");
    cairn_hint(err, "cairn stack %s shows its stacks with names", path);
    return code;
}
