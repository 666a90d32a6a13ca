/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Executable: may the CPU run what lies at an address of this process? Reading tells no code from
 * data, so the kernel is asked for the mapping: by the ioctl PROCMAP_QUERY (Linux 6.11), 5 us; else
 * by the text of /proc/self/maps, 30 us for 24 mappings. The answer is kept by page, 2 ns: a yes
 * until modules are unloaded, a no for some dozen questions, for a JIT compiler may make it code.
 */
#ifndef CAIRN_RT_EXECUTABLE_H
#define CAIRN_RT_EXECUTABLE_H

#include <stdbool.h>
#include <stdint.h>

/* Where there is no /proc, whatever can be read. */
bool cairn_executable(uintptr_t va);
void cairn_executable_forget(void);

/* The two ways, unkept: CAIRN_EXECUTABLE_UNKNOWN where there is no such. */
enum cairn_executable_answer {
    CAIRN_EXECUTABLE_NO,
    CAIRN_EXECUTABLE_YES,
    CAIRN_EXECUTABLE_UNKNOWN
};
enum cairn_executable_answer cairn_executable_ask(uintptr_t va);
enum cairn_executable_answer cairn_executable_read(uintptr_t va);

#endif /* CAIRN_RT_EXECUTABLE_H */
