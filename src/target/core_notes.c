/* SPDX-License-Identifier: MIT */
#include "target/core_notes.h"

#include <elf.h>
#include <signal.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/below.h"
#include "base/error.h"
#include "base/log.h"
#include "target/regs.h"

/* Where pr_pid and pr_reg lie in struct elf_prstatus, and pr_cursig, 16 bits. */
enum { PID_64 = 32, REGS_64 = 112, PID_32 = 24, REGS_32 = 72, CURSIG = 12 };

enum { NAME_BYTES = 16, ARGUMENTS_BYTES = 80 };

/* struct elf_prpsinfo by its size: it depends on how wide a long and a uid are. */
static const struct prpsinfo {
    uint16_t size, pid, name;
} prpsinfos[] = {
    {136, 24, 40}, /* 64 bits */
    {124, 12, 28}, /* 32 bits, uids of 16: x86, arm */
    {128, 16, 32}, /* 32 bits, uids of 32 */
};

static void read_cursig(const struct cairn_elf *elf, struct cairn_span note, int tid,
                        struct cairn_core_facts *facts)
{
    struct cairn_reader r = cairn_reader_of(note, elf->swap);
    cairn_reader_seek(&r, CURSIG);
    facts->tid = tid;
    if (!facts->signal)
        facts->signal = cairn_reader_u16(&r);
}

static int add_thread(const struct cairn_elf *elf, struct cairn_span note,
                      struct cairn_core_notes *notes)
{
    size_t size = cairn_target_regs_bytes(elf->machine);
    struct cairn_span regs;
    struct cairn_reader r = cairn_reader_of(note, elf->swap);
    cairn_reader_seek(&r, elf->is64 ? PID_64 : PID_32);
    uint32_t tid = cairn_reader_u32(&r);
    if (!size || r.failed || notes->n_threads == CAIRN_CORE_THREADS_MAX ||
        !cairn_span_slice(note, elf->is64 ? REGS_64 : REGS_32, size, &regs)) {
        cairn_log(CAIRN_LOG_WARNING, "NT_PRSTATUS of %zu bytes, of %s: left out", note.size,
                  cairn_elf_machine_name(elf->machine));
        return CAIRN_OK;
    }
    if (cairn_grow((void **)&notes->threads, &notes->cap_threads, notes->n_threads + 1,
                   sizeof *notes->threads) < 0)
        return CAIRN_E_NOMEM;
    if (!notes->n_threads) /* the kernel writes the one that got the signal first */
        read_cursig(elf, note, (int)tid, &notes->facts);
    notes->threads[notes->n_threads++] = (struct cairn_core_thread){(int)tid, regs};
    return CAIRN_OK;
}

static void read_prpsinfo(const struct cairn_elf *elf, struct cairn_span note,
                          struct cairn_core_facts *facts)
{
    struct cairn_span name, arguments;
    for (size_t i = 0; i < sizeof prpsinfos / sizeof *prpsinfos; i++) {
        const struct prpsinfo *layout = &prpsinfos[i];
        if (note.size != layout->size || elf->is64 != (i == 0) ||
            !cairn_span_slice(note, layout->name, NAME_BYTES, &name) ||
            !cairn_span_slice(note, layout->name + NAME_BYTES, ARGUMENTS_BYTES, &arguments))
            continue;
        struct cairn_reader r = cairn_reader_of(note, elf->swap);
        cairn_reader_seek(&r, layout->pid);
        facts->pid = (int)cairn_reader_u32(&r);
        memcpy(facts->name, name.data, NAME_BYTES);
        memcpy(facts->arguments, arguments.data, ARGUMENTS_BYTES);
        size_t n = strlen(facts->arguments);
        if (n && n < ARGUMENTS_BYTES - 1 && facts->arguments[n - 1] == ' ')
            facts->arguments[n - 1] = '\0'; /* the kernel's, in place of the last NUL */
    }
}

static bool is_fault(int number)
{
    return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE ||
           number == SIGTRAP;
}

/* Of the codes up to 0 these have si_pid. Those of timers and of files (SI_TIMER, SI_SIGIO) have
 * other fields there. */
static bool has_sender(int code)
{
    return code == SI_USER || code == SI_QUEUE || code == SI_TKILL || code == SI_MESGQ;
}

/* The kernel's codes for faults lie above 0, and SI_KERNEL, 0x80, has no address. gcore(1) writes a
 * note for each thread, of the SIGSTOP that it stopped the thread by: pr_cursig is 0 there. */
static void read_siginfo(const struct cairn_elf *elf, struct cairn_span note,
                         struct cairn_core_facts *facts)
{
    struct cairn_reader r = cairn_reader_of(note, elf->swap);
    int number = (int)cairn_reader_u32(&r);
    cairn_reader_skip(&r, sizeof(uint32_t)); /* si_errno */
    int code = (int)cairn_reader_u32(&r);
    cairn_reader_seek(&r, elf->is64 ? 16 : 12);
    uint64_t word = cairn_reader_word(&r, elf->is64 ? 8 : 4);
    if (r.failed || number <= 0 || number != facts->signal || facts->has_code)
        return;
    facts->has_code = true;
    facts->code = code;
    if (code > 0 && code < SI_KERNEL && is_fault(number)) {
        facts->has_address = true;
        facts->address = word;
    } else if (has_sender(code)) {
        cairn_reader_seek(&r, elf->is64 ? 16 : 12);
        facts->sender = (int)cairn_reader_u32(&r);
    }
}

static int read_files(const struct cairn_elf *elf, struct cairn_span note,
                      struct cairn_core_notes *notes)
{
    unsigned width = elf->is64 ? 8 : 4;
    struct cairn_reader rows = cairn_reader_of(note, elf->swap), names = rows;
    uint64_t count = cairn_reader_word(&rows, width), page = cairn_reader_word(&rows, width);
    if (count > CAIRN_CORE_FILES_MAX || notes->n_files) /* a second one would say the same */
        return CAIRN_OK;
    cairn_reader_seek(&names, rows.pos + count * 3 * width);
    for (uint64_t i = 0; i < count; i++) {
        struct cairn_core_file file;
        file.start = cairn_reader_word(&rows, width);
        file.end = cairn_reader_word(&rows, width);
        uint64_t off = cairn_reader_word(&rows, width);
        file.path = cairn_reader_str(&names);
        if (rows.failed || names.failed || __builtin_mul_overflow(off, page, &file.off)) {
            cairn_log(CAIRN_LOG_WARNING, "NT_FILE: damaged at file %llu", (unsigned long long)i);
            break;
        }
        if (file.start >= file.end)
            continue;
        if (cairn_grow((void **)&notes->files, &notes->cap_files, notes->n_files + 1,
                       sizeof *notes->files) < 0)
            return CAIRN_E_NOMEM;
        notes->files[notes->n_files++] = file;
    }
    return CAIRN_OK;
}

static void read_auxv(const struct cairn_elf *elf, struct cairn_span note,
                      struct cairn_core_notes *notes)
{
    unsigned width = elf->is64 ? 8 : 4;
    struct cairn_reader r = cairn_reader_of(note, elf->swap);
    while (cairn_reader_more(&r)) {
        uint64_t type = cairn_reader_word(&r, width), value = cairn_reader_word(&r, width);
        if (r.failed)
            return;
        if (type == AT_SYSINFO_EHDR)
            notes->vdso = value;
        else if (type == AT_PHDR)
            notes->phdr = value;
        else if (type == AT_EXECFN)
            notes->execfn = value;
    }
}

static int read_note(const struct cairn_elf *elf, uint32_t type, struct cairn_span note,
                     struct cairn_core_notes *notes)
{
    switch (type) {
    case NT_PRSTATUS:
        return add_thread(elf, note, notes);
    case NT_PRPSINFO:
        read_prpsinfo(elf, note, &notes->facts);
        return CAIRN_OK;
    case NT_SIGINFO:
        read_siginfo(elf, note, &notes->facts);
        return CAIRN_OK;
    case NT_FILE:
        return read_files(elf, note, notes);
    case NT_AUXV:
        read_auxv(elf, note, notes);
        return CAIRN_OK;
    default:
        return CAIRN_OK;
    }
}

static int read_segment(const struct cairn_elf *elf, struct cairn_span bytes,
                        struct cairn_core_notes *notes)
{
    struct cairn_reader r = cairn_reader_of(bytes, elf->swap);
    int code = CAIRN_OK;
    while (code == CAIRN_OK && cairn_reader_more(&r)) {
        uint32_t name_size = cairn_reader_u32(&r), note_size = cairn_reader_u32(&r);
        uint32_t type = cairn_reader_u32(&r);
        struct cairn_span name = cairn_reader_take(&r, name_size);
        cairn_reader_align(&r, 4);
        struct cairn_span note = cairn_reader_take(&r, note_size);
        cairn_reader_align(&r, 4);
        if (r.failed)
            cairn_log(CAIRN_LOG_WARNING, "notes of a core file: one runs past their end");
        else if (name.size == 5 && memcmp(name.data, "CORE", 5) == 0)
            code = read_note(elf, type, note, notes);
    }
    return code;
}

static int compare_files(const void *a, const void *b)
{
    const struct cairn_core_file *left = a, *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

int cairn_core_notes_read(const struct cairn_elf *elf, struct cairn_core_notes *ret_notes,
                          struct cairn_err *err)
{
    struct cairn_core_notes notes = {0};
    struct cairn_elf_segment segment;
    int code = CAIRN_OK;
    for (uint32_t i = 0; code == CAIRN_OK && cairn_elf_segment(elf, i, &segment); i++) {
        struct cairn_span bytes;
        if (segment.type != PT_NOTE || segment.off > elf->bytes.size)
            continue;
        uint64_t left = elf->bytes.size - segment.off;
        if (cairn_span_slice(elf->bytes, segment.off,
                             segment.file_size < left ? segment.file_size : left, &bytes))
            code = read_segment(elf, bytes, &notes);
    }
    if (code < 0) {
        cairn_core_notes_done(&notes);
        return cairn_fail_memory(err);
    }
    cairn_core_notes_sort(&notes);
    *ret_notes = notes;
    return CAIRN_OK;
}

int cairn_core_notes_add(struct cairn_core_notes *notes, struct cairn_core_file file,
                         const char *path)
{
    if (file.start >= file.end || notes->n_files == CAIRN_CORE_FILES_MAX)
        return CAIRN_OK;
    file.path = cairn_arena_text(&notes->paths, path, strlen(path));
    if (!file.path || cairn_grow((void **)&notes->files, &notes->cap_files, notes->n_files + 1,
                                 sizeof *notes->files) < 0)
        return CAIRN_E_NOMEM;
    notes->files[notes->n_files++] = file;
    return CAIRN_OK;
}

void cairn_core_notes_sort(struct cairn_core_notes *notes)
{
    if (notes->n_files)
        qsort(notes->files, notes->n_files, sizeof *notes->files, compare_files);
}

void cairn_core_notes_done(struct cairn_core_notes *notes)
{
    cairn_free(notes->threads);
    cairn_free(notes->files);
    cairn_arena_done(&notes->paths);
    *notes = (struct cairn_core_notes){0};
}

const struct cairn_core_file *cairn_core_notes_file(const struct cairn_core_notes *notes,
                                                    uint64_t va)
{
    size_t n = CAIRN_COUNT_BELOW(notes->files, notes->n_files, start, va);
    return n && va < notes->files[n - 1].end ? &notes->files[n - 1] : NULL;
}

bool cairn_core_notes_rename(struct cairn_core_notes *notes, uint64_t va, const char *path)
{
    const struct cairn_core_file *file = cairn_core_notes_file(notes, va);
    if (!file)
        return false;
    const char *old = file->path;
    for (size_t i = 0; i < notes->n_files; i++)
        if (strcmp(notes->files[i].path, old) == 0)
            notes->files[i].path = path;
    return true;
}
