/* SPDX-License-Identifier: MIT */
/* Detach: by what an earlier attach noted. */
#include "attach/chosen.h"
#include "attach/slot_list.h"
#include "base/error.h"

static int need_ledger(const struct cairn_attach_job *job, struct cairn_err *err)
{
    if (job->ledger_va && job->ledger.is_complete)
        return CAIRN_OK;
    cairn_fail(err, CAIRN_E_MISSING, "pid %d: nobody attached to it", job->target.pid);
    cairn_hint(err, "cairn heap attach %d", job->target.pid);
    return CAIRN_E_MISSING;
}

/* Read back, once more. */
static int check_bytes(const struct cairn_attach_job *job, struct cairn_err *err)
{
    struct cairn_slot_counts counts;
    int result = cairn_slot_list_count(job, &counts, err);
    if (result < 0)
        return result;
    if (counts.n_leading)
        return cairn_fail(err, CAIRN_E_IO, "pid %d: %u slots still lead to the tracker",
                          job->target.pid, counts.n_leading);
    for (uint32_t i = 0; i < job->ledger.n_rows; i++) {
        const struct cairn_ledger_row *row = &job->ledger.rows[i];
        if (cairn_divert_leads_to_us(&job->target, row))
            return cairn_fail(err, CAIRN_E_IO, "pid %d: %s still leads to the tracker",
                              job->target.pid, row->name);
    }
    return CAIRN_OK;
}

static int detach(struct cairn_attach_job *job, struct cairn_err *err)
{
    struct cairn_divert_counts counts = {0};
    int value, result = need_ledger(job, err);
    if (result == CAIRN_OK)
        result = cairn_attach_enter(job, err);
    if (result == CAIRN_OK)
        result = cairn_attach_read_late(job, err);
    if (result == CAIRN_OK)
        result = cairn_chosen_restore(job, err);
    if (result == CAIRN_OK)
        result = cairn_divert_set(&job->target, &job->foothold, &job->ledger, CAIRN_DIVERT_NONE,
                                  &counts, err);
    if (result == CAIRN_OK)
        result = check_bytes(job, err);
    if (result < 0)
        return result;
    cairn_attach_say_nameless(job, &counts);
    if (counts.n_pads)
        cairn_attach_say(job,
                         "%u jumps in padding stay, for a thread may stand there; nothing "
                         "leads to them",
                         counts.n_pads);
    job->report.n_functions = counts.n_done;
    job->report.n_foreign += counts.n_foreign;
    job->report.again = 1;
    result = cairn_attach_run(job, "end", (uintptr_t)job->late.end, 0, &value, err);
    return result < 0 ? cairn_fail_in(err, result, "its functions are as before, its state is open")
                      : CAIRN_OK;
}

static int work_detach(int pid, const struct cairn_attach_opts *opts,
                       struct cairn_attach_report *ret_report, struct cairn_err *err)
{
    struct cairn_attach_job job;
    int result = cairn_attach_begin(pid, opts, &job, err);
    if (result == CAIRN_OK)
        result = detach(&job, err);
    return cairn_attach_end(&job, result, ret_report, err);
}

int cairn_detach(int pid, const struct cairn_attach_opts *opts,
                 struct cairn_attach_report *ret_report, struct cairn_err *err)
{
    return cairn_attach_apart(pid, opts, work_detach, ret_report, err);
}
