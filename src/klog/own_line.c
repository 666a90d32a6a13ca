/* SPDX-License-Identifier: MIT */
#include "klog/own_line.h"

#include <cairn/klog.h>

#include "klog/scan.h"

enum { BUILD_ID_DIGITS = 40 };

struct row {
    const char *begin;
    enum cairn_klog_own what;
};

/* By how a line begins, blanks in front of it gone. */
static const struct row rows[] = {
    {"Call Trace:", CAIRN_KLOG_OWN_TRACE},
    {"Call trace:", CAIRN_KLOG_OWN_TRACE},
    {"Backtrace:", CAIRN_KLOG_OWN_TRACE},
    {"BUG: ", CAIRN_KLOG_OWN_TITLE},
    {"WARNING: ", CAIRN_KLOG_OWN_TITLE},
    {"INFO: ", CAIRN_KLOG_OWN_TITLE},
    {"Oops", CAIRN_KLOG_OWN_TITLE},
    {"Internal error: ", CAIRN_KLOG_OWN_TITLE},
    {"Unable to handle kernel ", CAIRN_KLOG_OWN_TITLE},
    {"general protection fault", CAIRN_KLOG_OWN_TITLE},
    {"kernel BUG at ", CAIRN_KLOG_OWN_TITLE},
    {"Kernel panic", CAIRN_KLOG_OWN_TITLE},
    {"NMI backtrace for cpu ", CAIRN_KLOG_OWN_TITLE},
    {"watchdog: ", CAIRN_KLOG_OWN_TITLE},
    {"rcu: INFO: ", CAIRN_KLOG_OWN_TITLE},
    {"UBSAN: ", CAIRN_KLOG_OWN_TITLE},
    {"divide error: ", CAIRN_KLOG_OWN_TITLE},
    {"invalid opcode: ", CAIRN_KLOG_OWN_TITLE},
    {"sysrq: Show ", CAIRN_KLOG_OWN_TITLE},
    {"stack backtrace:", CAIRN_KLOG_OWN_SECTION},
    {"Allocated by task ", CAIRN_KLOG_OWN_SECTION},
    {"Freed by task ", CAIRN_KLOG_OWN_SECTION},
    {"Allocated:", CAIRN_KLOG_OWN_SECTION},
    {"Freed:", CAIRN_KLOG_OWN_SECTION},
    {"Last potentially related work creation:", CAIRN_KLOG_OWN_SECTION},
    {"Second to last potentially related work creation:", CAIRN_KLOG_OWN_SECTION},
    {"Uninit was ", CAIRN_KLOG_OWN_SECTION},
    {"Local variable ", CAIRN_KLOG_OWN_SECTION},
    {"<IRQ>", CAIRN_KLOG_OWN_PART},
    {"</IRQ>", CAIRN_KLOG_OWN_PART},
    {"<TASK>", CAIRN_KLOG_OWN_PART},
    {"</TASK>", CAIRN_KLOG_OWN_TASK_END},
    {"<NMI>", CAIRN_KLOG_OWN_PART},
    {"</NMI>", CAIRN_KLOG_OWN_PART},
    {"<#", CAIRN_KLOG_OWN_PART},
    {"</#", CAIRN_KLOG_OWN_PART},
    {"<EOI>", CAIRN_KLOG_OWN_PART},
    {"<SOFTIRQ>", CAIRN_KLOG_OWN_PART},
    {"---[ end trace", CAIRN_KLOG_OWN_END},
    {"---[ end Kernel panic", CAIRN_KLOG_OWN_END},
    {"Linux version ", CAIRN_KLOG_OWN_BOOT},
    {"Booting Linux on physical CPU", CAIRN_KLOG_OWN_BOOT},
    {"Modules linked in:", CAIRN_KLOG_OWN_REGS},
    {"Hardware name:", CAIRN_KLOG_OWN_REGS},
    {"Tainted: ", CAIRN_KLOG_OWN_REGS},
    {"Not tainted", CAIRN_KLOG_OWN_REGS},
    {"Workqueue: ", CAIRN_KLOG_OWN_REGS},
    {"Code: ", CAIRN_KLOG_OWN_REGS},
    {"Stack: ", CAIRN_KLOG_OWN_REGS},
    {"Stack:", CAIRN_KLOG_OWN_REGS},
    {"Exception stack(", CAIRN_KLOG_OWN_REGS},
    {"pstate: ", CAIRN_KLOG_OWN_REGS},
    {"psr: ", CAIRN_KLOG_OWN_REGS},
    {"Flags: ", CAIRN_KLOG_OWN_REGS},
    {"Control: ", CAIRN_KLOG_OWN_REGS},
    {"status: ", CAIRN_KLOG_OWN_REGS},
    {"unwind_backtrace", CAIRN_KLOG_OWN_OTHER},
};

/* "RAX: 0000", "x29: ffff", "r5:c0a3", "CR2: ", "sp : ", " a0 : ": a short name and a colon, then
 * hex. */
static bool is_register_line(struct cairn_span text)
{
    size_t at = 0, digits;
    uint64_t ignored;
    while (at < text.size && at < 5 &&
           ((uint8_t)((text.data[at] | 0x20) - 'a') < 26 || cairn_scan_is_digit(text.data[at])))
        at++;
    cairn_scan_blanks(text, &at);
    if (!at || !cairn_scan_char(text, &at, ':'))
        return false;
    cairn_scan_blanks(text, &at);
    (void)cairn_scan_text(text, &at, "0x");
    (void)cairn_scan_text(text, &at, "00"); /* "RSP: 0018:ffffc90000" */
    if (!cairn_scan_hex(text, &at, &ignored, &digits))
        return false;
    return digits >= 2 && (at == text.size || text.data[at] == ' ' || text.data[at] == ':');
}

/* "fee0: 00000000 c0a01234 ...": four or more words of hex. */
static bool is_hex_dump(struct cairn_span text)
{
    size_t at = 0, n = 0, digits;
    uint64_t ignored;
    while (at < text.size && cairn_scan_hex(text, &at, &ignored, &digits)) {
        (void)cairn_scan_char(text, &at, ':');
        cairn_scan_blanks(text, &at);
        n++;
    }
    return n >= 4 && at == text.size;
}

static int64_t number_behind(struct cairn_span text, const char *name)
{
    uint64_t value;
    size_t at = cairn_scan_find(text, name);
    if (at == text.size)
        return -1;
    at += strlen(name);
    cairn_scan_blanks(text, &at);
    return cairn_scan_decimal(text, &at, &value) && value <= INT32_MAX ? (int64_t)value : -1;
}

/* "CPU: 0 PID: 9 Comm: sh Not tainted 6.1 #1 BUILDID40": the comm ends where the taint begins. */
static bool read_cpu_line(struct cairn_span text, struct cairn_klog_own_line *line)
{
    size_t comm = cairn_scan_find(text, " Comm: ");
    if (comm == text.size)
        return false;
    line->what = CAIRN_KLOG_OWN_TASK;
    line->cpu = number_behind(text, "CPU: ");
    line->pid = number_behind(text, "PID: ");
    struct cairn_span rest = cairn_scan_rest(text, comm + 7);
    size_t end = cairn_scan_find(rest, " Not tainted"),
           tainted = cairn_scan_find(rest, " Tainted: ");
    end = end < tainted ? end : tainted;
    line->comm = cairn_scan_trim((struct cairn_span){rest.data, end});
    /* The last word, where it is as long as a build ID. */
    size_t n = 0;
    while (n < text.size && cairn_scan_hex_digit(text.data[text.size - 1 - n]) < 16)
        n++;
    if (n == BUILD_ID_DIGITS && text.size > n && text.data[text.size - 1 - n] == ' ')
        line->build_id = (struct cairn_span){text.data + text.size - n, n};
    return true;
}

/* "task:sh state:D stack:24832 pid:7 tgid:7 ppid:1 flags:0x..." */
static bool read_task_line(struct cairn_span text, struct cairn_klog_own_line *line)
{
    size_t state = cairn_scan_find(text, "state:");
    if (!cairn_span_begins(text, "task:") || state == text.size)
        return false;
    line->what = CAIRN_KLOG_OWN_TASK;
    line->comm = cairn_scan_trim((struct cairn_span){text.data + 5, state - 5});
    line->pid = number_behind(text, " pid:");
    line->tgid = number_behind(text, " tgid:");
    return true;
}

/* "Process sh (pid: 12, ...". */
static bool read_process_line(struct cairn_span text, struct cairn_klog_own_line *line)
{
    size_t pid = cairn_scan_find(text, " (pid: ");
    if (!cairn_span_begins(text, "Process ") || pid == text.size)
        return false;
    line->what = CAIRN_KLOG_OWN_TASK;
    line->comm = (struct cairn_span){text.data + 8, pid - 8};
    line->pid = number_behind(text, "(pid: ");
    return true;
}

/* A program counter of the kernel; false where the text is no symbol. */
static bool read_pc(struct cairn_span text, size_t at, struct cairn_klog_own_line *line)
{
    struct cairn_klog_symbol symbol;
    uint64_t va;
    size_t digits;
    cairn_scan_blanks(text, &at);
    line->what = CAIRN_KLOG_OWN_PC;
    size_t size = cairn_klog_symbol((const char *)text.data + at, text.size - at, &symbol);
    if (size && symbol.has_off) {
        line->text = (struct cairn_span){text.data + at, size};
        return true;
    }
    bool has_brackets = cairn_scan_text(text, &at, "[<");
    (void)cairn_scan_text(text, &at, "0x");
    line->what = has_brackets ? CAIRN_KLOG_OWN_PC : CAIRN_KLOG_OWN_REGS;
    if (cairn_scan_hex(text, &at, &va, &digits) && digits <= 16)
        line->va = va;
    return true;
}

static bool read_pc_line(struct cairn_span text, struct cairn_klog_own_line *line)
{
    size_t at = 0, digits;
    if (cairn_scan_text(text, &at, "RIP: ")) {
        uint64_t segment;
        size_t p = at;
        if (!cairn_scan_hex(text, &p, &segment, &digits) || !cairn_scan_char(text, &p, ':'))
            return read_pc(text, at, line);
        (void)read_pc(text, p, line);
        if ((segment & 3) == 3) {
            p += cairn_span_begins(cairn_scan_rest(text, p), "0x") ? 2 : 0;
            line->what = cairn_scan_hex(text, &p, &line->va, &digits) && digits <= 16
                             ? CAIRN_KLOG_OWN_USER_PC
                             : CAIRN_KLOG_OWN_REGS;
        }
        return true;
    }
    if (cairn_scan_text(text, &at, "pc : ") || cairn_scan_text(text, &at, "PC is at ") ||
        cairn_scan_text(text, &at, "epc : "))
        return read_pc(text, at, line);
    if (cairn_scan_text(text, &at, "lr : ") || cairn_scan_text(text, &at, "LR is at ") ||
        cairn_scan_text(text, &at, "ra : "))
        line->what = CAIRN_KLOG_OWN_REGS;
    return line->what != CAIRN_KLOG_OWN_OTHER;
}

/* " in libc.so.6[16a3a0,7fbdb1fe4000+156000]"; before 6.x without the place in the file. */
static void read_fault_module(struct cairn_span text, struct cairn_klog_own_line *line)
{
    uint64_t first, start;
    size_t in = cairn_scan_find(text, " in "), digits;
    if (in == text.size)
        return;
    size_t at = in + 4;
    const uint8_t *bracket = memchr(text.data + at, '[', text.size - at);
    if (!bracket)
        return;
    line->text = (struct cairn_span){text.data + at, (size_t)(bracket - text.data) - at};
    at = (size_t)(bracket - text.data) + 1;
    if (!cairn_scan_hex(text, &at, &first, &digits) || digits > 16)
        return;
    line->start = first;
    if (cairn_scan_char(text, &at, ',') && cairn_scan_hex(text, &at, &start, &digits)) {
        line->off = first;
        line->has_off = true;
        line->start = start;
    }
}

/* "prog[12]: segfault at ADDR ip IP sp SP error 4 in ...", "traps: prog[12] trap ... ip:IP ..." */
static bool read_fault(struct cairn_span text, struct cairn_klog_own_line *line)
{
    size_t ip = cairn_scan_find(text, " ip ");
    bool is_trap = cairn_span_begins(text, "traps: ");
    size_t digits, at = ip + 4;
    if (is_trap) {
        text = cairn_scan_rest(text, 7);
        ip = cairn_scan_find(text, " ip:");
        at = ip + 4;
    } else if (cairn_scan_find(text, "]: segfault at ") == text.size) {
        return false;
    }
    const uint8_t *bracket = memchr(text.data, '[', ip);
    uint64_t pid;
    if (ip == text.size || !bracket || !cairn_scan_hex(text, &at, &line->va, &digits) ||
        digits > 16)
        return false;
    size_t p = (size_t)(bracket - text.data) + 1;
    if (!cairn_scan_decimal(text, &p, &pid) || pid > INT32_MAX || !cairn_scan_char(text, &p, ']'))
        return false;
    line->what = CAIRN_KLOG_OWN_FAULT;
    line->comm = (struct cairn_span){text.data, (size_t)(bracket - text.data)};
    line->pid = (int64_t)pid;
    line->cpu = number_behind(text, "likely on CPU ");
    read_fault_module(cairn_scan_rest(text, at), line);
    return true;
}

/* "==> /proc/12/stack <==", as head and tail write it. */
static bool read_file_line(struct cairn_span text, struct cairn_klog_own_line *line)
{
    size_t at = 0;
    uint64_t pid;
    if (!cairn_scan_text(text, &at, "==> /proc/") || !cairn_scan_decimal(text, &at, &pid) ||
        pid > INT32_MAX)
        return false;
    if (cairn_scan_text(text, &at, "/task/") && !cairn_scan_decimal(text, &at, &pid))
        return false;
    line->what = CAIRN_KLOG_OWN_FILE;
    line->pid = pid <= INT32_MAX ? (int64_t)pid : -1;
    return true;
}

static void read_table(struct cairn_span text, struct cairn_klog_own_line *line)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (*text.data == (uint8_t)*rows[i].begin && cairn_span_begins(text, rows[i].begin)) {
            line->what = rows[i].what;
            line->text = text;
            break;
        }
    if (line->what == CAIRN_KLOG_OWN_SECTION && text.data[text.size - 1] == ':')
        line->text.size--;
    if (cairn_span_begins(text, "NMI backtrace for cpu "))
        line->cpu = number_behind(text, "cpu ");
}

void cairn_klog_own_line_read(struct cairn_span body, struct cairn_klog_own_line *ret_line)
{
    struct cairn_span text = cairn_scan_trim(body);
    *ret_line = (struct cairn_klog_own_line){.pid = -1, .tgid = -1, .cpu = -1};
    if (!text.size)
        return;
    read_table(text, ret_line);
    if (ret_line->what != CAIRN_KLOG_OWN_OTHER)
        return;
    if (read_cpu_line(text, ret_line) || read_task_line(text, ret_line) ||
        read_process_line(text, ret_line) || read_pc_line(text, ret_line) ||
        read_fault(text, ret_line) || read_file_line(text, ret_line))
        return;
    if (is_register_line(text) || is_hex_dump(text))
        ret_line->what = CAIRN_KLOG_OWN_REGS;
}
