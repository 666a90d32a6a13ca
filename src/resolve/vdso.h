/* SPDX-License-Identifier: MIT */
/* Vdso: the code that the kernel maps into every process. It lies in no file, but is the same in
 * all processes of one kernel, and some distributions install it beside the kernel's modules. */
#ifndef CAIRN_RESOLVE_VDSO_H
#define CAIRN_RESOLVE_VDSO_H

#include "resolve/modules.h"

/* Takes our own where its build ID is that of `known`, else a file of that build. An unknown build
 * ID gives no names. Only lack of memory fails. */
int cairn_vdso_open(struct cairn_modules *modules, struct cairn_known_module *known,
                    struct cairn_err *err);

#endif /* CAIRN_RESOLVE_VDSO_H */
