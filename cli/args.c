/* SPDX-License-Identifier: MIT */
#include "cli/args.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/term.h"

enum { PID_MAX = 1 << 30 }; /* more than any kernel has */

struct cli_args {
    const struct cli_command *command;
    char **next;         /* the next word; NULL ends them */
    const char *cluster; /* the rest of "-abc" after a letter that takes no value; NULL: none */
    char **operands;     /* as many slots as there are words, and one */
    size_t n_operands;
    bool options_ended;
    bool quiet; /* only looking for --help: says nothing */
};

/* The command may die for lack of memory: it holds nothing that is not on disk already. */
static void *need(void *block)
{
    if (!block) {
        cli_say("out of memory");
        exit(CLI_FAILED);
    }
    return block;
}

struct cli_args *cli_args_new(const struct cli_command *command, char **words)
{
    size_t n = 0;
    while (words[n])
        n++;
    struct cli_args *args = need(calloc(1, sizeof *args));
    *args = (struct cli_args){.command = command, .next = words};
    args->operands = need(calloc(n + 1, sizeof *args->operands));
    return args;
}

void cli_args_free(struct cli_args *args)
{
    if (!args)
        return;
    free(args->operands);
    free(args);
}

char **cli_args_words(const struct cli_args *args)
{
    return args->next;
}

void cli_list_add(struct cli_list *list, const char *value)
{
    list->items = need(realloc(list->items, (list->n + 2) * sizeof *list->items));
    list->items[list->n++] = value;
    list->items[list->n] = NULL;
}

void cli_list_done(struct cli_list *list)
{
    free(list->items);
    *list = (struct cli_list){0};
}

int cli_args_wrong(struct cli_args *args, const char *fmt, ...)
{
    if (args->quiet)
        return CLI_USAGE;
    struct cairn_buffer text = {0};
    char line[1024];
    va_list values;
    va_start(values, fmt);
    vsnprintf(line, sizeof line, fmt, values);
    va_end(values);
    cairn_buffer_printf(&text, "%s: %s (cairn %s --help)", args->command->name, line,
                        args->command->name);
    cli_say("%s", cairn_buffer_text(&text));
    cairn_buffer_done(&text);
    return CLI_USAGE;
}

static int wrong_option(struct cli_args *args, const char *name, size_t size)
{
    const struct cli_option *options = args->command->options;
    size_t n = 0;
    while (options[n].name)
        n++;
    const char **names = need(calloc(n + 2, sizeof *names));
    for (size_t i = 0; i < n; i++)
        names[i] = options[i].name;
    names[n] = "help";
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)size, name);
    const char *near = size < sizeof word ? cli_nearest(word, names) : NULL;
    if (near)
        cli_args_wrong(args, "unknown option --%.*s, did you mean --%s?", (int)size, name, near);
    else
        cli_args_wrong(args, "unknown option --%.*s", (int)size, name);
    free(names);
    return CLI_ARGS_WRONG;
}

/* Is this word --help or -h? Only where the command has no such option of its own. */
static bool is_help(const struct cli_args *args, const char *word)
{
    if (strcmp(word, "--help") == 0)
        return true;
    if (strcmp(word, "-h") != 0)
        return false;
    for (const struct cli_option *o = args->command->options; o->name; o++)
        if (o->letter == 'h')
            return false;
    return true;
}

/* "--name", "--name=value" or "--name value"; `word` is what follows the dashes. */
static int next_long(struct cli_args *args, const char *word, const char **ret_value)
{
    const struct cli_option *options = args->command->options;
    size_t size = strcspn(word, "=");
    for (int i = 0; options[i].name; i++) {
        const struct cli_option *option = &options[i];
        if (strlen(option->name) != size || memcmp(option->name, word, size) != 0)
            continue;
        *ret_value = word[size] ? word + size + 1 : NULL;
        if (!option->value && *ret_value) {
            cli_args_wrong(args, "--%s takes no value", option->name);
            return CLI_ARGS_WRONG;
        }
        if (option->optional)
            return i;
        if (option->value && !*ret_value && !(*ret_value = *args->next)) {
            cli_args_wrong(args, "--%s wants a value: --%s %s", option->name, option->name,
                           option->value);
            return CLI_ARGS_WRONG;
        }
        if (option->value && !word[size])
            args->next++;
        return i;
    }
    return wrong_option(args, word, size);
}

/* One letter of "-abc"; a letter that takes a value takes the rest of the word or the next word. */
static int next_letter(struct cli_args *args, const char **ret_value)
{
    const struct cli_option *options = args->command->options;
    char letter = *args->cluster++;
    const char *rest = *args->cluster ? args->cluster : NULL;
    args->cluster = rest;
    *ret_value = NULL;
    for (int i = 0; options[i].name; i++) {
        const struct cli_option *option = &options[i];
        if (option->letter != letter)
            continue;
        if (!option->value)
            return i;
        args->cluster = NULL;
        if (!rest && !*args->next) {
            cli_args_wrong(args, "-%c wants a value: -%c %s", letter, letter, option->value);
            return CLI_ARGS_WRONG;
        }
        *ret_value = rest ? rest : *args->next++;
        return i;
    }
    cli_args_wrong(args, "unknown option -%c", letter);
    return CLI_ARGS_WRONG;
}

int cli_args_next(struct cli_args *args, const char **ret_value)
{
    *ret_value = NULL;
    if (args->cluster)
        return next_letter(args, ret_value);
    while (*args->next) {
        char *word = *args->next++;
        if (args->options_ended || word[0] != '-' || !word[1]) {
            args->operands[args->n_operands++] = word;
            args->options_ended |= args->command->options_first;
        } else if (strcmp(word, "--") == 0) {
            args->options_ended = true;
        } else if (word[1] == '-') {
            return next_long(args, word + 2, ret_value);
        } else {
            args->cluster = word + 1;
            return next_letter(args, ret_value);
        }
    }
    return CLI_ARGS_END;
}

char **cli_args_operands(struct cli_args *args, size_t *ret_n)
{
    *ret_n = args->n_operands;
    return args->operands;
}

/* A dry run: "--help" may also be the value of an option, or a word of the command to record. */
bool cli_args_ask_help(const struct cli_args *args)
{
    struct cli_args *dry = cli_args_new(args->command, args->next);
    dry->quiet = true;
    const char *value;
    bool asked = false;
    for (;;) {
        char **before = dry->next;
        bool whole_word = !dry->cluster;
        int row = cli_args_next(dry, &value);
        if (row == CLI_ARGS_END)
            break;
        if (row != CLI_ARGS_WRONG || !whole_word)
            continue;
        while (before < dry->next && !asked)
            asked = is_help(args, *before++);
        if (asked)
            break;
    }
    cli_args_free(dry);
    return asked;
}

bool cli_args_u64(struct cli_args *args, const char *option, const char *text, uint64_t *ret_value)
{
    char *end = NULL;
    errno = 0;
    uint64_t value = strtoull(text, &end, 0);
    if (!isdigit((unsigned char)text[0]) || *end || errno) {
        cli_args_wrong(args, "--%s: \"%s\" is no number that can be meant, expected 0, 1, 2, ...",
                       option, text);
        return false;
    }
    *ret_value = value;
    return true;
}

bool cli_args_count(struct cli_args *args, const char *option, const char *text, uint64_t most,
                    uint64_t *ret_value)
{
    if (!cli_args_u64(args, option, text, ret_value))
        return false;
    if (*ret_value > 0 && *ret_value <= most)
        return true;
    cli_args_wrong(args, "--%s: %s, expected 1 to %llu", option, text, (unsigned long long)most);
    return false;
}

bool cli_args_real(struct cli_args *args, const char *option, const char *text, double *ret_value)
{
    char *end = NULL;
    double value = strtod(text, &end);
    bool plain = text[0] && strspn(text, "0123456789.eE+-") == strlen(text);
    if (!plain || *end || !isfinite(value) || value < 0) {
        cli_args_wrong(args, "--%s: \"%s\" is no number that can be meant, expected 5 or 0.5",
                       option, text);
        return false;
    }
    *ret_value = value;
    return true;
}

bool cli_args_positive(struct cli_args *args, const char *option, const char *text, double most,
                       double *ret_value)
{
    if (!cli_args_real(args, option, text, ret_value))
        return false;
    if (*ret_value > 0 && *ret_value <= most)
        return true;
    cli_args_wrong(args, "--%s: %s, expected more than 0 and at most %.0f", option, text, most);
    return false;
}

bool cli_parse_size(const char *text, uint64_t *ret_size)
{
    static const char units[] = "kMGT";
    char *end = NULL;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    bool sound = isdigit((unsigned char)text[0]) && !errno;
    const char *unit = sound && *end ? strchr(units, *end == 'K' ? 'k' : *end) : NULL;
    if (!sound || (*end && !unit))
        return false;
    bool is_binary = unit && end[1] == 'i';
    size_t power = unit ? (size_t)(unit - units) + 1 : 0;
    for (size_t i = 0; i < power; i++)
        if (__builtin_mul_overflow(value, is_binary ? 1024u : 1000u, &value))
            return false;
    end += *end ? 1 + is_binary : 0;
    end += *end == 'B';
    if (*end)
        return false;
    *ret_size = value;
    return true;
}

bool cli_args_size(struct cli_args *args, const char *option, const char *text, uint64_t *ret_size)
{
    if (cli_parse_size(text, ret_size))
        return true;
    cli_args_wrong(args,
                   "--%s: \"%s\" is no size, expected a number of bytes, or one with k, M or G "
                   "(1000, ...) or Ki, Mi or Gi (1024, ...)",
                   option, text);
    return false;
}

int cli_parse_pid(const char *text)
{
    char *end;
    errno = 0;
    unsigned long pid = strtoul(text, &end, 10);
    return isdigit((unsigned char)text[0]) && !*end && !errno && pid <= PID_MAX ? (int)pid : 0;
}

bool cli_args_pid(struct cli_args *args, const char *text, int *ret_pid)
{
    int pid = cli_parse_pid(text);
    if (pid)
        *ret_pid = pid;
    else
        cli_args_wrong(args, "\"%s\" is no number of a process", text);
    return pid != 0;
}

bool cli_args_word(struct cli_args *args, const char *option, const char *text,
                   const char *const *words, int *ret_index)
{
    struct cairn_buffer all = {0};
    int i = 0;
    for (; words[i] && strcmp(words[i], text) != 0; i++)
        cairn_buffer_printf(&all, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
    if (words[i])
        *ret_index = i;
    else
        cli_args_wrong(args, "--%s: \"%s\", expected %s", option, text, cairn_buffer_text(&all));
    cairn_buffer_done(&all);
    return words[i] != NULL;
}
