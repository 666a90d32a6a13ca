/* SPDX-License-Identifier: MIT */
/* Runtimes: language implementations that name their code in a perf map, if they are asked to. */
#ifndef CAIRN_DOCTOR_RUNTIMES_H
#define CAIRN_DOCTOR_RUNTIMES_H

#include <cairn/maps.h>

#include "doctor/report.h"

enum { CAIRN_RUNTIME_TEXT_BYTES = 160 };

struct cairn_runtime {
    const char *name;                   /* "Python"; static */
    char fix[CAIRN_RUNTIME_TEXT_BYTES]; /* how to switch on the perf map in process `pid` */
    bool writes_maps;                   /* false: this version cannot */
};

/* By the name of a mapped file, as vendors ship it. False: no such runtime. */
bool cairn_runtime_of_file(const char *path, int pid, struct cairn_runtime *ret_runtime);

/* One finding for each runtime in the process. `map_path` is that of its perf map, or "". */
void cairn_doctor_add_runtimes(struct cairn_doctor *d, int pid, const struct cairn_maps *maps,
                               const char *map_path);

#endif /* CAIRN_DOCTOR_RUNTIMES_H */
