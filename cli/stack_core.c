/* SPDX-License-Identifier: MIT */
/* What ended the process of a core file, in words and as JSON. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "base/escape.h"
#include "cli/stack.h"

enum { ARGUMENTS_MAX = 79 }; /* that the kernel keeps: more were cut */

/* Numbers of all machines whose cores are read; sigabbrev_np(3) is newer than the C libraries that
 * we run on. */
static const char *const names[] = {
    [1] = "SIGHUP",     [2] = "SIGINT",    [3] = "SIGQUIT",  [4] = "SIGILL",   [5] = "SIGTRAP",
    [6] = "SIGABRT",    [7] = "SIGBUS",    [8] = "SIGFPE",   [9] = "SIGKILL",  [10] = "SIGUSR1",
    [11] = "SIGSEGV",   [12] = "SIGUSR2",  [13] = "SIGPIPE", [14] = "SIGALRM", [15] = "SIGTERM",
    [16] = "SIGSTKFLT", [17] = "SIGCHLD",  [24] = "SIGXCPU", [25] = "SIGXFSZ", [26] = "SIGVTALRM",
    [27] = "SIGPROF",   [28] = "SIGWINCH", [29] = "SIGIO",   [30] = "SIGPWR",  [31] = "SIGSYS",
};

static const struct {
    int signal, code;
    const char *name, *words;
} codes[] = {
    {SIGSEGV, SEGV_MAPERR, "SEGV_MAPERR", "nothing is mapped there"},
    {SIGSEGV, SEGV_ACCERR, "SEGV_ACCERR", "the mapping does not allow it"},
    {SIGBUS, BUS_ADRALN, "BUS_ADRALN", "not aligned"},
    {SIGBUS, BUS_ADRERR, "BUS_ADRERR", "behind the end of the mapped file, or no memory"},
    {SIGBUS, BUS_OBJERR, "BUS_OBJERR", "an error of the hardware"},
    {SIGILL, ILL_ILLOPC, "ILL_ILLOPC", "no instruction"},
    {SIGILL, ILL_ILLOPN, "ILL_ILLOPN", "no operand"},
    {SIGILL, ILL_PRVOPC, "ILL_PRVOPC", "an instruction of the kernel's"},
    {SIGFPE, FPE_INTDIV, "FPE_INTDIV", "an integer was divided by zero"},
    {SIGFPE, FPE_INTOVF, "FPE_INTOVF", "an integer is too large"},
    {SIGFPE, FPE_FLTDIV, "FPE_FLTDIV", "a number was divided by zero"},
    {SIGFPE, FPE_FLTINV, "FPE_FLTINV", "no such operation on these numbers"},
    {SIGTRAP, TRAP_BRKPT, "TRAP_BRKPT", "a breakpoint"},
};

static const char *name_of(int number)
{
    return number > 0 && (size_t)number < sizeof names / sizeof *names ? names[number] : NULL;
}

/* -1: it has no name here. */
static int find_code(const struct cairn_snapshot_core *core)
{
    for (size_t i = 0; core->has_code && i < sizeof codes / sizeof *codes; i++)
        if (codes[i].signal == core->signal && codes[i].code == core->code)
            return (int)i;
    return -1;
}

static void put(struct cairn_buffer *out, const char *text)
{
    cairn_escape_terminal(out, text, strlen(text));
}

static void put_signal(struct cairn_buffer *out, const struct cairn_snapshot_core *core)
{
    const char *name = name_of(core->signal);
    int code = find_code(core);
    if (name)
        cairn_buffer_printf(out, "ended by %s", name);
    else
        cairn_buffer_printf(out, "ended by signal %d", core->signal);
    if (core->has_address)
        cairn_buffer_printf(out, " at address 0x%" PRIx64, core->address);
    if (code >= 0)
        cairn_buffer_printf(out, ": %s", codes[code].words);
    else if (core->has_code && core->code == SI_KERNEL)
        cairn_buffer_str(out, ": the kernel does not say at which address");
    else if (core->sender > 0)
        cairn_buffer_printf(out, ", which %s sent",
                            core->sender == core->pid ? "the process itself" : "another process");
    if (core->sender > 0 && core->sender != core->pid)
        cairn_buffer_printf(out, ": %d", core->sender);
    if (core->tid)
        cairn_buffer_printf(out, "; thread %d got it", core->tid);
    cairn_buffer_char(out, '\n');
}

void cli_stack_core_text(struct cairn_buffer *out, const struct cairn_snapshot *snapshot)
{
    struct cairn_snapshot_core core = {.size = sizeof core};
    if (!cairn_snapshot_core(snapshot, &core))
        return;
    if (core.pid)
        cairn_buffer_printf(out, "process %d", core.pid);
    if (core.pid && *core.name) {
        cairn_buffer_str(out, " (");
        put(out, core.name);
        cairn_buffer_str(out, "): ");
        put(out, core.arguments);
        if (strlen(core.arguments) >= ARGUMENTS_MAX)
            cairn_buffer_str(out, "...");
    }
    if (core.pid)
        cairn_buffer_char(out, '\n');
    if (core.signal)
        put_signal(out, &core);
}

void cli_stack_core_json(struct cairn_json *json, const struct cairn_snapshot *snapshot)
{
    struct cairn_snapshot_core core = {.size = sizeof core};
    if (!cairn_snapshot_core(snapshot, &core))
        return;
    int code = find_code(&core);
    if (*core.name)
        cairn_json_str(json, "name", core.name);
    if (*core.arguments) {
        cairn_json_str(json, "command", core.arguments);
        cairn_json_bool(json, "command_is_cut", strlen(core.arguments) >= ARGUMENTS_MAX);
    }
    if (!core.signal)
        return;
    cairn_json_open(json, "signal", '{');
    cairn_json_i64(json, "number", core.signal);
    cairn_json_str(json, "name", name_of(core.signal));
    if (core.has_code)
        cairn_json_i64(json, "code", core.code);
    if (code >= 0)
        cairn_json_str(json, "code_name", codes[code].name);
    if (core.has_address)
        cairn_json_hex(json, "address", core.address);
    if (core.sender > 0)
        cairn_json_i64(json, "sender", core.sender);
    if (core.tid)
        cairn_json_i64(json, "tid", core.tid);
    cairn_json_close(json, '}');
}
