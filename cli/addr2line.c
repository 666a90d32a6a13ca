/* SPDX-License-Identifier: MIT */
/*
 * addr2line: questions in, answers out, line by line. All that was asked is answered before more is
 * waited for, so that a program that asks through a pair of pipes never waits for us while we wait
 * for it.
 */
#include "cli/addr2line.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/escape.h"
#include "cli/args.h"
#include "cli/term.h"
#include "cli/way_options.h"

enum {
    QUESTION_BYTES = 100, /* fgets() in GNU's: what is longer is several questions */
    INPUT_BYTES = 1 << 16,
    FLUSH_BYTES = 1 << 16,
};

struct session {
    const struct cli_addr2line_options *options;
    struct cairn_symbolizer *symbolizer;
    struct cairn_module *module;
    uint64_t section_vaddr, section_size; /* of -j */
    bool is_32_bit;
    bool is_relocatable; /* addresses count from their section, whichever that is */
    struct cairn_buffer out;
    size_t next, end; /* what of `input` was not taken yet */
    char input[INPUT_BYTES];
};

bool cli_is_addr2line(const char *argv0)
{
    static const char name[] = "addr2line";
    if (!argv0)
        return false;
    const char *slash = strrchr(argv0, '/');
    const char *base = slash ? slash + 1 : argv0;
    size_t size = strlen(base), n = sizeof name - 1;
    return size >= n && strcmp(base + size - n, name) == 0 &&
           (size == n || base[size - n - 1] == '-');
}

__attribute__((format(printf, 2, 3))) static int complain(const struct session *s, const char *fmt,
                                                          ...)
{
    char text[PATH_MAX + 256]; /* a path that GNU's would name too, and words around it */
    struct cairn_buffer line = {0};
    va_list values;
    va_start(values, fmt);
    vsnprintf(text, sizeof text, fmt, values);
    va_end(values);
    cairn_buffer_printf(&line, "%s: ", s->options->program);
    cairn_escape_terminal(&line, text, strlen(text));
    cairn_buffer_char(&line, '\n');
    fwrite(cairn_buffer_text(&line), 1, line.size, stderr);
    cairn_buffer_done(&line);
    return CLI_FAILED;
}

static bool flush(struct session *s)
{
    bool written = !s->out.failed && fwrite(s->out.data, 1, s->out.size, stdout) == s->out.size &&
                   fflush(stdout) == 0;
    if (!written) {
        if (errno == EPIPE)
            cli_end_quietly();
        complain(s, "stdout: cannot write: %s", strerror(s->out.failed ? ENOMEM : errno));
    }
    cairn_buffer_clear(&s->out);
    return written;
}

/* What the file is, in the words that GNU has for what it does not take. */
static int look_at_file(struct session *s)
{
    const char *file = s->options->exe;
    unsigned char start[EI_CLASS + 8] = {0};
    struct stat status;
    if (stat(file, &status) < 0)
        return errno == ENOENT ? complain(s, "'%s': No such file", file)
                               : complain(s, "Warning: could not locate '%s'.  reason: %s", file,
                                          strerror(errno));
    if (S_ISDIR(status.st_mode))
        return complain(s, "Warning: '%s' is a directory", file);
    if (!S_ISREG(status.st_mode))
        return complain(s, "Warning: '%s' is not an ordinary file", file);
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return complain(s, "%s: %s", file, strerror(errno));
    ssize_t size = read(fd, start, sizeof start);
    close(fd);
    if (size >= 8 && (memcmp(start, "!<arch>\n", 8) == 0 || memcmp(start, "!<thin>\n", 8) == 0))
        return complain(s, "%s: cannot get addresses from archive", file);
    if (size <= EI_CLASS || memcmp(start, ELFMAG, SELFMAG) != 0)
        return complain(s, "%s: file format not recognized", file);
    s->is_32_bit = start[EI_CLASS] == ELFCLASS32;
    return CLI_OK;
}

static int open_module(struct session *s)
{
    const struct cli_addr2line_options *o = s->options;
    struct cairn_symbolizer_opts opts = {
        .size = sizeof opts,
        .names = o->form.demangled ? CAIRN_NAMES_FULL : CAIRN_NAMES_MANGLED,
        .discriminators = 1,
        .symbol_files = 1,
    };
    struct cairn_err err;
    cli_way_init(&opts);
    if (look_at_file(s) != CLI_OK)
        return CLI_FAILED;
    if (cairn_symbolizer_new(&opts, &s->symbolizer, &err) < 0)
        return cli_report(&err);
    int code = cairn_symbolizer_open_file(s->symbolizer, o->exe, &s->module, &err);
    if (code == CAIRN_E_FORMAT) {
        complain(s, "%s: file format not recognized", o->exe);
        return complain(s, "%s", err.msg);
    }
    if (code < 0)
        return cli_report(&err);
    s->is_relocatable = cairn_module_info(s->module)->elf_type == ET_REL;
    if (o->section &&
        !cairn_module_find_section(s->module, o->section, &s->section_vaddr, &s->section_size))
        return complain(s, "%s: cannot find section %s", o->exe, o->section);
    return CLI_OK;
}

/* "main+0x10"; also what begins with A to F, if a plus says that it is no number. The name ends at
 * a blank. */
static bool is_name(const char *text)
{
    bool is_hex = isxdigit((unsigned char)*text);
    return *text && !isdigit((unsigned char)*text) && (!is_hex || strchr(text, '+'));
}

/* A symbol table is long: the "," that perf sends behind each address is not looked for in it. */
static int find_name(struct session *s, const char *name, uint64_t *ret_address,
                     struct cairn_err *err)
{
    bool can_be = isalpha((unsigned char)*name) || *name & 0x80 || strchr("_.$(", *name);
    return can_be ? cairn_module_find_name(s->module, name, ret_address, err) : CAIRN_E_MISSING;
}

/* In a relocatable file: what of `address` is the place of its section; 0 in others. */
static uint64_t start_of(const struct session *s, uint64_t address)
{
    uint32_t number = 0;
    uint64_t vaddr, size;
    while (s->is_relocatable && cairn_module_next_section(s->module, &number, &vaddr, &size))
        if (address - vaddr < size)
            return vaddr;
    return 0;
}

/* What is asked for: an address, which may count from a section that is known. */
struct question {
    uint64_t address, start;
    bool is_name;
};

/* As GNU reads them: what is no number is one as far as it is, and 0 from there on; a name that the
 * file has not is 0 too. */
static int read_question(struct session *s, const char *text, struct question *ret_question,
                         struct cairn_err *err)
{
    char name[QUESTION_BYTES * 64];
    while (isspace((unsigned char)*text))
        text++;
    *ret_question = (struct question){0};
    if (!is_name(text)) {
        ret_question->address = strtoull(text, NULL, 16);
        return CAIRN_OK;
    }
    size_t size = strcspn(text, "+ \t\n\v\f\r");
    const char *offset = text + size;
    if (size >= sizeof name)
        return CAIRN_OK;
    memcpy(name, text, size);
    name[size] = '\0';
    int code = size ? find_name(s, name, &ret_question->address, err) : CAIRN_OK;
    if (code < 0)
        return code == CAIRN_E_MISSING ? CAIRN_OK : code;
    ret_question->start = start_of(s, ret_question->address);
    ret_question->address -= ret_question->start;
    ret_question->is_name = size > 0;
    offset += strspn(offset, " \t\n\v\f\r");
    if (*offset == '+')
        ret_question->address += strtoull(offset + 1, NULL, 0);
    return CAIRN_OK;
}

/* Of an address that counts from the section of -j. False: nothing of it lies there. */
static bool vaddr_of(const struct session *s, uint64_t address, uint64_t *ret_vaddr)
{
    *ret_vaddr = s->section_vaddr + address;
    return address < s->section_size;
}

/* As GNU asks them: in their order, until one knows the address. */
static int ask_sections(struct session *s, uint64_t address, struct cairn_symbol *ret_symbol,
                        struct cairn_err *err)
{
    uint32_t number = 0;
    uint64_t vaddr, size;
    int code = CAIRN_OK;
    while (code == CAIRN_OK && !ret_symbol->n_frames &&
           cairn_module_next_section(s->module, &number, &vaddr, &size))
        if (address < size)
            code = cairn_symbolize(s->symbolizer, s->module, vaddr + address, ret_symbol, err);
    return code;
}

static int ask(struct session *s, const struct question *question, struct cairn_symbol *ret_symbol,
               struct cairn_err *err)
{
    uint64_t vaddr = question->start + question->address;
    if (s->is_relocatable && !s->options->section && !question->is_name)
        return ask_sections(s, question->address, ret_symbol, err);
    return !s->options->section || vaddr_of(s, question->address, &vaddr)
               ? cairn_symbolize(s->symbolizer, s->module, vaddr, ret_symbol, err)
               : CAIRN_OK;
}

static int answer(struct session *s, const char *text)
{
    const struct cli_addr2line_options *o = s->options;
    struct cairn_symbol symbol = {.state = CAIRN_SYMBOL_OUTSIDE};
    struct cairn_err err;
    struct question question;
    size_t whole = s->out.size;
    if (read_question(s, text, &question, &err) < 0)
        return cli_report(&err);
    if (s->is_32_bit)
        question.address &= UINT32_MAX;
    if (o->addresses)
        cairn_buffer_printf(&s->out, "0x%0*llx%s", s->is_32_bit ? 8 : 16,
                            (unsigned long long)question.address, o->form.pretty ? ": " : "\n");
    if (ask(s, &question, &symbol, &err) < 0) {
        s->out.size = whole; /* no half of an answer */
        return cli_report(&err);
    }
    cli_gnu_text_put(&s->out, &o->form, &symbol);
    return s->out.size >= FLUSH_BYTES && !flush(s) ? CLI_FAILED : CLI_OK;
}

/* More of stdin, once whoever asked has all answers so far. False: there is no more. */
static bool read_input(struct session *s, int *ret_code)
{
    if (s->out.size && !flush(s)) {
        *ret_code = CLI_FAILED;
        return false;
    }
    ssize_t size;
    while ((size = read(STDIN_FILENO, s->input, sizeof s->input)) < 0 && errno == EINTR)
        ;
    if (size < 0)
        *ret_code = complain(s, "stdin: cannot read: %s", strerror(errno));
    s->next = 0;
    s->end = size > 0 ? (size_t)size : 0;
    return size > 0;
}

/* A line with its end, or as much of it as GNU takes at once. False: there is none. */
static bool next_question(struct session *s, char question[QUESTION_BYTES], int *ret_code)
{
    size_t n = 0;
    while (n < QUESTION_BYTES - 1 && (n == 0 || question[n - 1] != '\n')) {
        if (s->next == s->end && !read_input(s, ret_code))
            break;
        question[n++] = s->input[s->next++];
    }
    question[n] = '\0';
    return n && *ret_code == CLI_OK;
}

static int run_session(struct session *s)
{
    char question[QUESTION_BYTES];
    char **operands = s->options->operands;
    int code = open_module(s);
    for (; code == CLI_OK && *operands; operands++)
        code = answer(s, *operands);
    if (!s->options->operands[0])
        while (code == CLI_OK && next_question(s, question, &code))
            code = answer(s, question);
    if (s->out.size && !flush(s))
        code = CLI_FAILED;
    return code;
}

static int run_with(const struct cli_addr2line_options *options)
{
    struct session *s = calloc(1, sizeof *s);
    if (!s) {
        cli_say("out of memory");
        return CLI_FAILED;
    }
    s->options = options;
    int status = run_session(s);
    cairn_buffer_done(&s->out);
    cairn_symbolizer_free(s->symbolizer);
    free(s);
    return status;
}

int cli_addr2line(char **argv)
{
    struct cli_addr2line_options options;
    int status;
    if (cli_addr2line_parse(argv, &options, &status))
        status = run_with(&options);
    cli_addr2line_options_done(&options);
    return status;
}

/* `cairn addr2line`: the same, where no link is at hand. */
static int run_words(char **words)
{
    size_t n = 0;
    while (words[n])
        n++;
    char **argv = calloc(n + 2, sizeof *argv);
    if (!argv) {
        cli_say("out of memory");
        return CLI_FAILED;
    }
    static char program[] = "cairn addr2line";
    argv[0] = program;
    memcpy(argv + 1, words, n * sizeof *argv);
    int status = cli_addr2line(argv);
    free(argv);
    return status;
}

const struct cli_command cli_cmd_addr2line = {
    .name = "addr2line",
    .summary = "answer as GNU addr2line does, for programs that run it (perf, scripts)",
    .run_words = run_words,
};
