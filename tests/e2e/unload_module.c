/* SPDX-License-Identifier: MIT */
/* For unload.c, built twice: the same code at the same place, with frames of another size. */
__attribute__((noinline, visibility("default"))) long call_through(long (*call)(long), long value);

long call_through(long (*call)(long), long value)
{
    volatile char frame[FRAME];
    frame[0] = (char)value;
    long got = call(value + 1);
    return got + frame[0];
}
