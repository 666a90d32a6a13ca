/* SPDX-License-Identifier: MIT */
/*
 * Kernel: what the running kernel says of itself. A capture keeps it, so that kernel addresses can
 * be named later and elsewhere.
 */
#ifndef CAIRN_PROC_KERNEL_H
#define CAIRN_PROC_KERNEL_H

#include <stdbool.h>

#include "base/span.h"

enum {
    CAIRN_KERNEL_RELEASE_SIZE = 65,         /* of struct utsname */
    CAIRN_KERNEL_BUILD_ID_SIZE = 2 * 64 + 1 /* in hex, with NUL */
};

struct cairn_running_kernel {
    char release[CAIRN_KERNEL_RELEASE_SIZE];   /* "6.1.0-47-cloud-amd64" */
    char build_id[CAIRN_KERNEL_BUILD_ID_SIZE]; /* lower-case hex; "": the kernel does not say */
    uint64_t text; /* where _text lies since the machine was started; 0: not for us to see */
};

void cairn_running_kernel(struct cairn_running_kernel *ret_kernel);

/* The build ID that notes aligned to 4 bytes hold, as the kernel keeps its own and those of its
 * modules; "" where they hold none. */
void cairn_kernel_note_build_id(struct cairn_span notes, char ret_hex[CAIRN_KERNEL_BUILD_ID_SIZE]);

/* The vdso of this very process, which is that of every process of the same machine word. Empty
 * where there is none. Holds as long as the process lives. */
struct cairn_span cairn_vdso_of_self(void);

/* Is that the name of another host? NULL is none. */
bool cairn_host_is_other(const char *name);

/* Is a mapping that the kernel calls [vdso] the one of our machine word, wherever its process is?
 * That is told by its size, and by the half of the addresses that 32-bit programs cannot have. */
bool cairn_vdso_is_mapped(struct cairn_span vdso, uint64_t start, uint64_t end);

/* Its build ID; "" where it has none. */
void cairn_vdso_build_id(char ret_hex[CAIRN_KERNEL_BUILD_ID_SIZE]);

#endif /* CAIRN_PROC_KERNEL_H */
