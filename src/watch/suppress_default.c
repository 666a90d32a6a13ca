/* SPDX-License-Identifier: MIT */
#include "watch/suppress_default.h"

#include <fnmatch.h>
#include <string.h>

#include "profile/profile.h"

enum { FEW = 3, SOME = 8, MANY = 64 };
static const uint64_t BYTES_MAX = 256000; /* of one stack, in one process */

/* Names of functions as fnmatch(3) reads them: of any of the run's. Those that a library exports
 * stand beside the internal ones that they jump to, so that a stripped library will do, mostly.
 * Leading underscores, and `__GI_`, which glibc puts before names of its own, do not count. */
struct rule {
    const char *what;
    uint64_t most;            /* blocks of one stack, in one process */
    const char *const *names; /* NULL-terminated; NULL: any */
    bool at_start;            /* the dynamic loader called the C++ library's constructors */
};

#define NAMES(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static const struct rule rules[] = {
    {"the C++ library's memory for exceptions", SOME, NULL, true},
    {"buffers of stdio", FEW, NAMES("IO_file_doallocate", "IO_wfile_doallocate"), false},
    {"buffers of iostream", FEW, NAMES("std::ios_base::sync_with_stdio(bool)"), false},
    {"locales", MANY,
     NAMES("setlocale", "nl_find_locale", "std::locale::locale(char const?)",
           "std::locale::global(?*)", "*std::num_put<*", "*std::num_get<*", "*std::money_put<*",
           "*std::__numpunct_cache<*"),
     false},
    {"catalogs of messages", MANY,
     NAMES("gettext", "dgettext", "dcgettext*", "ngettext", "dngettext", "dcngettext", "textdomain",
           "bindtextdomain", "bind_textdomain_codeset", "set_binding_values", "dcigettext",
           "nl_find_domain"),
     false},
    {"names of users, groups, hosts and services", MANY,
     NAMES("getpw*", "getgr*", "getspnam*", "getserv*", "getproto*", "getnet*", "gethostby*",
           "initgroups", "nss_database*", "nss_action_parse", "nss_module*"),
     false},
    {"time zones", MANY,
     NAMES("tzset*", "tz_convert", "localtime", "localtime_r", "mktime", "ctime", "ctime_r",
           "strftime*"),
     false},
    {"the environment", MANY, NAMES("setenv", "putenv", "unsetenv", "add_to_environ"), false},
    {"handlers of exit and of fork", MANY,
     NAMES("atexit", "on_exit", "at_quick_exit", "cxa_atexit", "cxa_at_quick_exit",
           "cxa_thread_atexit_impl", "register_atfork", "pthread_atfork"),
     false},
    {"conversions of characters", MANY, NAMES("gconv_find_shlib", "gconv_lookup_cache"), false},
    {"loaded libraries", MANY, NAMES("dlopen", "dlmopen", "dlsym", "dlvsym", "dlerror"), false},
    {"threads", SOME, NAMES("pthread_create*"), false},
    {"texts of errors and signals", SOME,
     NAMES("strerror", "strerror_l", "strsignal", "perror", "syslog", "openlog", "syslog_chk"),
     false},
};
enum { N_RULES = sizeof rules / sizeof *rules };
_Static_assert((int)N_RULES <= (int)CAIRN_HEAP_DEFAULTS_MAX, "callers count by rule");

struct run {
    uint32_t n;              /* frames */
    bool is_cxx;             /* the innermost frame is the C++ library's */
    bool has_loader, is_all; /* the loader's frames are in it; it is the whole stack */
};

const char *cairn_heap_default_text(size_t rule)
{
    return rule < N_RULES ? rules[rule].what : NULL;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool starts(const char *text, const char *const *names)
{
    for (; *names; names++)
        if (strncmp(text, *names, strlen(*names)) == 0)
            return true;
    return false;
}

static bool is_loader(const char *module)
{
    return starts(module, NAMES("ld-linux", "ld-2.", "ld.so", "ld64.so", "ld-musl"));
}

static bool is_cxx(const char *module)
{
    return starts(module, NAMES("libstdc++.so", "libc++.so", "libc++abi.so"));
}

static bool is_of_libraries(const char *module)
{
    return is_loader(module) || is_cxx(module) ||
           starts(module, NAMES("libc.so", "libc-2.", "libc.musl", "libpthread", "libdl.", "libdl-",
                                "libm.so", "libgcc_s.so", "libresolv", "libnss_", "libnsl"));
}

static struct run run_of(const struct cairn_profile *p, uint32_t stack)
{
    struct run run = {.is_all = true};
    for (; stack && stack < p->n_stacks; stack = p->stacks[stack].parent) {
        const struct cairn_profile_frame *frame = &p->frames[p->stacks[stack].frame];
        const char *module =
            base_of(cairn_strings_get(&p->strings, p->modules[frame->module].path));
        if (!is_of_libraries(module)) {
            run.is_all = false;
            break;
        }
        run.is_cxx |= run.n == 0 && is_cxx(module);
        run.has_loader |= is_loader(module);
        run.n++;
    }
    return run;
}

static bool is_one_of(const char *name, const char *const *patterns)
{
    static const char internal[] = "__GI_";
    bool found = false;
    if (strncmp(name, internal, sizeof internal - 1) == 0)
        name += sizeof internal - 1;
    const char *plain = name + strspn(name, "_");
    for (size_t i = 0; !found && *plain && patterns[i]; i++)
        found = fnmatch(patterns[i], plain, 0) == 0;
    return found;
}

static bool has_name(const struct cairn_profile *p, const struct cairn_profile_frame *frame,
                     const char *const *patterns)
{
    bool found = false;
    for (uint32_t i = 0; i < frame->n_lines && !found; i++) {
        uint32_t function = p->lines[frame->lines + i].function;
        found = is_one_of(cairn_strings_get(&p->strings, p->functions[function].name), patterns);
    }
    return found;
}

static bool meets(const struct rule *rule, const struct run *run, const struct cairn_profile *p,
                  uint32_t stack)
{
    bool found = false;
    if (rule->at_start)
        return run->is_cxx && run->has_loader && run->is_all;
    for (uint32_t i = 0; i < run->n && !found; i++, stack = p->stacks[stack].parent)
        found = has_name(p, &p->frames[p->stacks[stack].frame], rule->names);
    return found && !run->is_all;
}

bool cairn_heap_default_find(const struct cairn_profile *profile,
                             const struct cairn_heap_leak *leak, size_t *ret_rule)
{
    const uint64_t n_processes = leak->n_processes ? leak->n_processes : 1;
    const struct run run = run_of(profile, leak->stack);
    if (leak->bytes / n_processes > BYTES_MAX)
        return false;
    for (size_t i = 0; i < N_RULES; i++)
        if (leak->n_blocks <= rules[i].most * n_processes &&
            meets(&rules[i], &run, profile, leak->stack)) {
            *ret_rule = i;
            return true;
        }
    return false;
}
