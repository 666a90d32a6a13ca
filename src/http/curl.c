/* SPDX-License-Identifier: MIT */
#include "http/curl.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"

static struct cairn_curl curl;
static bool is_loaded;

/* A pointer to a function is none to data, as dlsym(3) says itself. */
static bool load_function(void *library, const char *name, void *ret_function)
{
    void *function = dlsym(library, name);
    memcpy(ret_function, &function, sizeof function);
    return function != NULL;
}

static const char *load_functions(void *library)
{
#define X(kind, name)                                                                              \
    if (!load_function(library, "curl_" #kind "_" #name, &curl.kind##_##name))                     \
        return "curl_" #kind "_" #name;
    CAIRN_CURL_FUNCTIONS(X)
#undef X
    return NULL;
}

const struct cairn_curl *cairn_curl_load(struct cairn_err *err)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    void *library = NULL;
    if (is_loaded)
        return &curl;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        cairn_fail(err, CAIRN_E_SUPPORT, "libcurl.so.4 is missing");
        cairn_hint(err, "apt-get install libcurl4");
        return NULL;
    }
    const char *missing = load_functions(library);
    if (missing || curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        cairn_fail(err, CAIRN_E_SUPPORT, "libcurl cannot be used: %s",
                   missing ? missing : "its start failed");
        cairn_hint(err, "libcurl 7.85 or newer is needed");
        return NULL;
    }
    is_loaded = true;
    return &curl;
}
