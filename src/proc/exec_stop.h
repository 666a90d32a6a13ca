/* SPDX-License-Identifier: MIT */
/*
 * Exec stop: holds a child where its execve(2) has ended and its program has not begun: its
 * mappings are there, and none of its instructions has run. By ptrace(2), for that moment alone. If
 * we die in it, the kernel lets the child go on.
 */
#ifndef CAIRN_PROC_EXEC_STOP_H
#define CAIRN_PROC_EXEC_STOP_H

#include <stdbool.h>

#include <cairn/error.h>

struct cairn_exec_stop {
    int pid; /* 0: nothing is held */
    bool is_there, has_ended;
};

/* Of a child that is held (proc/child.h). CAIRN_E_ACCESS: another program traces it. */
int cairn_exec_stop_begin(int pid, struct cairn_exec_stop *ret_stop, struct cairn_err *err);

/* Passes on what comes before the stop, without waiting; for cairn_child_release(). */
void cairn_exec_stop_serve(void *stop);

/* Waits until it is there. CAIRN_E_MISSING: the child has ended. */
int cairn_exec_stop_wait(struct cairn_exec_stop *stop, struct cairn_err *err);

/* From the stop on to the program's own first instruction: its libraries are mapped, and their
 * constructors have run. By a hardware breakpoint, which leaves the code as it is. CAIRN_E_SUPPORT:
 * the machine has none. CAIRN_E_MISSING: the child has ended. */
int cairn_exec_stop_run_to_entry(struct cairn_exec_stop *stop, struct cairn_err *err);

/* The child runs on; nothing of us stays in it. All-zero is fine. */
void cairn_exec_stop_end(struct cairn_exec_stop *stop);

#endif /* CAIRN_PROC_EXEC_STOP_H */
