/* SPDX-License-Identifier: MIT */
/* A hello is lines of a key and a value. Keys that are not known are passed over, so that later
 * versions can add some. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/remote.h>

#include "base/buffer.h"
#include "base/error.h"

enum { HELLO_MAX = 4096 };

static void add_text(struct cairn_buffer *out, const char *key, const char *value)
{
    cairn_buffer_printf(out, "%s %s\n", key, value);
}

int cairn_remote_write_hello(const struct cairn_remote_hello *hello, cairn_write_fn write,
                             void *ctx, struct cairn_err *err)
{
    struct cairn_buffer out = {0};
    cairn_buffer_printf(&out, "protocol %d\nuid %" PRIu32 "\nabilities %" PRIx64 "\n",
                        CAIRN_REMOTE_VERSION, hello->uid, hello->abilities);
    add_text(&out, "cairn", hello->cairn);
    add_text(&out, "machine", hello->machine);
    add_text(&out, "host", hello->host);
    add_text(&out, "features", hello->features);
    int code = out.failed
                   ? cairn_fail_memory(err)
                   : cairn_remote_write(CAIRN_REMOTE_HELLO, out.data, out.size, write, ctx, err);
    cairn_buffer_done(&out);
    return code;
}

/* What is printed of it goes to a terminal: bytes that steer one are none of a name. */
static void take(char *to, size_t size, const char *value)
{
    snprintf(to, size, "%s", value);
    for (; *to; to++)
        if ((unsigned char)*to < ' ' || *to == 0x7f)
            *to = '?';
}

static void read_line(struct cairn_remote_hello *hello, const char *key, const char *value)
{
    if (strcmp(key, "protocol") == 0)
        hello->version = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(key, "uid") == 0)
        hello->uid = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(key, "abilities") == 0)
        hello->abilities = strtoull(value, NULL, 16);
    else if (strcmp(key, "cairn") == 0)
        take(hello->cairn, sizeof hello->cairn, value);
    else if (strcmp(key, "machine") == 0)
        take(hello->machine, sizeof hello->machine, value);
    else if (strcmp(key, "host") == 0)
        take(hello->host, sizeof hello->host, value);
    else if (strcmp(key, "features") == 0)
        take(hello->features, sizeof hello->features, value);
}

int cairn_remote_read_hello(const void *bytes, size_t size, struct cairn_remote_hello *ret_hello,
                            struct cairn_err *err)
{
    struct cairn_remote_hello hello = {.size = sizeof hello};
    char text[HELLO_MAX + 1], *rest = text;
    if (size > HELLO_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "a hello of %zu bytes, at most %d are allowed", size,
                          HELLO_MAX);
    if (size)
        memcpy(text, bytes, size);
    text[size] = '\0';
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *value = strchr(line, ' ');
        if (value) {
            *value = '\0';
            read_line(&hello, line, value + 1);
        }
    }
    if (!hello.version || !*hello.cairn)
        return cairn_fail(err, CAIRN_E_FORMAT, "the hello lacks its protocol or version");
    if (hello.version != CAIRN_REMOTE_VERSION)
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "cairn %s there speaks version %u of the protocol, not %d", hello.cairn,
                          hello.version, CAIRN_REMOTE_VERSION);
    hello.size = ret_hello->size < sizeof hello ? ret_hello->size : sizeof hello;
    memcpy(ret_hello, &hello, hello.size);
    return CAIRN_OK;
}
