/* SPDX-License-Identifier: MIT */
/* Wait: for a traced thread, with a deadline, and woken at once: SIGCHLD is taken as it comes. */
#ifndef CAIRN_ATTACH_WAIT_H
#define CAIRN_ATTACH_WAIT_H

/* The status of waitpid(2). 1: there is one; 0: none in time; -1: there is no such thread. */
int cairn_wait_thread(int tid, int timeout_ms, int *ret_status);

/* Until its end the calling thread has real-time priority, where it may have that, and SIGCHLD is
 * kept for cairn_wait_thread(): another program that takes our CPU keeps the held thread waiting.
 */
struct cairn_hurry {
    unsigned char old_mask[128];
    int policy, priority;
    int has_priority;
};
void cairn_hurry_begin(struct cairn_hurry *hurry);
void cairn_hurry_end(const struct cairn_hurry *hurry);

#endif /* CAIRN_ATTACH_WAIT_H */
