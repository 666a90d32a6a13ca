/* SPDX-License-Identifier: MIT */
/* Interpreters: those in a process whose frames are read. */
#include <stdio.h>

#include "doctor/report.h"
#include "target/guests.h"

static void add_guest(struct cairn_doctor *d, const struct cairn_target_guests *guests,
                      const struct cairn_guest_module *module)
{
    const struct cairn_guest_file *file = module->file;
    const struct cairn_space_place *place =
        cairn_space_at(guests->space, module->bias + file->loop);
    bool is_read = file->loop != file->loop_end;
    char value[512];
    snprintf(value, sizeof value, "%s in %s", file->version,
             place && place->region.path ? place->region.path : "a file that is not known");
    cairn_doctor_add(d,
                     &(struct cairn_doctor_finding){
                         .group = CAIRN_DOCTOR_PROCESS,
                         .level = is_read ? CAIRN_DOCTOR_YES : CAIRN_DOCTOR_NO,
                         .key = "process.interpreter",
                         .name = "frames of an interpreter",
                         .value = value,
                         .why = is_read ? "stack shows them, and record --method=ptrace"
                                        : "the loop that runs its code was not found in the file",
                     });
}

void cairn_doctor_add_interpreters(struct cairn_doctor *d, int pid)
{
    struct cairn_unwind_space *space;
    struct cairn_target_guests guests;
    if (cairn_unwind_space_open_pid(pid, NULL, &space, NULL) < 0)
        return; /* process.memory says why */
    cairn_target_guests_init(&guests, space, pid);
    d->failed |= cairn_target_guests_load(&guests) < 0;
    for (size_t i = 0; i < guests.n_modules; i++)
        add_guest(d, &guests, &guests.modules[i]);
    cairn_target_guests_done(&guests);
    cairn_unwind_space_free(space);
}
