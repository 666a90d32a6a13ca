/* SPDX-License-Identifier: MIT */
#include "cli/push_auth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

enum { AUTH_BYTES = 8192 };

/* Other users may not read it, and nobody but us and root can have written it. */
static int check_file(int fd, const char *path, struct cairn_err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return cairn_fail_os(err, errno, "%s", path);
    if (!S_ISREG(st.st_mode))
        return cairn_fail(err, CAIRN_E_ARG, "%s: no regular file", path);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return cairn_fail(err, CAIRN_E_ACCESS, "%s: the file belongs to another user", path);
    if (st.st_mode & (S_IRWXG | S_IRWXO)) {
        cairn_fail(err, CAIRN_E_ACCESS, "%s: mode %03o: other users can read a secret there", path,
                   (unsigned)st.st_mode & 0777);
        cairn_hint(err, "chmod 600 %s", path);
        return CAIRN_E_ACCESS;
    }
    return CAIRN_OK;
}

static int read_file(const char *path, struct cairn_buffer *text, struct cairn_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return cairn_fail_os(err, errno, "%s", path);
    int code = check_file(fd, path, err);
    if (code == CAIRN_OK && !cairn_buffer_reserve(text, AUTH_BYTES + 1))
        code = cairn_fail_memory(err);
    ssize_t n = code == CAIRN_OK ? read(fd, text->data, AUTH_BYTES) : 0;
    if (n < 0)
        code = cairn_fail_os(err, errno, "%s", path);
    else if (n == AUTH_BYTES)
        code = cairn_fail(err, CAIRN_E_LIMIT, "%s: more than %d bytes", path, AUTH_BYTES - 1);
    if (code == CAIRN_OK) {
        text->size = (size_t)n;
        text->data[n] = 0;
    }
    close(fd);
    return code;
}

static bool is_sound(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return false;
    return true;
}

static int check(const char *where, const struct cli_push_auth *auth, struct cairn_err *err)
{
    if (auth->token && auth->user)
        return cairn_fail(err, CAIRN_E_ARG, "%s: a token and a user, expected one of the two",
                          where);
    if (auth->token && (!*auth->token || !is_sound(auth->token) || strchr(auth->token, ' ')))
        return cairn_fail(err, CAIRN_E_ARG,
                          "%s: the token is empty or holds blanks or control characters", where);
    if (!auth->user && auth->password)
        return cairn_fail(err, CAIRN_E_ARG, "%s: a password without a user", where);
    if (auth->user && (strchr(auth->user, ':') || !is_sound(auth->user) ||
                       (auth->password && !is_sound(auth->password))))
        return cairn_fail(err, CAIRN_E_ARG,
                          "%s: the user holds a colon, or one of the two control characters",
                          where);
    return CAIRN_OK;
}

static const char *value_of(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value ? value : NULL;
}

/* "Bearer TOKEN" or "Basic USER:PASSWORD", one line. */
static int split(const char *path, struct cli_push_auth *auth, struct cairn_err *err)
{
    char *text = (char *)auth->text.data;
    size_t size = auth->text.size;
    while (size && strchr(" \t\r\n", text[size - 1]))
        text[--size] = 0;
    char *value = text + strcspn(text, " ");
    char *colon = strchr(value, ':');
    value += strspn(value, " ");
    if (strlen(text) == size && strncasecmp(text, "Bearer ", 7) == 0) {
        auth->token = value;
    } else if (strlen(text) == size && strncasecmp(text, "Basic ", 6) == 0 && colon) {
        *colon = 0;
        auth->user = value;
        auth->password = colon + 1;
    } else {
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "%s: expected one line, \"Bearer TOKEN\" or \"Basic USER:PASSWORD\"",
                          path);
    }
    return check(path, auth, err);
}

int cli_push_auth_read(const char *path, struct cli_push_auth *auth, struct cairn_err *err)
{
    if (path) {
        int code = read_file(path, &auth->text, err);
        return code < 0 ? code : split(path, auth, err);
    }
    auth->token = value_of("CAIRN_PUSH_TOKEN");
    auth->user = value_of("CAIRN_PUSH_USER");
    auth->password = value_of("CAIRN_PUSH_PASSWORD");
    return check("CAIRN_PUSH_TOKEN, _USER, _PASSWORD", auth, err);
}

void cli_push_auth_done(struct cli_push_auth *auth)
{
    if (auth->text.data)
        explicit_bzero(auth->text.data, auth->text.size);
    cairn_buffer_done(&auth->text);
}
