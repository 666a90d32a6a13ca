/* SPDX-License-Identifier: MIT */
#include "resolve/kernel.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "proc/kernel.h"
#include "symbol/listed.h"

enum { PATH_BYTES = 256 };

int cairn_kernel_sources_open(struct cairn_kernel_sources *sources,
                              struct cairn_symbolizer *symbolizer,
                              const struct cairn_resolve_opts *opts, struct cairn_err *err)
{
    sources->slide = opts->kernel_slide;
    sources->has_slide = opts->has_kernel_slide != 0;
    sources->live = opts->live != 0;
    sources->allow_mismatch = opts->symbols.allow_mismatch != 0;
    if (opts->kernel_sections && !(sources->module_folder = cairn_strdup(opts->kernel_sections)))
        return cairn_fail_memory(err);
    int code = CAIRN_OK;
    if (opts->kallsyms)
        code = cairn_symbolizer_open_kallsyms(symbolizer, opts->kallsyms, opts->kernel_modules,
                                              &sources->list, err);
    if (code == CAIRN_OK && opts->vmlinux)
        code = cairn_symbolizer_open_file(symbolizer, opts->vmlinux, &sources->vmlinux, err);
    return code;
}

/* Whatever is wrong with the list costs no more than its names. That it is hidden is a cause of its
 * own, which is told with the addresses that it costs. */
static int bear(int code, struct cairn_err *why, struct cairn_err *err)
{
    bool usual = code == CAIRN_E_MISSING || code == CAIRN_E_ACCESS;
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    cairn_log_err(usual ? CAIRN_LOG_INFO : CAIRN_LOG_WARNING, why);
    return CAIRN_OK;
}

/* Without a build ID: of this host, this release, and at the place where KASLR put it. */
static bool is_likely_running(const struct cairn_kernel_identity *identity,
                              const struct cairn_running_kernel *running)
{
    struct utsname here;
    return identity->is_of_here && identity->text && identity->text == running->text &&
           uname(&here) == 0 && strcmp(identity->release, here.release) == 0;
}

/* Names of the running kernel serve where it is the one in question, started anew or not. */
static int open_running(const struct cairn_kernel_sources *sources,
                        struct cairn_symbolizer *symbolizer,
                        const struct cairn_kernel_identity *identity, struct cairn_kernel *kernel,
                        struct cairn_err *err)
{
    struct cairn_running_kernel running;
    struct cairn_err why = {0};
    cairn_running_kernel(&running);
    bool same = identity->build_id[0] ? strcmp(identity->build_id, running.build_id) == 0
                                      : is_likely_running(identity, &running);
    if (!sources->live && !(same && identity->text))
        return CAIRN_OK;
    bool has_modules = access("/proc/modules", R_OK) == 0;
    int code = cairn_symbolizer_open_kallsyms(
        symbolizer, "/proc/kallsyms", has_modules ? "/proc/modules" : NULL, &kernel->list, &why);
    if (code == CAIRN_OK)
        return CAIRN_OK;
    kernel->missing = code == CAIRN_E_ACCESS ? CAIRN_CAUSE_KERNEL_HIDDEN : CAIRN_CAUSE_NO_KERNEL;
    return bear(code, &why, err);
}

/* A vmlinux of another build would name wrongly. */
static bool is_of_build(const struct cairn_kernel_sources *sources, const char *build_id)
{
    const struct cairn_module_info *info = cairn_module_info(sources->vmlinux);
    if (!build_id[0] || strcmp(info->build_id, build_id) == 0)
        return true;
    cairn_log(CAIRN_LOG_WARNING, "%s: build ID %s, that of the kernel is %s%s", info->path,
              info->build_id[0] ? info->build_id : "unknown", build_id,
              sources->allow_mismatch ? "" : " (--allow-mismatch takes it all the same)");
    return sources->allow_mismatch;
}

/* By build ID wherever debug files are, then where distributions put a vmlinux. */
static int find_vmlinux(struct cairn_symbolizer *symbolizer,
                        const struct cairn_kernel_identity *identity, struct cairn_kernel *kernel,
                        struct cairn_err *err)
{
    static const char *const places[][2] = {{"/boot/vmlinux-", ""},
                                            {"/usr/lib/debug/boot/vmlinux-", ""},
                                            {"/usr/lib/debug/lib/modules/", "/vmlinux"},
                                            {"/lib/modules/", "/build/vmlinux"}};
    struct cairn_err why;
    bool has_release = identity->release[0] && !strchr(identity->release, '/');
    for (size_t i = 0; i < (has_release ? sizeof places / sizeof *places : 1); i++) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "%s%s%s", places[i][0], has_release ? identity->release : "",
                 places[i][1]);
        int code =
            cairn_symbolizer_open(symbolizer, path, identity->build_id, &kernel->vmlinux, &why);
        if (code == CAIRN_E_NOMEM)
            return cairn_fail_memory(err);
        if (code == CAIRN_OK)
            return CAIRN_OK;
        if (code == CAIRN_E_ARG)
            cairn_log_err(CAIRN_LOG_WARNING, &why);
    }
    kernel->vmlinux = NULL;
    return CAIRN_OK;
}

/* How far a source's addresses lie below those in memory. */
static bool find_slide(const struct cairn_kernel_sources *sources,
                       const struct cairn_module *module, uint64_t text, uint64_t *ret_slide)
{
    uint64_t linked;
    if (sources->has_slide)
        *ret_slide = sources->slide;
    else if (text && cairn_module_kernel_text(module, &linked))
        *ret_slide = text - linked;
    else
        return false;
    return true;
}

static void log_source(const char *what, const struct cairn_module *module, uint64_t slide)
{
    const struct cairn_module_info *info = cairn_module_info(module);
    cairn_log(CAIRN_LOG_INFO, "kernel: %s from %s%s, moved by %#llx", what, info->path,
              info->has_lines ? " with lines" : "", (unsigned long long)slide);
}

static void set_slides(const struct cairn_kernel_sources *sources, uint64_t text,
                       struct cairn_kernel *kernel)
{
    if (kernel->list) {
        (void)find_slide(sources, kernel->list, text, &kernel->list_slide);
        log_source("names", kernel->list, kernel->list_slide);
        if (!text && !sources->has_slide)
            (void)cairn_module_kernel_text(kernel->list, &text);
    }
    if (!kernel->vmlinux)
        return;
    bool known = find_slide(sources, kernel->vmlinux, text, &kernel->vmlinux_slide);
    if (!known && kernel->vmlinux != sources->vmlinux)
        kernel->vmlinux = NULL; /* nobody asked for it, and it would name wrongly */
    else
        log_source(known ? "names" : "names, taken for unmoved,", kernel->vmlinux,
                   kernel->vmlinux_slide);
}

/* Modules do not move with the kernel: what a list of another boot says of them is void. */
static int open_modules(const struct cairn_kernel_sources *sources,
                        struct cairn_symbolizer *symbolizer,
                        const struct cairn_kernel_identity *identity, struct cairn_kernel *kernel,
                        struct cairn_err *err)
{
    struct cairn_running_kernel running;
    struct cairn_kernel_module_places places = {
        .release = identity->release,
        .folder = sources->module_folder,
        .is_live = sources->live && !sources->list,
    };
    if (!kernel->list || kernel->list_slide)
        return CAIRN_OK;
    if (places.is_live && !places.release[0]) {
        cairn_running_kernel(&running);
        places.release = running.release;
    }
    return cairn_kernel_modules_new(symbolizer, &places, &kernel->modules, err);
}

void cairn_kernel_done(struct cairn_kernel *kernel)
{
    cairn_kernel_modules_free(kernel->modules);
    *kernel = (struct cairn_kernel){0};
}

int cairn_kernel_open(const struct cairn_kernel_sources *sources,
                      struct cairn_symbolizer *symbolizer,
                      const struct cairn_kernel_identity *identity, struct cairn_kernel *ret_kernel,
                      struct cairn_err *err)
{
    struct cairn_kernel kernel = {.list = sources->list, .missing = CAIRN_CAUSE_NO_KERNEL};
    int code = CAIRN_OK;
    if (sources->vmlinux && is_of_build(sources, identity->build_id))
        kernel.vmlinux = sources->vmlinux;
    if (!kernel.list)
        code = open_running(sources, symbolizer, identity, &kernel, err);
    if (code == CAIRN_OK && !kernel.vmlinux && identity->build_id[0])
        code = find_vmlinux(symbolizer, identity, &kernel, err);
    if (code < 0)
        return code;
    set_slides(sources, identity->text, &kernel);
    code = open_modules(sources, symbolizer, identity, &kernel, err);
    if (code < 0)
        return code;
    if (kernel.list || kernel.vmlinux)
        kernel.missing = CAIRN_CAUSE_NONE;
    *ret_kernel = kernel;
    return CAIRN_OK;
}

/* What a module's own file says is put in the place of the list's answer. */
static int ask_module(const struct cairn_kernel *kernel, struct cairn_symbolizer *symbolizer,
                      uint64_t va, struct cairn_symbol *symbol, struct cairn_err *err)
{
    bool found = false;
    if (!kernel->modules || !symbol->n_frames || !symbol->frames[0].module)
        return CAIRN_OK;
    int code = cairn_kernel_modules_symbolize(kernel->modules, symbolizer, symbol->frames[0].module,
                                              kernel->list, va, &found, symbol, err);
    return code < 0 || found ? code : cairn_symbolize(symbolizer, kernel->list, va, symbol, err);
}

int cairn_kernel_symbolize(const struct cairn_kernel *kernel, struct cairn_symbolizer *symbolizer,
                           uint64_t va, struct cairn_symbol *ret_symbol, struct cairn_err *err)
{
    struct cairn_symbol symbol = {.state = CAIRN_SYMBOL_NO_SYMBOL};
    int code = CAIRN_OK;
    if (kernel->vmlinux)
        code =
            cairn_symbolize(symbolizer, kernel->vmlinux, va - kernel->vmlinux_slide, &symbol, err);
    if (code == CAIRN_OK && kernel->list && symbol.state != CAIRN_SYMBOL_NAMED) {
        code = cairn_symbolize(symbolizer, kernel->list, va - kernel->list_slide, &symbol, err);
        if (code == CAIRN_OK && kernel->list_slide && symbol.n_frames && symbol.frames[0].module)
            symbol = (struct cairn_symbol){.state = CAIRN_SYMBOL_NO_SYMBOL};
        if (code == CAIRN_OK)
            code = ask_module(kernel, symbolizer, va, &symbol, err);
    }
    if (code == CAIRN_OK && symbol.state != CAIRN_SYMBOL_NAMED)
        symbol.state = CAIRN_SYMBOL_NO_SYMBOL;
    if (code == CAIRN_OK)
        *ret_symbol = symbol;
    return code;
}

bool cairn_kernel_owns(uint64_t va)
{
    return va >= cairn_upper_half &&
           (va < cairn_vsyscall_start || va - cairn_vsyscall_start >= CAIRN_VSYSCALL_BYTES);
}

int cairn_vsyscall_open(struct cairn_symbolizer *symbolizer, struct cairn_module **ret_module,
                        struct cairn_err *err)
{
    static const struct {
        uint64_t off;
        const char *name;
    } entries[] = {{0, "vgettimeofday"}, {0x400, "vtime"}, {0x800, "vgetcpu"}};
    enum { ENTRY_BYTES = 0x400 };
    struct cairn_symbol_list list = {.source = CAIRN_SOURCE_KERNEL};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        uint64_t start = cairn_vsyscall_start + entries[i].off;
        const struct cairn_listed_symbol row = {
            .start = start, .end = start + ENTRY_BYTES, .rank = 1};
        int code =
            cairn_symbol_list_add(&list, &row, entries[i].name, strlen(entries[i].name), err);
        if (code < 0) {
            cairn_symbol_list_done(&list);
            return code;
        }
    }
    return cairn_symbolizer_add_list(symbolizer, "[vsyscall]", &list, ret_module, err);
}
