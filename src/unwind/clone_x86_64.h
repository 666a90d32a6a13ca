/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Clone on x86-64: glibc's clone(2) and clone3(2), by which pthread_create(3) and posix_spawn(3)
 * begin a thread, have no CFI from their system call on, for the child returns there too, on a new
 * stack (sysdeps/unix/sysv/linux/x86_64/clone.S and clone3.S, the same since glibc 2.2). So nobody
 * names the callers of who is inside of it, though their frames are as they were: the return
 * address lies at rsp. The child has none. It is told by rax: 0 in the child, -ENOSYS in who is in
 * the system call yet (arch/x86/entry/entry_64.S), what it returned later.
 *
 *     0f 05       syscall
 *     48 85 c0    test  %rax, %rax     <- here both return
 *     7c ..       jl    what sets errno
 *     74 ..       jz    what the child does
 *     c3          ret
 */
#ifndef CAIRN_UNWIND_CLONE_X86_64_H
#define CAIRN_UNWIND_CLONE_X86_64_H

#include <stdint.h>

enum {
    CAIRN_CLONE_BEFORE = 2, /* bytes of the code that lie before where it returns */
    CAIRN_CLONE_BYTES = 10
};

static inline int cairn_x86_64_is_clone(const uint8_t code[CAIRN_CLONE_BYTES])
{
    return code[0] == 0x0f && code[1] == 0x05 && code[2] == 0x48 && code[3] == 0x85 &&
           code[4] == 0xc0 && code[5] == 0x7c && code[7] == 0x74 && code[9] == 0xc3;
}

#endif /* CAIRN_UNWIND_CLONE_X86_64_H */
