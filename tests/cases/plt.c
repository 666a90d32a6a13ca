/* SPDX-License-Identifier: MIT */
/* Calls through the PLT, of one function whose address is taken too. */
int from_library(int), also_from_library(int);
int (*volatile pointer)(int);
int _start(int x)
{
    pointer = also_from_library;
    return from_library(x) + also_from_library(x);
}
