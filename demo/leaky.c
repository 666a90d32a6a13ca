/* SPDX-License-Identifier: MIT */
/* The server of README.md's heap sessions: of each hundred sessions it keeps ninety in a table, and
 * forgets ten, whose buffers are then lost with them. cc -O1 -g leaky.c -o leaky; ./leaky */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session {
    struct session *next;
    char *buffer;
    char user[32];
};

enum { USERS = 512, SESSIONS_MAX = 200000 };
static struct session *by_user[USERS];

static __attribute__((noinline)) struct session *open_session(unsigned user)
{
    struct session *s = calloc(1, sizeof *s);
    if (!s || !(s->buffer = malloc(120)))
        abort();
    memset(s->buffer, 0, 120);
    s->user[0] = (char)('a' + user % 26);
    return s;
}

static __attribute__((noinline)) void serve(unsigned n)
{
    struct session *s = open_session(n % USERS);
    if (n % 10 == 0)
        return; /* the leak: nobody keeps it */
    s->next = by_user[n % USERS];
    by_user[n % USERS] = s;
}

int main(void)
{
    for (unsigned n = 0; n < SESSIONS_MAX; n++) {
        serve(n);
        usleep(2000);
    }
    pause();
}
