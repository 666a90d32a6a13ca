/* SPDX-License-Identifier: MIT */
/*
 * Load: gets programs into the kernel, and says in words why not. What every program here needs:
 * type information of the kernel (BTF), and root, or CAP_BPF with CAP_PERFMON.
 *
 * libbpf prints to stderr unless told otherwise, once for the whole process. While one of ours is
 * loaded what it says comes here: to cairn_log(), and into the reason of a failure; the setting is
 * then put back. Programs are therefore loaded one after the other, by whichever thread.
 */
#ifndef CAIRN_BPF_LOAD_H
#define CAIRN_BPF_LOAD_H

#include <stdbool.h>

#include <cairn/error.h>

struct bpf_object_skeleton;

/* Of a program: how messages call it, and the kernel that it needs. */
struct cairn_bpf_need {
    const char *what; /* "the task iterator" */
    unsigned major, minor;
};

/* Is all at hand that a program needs here? Loads nothing. CAIRN_E_SUPPORT: this build or this
 * kernel cannot; CAIRN_E_ACCESS: the rights are lacking, and the hint gives the command. */
int cairn_bpf_check(const struct cairn_bpf_need *need, struct cairn_err *err);

/* Is the running kernel that of the need, or later? */
bool cairn_bpf_is_new_enough(const struct cairn_bpf_need *need);

/* Checks, then loads what NAME__open() made ready; `skeleton` is its field of that name, NULL where
 * it failed with errno. On failure the caller destroys it. */
int cairn_bpf_load(struct bpf_object_skeleton *skeleton, const struct cairn_bpf_need *need,
                   struct cairn_err *err);

/* Fills `err` for a program that was not loaded, with `os_errno`; `log` is what the kernel's
 * verifier said, "" where it was not asked. Returns the code. */
int cairn_bpf_fail_load(struct cairn_err *err, int os_errno, const struct cairn_bpf_need *need,
                        const char *log);

/* Fills `err` for a refusal with `os_errno` of something beside loading, "attach"; returns its
 * code. */
int cairn_bpf_fail(struct cairn_err *err, int os_errno, const struct cairn_bpf_need *need,
                   const char *doing);

#endif /* CAIRN_BPF_LOAD_H */
