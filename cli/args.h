/* SPDX-License-Identifier: MIT */
/*
 * Command-line options by table: one list of rows serves parsing, `--help` and the test that holds
 * the man page against it.
 *
 *     static const struct cli_option options[] = {
 *         {.name = "output", .letter = 'o', .value = "FILE", .help = "write to FILE"},
 *         {.name = "json", .help = "print JSON"},
 *         {0},
 *     };
 *     const char *value;
 *     for (int i; (i = cli_args_next(args, &value)) >= 0;)
 *         switch (i) { case 0: output = value; break; case 1: json = true; break; }
 *
 * Words that are no option are operands, in order; `--` ends the options. `-h`/`--help` is handled
 * by the table of commands. A wrong use is reported by cli_args_next() itself, which then returns
 * CLI_ARGS_WRONG: the command returns CLI_USAGE.
 */
#ifndef CAIRN_CLI_ARGS_H
#define CAIRN_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit status of the program. */
enum {
    CLI_OK = 0,     /* done */
    CLI_FAILED = 1, /* could not */
    CLI_USAGE = 2,  /* used wrongly */
    CLI_GATE = 3,   /* a limit that was asked for (--fail-over) was passed */
};

struct cli_option {
    const char *name;  /* long name without the dashes */
    char letter;       /* 0: none */
    const char *value; /* what --help calls the value; NULL: takes none */
    const char *help;  /* one sentence without full stop; may be long, it is wrapped */
    bool optional;     /* the value may be left out, and stands behind a "=" where it is not */
};

struct cli_args;

/* What -H does with a command (remote.h). */
enum cli_remote_use {
    CLI_REMOTE_NEVER,
    CLI_REMOTE_TEXT,    /* it prints */
    CLI_REMOTE_PROFILE, /* it prints, or --output takes a profile, */
    CLI_REMOTE_FILE     /* which it always writes */
};

struct cli_command {
    const char *name;
    const char *summary;              /* half a line, for `cairn --help` */
    const char *const *usage;         /* forms without the program's name: "resolve IN [-o OUT]";
                                         ends with NULL */
    const struct cli_option *options; /* ends with a row without a name */
    const char *notes;                /* paragraphs below the options; NULL: none */
    int (*run)(struct cli_args *args);
    bool options_first; /* the first operand ends the options (a command follows) */
    enum cli_remote_use remote;
    const struct cli_command *const *parts; /* instead of all that: named "heap leaks"; ends with
                                               NULL */
    const struct cli_command *usual_part;   /* the part that is meant where none is named; NULL: one
                                             must be */
    int (*run_words)(char **words); /* or: takes the words behind the command's name as they are,
                                       --help too */
};

enum { CLI_ARGS_END = -1, CLI_ARGS_WRONG = -2 };

/* The index of the next option's row, with its value; CLI_ARGS_END when all are read. */
int cli_args_next(struct cli_args *args, const char **ret_value);

/* The words that are not read yet: all of them before the first cli_args_next(). */
char **cli_args_words(const struct cli_args *args);

/* Operands, valid after CLI_ARGS_END. The array ends with NULL. */
char **cli_args_operands(struct cli_args *args, size_t *ret_n);

/* "cairn: resolve: MESSAGE (cairn resolve --help)" on stderr; returns CLI_USAGE. */
__attribute__((format(printf, 2, 3))) int cli_args_wrong(struct cli_args *args, const char *fmt,
                                                         ...);

/* For options given several times: adds `value` (borrowed) to a list that ends with NULL. */
struct cli_list {
    const char **items;
    size_t n;
};
void cli_list_add(struct cli_list *list, const char *value);
void cli_list_done(struct cli_list *list);

/* Numbers as options give them; false after having said what is wrong. Sizes take k, M, G. */
bool cli_args_u64(struct cli_args *args, const char *option, const char *text, uint64_t *ret_value);
bool cli_args_count(struct cli_args *args, const char *option, const char *text, uint64_t most,
                    uint64_t *ret_value); /* 1 to `most` */
bool cli_args_real(struct cli_args *args, const char *option, const char *text, double *ret_value);
bool cli_args_positive(struct cli_args *args, const char *option, const char *text, double most,
                       double *ret_value);
bool cli_args_size(struct cli_args *args, const char *option, const char *text, uint64_t *ret_size);

/* The same without words, for where a size is no option. */
bool cli_parse_size(const char *text, uint64_t *ret_size);

/* The number of a process, in decimal; 0: it is none. And for where nothing else can be meant. */
int cli_parse_pid(const char *text);
bool cli_args_pid(struct cli_args *args, const char *text, int *ret_pid);

/* The same for one of some words: the index of `text` in `words`, which ends with NULL. */
bool cli_args_word(struct cli_args *args, const char *option, const char *text,
                   const char *const *words, int *ret_index);

/* For the table of commands in main.c. `words` are those behind the command's name, NULL at their
 * end, and outlive the object. */
struct cli_args *cli_args_new(const struct cli_command *command, char **words);
void cli_args_free(struct cli_args *args);                   /* accepts NULL */
bool cli_args_ask_help(const struct cli_args *args);         /* is -h or --help among them? */
void cli_args_print_help(const struct cli_command *command); /* to stdout */
const char *cli_nearest(const char *word, const char *const *names); /* NULL: none is near */

/* Every command is one file, cmd_NAME.c, with one of these, and one row in main.c. */
extern const struct cli_command cli_cmd_cache, cli_cmd_symbolize, cli_cmd_resolve, cli_cmd_record,
    cli_cmd_flame, cli_cmd_heap, cli_cmd_report, cli_cmd_convert, cli_cmd_version, cli_cmd_view,
    cli_cmd_addr2line, cli_cmd_diff, cli_cmd_doctor, cli_cmd_stack, cli_cmd_trace, cli_cmd_hook,
    cli_cmd_remote, cli_cmd_symbols, cli_cmd_completion;

#endif /* CAIRN_CLI_ARGS_H */
