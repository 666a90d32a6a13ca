// SPDX-License-Identifier: MIT
// A hooked function is run step by step. At each step in code of no library, which is the island, the stack is
// walked by libgcc's unwinder: it must come to main. Prints the steps there, and those whose stack is cut. With an
// argument there are no unwind tables.
#include <csignal>
#include <cstdio>
#include <cstdint>
#include <dlfcn.h>
#include <ucontext.h>
#include <unwind.h>

#include <cairn/hook.h>

int main(int, char **);

static void *original;
static int n_island, n_cut;

struct walk {
    bool found;
};

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *data)
{
    const void *start = _Unwind_FindEnclosingFunction(reinterpret_cast<void *>(_Unwind_GetIP(context) - 1));
    static_cast<walk *>(data)->found |= start == reinterpret_cast<void *>(main);
    return _URC_NO_REASON;
}

static void on_step(int, siginfo_t *, void *context)
{
    Dl_info info;
    walk found = {false};
    const auto ip = static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP];
    if (dladdr(reinterpret_cast<void *>(ip), &info))
        return;
    n_island++;
    _Unwind_Backtrace(look, &found);
    n_cut += !found.found;
}

extern "C" long pushes(long);
__asm__(".text\n.balign 64\n.globl pushes\n.type pushes, @function\npushes:\n .cfi_startproc\n"
        " push %r12\n .cfi_def_cfa_offset 16\n .cfi_offset %r12, -16\n"
        " mov %rdi, %r12\n lea 1(%r12), %rax\n pop %r12\n .cfi_def_cfa_offset 8\n ret\n"
        " .cfi_endproc\n .balign 64\n");

extern "C" long replacement(long n)
{
    return reinterpret_cast<long (*)(long)>(original)(n);
}

int main(int argc, char **)
{
    cairn_hook *hook;
    cairn_err err;
    struct sigaction action = {};
    action.sa_sigaction = on_step;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, nullptr);
    if (cairn_hook_function(reinterpret_cast<void *>(pushes), reinterpret_cast<void *>(replacement),
                            argc > 1 ? 0 : CAIRN_HOOK_UNWIND_TABLES, &original, &hook, &err) < 0) {
        printf("%s (%s)\n", err.msg, err.hint);
        return 1;
    }
    long (*volatile called)(long) = pushes;
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "cc", "memory");
    const long result = called(4);
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "cc", "memory");
    printf("result %ld island %d cut %d\n", result, n_island, n_cut);
    return cairn_hook_remove(hook, &err) < 0;
}
