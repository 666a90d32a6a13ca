/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <string.h>

#include "cli/completion.h"
#include "cli/remote.h"

static const struct cli_option help_option = {
    .name = "help", .letter = 'h', .help = "print this text"};

/* Small letters, digits and dashes between bars. */
static bool is_list(const char *value)
{
    bool has_bar = false;
    for (; *value; value++) {
        has_bar |= *value == '|';
        if (*value != '|' && *value != '-' && !islower((unsigned char)*value) &&
            !isdigit((unsigned char)*value))
            return false;
    }
    return has_bar;
}

/* Is one of the words, which blanks separate, in a text of words and signs? */
static bool has_word(const char *text, const char *words)
{
    for (; *words; words += strspn(words, " ")) {
        const size_t size = strcspn(words, " ");
        for (const char *at = text; *at; at++)
            if ((at == text || !isalnum((unsigned char)at[-1])) && strncmp(at, words, size) == 0 &&
                !islower((unsigned char)at[size]) && !isupper((unsigned char)at[size]))
                return true;
        words += size;
    }
    return false;
}

unsigned cli_completes_value(const char *value)
{
    if (!value)
        return 0;
    if (is_list(value))
        return CLI_COMPLETES_WORDS;
    return (has_word(value, "FILE OUT SOCKET CORE LOG MAPS VMLINUX") ? CLI_COMPLETES_FILES : 0u) |
           (has_word(value, "DIR FOLDER") ? CLI_COMPLETES_FOLDERS : 0u) |
           (has_word(value, "PID TID") ? CLI_COMPLETES_PROCESSES : 0u);
}

unsigned cli_completes_operands(const struct cli_command *command)
{
    unsigned completes = 0;
    for (size_t i = 0; command->usage && command->usage[i]; i++) {
        completes |= cli_completes_value(command->usage[i]);
        if (has_word(command->usage[i], "IN PROFILE BINARY OBJECT OLD NEW DIR"))
            completes |= CLI_COMPLETES_FILES;
        if (has_word(command->usage[i], "COMMAND"))
            completes |= CLI_COMPLETES_COMMANDS | CLI_COMPLETES_FILES;
    }
    return completes & ~(unsigned)(CLI_COMPLETES_WORDS | CLI_COMPLETES_FOLDERS);
}

void cli_completion_options(const struct cli_command *command, cli_option_fn *fn, void *ctx)
{
    for (const struct cli_option *row = command->options; row && row->name; row++)
        fn(ctx, row);
    for (const struct cli_option *row = cli_remote_options; command->remote && row->name; row++)
        fn(ctx, row);
    fn(ctx, &help_option);
}

void cli_completion_words(struct cairn_buffer *out, const char *value)
{
    for (; *value; value++)
        cairn_buffer_char(out, *value == '|' ? ' ' : *value);
}
