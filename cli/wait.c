/* SPDX-License-Identifier: MIT */
#include "cli/wait.h"

#include "base/clock.h"
#include "cli/pass_on.h"

enum { POLL_MS = 100 };
static const uint64_t GRACE_NS = 1000000000;

struct cli_wait cli_wait_begin(double seconds, bool has_command)
{
    return (struct cli_wait){
        .seconds = seconds, .has_command = has_command, .start_ns = cairn_now_ns()};
}

static bool is_over(struct cli_wait *wait)
{
    const unsigned n = cli_pass_on_n_ends() - wait->n_before;
    if (n > 0 && !wait->ended_ns)
        wait->ended_ns = wait->now_ns;
    return n > 1 || (n > 0 && (!wait->has_command || wait->now_ns - wait->ended_ns > GRACE_NS));
}

int cli_wait_next(struct cli_wait *wait)
{
    wait->now_ns = cairn_now_ns();
    if (is_over(wait))
        return 0;
    const double left_ms =
        wait->seconds > 0 ? (wait->seconds - cli_wait_elapsed(wait)) * 1000 : POLL_MS;
    if (left_ms <= 0)
        return 0;
    return left_ms < POLL_MS ? (int)left_ms + 1 : POLL_MS;
}

double cli_wait_elapsed(const struct cli_wait *wait)
{
    return (double)(wait->now_ns - wait->start_ns) / 1e9;
}
