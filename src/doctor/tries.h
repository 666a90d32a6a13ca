/* SPDX-License-Identifier: MIT */
/*
 * Tries: does what a capture would do, and keeps what came of it. Each try is made by a child of
 * its own, because a filter may answer a system call with the end of the process:
 *
 *     doctor ─┬─ subject   sleeps in read(2), until we are done, and runs while it is told to: what
 *             │            is tried is tried on it
 *             └─ attempt   one after the other; no parent of the subject, so that what is allowed
 *                          to parents alone shows; writes its result into a shared page
 */
#ifndef CAIRN_DOCTOR_TRIES_H
#define CAIRN_DOCTOR_TRIES_H

#include <stdbool.h>
#include <stdint.h>

#include <cairn/error.h>

enum cairn_doctor_try {
    CAIRN_TRY_PERF_USER,     /* perf_event_open: own user code */
    CAIRN_TRY_PERF_KERNEL,   /* and the kernel's */
    CAIRN_TRY_PERF_ALL,      /* of all processes, by CPU */
    CAIRN_TRY_PERF_FOREIGN,  /* of another user's process */
    CAIRN_TRY_PERF_COUNTER,  /* by the CPU's cycle counter */
    CAIRN_TRY_PERF_STACK,    /* with registers and a copy of the stack */
    CAIRN_TRY_PERF_RING,     /* a ring buffer of the usual size */
    CAIRN_TRY_PTRACE_CHILD,  /* stop a child, read its registers */
    CAIRN_TRY_PTRACE_OTHER,  /* the same with a process of the same user that is no child */
    CAIRN_TRY_READ_OTHER,    /* process_vm_readv of such a process */
    CAIRN_TRY_READ_FOREIGN,  /* of another user's process */
    CAIRN_TRY_SYSCALL_OTHER, /* /proc/PID/syscall */
    CAIRN_TRY_STACK_OTHER,   /* /proc/PID/stack */
    CAIRN_TRY_MAP_FILES,     /* /proc/PID/map_files */
    CAIRN_TRY_KALLSYMS,      /* addresses in it */
    CAIRN_TRY_BPF_PROGRAM,   /* load an empty program for samples */
    CAIRN_TRY_BPF_ITERATOR,  /* load, start and read a task iterator that reads user memory */
    CAIRN_TRY_TRACEFS,       /* read the number of a tracepoint */
    CAIRN_TRY_WIPE,          /* MADV_WIPEONFORK, for the heap tracker */
    CAIRN_TRY_HEAP_FOLDER,   /* make a file where the tracker does */
    /* What the commands do themselves, by the way that they choose. */
    CAIRN_TRY_RECORD_PID,     /* sample the subject */
    CAIRN_TRY_RECORD_COMMAND, /* sample a program that is started; it is held, and never runs */
    CAIRN_TRY_RECORD_TABLES,  /* sample by unwind tables, in the kernel */
    CAIRN_TRY_RECORD_ALL,     /* sample all processes */
    CAIRN_TRY_RECORD_CGROUP,  /* sample a cgroup: that of all */
    CAIRN_TRY_RECORD_OFF_CPU, /* measure how long the subject is off the CPU */
    CAIRN_TRY_TRACE_BPF,      /* trace system calls of the subject by programs in the kernel */
    CAIRN_TRY_TRACE_PERF,     /* the same by perf events, with copies of stacks */
    CAIRN_TRY_TRACE_SECCOMP,  /* of a command, by a filter and ptrace */
    CAIRN_TRY_TRACE_PTRACE,   /* of the subject, by ptrace */
    CAIRN_TRY_STACK_SLEEPING, /* a stack of a thread that sleeps */
    CAIRN_TRY_STACK_RUNNING,  /* and of one that runs */
    CAIRN_N_TRIES
};

enum cairn_doctor_outcome {
    CAIRN_TRIED_NOT, /* there was nothing to try it on */
    CAIRN_TRIED_OK,
    CAIRN_TRIED_REFUSED, /* by os_errno */
    CAIRN_TRIED_KILLED,  /* by a signal */
    CAIRN_TRIED_LATE     /* it did not come back */
};

enum { CAIRN_TRY_WORDS = 256 };

/* What a try finds out beside whether it is allowed. */
struct cairn_doctor_answer {
    uint64_t number; /* PERF_RING: its bytes; FOREIGN: the pid */
    int way;         /* RECORD: enum cairn_sample_method; STACK: enum cairn_snapshot_way */
    bool has_kernel; /* RECORD: frames of the kernel, too */
    char why[CAIRN_TRY_WORDS], fix[CAIRN_TRY_WORDS]; /* RECORD, STACK: why not, in their words */
};

struct cairn_doctor_result {
    enum cairn_doctor_outcome outcome;
    int os_errno, signal;
    struct cairn_doctor_answer answer;
};

struct cairn_doctor_tries {
    struct cairn_doctor_result results[CAIRN_N_TRIES];
};

/* Of a try, in the child: 0 or an errno. */
struct cairn_doctor_subject {
    int pid;     /* sleeps; of our user */
    int foreign; /* a process of another user; 0: none is seen */
    int tell_fd; /* a byte written here lets it run on its CPU, the next one lets it sleep */
};
typedef int (*cairn_doctor_try_fn)(const struct cairn_doctor_subject *subject,
                                   struct cairn_doctor_answer *answer);

/* CAIRN_E_IO: not even a child can be made. CAIRN_E_NOMEM. */
int cairn_doctor_try_all(struct cairn_doctor_tries *ret_tries, struct cairn_err *err);

/* One of them, for tests: `try` in a child, with at most `timeout_ms`. */
struct cairn_doctor_result cairn_doctor_try_one(cairn_doctor_try_fn try,
                                                const struct cairn_doctor_subject *subject,
                                                int timeout_ms);

/* "perf.user", and in words */
const char *cairn_doctor_try_key(enum cairn_doctor_try number);
const char *cairn_doctor_try_name(enum cairn_doctor_try number);

/* The tries themselves, by subject. */
int cairn_try_perf_user(const struct cairn_doctor_subject *subject,
                        struct cairn_doctor_answer *answer);
int cairn_try_perf_kernel(const struct cairn_doctor_subject *subject,
                          struct cairn_doctor_answer *answer);
int cairn_try_perf_all(const struct cairn_doctor_subject *subject,
                       struct cairn_doctor_answer *answer);
int cairn_try_perf_foreign(const struct cairn_doctor_subject *subject,
                           struct cairn_doctor_answer *answer);
int cairn_try_perf_counter(const struct cairn_doctor_subject *subject,
                           struct cairn_doctor_answer *answer);
int cairn_try_perf_stack(const struct cairn_doctor_subject *subject,
                         struct cairn_doctor_answer *answer);
int cairn_try_perf_ring(const struct cairn_doctor_subject *subject,
                        struct cairn_doctor_answer *answer);
int cairn_try_ptrace_child(const struct cairn_doctor_subject *subject,
                           struct cairn_doctor_answer *answer);
int cairn_try_ptrace_other(const struct cairn_doctor_subject *subject,
                           struct cairn_doctor_answer *answer);
int cairn_try_read_other(const struct cairn_doctor_subject *subject,
                         struct cairn_doctor_answer *answer);
int cairn_try_read_foreign(const struct cairn_doctor_subject *subject,
                           struct cairn_doctor_answer *answer);
int cairn_try_syscall_other(const struct cairn_doctor_subject *subject,
                            struct cairn_doctor_answer *answer);
int cairn_try_stack_other(const struct cairn_doctor_subject *subject,
                          struct cairn_doctor_answer *answer);
int cairn_try_map_files(const struct cairn_doctor_subject *subject,
                        struct cairn_doctor_answer *answer);
int cairn_try_kallsyms(const struct cairn_doctor_subject *subject,
                       struct cairn_doctor_answer *answer);
int cairn_try_bpf_program(const struct cairn_doctor_subject *subject,
                          struct cairn_doctor_answer *answer);
int cairn_try_bpf_iterator(const struct cairn_doctor_subject *subject,
                           struct cairn_doctor_answer *answer);
int cairn_try_tracefs(const struct cairn_doctor_subject *subject,
                      struct cairn_doctor_answer *answer);
int cairn_try_wipe(const struct cairn_doctor_subject *subject, struct cairn_doctor_answer *answer);
int cairn_try_heap_folder(const struct cairn_doctor_subject *subject,
                          struct cairn_doctor_answer *answer);
int cairn_try_record_pid(const struct cairn_doctor_subject *subject,
                         struct cairn_doctor_answer *answer);
int cairn_try_record_command(const struct cairn_doctor_subject *subject,
                             struct cairn_doctor_answer *answer);
int cairn_try_record_tables(const struct cairn_doctor_subject *subject,
                            struct cairn_doctor_answer *answer);
int cairn_try_record_all(const struct cairn_doctor_subject *subject,
                         struct cairn_doctor_answer *answer);
int cairn_try_record_cgroup(const struct cairn_doctor_subject *subject,
                            struct cairn_doctor_answer *answer);
int cairn_try_record_off_cpu(const struct cairn_doctor_subject *subject,
                             struct cairn_doctor_answer *answer);
int cairn_try_trace_bpf(const struct cairn_doctor_subject *subject,
                        struct cairn_doctor_answer *answer);
int cairn_try_trace_perf(const struct cairn_doctor_subject *subject,
                         struct cairn_doctor_answer *answer);
int cairn_try_trace_seccomp(const struct cairn_doctor_subject *subject,
                            struct cairn_doctor_answer *answer);
int cairn_try_trace_ptrace(const struct cairn_doctor_subject *subject,
                           struct cairn_doctor_answer *answer);
/* What err says, as an answer; its errno, or one that fits its code. */
int cairn_try_refuse(const struct cairn_err *err, struct cairn_doctor_answer *answer);
int cairn_try_stack_sleeping(const struct cairn_doctor_subject *subject,
                             struct cairn_doctor_answer *answer);
int cairn_try_stack_running(const struct cairn_doctor_subject *subject,
                            struct cairn_doctor_answer *answer);

#endif /* CAIRN_DOCTOR_TRIES_H */
