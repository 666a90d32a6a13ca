/* SPDX-License-Identifier: MIT */
int pure_assembly(void);
int _start(void)
{
    return pure_assembly();
}
