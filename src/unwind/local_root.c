/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/local_root.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "code/call.h"
#include "rt/self.h"
#include "unwind/local_cpu.h"
#include "unwind/local_kept.h"

enum {
    CODE_BYTES = 16,     /* that show the end of a thread */
    THREAD_BYTES = 4096, /* from a thread's first frame to its thread pointer, at most */
    ENTRY_BYTES = 128,   /* of a program's first instructions, up to behind their call */
    LOADER_BYTES = 64    /* the same of the dynamic loader; glibc's return address is at 48 to 60 */
};

/* On arm the exception index marks the C library's first function of a thread "cantunwind", like
 * many others. That function calls through a register, and its frame lies right below the thread's
 * own data, to which the thread pointer points. */
static bool is_arm_thread_start(const struct cairn_local_slow_walk *w,
                                const struct cairn_local_module *module)
{
    const struct cairn_unwind_arch *arch = cairn_local_arch;
    uint64_t pointer = (uintptr_t)__builtin_thread_pointer(), sp = w->regs.regs[arch->sp];
    uint64_t ret = w->regs.ip;
    uint8_t code[CAIRN_CALL_BYTES];
    struct cairn_call call;
    if (arch->machine != EM_ARM || pointer - sp > THREAD_BYTES ||
        !(cairn_local_kept(module) & CAIRN_LOCAL_HAS_RULES) ||
        !cairn_self_read((uintptr_t)ret - sizeof(code), code, sizeof(code)))
        return false;
    const struct cairn_span before = {code, sizeof(code)};
    return (arch->call(before, ret | 1, &call) || arch->call(before, ret, &call)) && !call.target;
}

/* The kernel starts a dynamic program in its loader, at glibc's _start. The code right behind that,
 * _dl_start_user, calls the libraries' constructors (sysdeps/CPU/dl-machine.h, RTLD_START) and then
 * jumps to the program's entry. AT_BASE is 0 where the loader itself was started (ld.so PROGRAM).
 */
static bool is_loader_entry(uint64_t ip, const struct cairn_local_module *module)
{
    uintptr_t base = getauxval(AT_BASE);
    ElfW(Ehdr) header;
    if (base && base != module->from)
        return false;
    base = module->from;
    return ip - base < module->to - base && cairn_self_read(base, &header, sizeof header) &&
           memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
           ip - (base + (header.e_entry & ~(ElfW(Addr))1)) < LOADER_BYTES;
}

bool cairn_local_is_root(const struct cairn_local_slow_walk *w,
                         const struct cairn_local_module *module)
{
    uint8_t code[CODE_BYTES];
    if (w->is_exact)
        return false;
    if (module && (is_arm_thread_start(w, module) || is_loader_entry(w->regs.ip, module)))
        return true;
    return w->regs.ip - getauxval(AT_ENTRY) < ENTRY_BYTES ||
           (cairn_self_read((uintptr_t)w->regs.ip, code, sizeof(code)) &&
            cairn_local_arch->ends_thread((struct cairn_span){code, sizeof(code)}));
}
