/* SPDX-License-Identifier: MIT */
/*
 * zsh has one specification an option: '(-o --output)'{-o,--output=}'[write to FILE]:FILE:_files'.
 * Within the quotes a backslash keeps brackets and colons from being its own.
 */
#include <string.h>

#include <cairn/version.h>

#include "cli/completion.h"
#include "cli/parts.h"

static void add_text(struct cairn_buffer *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("[]:\\", *text))
            cairn_buffer_char(out, '\\');
        if (*text == '\'')
            cairn_buffer_str(out, "'\\'");
        cairn_buffer_char(out, *text == '\n' ? ' ' : *text);
    }
}

static void add_action(struct cairn_buffer *out, unsigned completes, const char *value)
{
    if (completes & CLI_COMPLETES_WORDS) {
        cairn_buffer_char(out, '(');
        cli_completion_words(out, value);
        cairn_buffer_char(out, ')');
    } else if (completes & CLI_COMPLETES_FILES) {
        cairn_buffer_str(out, "_files");
    } else if (completes & CLI_COMPLETES_FOLDERS) {
        cairn_buffer_str(out, "_files -/");
    } else if (completes & CLI_COMPLETES_PROCESSES) {
        cairn_buffer_str(out, "_pids");
    } else {
        cairn_buffer_char(out, ' ');
    }
}

static void add_option(void *ctx, const struct cli_option *option)
{
    struct cairn_buffer *out = ctx;
    const char *sign = option->value && !option->optional ? "=" : option->value ? "=-" : "";
    cairn_buffer_str(out, " \\\n            ");
    if (option->letter)
        cairn_buffer_printf(out, "'*'{-%c,--%s%s}'[", option->letter, option->name, sign);
    else
        cairn_buffer_printf(out, "'*--%s%s[", option->name, sign);
    add_text(out, option->help);
    cairn_buffer_char(out, ']');
    if (option->value) {
        cairn_buffer_char(out, ':');
        add_text(out, option->value);
        cairn_buffer_char(out, ':');
        add_action(out, cli_completes_value(option->value), option->value);
    }
    cairn_buffer_char(out, '\'');
}

static void add_command(struct cairn_buffer *out, const struct cli_command *command,
                        const char *name)
{
    unsigned completes = cli_completes_operands(command);
    cairn_buffer_printf(out, "        %s)\n            _arguments -S", name);
    cli_completion_options(command, add_option, out);
    if (completes & CLI_COMPLETES_COMMANDS)
        cairn_buffer_str(out, " \\\n            '*:: :_normal'");
    else if (completes & CLI_COMPLETES_FILES && completes & CLI_COMPLETES_PROCESSES)
        cairn_buffer_str(out, " \\\n            '*: :{_files; _pids}'");
    else if (completes & CLI_COMPLETES_PROCESSES)
        cairn_buffer_str(out, " \\\n            '*: :_pids'");
    else if (completes & CLI_COMPLETES_FILES)
        cairn_buffer_str(out, " \\\n            '*: :_files'");
    cairn_buffer_str(out, "\n            ;;\n");
}

/* A function of its own: it has the rest of the words. */
static void add_parts(struct cairn_buffer *out, const struct cli_command *command)
{
    cairn_buffer_printf(out, "_cairn_%s() {\n    local state\n    local -a parts=(\n",
                        command->name);
    for (size_t i = 0; command->parts[i]; i++) {
        cairn_buffer_printf(out, "        '%s:", cli_part_name(command->parts[i]));
        add_text(out, command->parts[i]->summary);
        cairn_buffer_str(out, "'\n");
    }
    cairn_buffer_str(out, "    )\n"
                          "    _arguments -C '1: :->part' '*:: :->rest'\n"
                          "    case $state in\n"
                          "    part) _describe part parts ;;\n"
                          "    rest)\n"
                          "        case $words[1] in\n");
    for (size_t i = 0; command->parts[i]; i++)
        add_command(out, command->parts[i], cli_part_name(command->parts[i]));
    cairn_buffer_str(out, "        esac\n        ;;\n    esac\n}\n\n");
}

void cli_completion_zsh(struct cairn_buffer *out)
{
    cairn_buffer_printf(
        out, "#compdef cairn\n# zsh completion of cairn %s, made by: cairn completion zsh\n\n",
        cairn_version());
    for (size_t i = 0; cli_commands[i]; i++)
        if (cli_commands[i]->parts)
            add_parts(out, cli_commands[i]);
    cairn_buffer_str(out, "_cairn() {\n    local state\n    local -a commands=(\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        cairn_buffer_printf(out, "        '%s:", cli_commands[i]->name);
        add_text(out, cli_commands[i]->summary);
        cairn_buffer_str(out, "'\n");
    }
    cairn_buffer_str(out, "    )\n"
                          "    _arguments -C '1: :->command' '*:: :->rest'\n"
                          "    case $state in\n"
                          "    command) _describe command commands ;;\n"
                          "    rest)\n"
                          "        case $words[1] in\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        const struct cli_command *command = cli_commands[i];
        if (command->parts)
            cairn_buffer_printf(out, "        %s) _cairn_%s ;;\n", command->name, command->name);
        else if (command->options)
            add_command(out, command, command->name);
    }
    cairn_buffer_str(out, "        *) _files ;;\n"
                          "        esac\n        ;;\n    esac\n}\n\n"
                          "if [ \"$funcstack[1]\" = _cairn ]; then\n"
                          "    _cairn \"$@\"\n"
                          "else\n"
                          "    compdef _cairn cairn\n"
                          "fi\n");
}
