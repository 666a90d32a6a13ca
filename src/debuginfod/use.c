/* SPDX-License-Identifier: MIT */
/* The client of the whole program: which servers, which folder. */
#include <glob.h>
#include <limits.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "debuginfod/client.h"

enum { URLS_BYTES_MAX = 64 << 10, URL_BYTES_MAX = 2048, TIMEOUT_MAX_S = 3600 };
static const uint64_t default_max_bytes = 2000000000;

static struct cairn_debuginfod *client; /* of the whole program, as the folders of by_id.h are */

static void client_free(struct cairn_debuginfod *c)
{
    for (size_t i = 0; i < c->n_servers; i++)
        cairn_free(c->servers[i].url);
    cairn_client_folder_close(&c->folder);
    cairn_strings_done(&c->asked);
    cairn_free(c->folder_path);
    cairn_free(c);
}

/* One word of the list; "ima:..." switches something on in elfutils, and is no server. */
static int add_server(struct cairn_debuginfod *c, const char *word, size_t size,
                      struct cairn_err *err)
{
    if (size > 4 && strncmp(word, "ima:", 4) == 0)
        return CAIRN_OK;
    bool is_http = (size > 7 && strncmp(word, "http://", 7) == 0) ||
                   (size > 8 && strncmp(word, "https://", 8) == 0);
    if (!is_http || size > URL_BYTES_MAX)
        return cairn_fail(err, CAIRN_E_ARG,
                          "debuginfod: \"%.*s\" is no server, expected http://... or https://...",
                          size > 80 ? 80 : (int)size, word);
    if (c->n_servers == CAIRN_SERVERS_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "debuginfod: more than %d servers",
                          CAIRN_SERVERS_MAX);
    while (word[size - 1] == '/')
        size--;
    char *url = cairn_alloc(size + 1, 1);
    if (!url)
        return cairn_fail_memory(err);
    memcpy(url, word, size);
    c->servers[c->n_servers++].url = url;
    return CAIRN_OK;
}

static int add_servers(struct cairn_debuginfod *c, const char *urls, struct cairn_err *err)
{
    static const char blanks[] = " \t\n";
    int code = CAIRN_OK;
    for (urls += strspn(urls, blanks); *urls && code == CAIRN_OK; urls += strspn(urls, blanks)) {
        size_t size = strcspn(urls, blanks);
        code = add_server(c, urls, size, err);
        urls += size;
    }
    return code;
}

/* As the login scripts of distributions do that set DEBUGINFOD_URLS. */
static int add_systems_servers(struct cairn_debuginfod *c, struct cairn_err *err)
{
    glob_t found = {0};
    int code = CAIRN_OK;
    if (glob("/etc/debuginfod/*.urls", 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && code == CAIRN_OK; i++) {
            struct cairn_buffer text = {0};
            struct cairn_err ignored;
            if (cairn_file_slurp_regular(found.gl_pathv[i], URLS_BYTES_MAX, &text, &ignored) == 0)
                code = add_servers(c, cairn_buffer_text(&text), err);
            cairn_buffer_done(&text);
        }
    globfree(&found);
    return code;
}

static int set_servers(struct cairn_debuginfod *c, const char *urls, struct cairn_err *err)
{
    const char *wish = getenv("DEBUGINFOD_URLS");
    int code = urls            ? add_servers(c, urls, err)
               : wish && *wish ? add_servers(c, wish, err)
                               : add_systems_servers(c, err);
    if (code < 0 || c->n_servers)
        return code;
    cairn_fail(err, CAIRN_E_ARG, "debuginfod: no server is known");
    cairn_hint(err, "set DEBUGINFOD_URLS, such as https://debuginfod.debian.net, or give "
                    "--debuginfod=URL");
    return CAIRN_E_ARG;
}

static unsigned timeout_of(const struct cairn_debuginfod_opts *opts)
{
    const char *text = getenv("DEBUGINFOD_TIMEOUT");
    long seconds = text ? strtol(text, NULL, 10) : 0;
    if (opts->timeout_s)
        return opts->timeout_s;
    return seconds > 0 && seconds <= TIMEOUT_MAX_S ? (unsigned)seconds : CAIRN_TIMEOUT_S;
}

static int set_folder(struct cairn_debuginfod *c, const char *folder, struct cairn_err *err)
{
    char own[PATH_MAX];
    int code = folder ? CAIRN_OK : cairn_debuginfod_folder(own, sizeof own, err);
    if (code < 0)
        return code;
    c->folder_path = cairn_strdup(folder ? folder : own);
    return c->folder_path ? CAIRN_OK : cairn_fail_memory(err);
}

int cairn_debuginfod_use(const struct cairn_debuginfod_opts *opts, struct cairn_err *err)
{
    struct cairn_debuginfod_opts o = {0};
    int code = cairn_by_id_set_fetched(NULL, NULL, NULL, err);
    if (client)
        client_free(client);
    client = NULL;
    if (!opts || code < 0)
        return code;
    memcpy(&o, opts, opts->size < sizeof o ? opts->size : sizeof o);
    code = cairn_debuginfod_can(err);
    if (code < 0)
        return code;
    struct cairn_debuginfod *c = cairn_alloc(1, sizeof *c);
    if (!c)
        return cairn_fail_memory(err);
    c->folder.fd = -1;
    c->timeout_s = timeout_of(&o);
    c->max_bytes = o.max_bytes ? o.max_bytes : default_max_bytes;
    c->progress = o.progress;
    c->ctx = o.ctx;
    code = set_servers(c, o.urls, err);
    if (code == CAIRN_OK)
        code = set_folder(c, o.folder, err);
    if (code == CAIRN_OK)
        code = cairn_by_id_set_fetched(c->folder_path, cairn_debuginfod_fetch, c, err);
    if (code < 0)
        client_free(c);
    else
        client = c;
    return code;
}
