/* SPDX-License-Identifier: MIT */
#include "cli/questions.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "cli/args.h"
#include "cli/term.h"

enum {
    ADDRESS_MAX_CHARS = 256, /* what of a malformed address is shown */
    FLUSH_BYTES = 1 << 16,
    ASKED_MAX = 1 << 20 /* questions that are asked together */
};

struct session {
    const struct cli_questions *request;
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
    case CLI_OFFSETS_FILE:
        return cairn_module_vaddr_of_offset(s->module, address, ret_vaddr);
    case CLI_OFFSETS_REL:
        return cairn_module_vaddr_of_rel(s->module, address, ret_vaddr);
    case CLI_OFFSETS_VADDR:
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

/* Where the function begins that holds an address without a symbol. */
static int find_start(struct session *s, uint64_t address, uint64_t vaddr,
                      struct cli_answer_form *form)
{
    struct cairn_err err;
    uint64_t end;
    if (form->style != CLI_ANSWER_TEXT && form->style != CLI_ANSWER_JSON)
        return CLI_OK;
    int code = cairn_module_find_function(s->module, vaddr, &form->start_vaddr, &end, &err);
    form->has_start = code > 0;
    if (code > 0)
        form->start = s->request->section ? form->start_vaddr : address - vaddr + form->start_vaddr;
    return code < 0 ? cli_report(&err) : CLI_OK;
}

static int put_answer(struct session *s, uint64_t address, bool has_vaddr, uint64_t vaddr,
                      const struct cairn_symbol *symbol)
{
    struct cli_answer_form form = form_of(s);
    int code = CLI_OK;
    if (has_vaddr && symbol->state == CAIRN_SYMBOL_NO_SYMBOL)
        code = find_start(s, address, vaddr, &form);
    if (code == CLI_OK)
        cli_answer_put(&s->out, &form, address, has_vaddr ? &vaddr : NULL, symbol);
    return code;
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
        int code = put_answer(s, address, has_vaddr, vaddr, &symbol);
        if (code != CLI_OK)
            return code;
    }
    return end_answer(s);
}

static int answer_one(void *ctx, size_t index, const struct cairn_symbol *symbol)
{
    struct session *s = ctx;
    int code = put_answer(s, s->addresses[index], true, s->vaddrs[index], symbol);
    return code == CLI_OK ? end_answer(s) : code;
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

int cli_questions_answer(const struct cli_questions *request, const char *file, char **addresses)
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
