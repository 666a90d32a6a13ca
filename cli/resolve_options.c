/* SPDX-License-Identifier: MIT */
#include "cli/resolve_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/way_options.h"

enum {
    OPT_OUTPUT,
    OPT_MAPS,
    OPT_SYMBOLS,
    OPT_DEBUG_DIR,
    OPT_BUILD_IDS,
    OPT_KALLSYMS,
    OPT_KERNEL_MODULES,
    OPT_KERNEL_SECTIONS,
    OPT_VMLINUX,
    OPT_KERNEL_SLIDE,
    OPT_PERF_MAP,
    OPT_ALLOW_MISMATCH,
    OPT_NAMES,
    OPT_NO_INLINES,
    OPT_LINES,
    OPT_LEAF,
    OPT_OFFSETS,
    OPT_FROM,
    OPT_FORCE,
    OPT_MAX_MEMORY,
    OPT_JSON,
    OPT_VERBOSE,
    OPT_PID,
    OPT_TAG,
    OPT_SINCE,
    OPT_UNTIL,
    OPT_LIVE,
    OPT_ANNOTATE,
    OPT_FOLLOW,
    OPT_LOG,
    OPT_SYM_ROOT,
    OPT_ADDR2LINE,
    OPT_WAYS,
};

const struct cli_option cli_resolve_options[] = {
    [OPT_OUTPUT] = {"output", 'o', "OUT",
                    "write to OUT, - for stdout; without it IN is replaced in place"},
    [OPT_MAPS] = {"maps", 'm', "FILE",
                  "a copy of the process's /proc/PID/maps; for a kernel log also PID=FILE, or a "
                  "folder of such copies, several times"},
    [OPT_SYMBOLS] =
        {"symbols", 's', "DIR",
         "look for binaries and debug files in DIR (or a glob of folders): by build ID, "
         "by file name, by the module's path below it, by file name anywhere below it; "
         "may be given several times"},
    [OPT_DEBUG_DIR] = {"debug-dir", 0, "DIR", "the global folder of debug files (/usr/lib/debug)"},
    [OPT_BUILD_IDS] = {"build-ids", 0, "FILE",
                       "lines \"BUILD-ID PATH\" that say which build of a module was running"},
    [OPT_KALLSYMS] = {"kallsyms", 0, "FILE",
                      "names of the kernel: a copy of its /proc/kallsyms, or its System.map"},
    [OPT_KERNEL_MODULES] = {"kernel-modules", 0, "FILE",
                            "a copy of /proc/modules: where each kernel module of --kallsyms ends"},
    [OPT_KERNEL_SECTIONS] = {"kernel-sections", 0, "DIR",
                             "a copy of /sys/module: where the sections of kernel modules lie, for "
                             "lines out of their files; without it that is reckoned from "
                             "--kallsyms"},
    [OPT_VMLINUX] = {"vmlinux", 0, "FILE",
                     "the kernel's own ELF file, for lines and inlined functions"},
    [OPT_KERNEL_SLIDE] = {"kernel-slide", 0, "HEX",
                          "how far the kernel was moved from the addresses of System.map and "
                          "vmlinux, where neither a profile nor --kallsyms tells"},
    [OPT_PERF_MAP] = {"perf-map", 0, "FILE",
                      "names of code made at run time: a /tmp/perf-PID.map, or a folder of them; "
                      "may be given several times"},
    [OPT_ALLOW_MISMATCH] = {"allow-mismatch", 0, NULL,
                            "take files whose build ID differs, with a warning"},
    [OPT_NAMES] = {"names", 0, "HOW", "full (default), short (without parameters) or mangled"},
    [OPT_NO_INLINES] = {"no-inlines", 0, NULL, "add no frames for inlined functions"},
    [OPT_LINES] = {"lines", 0, NULL, "append \" (file:line)\" to the names"},
    [OPT_LEAF] = {"leaf", 0, "KIND",
                  "the last frame is ip (default): the address itself, or ret: a return address as "
                  "all the others"},
    [OPT_OFFSETS] = {"offsets", 0, "KIND",
                     "in module+0xoff, off counts rel (default): from the load base, as dladdr() "
                     "does, or file: from the start of the file"},
    [OPT_FROM] = {"from", 0, "FORMAT",
                  "what IN is: auto (default), collapsed, pprof, perf-data, sanitizer, valgrind, "
                  "tombstone, debugger, go, rust, backtrace, java, bpf, ftrace or klog"},
    [OPT_FORCE] = {"force", 'f', NULL, "replace OUT where it is there already"},
    [OPT_MAX_MEMORY] = {"max-memory", 0, "SIZE", "let caches hold at most SIZE (512M, 2G)"},
    [OPT_JSON] =
        {"json", 0, NULL,
         "print the summary as JSON on stdout, or on stderr where stdout takes the result; of a "
         "kernel log print each dump as an object on a line"},
    [OPT_VERBOSE] = {"verbose", 'v', NULL,
                     "say what was decided: segments, files chosen, addresses per module; twice: "
                     "more of it"},
    [OPT_PID] = {"pid", 'p', "N", "kernel log: dumps of this thread or process alone"},
    [OPT_TAG] = {"tag", 0, "TAG", "kernel log: dumps with this tag alone"},
    [OPT_SINCE] = {"since", 0, "TIME",
                   "kernel log: dumps from TIME on: seconds since boot, or a date as the log has"},
    [OPT_UNTIL] = {"until", 0, "TIME", "kernel log: dumps up to TIME alone"},
    [OPT_LIVE] = {"live", 0, NULL,
                  "kernel log: it is of this machine, now: read the maps of its processes"},
    [OPT_ANNOTATE] = {"annotate", 0, NULL,
                      "kernel log: pass it through and change symbols alone: f+0x1a/0x40 becomes "
                      "f (file.c:12)"},
    [OPT_FOLLOW] = {"follow", 0, NULL,
                    "kernel log: go on reading as it grows (dmesg -w, a serial port)"},
    [OPT_LOG] = {"log", 0, "LOG",
                 "IN is the kernel log LOG, and user stacks alone are printed: the command line of "
                 "resolver scripts"},
    [OPT_SYM_ROOT] = {"sym-root", 0, "DIR", "the same as --symbols, for such command lines"},
    [OPT_ADDR2LINE] = {"addr2line", 0, "FILE", "accepted for such command lines; not needed"},
    CLI_WAY_ROWS(OPT_WAYS),
    {0},
};

/* The options whose value is one of some words; in the order of the enums that they stand for. */
static bool set_word(struct cli_resolve_job *job, struct cli_args *args, int row, const char *value)
{
    static const char *const names[] = {"full", "short", "mangled", NULL};
    static const char *const leaves[] = {"ip", "ret", NULL};
    static const char *const offsets[] = {"rel", "file", NULL};
    enum { KLOG = 3 };
    static const char *const formats[] = {"auto",      "pprof",     "collapsed", "klog",
                                          "perf-data", "sanitizer", "valgrind",  "tombstone",
                                          "debugger",  "go",        "rust",      "backtrace",
                                          "java",      "bpf",       "ftrace",    NULL};
    const char *const *words = row == OPT_NAMES     ? names
                               : row == OPT_LEAF    ? leaves
                               : row == OPT_OFFSETS ? offsets
                                                    : formats;
    int index;
    if (!cli_args_word(args, cli_resolve_options[row].name, value, words, &index))
        return false;
    if (row == OPT_NAMES)
        job->opts.symbols.names = (enum cairn_names)index;
    else if (row == OPT_LEAF)
        job->opts.leaf = (enum cairn_leaf)index;
    else if (row == OPT_OFFSETS)
        job->opts.offsets = (enum cairn_offsets)index;
    else if (index == KLOG)
        job->is_klog = job->is_from_klog = true;
    else
        job->format = cairn_format_of(formats[index]);
    return true;
}

static bool set_memory(struct cli_resolve_job *job, struct cli_args *args, const char *value)
{
    uint64_t bytes;
    if (!cli_args_size(args, "max-memory", value, &bytes))
        return false;
    if (bytes == 0 || bytes > SIZE_MAX) {
        cli_args_wrong(args, "--max-memory: \"%s\" is no bound", value);
        return false;
    }
    job->opts.symbols.memory_bytes = (size_t)bytes;
    return true;
}

static bool set_slide(struct cli_resolve_job *job, struct cli_args *args, const char *value)
{
    char *end;
    errno = 0;
    job->opts.kernel_slide = strtoull(value, &end, 16);
    job->opts.has_kernel_slide = 1;
    if (!errno && *value != '-' && *value && !*end)
        return true;
    cli_args_wrong(args, "--kernel-slide: \"%s\", expected a number in hex", value);
    return false;
}

/* Those that make sense for a kernel log alone: IN is one then. */
static bool set_klog(struct cli_resolve_job *job, struct cli_args *args, int row, const char *value)
{
    struct cli_klog_opts *klog = &job->klog;
    job->is_klog = true;
    switch (row) {
    case OPT_PID:
        return cli_args_pid(args, value, &klog->pid);
    case OPT_TAG:
        klog->tag = value;
        break;
    case OPT_SINCE:
        klog->since = value;
        break;
    case OPT_UNTIL:
        klog->until = value;
        break;
    case OPT_LIVE:
        klog->live = true;
        job->opts.live = 1;
        break;
    case OPT_ANNOTATE:
        klog->annotate = true;
        break;
    case OPT_FOLLOW:
        klog->follow = true;
        break;
    default:
        job->in = value;
        klog->user_only = true;
        break;
    }
    return true;
}

static bool set_option(struct cli_resolve_job *job, struct cli_args *args, int row,
                       const char *value)
{
    if (row >= OPT_WAYS)
        return cli_way_take(args, (enum cli_way_row)(row - OPT_WAYS), value, &job->opts.symbols);
    if (row >= OPT_PID && row <= OPT_LOG)
        return set_klog(job, args, row, value);
    switch (row) {
    case OPT_OUTPUT:
        job->out = value;
        break;
    case OPT_MAPS:
        job->maps_path = value;
        cli_list_add(&job->klog.maps, value);
        break;
    case OPT_ADDR2LINE:
        break;
    case OPT_SYM_ROOT:
    case OPT_SYMBOLS:
        cli_list_add(&job->symbol_dirs, value);
        break;
    case OPT_DEBUG_DIR:
        job->opts.symbols.debug_dir = value;
        break;
    case OPT_BUILD_IDS:
        job->build_ids_path = value;
        break;
    case OPT_KALLSYMS:
        job->opts.kallsyms = value;
        break;
    case OPT_KERNEL_MODULES:
        job->opts.kernel_modules = value;
        break;
    case OPT_KERNEL_SECTIONS:
        job->opts.kernel_sections = value;
        break;
    case OPT_VMLINUX:
        job->opts.vmlinux = value;
        break;
    case OPT_KERNEL_SLIDE:
        return set_slide(job, args, value);
    case OPT_PERF_MAP:
        cli_list_add(&job->perf_maps, value);
        break;
    case OPT_ALLOW_MISMATCH:
        job->opts.symbols.allow_mismatch = 1;
        break;
    case OPT_NO_INLINES:
        job->opts.symbols.no_inlines = 1;
        break;
    case OPT_LINES:
        job->opts.lines = 1;
        break;
    case OPT_FORCE:
        job->force = true;
        break;
    case OPT_JSON:
        job->json = true;
        break;
    case OPT_VERBOSE:
        job->verbosity++;
        break;
    case OPT_MAX_MEMORY:
        return set_memory(job, args, value);
    default:
        return set_word(job, args, row, value);
    }
    return true;
}

int cli_resolve_parse(struct cli_resolve_job *job, struct cli_args *args)
{
    const char *value;
    int row;
    while ((row = cli_args_next(args, &value)) >= 0)
        if (!set_option(job, args, row, value))
            return CLI_USAGE;
    if (row == CLI_ARGS_WRONG)
        return CLI_USAGE;
    size_t n;
    char **operands = cli_args_operands(args, &n);
    if (job->in && n == 0)
        return CLI_OK;
    if (job->in)
        return cli_args_wrong(args, "\"%s\" is one word too many, for --log names the log",
                              operands[0]);
    if (n != 1)
        return n ? cli_args_wrong(args, "\"%s\" is one word too many, expected one IN", operands[1])
                 : cli_args_wrong(args, "IN is missing: a file, or - for stdin");
    job->in = operands[0];
    if (!job->out && strcmp(job->in, "-") == 0 && !job->is_klog)
        job->out = "-";
    return CLI_OK;
}
