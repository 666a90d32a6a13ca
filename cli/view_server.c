/* SPDX-License-Identifier: MIT */
#include "cli/view_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"

enum {
    CONNECTIONS_MAX = 16, /* browsers open some that they never use */
    REQUEST_BYTES = 16384,
    TOKEN_BYTES = 16,
    SEND_SECONDS = 10,
    BACKLOG = 16
};

struct connection {
    int fd; /* -1: none */
    size_t n;
    char request[REQUEST_BYTES + 1];
};

static void make_path(char path[CLI_VIEW_URL_BYTES], const uint8_t token[TOKEN_BYTES],
                      const char *name)
{
    size_t n = 0;
    path[n++] = '/';
    for (size_t i = 0; i < TOKEN_BYTES; i++, n += 2)
        snprintf(path + n, 3, "%02x", token[i]);
    path[n++] = '/';
    for (; *name && n < CLI_VIEW_URL_BYTES / 2; name++) {
        bool is_plain = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                        (*name >= '0' && *name <= '9') || *name == '.' || *name == '-';
        path[n++] = is_plain ? *name : '-';
    }
    path[n] = '\0';
}

int cli_view_listen(struct cli_view_server *server, const char *name, struct cairn_err *err)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    uint8_t token[TOKEN_BYTES];
    server->fd = -1;
    if (getrandom(token, sizeof token, 0) != sizeof token)
        return cairn_fail_os(err, errno, "no random numbers");
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server->fd < 0 || bind(server->fd, (struct sockaddr *)&at, sizeof at) < 0 ||
        listen(server->fd, BACKLOG) < 0 ||
        getsockname(server->fd, (struct sockaddr *)&at, &size) < 0)
        return cairn_fail_os(err, errno, "127.0.0.1: cannot listen");
    server->port = ntohs(at.sin_port);
    make_path(server->path, token, name);
    return CAIRN_OK;
}

void cli_view_close(struct cli_view_server *server)
{
    if (server->fd >= 0)
        close(server->fd);
    server->fd = -1;
}

/* The value of a header, to the end of its line; empty: it is not there. */
static struct cairn_span header(const char *request, const char *name)
{
    size_t size = strlen(name);
    for (const char *line = strstr(request, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        const char *value = line + 2 + size;
        if (strncasecmp(line + 2, name, size) != 0 || *value != ':')
            continue;
        value += 1 + strspn(value + 1, " \t");
        return (struct cairn_span){(const uint8_t *)value, strcspn(value, "\r\n")};
    }
    return (struct cairn_span){0};
}

static bool is(struct cairn_span text, const char *wanted)
{
    return text.size == strlen(wanted) && memcmp(text.data, wanted, text.size) == 0;
}

static bool is_for_us(const struct cli_view_server *server, const char *request)
{
    char host[64];
    struct cairn_span given = header(request, "Host"), origin = header(request, "Origin");
    snprintf(host, sizeof host, "127.0.0.1:%u", server->port);
    return is(given, host) && (!origin.size || is(origin, server->origin));
}

static bool is_path(const struct cli_view_server *server, const char *target)
{
    size_t size = strlen(server->path);
    return strncmp(target, server->path, size) == 0 && target[size] == ' ';
}

/* Blocks for a while: the viewer reads as fast as it can. */
static bool send_all(int fd, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    while (size) {
        ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
        struct pollfd room = {.fd = fd, .events = POLLOUT};
        if (n < 0 && errno != EINTR &&
            (errno != EAGAIN || poll(&room, 1, SEND_SECONDS * 1000) <= 0))
            return false;
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        }
    }
    return true;
}

static bool answer(const struct cli_view_server *server, int fd, const char *status,
                   struct cairn_span body)
{
    struct cairn_buffer head = {0};
    cairn_buffer_printf(&head,
                        "HTTP/1.1 %s\r\n"
                        "Access-Control-Allow-Origin: %s\r\n"
                        "Access-Control-Allow-Methods: GET, OPTIONS\r\n"
                        "Access-Control-Allow-Private-Network: true\r\n"
                        "Vary: Origin\r\n"
                        "Cache-Control: no-store\r\n"
                        "Content-Type: application/octet-stream\r\n"
                        "X-Content-Type-Options: nosniff\r\n"
                        "Content-Length: %zu\r\n"
                        "Connection: close\r\n\r\n",
                        status, server->origin, body.size);
    bool ok = !head.failed && send_all(fd, head.data, head.size) &&
              (!body.size || send_all(fd, body.data, body.size));
    cairn_buffer_done(&head);
    return ok;
}

static void take_request(struct cli_view_server *server, const struct connection *c)
{
    static const struct cairn_span none = {0};
    const char *request = c->request;
    if (!is_for_us(server, request))
        (void)answer(server, c->fd, "403 Forbidden", none);
    else if (strncmp(request, "OPTIONS ", 8) == 0 && is_path(server, request + 8))
        (void)answer(server, c->fd, "204 No Content", none);
    else if (strncmp(request, "GET ", 4) == 0 && is_path(server, request + 4))
        server->is_taken = answer(server, c->fd, "200 OK", server->file);
    else
        (void)answer(server, c->fd, "404 Not Found", none);
}

static void drop(struct connection *c)
{
    shutdown(c->fd, SHUT_WR);
    close(c->fd);
    *c = (struct connection){.fd = -1};
}

static void receive(struct cli_view_server *server, struct connection *c)
{
    ssize_t n = recv(c->fd, c->request + c->n, REQUEST_BYTES - c->n, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    c->n += n > 0 ? (size_t)n : 0;
    c->request[c->n] = '\0';
    bool is_whole = strstr(c->request, "\r\n\r\n") != NULL;
    if (is_whole)
        take_request(server, c);
    if (is_whole || n <= 0 || c->n == REQUEST_BYTES)
        drop(c);
}

/* Where all places are used, the first one, which waits longest, is given up. */
static void accept_one(const struct cli_view_server *server, struct connection *connections)
{
    int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    size_t at = 0;
    if (fd < 0)
        return;
    while (at < CONNECTIONS_MAX && connections[at].fd >= 0)
        at++;
    if (at == CONNECTIONS_MAX) {
        drop(&connections[0]);
        memmove(&connections[0], &connections[1], (CONNECTIONS_MAX - 1) * sizeof *connections);
        at = CONNECTIONS_MAX - 1;
    }
    connections[at].fd = fd;
    connections[at].n = 0;
}

int cli_view_serve(struct cli_view_server *server, double seconds, struct cairn_err *err)
{
    static struct connection connections[CONNECTIONS_MAX];
    const uint64_t end_ns = cairn_now_ns() + (uint64_t)(seconds * 1e9);
    int code = CAIRN_OK;
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        connections[i].fd = -1;
    while (!server->is_taken && code == CAIRN_OK) {
        struct pollfd polled[CONNECTIONS_MAX + 1];
        uint64_t now_ns = cairn_now_ns();
        if (now_ns >= end_ns)
            break;
        for (size_t i = 0; i < CONNECTIONS_MAX; i++)
            polled[i] = (struct pollfd){.fd = connections[i].fd, .events = POLLIN};
        polled[CONNECTIONS_MAX] = (struct pollfd){.fd = server->fd, .events = POLLIN};
        if (poll(polled, CONNECTIONS_MAX + 1, (int)((end_ns - now_ns) / 1000000) + 1) < 0 &&
            errno != EINTR)
            code = cairn_fail_os(err, errno, "127.0.0.1:%u: cannot wait", server->port);
        for (size_t i = 0; i < CONNECTIONS_MAX && code == CAIRN_OK && !server->is_taken; i++)
            if (polled[i].revents)
                receive(server, &connections[i]);
        if (polled[CONNECTIONS_MAX].revents && !server->is_taken)
            accept_one(server, connections);
    }
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        if (connections[i].fd >= 0)
            drop(&connections[i]);
    return code;
}
