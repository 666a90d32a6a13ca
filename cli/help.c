/* SPDX-License-Identifier: MIT */
/* What --help prints, out of the same rows that the options are parsed by, and the guess at what a
 * mistyped word was meant to be. */
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/term.h"

enum { OPTION_COLUMN = 26, NEAREST_WORD_MAX = 32 };

/* `text` from column `at` on, its lines folded at blanks and begun at column `indent`. */
static void print_folded(const char *text, unsigned at, unsigned indent)
{
    unsigned width = cli_width() < 100 ? cli_width() : 100;
    bool line_start = true;
    while (*text) {
        size_t size = strcspn(text, " \n");
        if (!line_start && at + 1 + size > width) {
            printf("\n%*s", (int)indent, "");
            at = indent;
            line_start = true;
        }
        if (size) {
            printf("%s%.*s", line_start ? "" : " ", (int)size, text);
            at += (unsigned)size + !line_start;
            line_start = false;
        }
        text += size;
        if (*text == '\n') {
            printf("\n%*s", text[1] && text[1] != '\n' ? (int)indent : 0, "");
            at = indent;
            line_start = true;
        }
        text += *text != 0;
    }
    putchar('\n');
}

static void print_option(const struct cli_option *option)
{
    char letter[8] = "    ", left[128];
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    const char *before = option->optional ? "[=" : option->value ? " " : "";
    int used = snprintf(left, sizeof left, "  %s--%s%s%s%s", letter, option->name, before,
                        option->value ? option->value : "", option->optional ? "]" : "");
    printf("%s", left);
    if (used + 2 > OPTION_COLUMN)
        printf("\n%*s", OPTION_COLUMN, "");
    else
        printf("%*s", OPTION_COLUMN - used, "");
    print_folded(option->help, OPTION_COLUMN, OPTION_COLUMN);
}

void cli_args_print_help(const struct cli_command *command)
{
    for (size_t i = 0; command->usage[i]; i++) {
        printf("%s cairn ", i ? "      " : "usage:");
        print_folded(command->usage[i], 13, 13 + (unsigned)strcspn(command->usage[i], " ") + 1);
    }
    printf("\n%s\n\noptions:\n", command->summary);
    for (const struct cli_option *option = command->options; option->name; option++)
        print_option(option);
    print_option(&(struct cli_option){.name = "help", .letter = 'h', .help = "print this text"});
    if (command->remote)
        printf("\nWith -H HOST or a target HOST:PID on another machine: cairn remote --help\n");
    if (command->notes) {
        putchar('\n');
        print_folded(command->notes, 0, 0);
    }
}

/* Edit distance with neighbours swapped counted as one (optimal string alignment). */
static unsigned distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    unsigned rows[3][NEAREST_WORD_MAX + 1];
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *now = rows[i % 3], *up = rows[(i - 1) % 3], *up2 = rows[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned best = up[j - 1] + (a[i - 1] != b[j - 1]);
            best = up[j] + 1 < best ? up[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = up2[j - 2] + 1 < best ? up2[j - 2] + 1 : best;
            now[j] = best;
        }
    }
    return rows[n % 3][m];
}

const char *cli_nearest(const char *word, const char *const *names)
{
    const char *nearest = NULL;
    size_t size = strlen(word);
    unsigned limit = size < 4 ? 1 : size < 7 ? 2 : 3;
    for (; size && size <= NEAREST_WORD_MAX && *names; names++) {
        if (strlen(*names) > NEAREST_WORD_MAX)
            continue;
        /* What begins like it is what a person means who stopped typing early. */
        bool begun = size >= 3 && strncmp(word, *names, size) == 0;
        unsigned far = begun ? 1 : distance(word, *names);
        if (far <= limit && far < strlen(*names)) {
            nearest = *names;
            limit = far ? far - 1 : 0;
        }
    }
    return nearest;
}
