/* SPDX-License-Identifier: MIT */
#include "base/budget.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

static _Atomic uint64_t spent_bytes, spent_ns;
static atomic_flag told = ATOMIC_FLAG_INIT;

static const uint64_t all_ns = (uint64_t)CAIRN_BUDGET_MS * 1000000u;

void cairn_budget_renew(void)
{
    atomic_store(&spent_bytes, 0);
    atomic_store(&spent_ns, 0);
    atomic_flag_clear(&told);
}

size_t cairn_budget_left(void)
{
    uint64_t spent = atomic_load(&spent_bytes);
    bool over = spent >= CAIRN_BUDGET_BYTES || atomic_load(&spent_ns) >= all_ns;
    return over ? 0 : (size_t)(CAIRN_BUDGET_BYTES - spent);
}

static int fail_spent(const char *what, struct cairn_err *err)
{
    if (!atomic_flag_test_and_set(&told))
        cairn_log(CAIRN_LOG_WARNING,
                  "%s: not unpacked: files that processes map may take %d MB and %d s in one run; "
                  "some names and lines are missing (--symbols DIR reads their debug files without "
                  "that limit)",
                  what, CAIRN_BUDGET_BYTES / 1000000, CAIRN_BUDGET_MS / 1000);
    return cairn_fail(err, CAIRN_E_LIMIT,
                      "%s: not unpacked: the budget of %d MB and %d s for files that processes map "
                      "is spent",
                      what, CAIRN_BUDGET_BYTES / 1000000, CAIRN_BUDGET_MS / 1000);
}

int cairn_budget_begin(size_t bytes, const char *what, struct cairn_budget_turn *ret_turn,
                       struct cairn_err *err)
{
    if (bytes > cairn_budget_left())
        return fail_spent(what, err);
    atomic_fetch_add(&spent_bytes, bytes);
    ret_turn->start_ns = cairn_now_ns();
    return CAIRN_OK;
}

void cairn_budget_spend(size_t bytes)
{
    atomic_fetch_add(&spent_bytes, bytes);
}

int cairn_budget_check(const struct cairn_budget_turn *turn, const char *what,
                       struct cairn_err *err)
{
    uint64_t now = cairn_now_ns() - turn->start_ns;
    return atomic_load(&spent_ns) + now < all_ns ? CAIRN_OK : fail_spent(what, err);
}

void cairn_budget_end(const struct cairn_budget_turn *turn)
{
    atomic_fetch_add(&spent_ns, cairn_now_ns() - turn->start_ns);
}
