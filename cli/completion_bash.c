/* SPDX-License-Identifier: MIT */
/*
 * bash hands over the words as it breaks them, "=" apart. A case for each command says which
 * options take what, and what its operands are; names and words have no sign that means something
 * to bash.
 */
#include <cairn/version.h>

#include "cli/completion.h"
#include "cli/parts.h"

/* $2 completes as one of the words $3..., as a file, a folder, a process. */
static const char head[] =
    "_cairn_add() {\n"
    "    local kind=$1 word=$2 found\n"
    "    shift 2\n"
    "    case $kind in\n"
    "    words) mapfile -t found < <(compgen -W \"$*\" -- \"$word\") ;;\n"
    "    files) compopt -o filenames; mapfile -t found < <(compgen -f -- \"$word\") ;;\n"
    "    folders) compopt -o filenames; mapfile -t found < <(compgen -d -- \"$word\") ;;\n"
    "    commands) mapfile -t found < <(compgen -c -- \"$word\") ;;\n"
    "    processes) mapfile -t found < <(cd /proc && compgen -W \"$(echo [0-9]*)\" -- \"$word\") "
    ";;\n"
    "    esac\n"
    "    COMPREPLY+=(\"${found[@]}\")\n"
    "}\n"
    "\n"
    "_cairn() {\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    COMPREPLY=()\n"
    "    [ \"$word\" != \"=\" ] || word=\n"
    "    [ \"$last\" != \"=\" ] || last=${COMP_WORDS[COMP_CWORD - 2]}\n";

static const char *const kinds[] = {"files", "folders", "processes", "commands"};

static void add_kinds(struct cairn_buffer *out, unsigned completes)
{
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (completes & 1u << i)
            cairn_buffer_printf(out, "            _cairn_add %s \"$word\"\n", kinds[i]);
}

static void add_pattern(struct cairn_buffer *out, const struct cli_option *option)
{
    cairn_buffer_printf(out, "--%s", option->name);
    if (option->letter)
        cairn_buffer_printf(out, " | -%c", option->letter);
}

static bool takes_value(const struct cli_option *option)
{
    return option->value && !option->optional;
}

static void add_value(void *ctx, const struct cli_option *option)
{
    struct cairn_buffer *out = ctx;
    unsigned completes = takes_value(option) ? cli_completes_value(option->value) : 0;
    if (!completes)
        return;
    cairn_buffer_str(out, "        ");
    add_pattern(out, option);
    cairn_buffer_str(out, ")\n");
    add_kinds(out, completes);
    if (completes & CLI_COMPLETES_WORDS) {
        cairn_buffer_str(out, "            _cairn_add words \"$word\" ");
        cli_completion_words(out, option->value);
        cairn_buffer_char(out, '\n');
    }
    cairn_buffer_str(out, "            return\n            ;;\n");
}

/* Values that nobody can guess, in one pattern. */
static void add_unknown(void *ctx, const struct cli_option *option)
{
    struct cairn_buffer *out = ctx;
    if (!takes_value(option) || cli_completes_value(option->value))
        return;
    if (out->size)
        cairn_buffer_str(out, " | ");
    add_pattern(out, option);
}

static void add_name(void *ctx, const struct cli_option *option)
{
    cairn_buffer_printf(ctx, " --%s", option->name);
}

static void add_values(struct cairn_buffer *out, const struct cli_command *command)
{
    struct cairn_buffer unknown = {0};
    cairn_buffer_str(out, "        case $last in\n");
    cli_completion_options(command, add_value, out);
    cli_completion_options(command, add_unknown, &unknown);
    if (unknown.size)
        cairn_buffer_printf(out, "        %s) return ;;\n", cairn_buffer_text(&unknown));
    cairn_buffer_str(out, "        esac\n");
    out->failed |= unknown.failed;
    cairn_buffer_done(&unknown);
}

static void add_command(struct cairn_buffer *out, const struct cli_command *command)
{
    unsigned completes = cli_completes_operands(command);
    cairn_buffer_printf(out, "    \"%s\")\n", command->name);
    add_values(out, command);
    cairn_buffer_str(out, "        case $word in\n"
                          "        -*)\n"
                          "            _cairn_add words \"$word\"");
    cli_completion_options(command, add_name, out);
    cairn_buffer_str(out, "\n            ;;\n");
    if (completes) {
        cairn_buffer_str(out, "        *)\n");
        add_kinds(out, completes);
        cairn_buffer_str(out, "            ;;\n");
    }
    cairn_buffer_str(out, "        esac\n        ;;\n");
}

/* The second word names the part. */
static void add_parts(struct cairn_buffer *out, const struct cli_command *command)
{
    cairn_buffer_printf(out,
                        "    if [ \"$command\" = %s ]; then\n"
                        "        if ((COMP_CWORD == 2)); then\n"
                        "            _cairn_add words \"$word\" --help",
                        command->name);
    for (size_t i = 0; command->parts[i]; i++)
        cairn_buffer_printf(out, " %s", cli_part_name(command->parts[i]));
    cairn_buffer_str(out, "\n            return\n"
                          "        fi\n"
                          "        command=\"$command ${COMP_WORDS[2]}\"\n"
                          "    fi\n");
}

void cli_completion_bash(struct cairn_buffer *out)
{
    cairn_buffer_printf(out, "# bash completion of cairn %s, made by: cairn completion bash\n",
                        cairn_version());
    cairn_buffer_str(out, head);
    cairn_buffer_str(out, "    local command=${COMP_WORDS[1]}\n"
                          "    if ((COMP_CWORD == 1)); then\n"
                          "        _cairn_add words \"$word\" --help --version help");
    for (size_t i = 0; cli_commands[i]; i++)
        cairn_buffer_printf(out, " %s", cli_commands[i]->name);
    cairn_buffer_str(out, "\n        return\n    fi\n");
    for (size_t i = 0; cli_commands[i]; i++)
        if (cli_commands[i]->parts)
            add_parts(out, cli_commands[i]);
    cairn_buffer_str(out, "    case $command in\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        const struct cli_command *command = cli_commands[i];
        for (size_t k = 0; command->parts && command->parts[k]; k++)
            add_command(out, command->parts[k]);
        if (command->options)
            add_command(out, command);
    }
    cairn_buffer_str(out, "    *)\n"
                          "        _cairn_add files \"$word\"\n"
                          "        ;;\n"
                          "    esac\n"
                          "}\n"
                          "complete -F _cairn cairn\n");
}
