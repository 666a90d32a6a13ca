/* SPDX-License-Identifier: MIT */
#include "attach/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach/cpu.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/foreign.h"
#include "proc/process.h"

enum {
    PAGE = 4096,
    PATH_BYTES = 64,
    BLOCK = 1 << 16,
    STATUS_MAX = 1 << 16,
    BLOCKS_MAX = 1 << 14 /* of code: it may be terabytes of an empty mapping */
};

int cairn_target_read(const struct cairn_target_process *target, uint64_t va, void *out,
                      size_t size, struct cairn_err *err)
{
    ssize_t got;
    do
        got = pread(target->mem_fd, out, size, (off_t)va);
    while (got < 0 && errno == EINTR);
    if (got == (ssize_t)size)
        return CAIRN_OK;
    if (got == 0)
        return cairn_fail(err, CAIRN_E_MISSING, "pid %d: has ended, or became another program",
                          target->pid);
    return cairn_fail(err, CAIRN_E_MISSING, "pid %d: cannot read %zu bytes at 0x%llx", target->pid,
                      size, (unsigned long long)va);
}

int cairn_target_write(const struct cairn_target_process *target, uint64_t va, const void *bytes,
                       size_t size, struct cairn_err *err)
{
    ssize_t put;
    do
        put = pwrite(target->mem_fd, bytes, size, (off_t)va);
    while (put < 0 && errno == EINTR);
    if (put == (ssize_t)size)
        return CAIRN_OK;
    int os_errno = put < 0 ? errno : EIO;
    if (put == 0)
        return cairn_fail(err, CAIRN_E_MISSING, "pid %d: has ended, or became another program",
                          target->pid);
    int code = cairn_fail_os(err, os_errno, "pid %d: cannot write %zu bytes at 0x%llx", target->pid,
                             size, (unsigned long long)va);
    if (os_errno == EACCES || os_errno == EIO)
        cairn_hint(err,
                   "the kernel may forbid it (CONFIG_PROC_MEM_NO_FORCE, proc_mem.force_override"
                   "=never at its start)");
    return code;
}

/* Its ELF file's kind; the program may be deleted, so it is asked by the link. */
static int check_machine(int pid, struct cairn_err *err)
{
    char path[PATH_BYTES];
    Elf64_Ehdr header = {0};
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    if (cairn_cpu_machine == 0)
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "there is no code for this CPU yet to attach to a process: x86-64 and "
                          "aarch64 have it");
    if (sysconf(_SC_PAGESIZE) != PAGE)
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "the kernel's pages have %ld bytes, and attach knows those of %d",
                          sysconf(_SC_PAGESIZE), PAGE);
    if (cairn_foreign_head(path, (uint8_t *)&header, sizeof header) != sizeof header)
        return cairn_fail(err, CAIRN_E_MISSING,
                          "pid %d: runs no program that can be read: a kernel thread, or it ended",
                          pid);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != cairn_cpu_machine)
        return cairn_fail(
            err, CAIRN_E_SUPPORT,
            "pid %d: is a %d-bit program of ELF machine %u, and this cairn attaches to "
            "64-bit ones of machine %u",
            pid, header.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32, header.e_machine,
            cairn_cpu_machine);
    return CAIRN_OK;
}

static int check_status(int pid, struct cairn_err *err)
{
    struct cairn_process_status status;
    int result = cairn_process_status(pid, &status, err);
    if (result < 0)
        return result;
    if (status.tgid != pid)
        return cairn_fail(err, CAIRN_E_ARG, "%d is a thread of process %d: name that", pid,
                          status.tgid);
    if (pid == getpid())
        return cairn_fail(err, CAIRN_E_ARG, "pid %d: is this cairn itself", pid);
    if (status.state == 'Z' || status.state == 'X')
        return cairn_fail(err, CAIRN_E_MISSING, "pid %d: has ended, its parent has not waited yet",
                          pid);
    if (status.tracer_pid) {
        cairn_fail(err, CAIRN_E_ACCESS, "pid %d: another program traces it", pid);
        cairn_process_hint_access(pid, err);
        return CAIRN_E_ACCESS;
    }
    return CAIRN_OK;
}

/* A return address that lies on no shadow stack is a fault there, and our thread has one. */
static int check_shadow_stack(int pid, struct cairn_err *err)
{
    struct cairn_buffer bytes = {0};
    int result = cairn_process_slurp(pid, "status", STATUS_MAX, &bytes, err);
    if (result < 0)
        return result;
    const char *features = cairn_process_field(cairn_buffer_text(&bytes), "x86_Thread_features");
    bool has = features && memmem(features, strcspn(features, "\n"), "shstk", strlen("shstk"));
    cairn_buffer_done(&bytes);
    return has ? cairn_fail(err, CAIRN_E_SUPPORT,
                            "pid %d: has shadow stacks, which refuse our code", pid)
               : CAIRN_OK;
}

static int open_memory(int pid, int *ret_fd, struct cairn_err *err)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    *ret_fd = open(path, O_RDWR | O_CLOEXEC);
    if (*ret_fd >= 0)
        return CAIRN_OK;
    int code = cairn_fail_os(err, errno, "pid %d: cannot open its memory", pid);
    if (code == CAIRN_E_ACCESS)
        cairn_process_hint_access(pid, err);
    return code;
}

/* Where this CPU may run it: on aarch64 at a multiple of 4. */
static const uint8_t *find_bytes(const uint8_t *block, size_t n, uint64_t va,
                                 struct cairn_span insn)
{
    const size_t alignment = cairn_cpu_hook == CAIRN_HOOK_AARCH64 ? insn.size : 1;
    const uint8_t *at = block;
    for (; (at = memmem(at, n - (size_t)(at - block), insn.data, insn.size)); at++)
        if ((va + (uint64_t)(at - block)) % alignment == 0)
            return at;
    return NULL;
}

/* In any code, also within another instruction; blocks overlap by one byte. */
static bool find_insn(const struct cairn_target_process *target, const struct cairn_map *map,
                      uint8_t *block, unsigned *n_blocks, uint64_t *ret_va)
{
    const struct cairn_span insn = cairn_cpu_call_insn;
    for (uint64_t va = map->start; va < map->end; va += BLOCK - insn.size + 1) {
        uint64_t left = map->end - va;
        if (++*n_blocks > BLOCKS_MAX)
            return false;
        ssize_t got = pread(target->mem_fd, block, left < BLOCK ? (size_t)left : BLOCK, (off_t)va);
        if (got < (ssize_t)insn.size)
            return false;
        const uint8_t *found = find_bytes(block, (size_t)got, va, insn);
        if (found) {
            *ret_va = va + (uint64_t)(found - block);
            return true;
        }
    }
    return false;
}

/* The vdso is a few pages, and is no file that other processes share. */
static int find_call(struct cairn_target_process *target, struct cairn_err *err)
{
    uint8_t *block = cairn_alloc(1, BLOCK);
    if (!block)
        return cairn_fail_memory(err);
    unsigned n_blocks = 0;
    bool found = false;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; !found && i < cairn_maps_count(target->maps); i++) {
            const struct cairn_map *map = cairn_maps_get(target->maps, i);
            bool is_vdso = strcmp(map->path, "[vdso]") == 0;
            if (map->flags & CAIRN_MAP_EXEC && strcmp(map->path, "[vsyscall]") != 0 &&
                is_vdso == (pass == 0))
                found = find_insn(target, map, block, &n_blocks, &target->call_va);
        }
    cairn_free(block);
    return found ? CAIRN_OK
                 : cairn_fail(err, CAIRN_E_SUPPORT,
                              "pid %d: no code in it has an instruction that calls the system",
                              target->pid);
}

uint64_t cairn_target_find_memory(const struct cairn_target_process *target, const char *path,
                                  uint64_t bytes)
{
    for (size_t i = 0; i < cairn_maps_count(target->maps); i++) {
        const struct cairn_map *map = cairn_maps_get(target->maps, i);
        if (strcmp(map->path, path) == 0 && map->end - map->start == bytes)
            return map->start;
    }
    return 0;
}

int cairn_target_look_again(struct cairn_target_process *target, struct cairn_err *err)
{
    struct cairn_maps *maps;
    int result = cairn_maps_read_pid(target->pid, &maps, err);
    if (result < 0)
        return result;
    cairn_maps_free(target->maps);
    target->maps = maps;
    return CAIRN_OK;
}

int cairn_target_open_process(int pid, struct cairn_target_process *ret_target,
                              struct cairn_err *err)
{
    struct cairn_target_process target = {.pid = pid, .mem_fd = -1};
    int result = check_status(pid, err);
    if (result == CAIRN_OK)
        result = check_machine(pid, err);
    if (result == CAIRN_OK)
        result = check_shadow_stack(pid, err);
    if (result == CAIRN_OK)
        result = open_memory(pid, &target.mem_fd, err);
    if (result == CAIRN_OK)
        result = cairn_target_look_again(&target, err);
    if (result == CAIRN_OK)
        result = find_call(&target, err);
    if (result < 0)
        cairn_target_close_process(&target);
    else
        *ret_target = target;
    return result;
}

void cairn_target_close_process(struct cairn_target_process *target)
{
    if (target->mem_fd >= 0)
        close(target->mem_fd);
    target->mem_fd = -1;
    cairn_maps_free(target->maps);
    target->maps = NULL;
}
