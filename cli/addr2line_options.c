/* SPDX-License-Identifier: MIT */
/* The options of GNU addr2line 2.40, as it parses them, and one of our own: --where. */
#include <errno.h>
#include <getopt.h>
#include <libiberty/libiberty.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cairn/version.h>

#include "cli/addr2line.h"
#include "cli/args.h"

enum { OPT_WHERE = 256 };

static const struct option long_options[] = {
    {"addresses", no_argument, NULL, 'a'},
    {"basenames", no_argument, NULL, 's'},
    {"demangle", optional_argument, NULL, 'C'},
    {"exe", required_argument, NULL, 'e'},
    {"functions", no_argument, NULL, 'f'},
    {"inlines", no_argument, NULL, 'i'},
    {"pretty-print", no_argument, NULL, 'p'},
    {"recurse-limit", no_argument, NULL, 'R'},
    {"recursion-limit", no_argument, NULL, 'R'},
    {"no-recurse-limit", no_argument, NULL, 'r'},
    {"no-recursion-limit", no_argument, NULL, 'r'},
    {"section", required_argument, NULL, 'j'},
    {"target", required_argument, NULL, 'b'},
    {"help", no_argument, NULL, 'H'},
    {"version", no_argument, NULL, 'V'},
    {"where", no_argument, NULL, OPT_WHERE},
    {0},
};

static void print_help(FILE *out, const char *program)
{
    fprintf(out,
            "Usage: %s [option(s)] [addr(s)]\n"
            " Convert addresses into line number/file name pairs.\n"
            " If no addresses are specified on the command line, they will be read from stdin\n"
            " The options are:\n"
            "  @<file>                Read options from <file>\n"
            "  -a --addresses         Show addresses\n"
            "  -b --target=<bfdname>  Accepted, without effect: every ELF file is read\n"
            "  -e --exe=<executable>  Set the input file name (default is a.out)\n"
            "  -i --inlines           Unwind inlined functions\n"
            "  -j --section=<name>    Read section-relative offsets instead of addresses\n"
            "  -p --pretty-print      Make the output easier to read for humans\n"
            "  -s --basenames         Strip directory names\n"
            "  -f --functions         Show function names\n"
            "  -C --demangle[=style]  Demangle function names\n"
            "  -R --recurse-limit     Accepted, without effect\n"
            "  -r --no-recurse-limit  Accepted, without effect\n"
            "  -h --help              Display this information\n"
            "  -v --version           Display the program's version\n"
            "     --where             Show the folder to put in front of PATH\n"
            "\n"
            "This is cairn in place of GNU addr2line; man cairn-addr2line tells what differs.\n",
            program);
}

/* Only "none" differs in effect; a word that GNU does not know is refused as it does. */
static bool take_style(struct cli_addr2line_options *o, const char *style)
{
    static const char *const styles[] = {"none", "auto",  "gnu-v3", "java",
                                         "gnat", "dlang", "rust",   NULL};
    int i = style ? 0 : 1;
    while (style && styles[i] && strcmp(styles[i], style) != 0)
        i++;
    if (!styles[i])
        fprintf(stderr, "%s: unknown demangling style `%s'\n", o->program, style);
    o->form.demangled = i > 0;
    return styles[i] != NULL;
}

/* The folder lies beside the command's own one, wherever the installation was moved to. */
static int print_where(const char *program)
{
    char exe[PATH_MAX], folder[PATH_MAX], link[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[size > 0 ? size : 0] = '\0';
    char *slash = strrchr(exe, '/');
    if (slash)
        *slash = '\0';
    bool absolute = CAIRN_ADDR2LINE_DIR[0] == '/';
    int n = snprintf(folder, sizeof folder, "%s%s%s", absolute ? "" : exe, absolute ? "" : "/",
                     CAIRN_ADDR2LINE_DIR);
    if (n > 0 && (size_t)n < sizeof folder && realpath(folder, link)) {
        strcpy(folder, link);
        n = snprintf(link, sizeof link, "%s/addr2line", folder);
        if (n > 0 && (size_t)n < sizeof link && access(link, X_OK) == 0) {
            puts(folder);
            return CLI_OK;
        }
    }
    fprintf(stderr,
            "%s: there is no %s/addr2line: this cairn is not installed; a link named addr2line to "
            "it in any folder does the same\n",
            program, folder);
    return CLI_FAILED;
}

/* One option; false ends the run with *ret_status. */
static bool take_option(struct cli_addr2line_options *o, int letter, int *ret_status)
{
    *ret_status = CLI_OK;
    switch (letter) {
    case 'a':
        o->addresses = true;
        return true;
    case 'e':
        o->exe = optarg;
        return true;
    case 'f':
        o->form.functions = true;
        return true;
    case 'i':
        o->form.inlines = true;
        return true;
    case 'j':
        o->section = optarg;
        return true;
    case 'p':
        o->form.pretty = true;
        return true;
    case 's':
        o->form.basenames = true;
        return true;
    case 'b': /* every ELF file is read, whatever it is called */
    case 'r': /* demangling is bounded in its own way, always */
    case 'R':
        return true;
    case 'C':
        *ret_status = CLI_FAILED;
        return take_style(o, optarg);
    case 'h':
    case 'H':
        print_help(stdout, o->program);
        return false;
    case 'v':
    case 'V':
        printf("addr2line (cairn %s), in place of GNU addr2line 2.40\n", cairn_version());
        return false;
    case OPT_WHERE:
        *ret_status = print_where(o->program);
        return false;
    }
    print_help(stderr, o->program);
    *ret_status = CLI_FAILED;
    return false;
}

bool cli_addr2line_parse(char **argv, struct cli_addr2line_options *ret_options, int *ret_status)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    *ret_options = (struct cli_addr2line_options){.program = argv[0], .exe = "a.out"};
    char **given = argv;
    expandargv(&argc, &argv); /* libiberty's, for its rules of quoting */
    ret_options->expanded = argv != given ? argv : NULL;
    int letter;
    while ((letter = getopt_long(argc, argv, "ab:Ce:rRfHhij:psVv", long_options, NULL)) != -1)
        if (!take_option(ret_options, letter, ret_status))
            return false;
    ret_options->operands = argv + optind;
    return true;
}

void cli_addr2line_options_done(struct cli_addr2line_options *options)
{
    if (options->expanded)
        freeargv(options->expanded);
}
