/* SPDX-License-Identifier: MIT */
/* The whole room where it could not be built: every program says why it is not there. */
#include "base/error.h"
#include "bpf/load.h"
#include "bpf/threads.h"

const struct cairn_bpf_need cairn_bpf_threads_need = {"the task iterator", 5, 18};

int cairn_bpf_check(const struct cairn_bpf_need *need, struct cairn_err *err)
{
    cairn_fail(err, CAIRN_E_SUPPORT, "%s is not in this build of cairn: %s", need->what,
               CAIRN_BPF_LACKS);
    cairn_hint(err, "build it with -Dbpf=enabled, which needs clang, bpftool and libbpf-dev");
    return CAIRN_E_SUPPORT;
}

int cairn_bpf_threads_open(struct cairn_bpf_threads **ret_threads, struct cairn_err *err)
{
    (void)ret_threads;
    return cairn_bpf_check(&cairn_bpf_threads_need, err);
}

void cairn_bpf_threads_close(struct cairn_bpf_threads *threads)
{
    (void)threads;
}

int cairn_bpf_threads_each(struct cairn_bpf_threads *threads,
                           const struct cairn_bpf_threads_opts *opts, cairn_bpf_thread_fn fn,
                           void *ctx, struct cairn_err *err)
{
    (void)threads, (void)opts, (void)fn, (void)ctx;
    return cairn_bpf_check(&cairn_bpf_threads_need, err);
}
