/* SPDX-License-Identifier: MIT */
/* Rows of the line table set by hand: two at one address, and one that no line made. */
int _start(void)
{
    __asm__ volatile(".loc 0 40\n.loc 0 41\n.globl mark_two\nmark_two: nop\n"
                     ".loc 0 0\n.globl mark_zero\nmark_zero: nop\n.loc 0 43\n"
                     ".globl mark_next\nmark_next: nop");
    return 0;
}
