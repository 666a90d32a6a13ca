/* SPDX-License-Identifier: MIT */
/* A library between two functions of its program; lld gives its code another vaddr than offset. */
__attribute__((noinline)) static void library_inner(void (*back)(int device, const char *tag),
                                                    int device, const char *tag)
{
    back(device, tag);
    __asm__ volatile("" ::: "memory");
}

void library_call(void (*back)(int device, const char *tag), int device, const char *tag);
void library_call(void (*back)(int device, const char *tag), int device, const char *tag)
{
    library_inner(back, device, tag);
    __asm__ volatile("" ::: "memory");
}
