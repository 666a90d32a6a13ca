/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "rt/program.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "rt/sys.h"

#if defined(__x86_64__)
enum { OUR_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64 };
#elif defined(__arm__)
enum { OUR_MACHINE = EM_ARM };
#else
enum { OUR_MACHINE = EM_NONE };
#endif

#ifdef __LP64__
typedef Elf64_Ehdr ehdr;
typedef Elf64_Phdr phdr;
typedef Elf64_Dyn dyn;
enum { OUR_CLASS = ELFCLASS64 };
#else
typedef Elf32_Ehdr ehdr;
typedef Elf32_Phdr phdr;
typedef Elf32_Dyn dyn;
enum { OUR_CLASS = ELFCLASS32 };
#endif

enum {
    SCRIPTS_MAX = 5, /* BINPRM_BUF_SIZE and the depth of the kernel's exec.c */
    HEAD_BYTES = CAIRN_PROGRAM_INTERPRETER,
    PATH_BYTES = 256,
    NAME_BYTES = 40,
    SEGMENTS_MAX = 64,
    SEGMENTS_READ = 8,  /* at a time: on the stack of a thread, or of a handler */
    ENTRIES_MAX = 1024, /* of the dynamic section */
    ENTRIES_READ = 32
};

struct program {
    int fd;
    uint64_t segments; /* where the table of them is */
    uint32_t n;
};

static bool read_at(int fd, void *to, size_t size, uint64_t off)
{
    return cairn_sys_read_at(fd, to, size, off) == (long)size;
}

static bool begins_with(const char *text, const char *head)
{
    size_t size = strlen(head);
    return strnlen(text, size) == size && memcmp(text, head, size) == 0;
}

/* The first segment of a type, and of PT_LOAD the one that has `vaddr` in the file. */
static bool find_segment(const struct program *p, uint32_t type, uint64_t vaddr, phdr *ret)
{
    phdr some[SEGMENTS_READ];
    for (uint32_t i = 0; i < p->n; i += SEGMENTS_READ) {
        uint32_t n = p->n - i < SEGMENTS_READ ? p->n - i : (uint32_t)SEGMENTS_READ;
        if (!read_at(p->fd, some, n * sizeof *some, p->segments + i * sizeof *some))
            return false;
        for (uint32_t k = 0; k < n; k++) {
            const phdr *s = &some[k];
            if (s->p_type == type &&
                (type != PT_LOAD || (vaddr >= s->p_vaddr && vaddr - s->p_vaddr < s->p_filesz))) {
                *ret = *s;
                return true;
            }
        }
    }
    return false;
}

/* 0: no segment has it. */
static uint64_t off_of(const struct program *p, uint64_t vaddr)
{
    phdr s;
    return find_segment(p, PT_LOAD, vaddr, &s) ? vaddr - s.p_vaddr + s.p_offset : 0;
}

static const char *last_part(const char *path, size_t size)
{
    const char *slash = memrchr(path, '/', size);
    return slash ? slash + 1 : path;
}

static bool is_sanitizer(const char *library, size_t size)
{
    static const char *const names[] = {"libasan.",         "liblsan.",
                                        "libhwasan.",       "libclang_rt.asan",
                                        "libclang_rt.lsan", "libclang_rt.hwasan"};
    const char *name = last_part(library, size);
    size_t left = size - (size_t)(name - library);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (left >= strlen(names[i]) && memcmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

size_t cairn_program_entry(const char *list)
{
    size_t n = 0;
    while (list[n] && list[n] != ' ' && list[n] != ':')
        n++;
    return n;
}

bool cairn_program_lists_sanitizer(const char *list)
{
    while (list && *list) {
        size_t n = cairn_program_entry(list);
        if (is_sanitizer(list, n))
            return true;
        list += n + (list[n] != 0);
    }
    return false;
}

/* Calls `each` for every entry until it says true. */
static bool find_entry(const struct program *p, const phdr *s, uint64_t names,
                       bool (*each)(const struct program *, const dyn *, uint64_t names,
                                    uint64_t *),
                       uint64_t *ret)
{
    dyn entries[ENTRIES_READ];
    uint32_t n = (uint32_t)(s->p_filesz / sizeof *entries);
    for (uint32_t i = 0; i < n && i < ENTRIES_MAX; i += ENTRIES_READ) {
        uint32_t part = n - i < ENTRIES_READ ? n - i : (uint32_t)ENTRIES_READ;
        if (!read_at(p->fd, entries, part * sizeof *entries, s->p_offset + i * sizeof *entries))
            return false;
        for (uint32_t k = 0; k < part; k++) {
            if (entries[k].d_tag == DT_NULL)
                return false;
            if (each(p, &entries[k], names, ret))
                return true;
        }
    }
    return false;
}

static bool is_names(const struct program *p, const dyn *entry, uint64_t names, uint64_t *ret)
{
    (void)names;
    *ret = entry->d_tag == DT_STRTAB ? off_of(p, entry->d_un.d_ptr) : 0;
    return *ret != 0;
}

static bool needs_sanitizer(const struct program *p, const dyn *entry, uint64_t names,
                            uint64_t *ret)
{
    char name[NAME_BYTES] = {0};
    (void)ret;
    if (entry->d_tag != DT_NEEDED ||
        cairn_sys_read_at(p->fd, name, sizeof name - 1, names + entry->d_un.d_val) <= 0)
        return false;
    return is_sanitizer(name, strlen(name));
}

static enum cairn_program_kind judge_loader(const struct program *p, const phdr *interp)
{
    char path[PATH_BYTES] = {0};
    size_t size = interp->p_filesz < sizeof path ? interp->p_filesz : sizeof path - 1;
    uint64_t names = 0, unused;
    if (!read_at(p->fd, path, size, interp->p_offset))
        return CAIRN_PROGRAM_UNKNOWN;
    const char *name = last_part(path, strlen(path));
    if (!begins_with(name, "ld-linux") && !begins_with(name, "ld-musl-") &&
        !begins_with(name, "ld-lsb"))
        return CAIRN_PROGRAM_LOADER;
    phdr dynamic;
    if (find_segment(p, PT_DYNAMIC, 0, &dynamic) && find_entry(p, &dynamic, 0, is_names, &names) &&
        find_entry(p, &dynamic, names, needs_sanitizer, &unused))
        return CAIRN_PROGRAM_SANITIZER;
    return CAIRN_PROGRAM_SERVED;
}

/* They are in a folder of that name, and end in their machine. */
bool cairn_program_is_valgrinds(const char *path)
{
    size_t size = strlen(path);
    const char *name = last_part(path, size);
    const char *folder = name - path > 1 ? last_part(path, (size_t)(name - path) - 1) : path;
    return begins_with(folder, "valgrind/") && size > 6 &&
           memcmp(path + size - 6, "-linux", 6) == 0;
}

/* Is the table of segments whole? */
static bool has_all(const struct program *p)
{
    phdr last;
    return p->n == 0 || read_at(p->fd, &last, sizeof last, p->segments + (p->n - 1) * sizeof last);
}

static enum cairn_program_kind judge_elf(int fd, const char *path, const ehdr *head)
{
    struct program p = {.fd = fd, .segments = head->e_phoff};
    phdr interp;
    if (head->e_ident[EI_CLASS] != OUR_CLASS || head->e_machine != OUR_MACHINE)
        return CAIRN_PROGRAM_MACHINE;
    p.n = head->e_phnum < SEGMENTS_MAX ? head->e_phnum : (uint32_t)SEGMENTS_MAX;
    if (head->e_phentsize != sizeof interp || !has_all(&p))
        return CAIRN_PROGRAM_UNKNOWN;
    if (find_segment(&p, PT_INTERP, 0, &interp))
        return judge_loader(&p, &interp);
    return cairn_program_is_valgrinds(path) ? CAIRN_PROGRAM_VALGRIND : CAIRN_PROGRAM_STATIC;
}

/* The interpreter of a script, execve(2): behind #! and blanks, up to the next blank. */
static bool take_interpreter(const char *head, char ret_path[HEAD_BYTES])
{
    const char *from = head + 2;
    while (*from == ' ' || *from == '\t')
        from++;
    size_t n = 0;
    while (from[n] && from[n] != ' ' && from[n] != '\t' && from[n] != '\n')
        n++;
    memmove(ret_path, from, n);
    ret_path[n] = 0;
    return n > 0;
}

static bool gets_rights(int fd, const struct cairn_sys_stat *file)
{
    uint32_t uid = cairn_sys_uid();
    if (file->mode & S_ISUID && file->uid != uid)
        return true;
    if ((file->mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && file->gid != cairn_sys_gid())
        return true;
    return uid != 0 && cairn_sys_has_capabilities(fd);
}

static enum cairn_program_kind judge_file(int fd, const char *path, char head[HEAD_BYTES],
                                          bool *ret_is_script)
{
    struct cairn_sys_stat file;
    *ret_is_script = false;
    if (cairn_sys_stat_fd(fd, &file) != 0 || !S_ISREG(file.mode))
        return CAIRN_PROGRAM_UNKNOWN;
    long n = cairn_sys_read_at(fd, head, HEAD_BYTES - 1, 0);
    *ret_is_script = n > 2 && head[0] == '#' && head[1] == '!';
    if (n <= 0)
        return CAIRN_PROGRAM_UNKNOWN;
    head[n] = 0;
    if (*ret_is_script)
        return CAIRN_PROGRAM_UNKNOWN;
    if (n < (long)EI_NIDENT + 4 || memcmp(head, ELFMAG, SELFMAG) != 0)
        return CAIRN_PROGRAM_UNKNOWN;
    if (gets_rights(fd, &file))
        return CAIRN_PROGRAM_SECURE;
    ehdr elf = {{0}};
    memcpy(&elf, head, (size_t)n < sizeof elf ? (size_t)n : sizeof elf);
    return judge_elf(fd, path, &elf);
}

enum cairn_program_kind cairn_program_judge(const char *path,
                                            char ret_interpreter[CAIRN_PROGRAM_INTERPRETER])
{
    char text[HEAD_BYTES], interpreter[HEAD_BYTES] = "";
    enum cairn_program_kind kind = CAIRN_PROGRAM_UNKNOWN;
    bool is_script = true;
    for (int i = 0; i < SCRIPTS_MAX && is_script; i++) {
        int fd = cairn_sys_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
        if (fd < 0)
            return CAIRN_PROGRAM_UNKNOWN;
        kind = judge_file(fd, path, text, &is_script);
        cairn_sys_close(fd);
        if (is_script && !take_interpreter(text, interpreter))
            return CAIRN_PROGRAM_UNKNOWN;
        path = is_script ? interpreter : path;
    }
    if (ret_interpreter)
        memcpy(ret_interpreter, interpreter, sizeof interpreter);
    return kind;
}

const char *cairn_program_find(const char *name, const char *folders, char *path, size_t size)
{
    size_t length = strlen(name);
    if (memchr(name, '/', length))
        return name;
    folders = folders ? folders : "/bin:/usr/bin";
    for (size_t n = 0; length > 0; folders += n + 1) {
        for (n = 0; folders[n] && folders[n] != ':';)
            n++;
        if (n + length + 2 <= size) {
            memcpy(path, folders, n);
            path[n] = '/';
            memcpy(path + n + (n > 0), name, length + 1);
            if (cairn_sys_may_execute(path))
                return path;
        }
        if (!folders[n])
            break;
    }
    return NULL;
}

const char *cairn_program_find_mapped(const char *name, const char *folders, char *path,
                                      size_t size)
{
    char interpreter[CAIRN_PROGRAM_INTERPRETER] = "";
    const char *found = cairn_program_find(name, folders, path, size);
    if (!found)
        return NULL;
    (void)cairn_program_judge(found, interpreter);
    size_t length = strlen(interpreter);
    if (!length)
        return found;
    if (length >= size)
        return NULL;
    memcpy(path, interpreter, length + 1);
    return path;
}

bool cairn_program_refuses(enum cairn_program_kind kind)
{
    return kind == CAIRN_PROGRAM_MACHINE || kind == CAIRN_PROGRAM_LOADER ||
           kind == CAIRN_PROGRAM_SANITIZER || kind == CAIRN_PROGRAM_VALGRIND ||
           kind == CAIRN_PROGRAM_UNREACHABLE;
}

const char *cairn_program_reason(enum cairn_program_kind kind)
{
    switch (kind) {
    case CAIRN_PROGRAM_STATIC:
        return "it is linked statically: there is no loader that would preload the tracker";
    case CAIRN_PROGRAM_SECURE:
        return "it is a setuid program, or has capabilities: the loader preloads nothing of others";
    case CAIRN_PROGRAM_MACHINE:
        return "it is of another machine or ABI than the tracker";
    case CAIRN_PROGRAM_LOADER:
        return "its loader is neither glibc's nor musl's";
    case CAIRN_PROGRAM_SANITIZER:
        return "it is built with AddressSanitizer or LeakSanitizer, which must come first";
    case CAIRN_PROGRAM_VALGRIND:
        return "valgrind emulates its program, with a malloc of its own";
    case CAIRN_PROGRAM_UNREACHABLE:
        return "its user or root directory does not reach the tracker's file or folder";
    case CAIRN_PROGRAM_SEALED:
        return "its parent had a seccomp filter, which may forbid what a state of its own needs";
    default:
        return "";
    }
}
