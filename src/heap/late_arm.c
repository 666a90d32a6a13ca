/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Late arm: what arm's tables of unwinding (EHABI 6.3) refer to, for libgcc's part of it needs a
 * libc. No exception passes a frame of libcairn-track; one that did would find no way on.
 */
enum { FAILURE = 9 /* _URC_FAILURE */ };

int cairn_late_pr0(void) __asm__("__aeabi_unwind_cpp_pr0") __attribute__((visibility("hidden")));
int cairn_late_pr1(void) __asm__("__aeabi_unwind_cpp_pr1") __attribute__((visibility("hidden")));

int cairn_late_pr0(void)
{
    return FAILURE;
}

int cairn_late_pr1(void)
{
    return FAILURE;
}
