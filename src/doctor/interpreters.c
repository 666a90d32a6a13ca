/* SPDX-License-Identifier: MIT */
/* Interpreters: those in a process whose frames are read. */
#include <stdio.h>

#include "doctor/report.h"
#include "sample/guest_walk.h"

static void add_guest(struct cairn_doctor *d, const struct cairn_target_guests *guests,
                      const struct cairn_guest_module *module)
{
    const struct cairn_guest_file *file = module->file;
    const char *path = cairn_target_guests_path(guests, module);
    const char *unread = file->unread ? file->unread
                         : !cairn_guest_has_loop(file)
                             ? "the loop that runs its code was not found in the file"
                             : NULL;
    char value[512];
    snprintf(value, sizeof value, "%s in %s", file->version,
             *path ? path : "a file that is not known");
    cairn_doctor_add(d, &(struct cairn_doctor_finding){
                            .group = CAIRN_DOCTOR_PROCESS,
                            .level = unread ? CAIRN_DOCTOR_NO : CAIRN_DOCTOR_YES,
                            .key = "process.interpreter",
                            .name = "frames of an interpreter",
                            .value = value,
                            .why = unread ? unread
                                          : "stack shows them; record does as root, else by "
                                            "--method=ptrace",
                        });
}

void cairn_doctor_add_interpreters(struct cairn_doctor *d, int pid)
{
    struct cairn_guest_walk *walk;
    /* NULL too where memory cannot be read: process.memory says why. */
    d->failed |= cairn_guest_walk_open(pid, &walk) < 0;
    for (size_t i = 0; walk && i < walk->guests.n_modules; i++)
        add_guest(d, &walk->guests, &walk->guests.modules[i]);
    cairn_guest_walk_close(walk);
}
