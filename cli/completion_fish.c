/* SPDX-License-Identifier: MIT */
/* fish has one line an option, with a condition that says of which command. */
#include <string.h>

#include <cairn/version.h>

#include "cli/completion.h"
#include "cli/parts.h"

struct place {
    struct cairn_buffer *out;
    const char *command, *part; /* NULL: it has none */
};

static void add_text(struct cairn_buffer *out, const char *text)
{
    cairn_buffer_char(out, '\'');
    for (; *text; text++) {
        if (strchr("'\\", *text))
            cairn_buffer_char(out, '\\');
        cairn_buffer_char(out, *text == '\n' ? ' ' : *text);
    }
    cairn_buffer_char(out, '\'');
}

static void begin(const struct place *place)
{
    cairn_buffer_printf(place->out, "complete -c cairn -n '__cairn_is %s%s%s'", place->command,
                        place->part ? " " : "", place->part ? place->part : "");
}

static void add_value(struct cairn_buffer *out, const char *value)
{
    unsigned completes = cli_completes_value(value);
    if (completes & CLI_COMPLETES_WORDS) {
        cairn_buffer_str(out, " -x -a '");
        cli_completion_words(out, value);
        cairn_buffer_char(out, '\'');
    } else if (completes & CLI_COMPLETES_FILES) {
        cairn_buffer_str(out, " -r -F");
    } else if (completes & CLI_COMPLETES_FOLDERS) {
        cairn_buffer_str(out, " -x -a '(__fish_complete_directories)'");
    } else if (completes & CLI_COMPLETES_PROCESSES) {
        cairn_buffer_str(out, " -x -a '(__fish_complete_pids)'");
    } else {
        cairn_buffer_str(out, " -x");
    }
}

static void add_option(void *ctx, const struct cli_option *option)
{
    const struct place *place = ctx;
    begin(place);
    cairn_buffer_printf(place->out, " -l %s", option->name);
    if (option->letter)
        cairn_buffer_printf(place->out, " -s %c", option->letter);
    if (option->value && !option->optional)
        add_value(place->out, option->value);
    cairn_buffer_str(place->out, " -d ");
    add_text(place->out, option->help);
    cairn_buffer_char(place->out, '\n');
}

static void add_command(struct cairn_buffer *out, const struct cli_command *command,
                        const char *name, const char *part)
{
    struct place place = {out, name, part};
    unsigned completes = cli_completes_operands(command);
    cli_completion_options(command, add_option, &place);
    if (!(completes & CLI_COMPLETES_FILES)) {
        begin(&place);
        cairn_buffer_str(out, " -f\n");
    }
    if (completes & CLI_COMPLETES_COMMANDS) {
        begin(&place);
        cairn_buffer_str(out, " -x -a '(__fish_complete_command)'\n");
    }
    if (completes & CLI_COMPLETES_PROCESSES) {
        begin(&place);
        cairn_buffer_str(out, " -a '(__fish_complete_pids)'\n");
    }
}

static void add_word(struct cairn_buffer *out, const char *condition, const char *word,
                     const char *summary)
{
    cairn_buffer_printf(out, "complete -c cairn -f -n '%s' -a %s -d ", condition, word);
    add_text(out, summary);
    cairn_buffer_char(out, '\n');
}

static void add_parts(struct cairn_buffer *out, const struct cli_command *command)
{
    struct cairn_buffer condition = {0};
    cairn_buffer_printf(&condition, "__cairn_needs_part %s", command->name);
    for (size_t i = 0; command->parts[i]; i++)
        add_word(out, cairn_buffer_text(&condition), cli_part_name(command->parts[i]),
                 command->parts[i]->summary);
    for (size_t i = 0; command->parts[i]; i++)
        add_command(out, command->parts[i], command->name, cli_part_name(command->parts[i]));
    cairn_buffer_done(&condition);
}

void cli_completion_fish(struct cairn_buffer *out)
{
    cairn_buffer_printf(out, "# fish completion of cairn %s, made by: cairn completion fish\n\n",
                        cairn_version());
    cairn_buffer_str(
        out, "function __cairn_is\n"
             "    set -l words (commandline -opc)\n"
             "    set -l last (math 1 + (count $argv))\n"
             "    test (count $words) -ge $last; and test \"$words[2..$last]\" = \"$argv\"\n"
             "end\n\n"
             "function __cairn_needs_part\n"
             "    set -l words (commandline -opc)\n"
             "    test (count $words) -eq 2; and test $words[2] = $argv[1]\n"
             "end\n\n");
    for (size_t i = 0; cli_commands[i]; i++)
        add_word(out, "__fish_use_subcommand", cli_commands[i]->name, cli_commands[i]->summary);
    for (size_t i = 0; cli_commands[i]; i++) {
        const struct cli_command *command = cli_commands[i];
        if (command->parts)
            add_parts(out, command);
        else if (command->options)
            add_command(out, command, command->name, NULL);
    }
}
