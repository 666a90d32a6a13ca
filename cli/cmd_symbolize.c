/* SPDX-License-Identifier: MIT */
/*
 * cairn symbolize FILE ADDR...: names, lines and inline frames of addresses, one answer each, in
 * the order of the questions. With addresses on stdin each answer is written before the next line
 * is waited for, so that another program can ask through a pair of pipes.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/symbolizer.h>

#include "base/alloc.h"
#include "cli/answer.h"
#include "cli/args.h"
#include "cli/term.h"
#include "cli/way_options.h"

enum {
    SYMBOL_DIRS_MAX = 256,
    ADDRESS_MAX_CHARS = 256, /* what of a malformed address is shown */
    FLUSH_BYTES = 1 << 16,
    ASKED_MAX = 1 << 20 /* questions that are asked together */
};

enum option_row {
    OPT_SYMBOLS,
    OPT_DEBUG_DIR,
    OPT_NAMES,
    OPT_NO_INLINES,
    OPT_ALLOW_MISMATCH,
    OPT_RET,
    OPT_OFFSETS,
    OPT_SECTION,
    OPT_MAX_MEMORY,
    OPT_JSON,
    OPT_STYLE,
    OPT_VERBOSE,
    OPT_WAYS,
};

static const struct cli_option options[] = {
    [OPT_SYMBOLS] = {.name = "symbols",
                     .letter = 's',
                     .value = "DIR",
                     .help = "look for debug files in DIR too; may be given more than once, and "
                             "may be a glob of folders"},
    [OPT_DEBUG_DIR] = {.name = "debug-dir",
                       .value = "DIR",
                       .help = "the global folder of debug files; default: /usr/lib/debug"},
    [OPT_NAMES] = {.name = "names",
                   .value = "HOW",
                   .help = "full (with parameters, the default), short (without) or mangled"},
    [OPT_NO_INLINES] = {.name = "no-inlines", .help = "print only the outermost function"},
    [OPT_ALLOW_MISMATCH] = {.name = "allow-mismatch",
                            .help = "take debug files whose build ID or checksum differs"},
    [OPT_RET] = {.name = "ret",
                 .help = "the addresses are return addresses: look one byte before each"},
    [OPT_OFFSETS] = {.name = "offsets",
                     .value = "KIND",
                     .help = "what the addresses are: vaddr (as the ELF file says them, the "
                             "default), file (offsets in the file) or rel (from the load base)"},
    [OPT_SECTION] = {.name = "section",
                     .value = "NAME",
                     .help = "the addresses count from the start of this section"},
    [OPT_MAX_MEMORY] = {.name = "max-memory",
                        .value = "SIZE",
                        .help = "bound for what is kept of debug information; k, M, G"},
    [OPT_JSON] = {.name = "json", .help = "print one JSON object per address, one a line"},
    [OPT_STYLE] = {.name = "output-style",
                   .value = "STYLE",
                   .help =
                       "the form of answers: text, json (as --json), gnu (as addr2line -f -i) or "
                       "llvm (as llvm-symbolizer --output-style=JSON)"},
    [OPT_VERBOSE] = {.name = "verbose",
                     .letter = 'v',
                     .help =
                         "say on stderr which files were chosen, and how they were read; twice: "
                         "more"},
    CLI_WAY_ROWS(OPT_WAYS),
    {0},
};

enum offsets { OFFSETS_VADDR, OFFSETS_FILE, OFFSETS_REL };

struct request {
    struct cairn_symbolizer_opts symbols;
    const char *symbol_dirs[SYMBOL_DIRS_MAX];
    enum offsets offsets;
    enum cli_answer_style style;
    const char *section; /* NULL: addresses do not count from one */
    bool is_ret;
    int verbosity;
};

struct session {
    const struct request *request;
    const char *file;
    struct cairn_symbolizer *symbolizer;
    struct cairn_module *module;
    uint64_t section_vaddr, section_size;
    struct cairn_buffer out;
    bool flush_each;
    bool as_list; /* LLVM's answers to operands are one array */
    size_t n_answers;
    bool any_malformed;
    bool cannot_write;

    /* Questions from a file, asked together: how many they are decides how the module is read. */
    uint64_t *addresses, *vaddrs;
    size_t n_asked, cap_addresses, cap_vaddrs;
};

/* The options whose value is one of some words, in the order of the enums that they stand for. */
static bool set_word(struct request *r, struct cli_args *args, enum option_row row,
                     const char *value)
{
    static const char *const names[] = {"full", "short", "mangled", NULL};
    static const char *const kinds[] = {"vaddr", "file", "rel", NULL};
    static const char *const styles[] = {"text", "json", "gnu", "llvm", NULL};
    const char *const *words = row == OPT_NAMES ? names : row == OPT_OFFSETS ? kinds : styles;
    int index;
    if (!cli_args_word(args, options[row].name, value, words, &index))
        return false;
    if (row == OPT_NAMES)
        r->symbols.names = (enum cairn_names)index;
    else if (row == OPT_OFFSETS)
        r->offsets = (enum offsets)index;
    else
        r->style = (enum cli_answer_style)index;
    return true;
}

/* One option; false where it was used wrongly. */
static bool take_option(struct cli_args *args, enum option_row row, const char *value,
                        struct request *r)
{
    uint64_t size;
    if (row >= OPT_WAYS)
        return cli_way_take(args, (enum cli_way_row)(row - OPT_WAYS), value, &r->symbols);
    switch (row) {
    case OPT_SYMBOLS:
        if (r->symbols.n_symbol_dirs == SYMBOL_DIRS_MAX) {
            cli_args_wrong(args, "--symbols more than %d times", SYMBOL_DIRS_MAX);
            return false;
        }
        r->symbol_dirs[r->symbols.n_symbol_dirs++] = value;
        return true;
    case OPT_DEBUG_DIR:
        r->symbols.debug_dir = value;
        return true;
    case OPT_NAMES:
    case OPT_OFFSETS:
    case OPT_STYLE:
        return set_word(r, args, row, value);
    case OPT_SECTION:
        r->section = value;
        return true;
    case OPT_NO_INLINES:
        r->symbols.no_inlines = 1;
        return true;
    case OPT_ALLOW_MISMATCH:
        r->symbols.allow_mismatch = 1;
        return true;
    case OPT_RET:
        r->is_ret = true;
        return true;
    case OPT_MAX_MEMORY:
        if (!cli_args_size(args, "max-memory", value, &size))
            return false;
        r->symbols.memory_bytes = (size_t)size;
        return true;
    case OPT_JSON:
        r->style = CLI_ANSWER_JSON;
        return true;
    case OPT_VERBOSE:
        r->verbosity++;
        return true;
    case OPT_WAYS:
        break;
    }
    return false;
}

/* Hexadecimal digits with or without 0x, nothing else. */
static bool parse_address(const char *text, uint64_t *ret_address)
{
    const char *digits = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? text + 2 : text;
    size_t n = strspn(digits, "0123456789abcdefABCDEF");
    if (!n || digits[n])
        return false;
    errno = 0;
    *ret_address = strtoull(digits, NULL, 16);
    return errno == 0;
}

/* The address to look up, as the ELF file says it. False: nothing of the file lies there. */
static bool vaddr_of(const struct session *s, uint64_t address, uint64_t *ret_vaddr)
{
    if (s->request->is_ret)
        address = cairn_return_address(address);
    if (s->request->section) {
        *ret_vaddr = s->section_vaddr + address;
        return address < s->section_size;
    }
    switch (s->request->offsets) {
    case OFFSETS_FILE:
        return cairn_module_vaddr_of_offset(s->module, address, ret_vaddr);
    case OFFSETS_REL:
        return cairn_module_vaddr_of_rel(s->module, address, ret_vaddr);
    case OFFSETS_VADDR:
        break;
    }
    *ret_vaddr = address;
    return true;
}

static struct cli_answer_form form_of(const struct session *s)
{
    return (struct cli_answer_form){
        .style = s->request->style,
        .file = s->file,
        .demangled = s->request->symbols.names != CAIRN_NAMES_MANGLED,
    };
}

static void put_answer(struct session *s, uint64_t address, bool has_vaddr, uint64_t vaddr,
                       const struct cairn_symbol *symbol)
{
    struct cli_answer_form form = form_of(s);
    cli_answer_put(&s->out, &form, address, has_vaddr ? &vaddr : NULL, symbol);
}

/* An answer for every question, so that whoever counts lines stays in step. */
static void put_malformed(struct session *s, const char *text)
{
    struct cli_answer_form form = form_of(s);
    int size = (int)strnlen(text, ADDRESS_MAX_CHARS);
    s->any_malformed = true;
    cli_say("not an address: \"%.*s\"", size, text);
    cli_answer_put_malformed(&s->out, &form, text, (size_t)size);
}

static bool flush(struct session *s)
{
    if (fwrite(s->out.data, 1, s->out.size, stdout) != s->out.size || fflush(stdout) != 0) {
        if (errno == EPIPE)
            cli_end_quietly();
        cli_say("stdout: cannot write: %s", strerror(errno));
        s->cannot_write = true;
    }
    cairn_buffer_clear(&s->out);
    return !s->cannot_write;
}

static int end_answer(struct session *s)
{
    if (s->request->style == CLI_ANSWER_LLVM && !s->as_list)
        cairn_buffer_char(&s->out, '\n');
    bool full = s->flush_each || s->out.size >= FLUSH_BYTES || s->out.failed;
    return full && !flush(s) ? CLI_FAILED : CLI_OK;
}

static int answer(struct session *s, const char *text)
{
    uint64_t address, vaddr = 0;
    if (s->as_list)
        cairn_buffer_char(&s->out, s->n_answers ? ',' : '[');
    s->n_answers++;
    if (!parse_address(text, &address)) {
        put_malformed(s, text);
    } else {
        struct cairn_symbol symbol = {.state = CAIRN_SYMBOL_OUTSIDE};
        struct cairn_err err;
        bool has_vaddr = vaddr_of(s, address, &vaddr);
        if (has_vaddr && cairn_symbolize(s->symbolizer, s->module, vaddr, &symbol, &err) < 0)
            return cli_report(&err);
        put_answer(s, address, has_vaddr, vaddr, &symbol);
    }
    return end_answer(s);
}

static int answer_one(void *ctx, size_t index, const struct cairn_symbol *symbol)
{
    struct session *s = ctx;
    put_answer(s, s->addresses[index], true, s->vaddrs[index], symbol);
    return end_answer(s);
}

static int answer_asked(struct session *s)
{
    struct cairn_err err;
    int code =
        cairn_symbolize_batch(s->symbolizer, s->module, s->vaddrs, s->n_asked, answer_one, s, &err);
    s->n_asked = 0;
    return code < 0 ? cli_report(&err) : code;
}

/* Keeps the question for later; false where it has to be answered by itself. */
static bool ask_later(struct session *s, const char *text)
{
    uint64_t address, vaddr;
    if (s->flush_each || !parse_address(text, &address) || !vaddr_of(s, address, &vaddr) ||
        cairn_grow((void **)&s->addresses, &s->cap_addresses, s->n_asked + 1,
                   sizeof *s->addresses) < 0 ||
        cairn_grow((void **)&s->vaddrs, &s->cap_vaddrs, s->n_asked + 1, sizeof *s->vaddrs) < 0)
        return false;
    s->addresses[s->n_asked] = address;
    s->vaddrs[s->n_asked++] = vaddr;
    return true;
}

static int answer_stdin(struct session *s)
{
    struct stat status;
    char *line = NULL;
    size_t cap = 0;
    int code = CLI_OK;
    s->flush_each = fstat(STDIN_FILENO, &status) != 0 || !S_ISREG(status.st_mode);
    while (code == CLI_OK && getline(&line, &cap, stdin) >= 0) {
        char *text = line + strspn(line, " \t");
        size_t size = strlen(text);
        while (size && isspace((unsigned char)text[size - 1]))
            text[--size] = '\0';
        if (!size)
            continue;
        bool is_later = ask_later(s, text);
        if (!is_later || s->n_asked == ASKED_MAX)
            code = answer_asked(s);
        if (!is_later && code == CLI_OK)
            code = answer(s, text);
    }
    if (code == CLI_OK)
        code = answer_asked(s);
    cairn_free(s->addresses);
    cairn_free(s->vaddrs);
    if (ferror(stdin)) {
        cli_say("stdin: cannot read: %s", strerror(errno));
        code = CLI_FAILED;
    }
    free(line);
    return code;
}

static void log_module(const struct cairn_module_info *info)
{
    cli_say("%s: %s, build ID %s, %s, %s", info->path, info->machine,
            *info->build_id ? info->build_id : "none", info->has_lines ? "lines" : "no lines",
            info->has_symtab ? ".symtab" : "no .symtab");
    if (info->debug_path)
        cli_say("%s: names and lines from %s", info->path, info->debug_path);
}

static int open_section(struct session *s)
{
    const char *name = s->request->section;
    if (!name || cairn_module_find_section(s->module, name, &s->section_vaddr, &s->section_size))
        return CLI_OK;
    cli_say("%s: no section is named \"%s\"", s->file, name);
    return CLI_FAILED;
}

static int run_request(const struct request *request, const char *file, char **addresses)
{
    struct session s = {.request = request, .file = file};
    s.as_list = request->style == CLI_ANSWER_LLVM && *addresses;
    struct cairn_err err;
    int code = CLI_OK;
    if (cairn_symbolizer_new(&request->symbols, &s.symbolizer, &err) < 0 ||
        cairn_symbolizer_open_file(s.symbolizer, file, &s.module, &err) < 0) {
        code = cli_report(&err);
    } else {
        if (request->verbosity)
            log_module(cairn_module_info(s.module));
        code = open_section(&s);
        if (code == CLI_OK && !*addresses)
            code = answer_stdin(&s);
        for (; code == CLI_OK && *addresses; addresses++)
            code = answer(&s, *addresses);
        if (s.as_list)
            cairn_buffer_str(&s.out, "]\n");
        if (!s.cannot_write && !flush(&s))
            code = CLI_FAILED;
    }
    cairn_buffer_done(&s.out);
    cairn_symbolizer_free(s.symbolizer);
    return code == CLI_OK && s.any_malformed ? CLI_FAILED : code;
}

static int run(struct cli_args *args)
{
    struct request request = {.symbols = {.size = sizeof request.symbols}};
    const char *value;
    int row;
    cli_way_init(&request.symbols);
    while ((row = cli_args_next(args, &value)) >= 0)
        if (!take_option(args, (enum option_row)row, value, &request))
            return CLI_USAGE;
    if (row == CLI_ARGS_WRONG)
        return CLI_USAGE;
    size_t n;
    char **operands = cli_args_operands(args, &n);
    if (!n)
        return cli_args_wrong(args, "FILE is missing");
    if (request.section && request.offsets != OFFSETS_VADDR)
        return cli_args_wrong(args, "--section and --offsets: addresses count from one place");
    request.symbols.symbol_dirs = request.symbol_dirs;
    request.symbols.discriminators =
        request.style == CLI_ANSWER_GNU || request.style == CLI_ANSWER_LLVM;
    request.symbols.symbol_files = request.symbols.discriminators;
    cli_log_open(request.verbosity);
    return run_request(&request, operands[0], operands + 1);
}

const struct cli_command cli_cmd_symbolize = {
    .name = "symbolize",
    .summary = "name addresses of one ELF file: function, file:line, inline frames",
    .usage = (const char *const[]){"symbolize [OPTION]... FILE ADDR...",
                                   "symbolize [OPTION]... FILE < ADDRESSES", NULL},
    .options = options,
    .notes = "Addresses are hexadecimal, with or without 0x. An address without a name is "
             "answered with the reason.",
    .run = run,
};
