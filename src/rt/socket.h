/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/* Socket: local sockets of whole messages, by bare system calls as rt/sys.h has them. */
#ifndef CAIRN_RT_SOCKET_H
#define CAIRN_RT_SOCKET_H

#include <stddef.h>

/* A descriptor that is closed on exec, or a negative errno: ENAMETOOLONG where the path does not
 * fit into an address (about 100 bytes). */
int cairn_socket_connect(const char *path);
/* No SIGPIPE where the other end has gone. */
long cairn_socket_send(int fd, const void *from, size_t size);
/* The process that listens at the other end, as this one's pid namespace has it; 0: unknown. */
int cairn_socket_peer(int fd);

#endif /* CAIRN_RT_SOCKET_H */
