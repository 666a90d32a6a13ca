/* SPDX-License-Identifier: MIT */
#include "cli/result.h"

#include <string.h>

#include <cairn/picture.h>

#include "cli/write_profile.h"

bool cli_result_name_ends(const char *name, const char *ending)
{
    size_t size = strlen(name), tail = strlen(ending);
    return size >= tail && strcmp(name + size - tail, ending) == 0;
}

static bool names_stdout;

void cli_result_name_stdout(void)
{
    names_stdout = true;
}

bool cli_result_of_name(struct cli_args *args, const char *name, enum cli_result *ret_result)
{
    bool is_stdout = name && strcmp(name, "-") == 0;
    if (is_stdout && cli_stdout_is_terminal()) {
        cli_args_wrong(args, "a pprof profile is not for a terminal: redirect stdout");
        return false;
    }
    if (!name || is_stdout)
        *ret_result = is_stdout && names_stdout ? CLI_RESULT_NAMED : CLI_RESULT_RAW;
    else if (cli_result_name_ends(name, ".html") || cli_result_name_ends(name, ".htm"))
        *ret_result = CLI_RESULT_HTML;
    else if (cli_result_name_ends(name, ".svg"))
        *ret_result = CLI_RESULT_SVG;
    else if (cli_result_name_ends(name, ".txt") ||
             cairn_format_of_name(name) == CAIRN_FORMAT_COLLAPSED)
        *ret_result = CLI_RESULT_COLLAPSED;
    else if (cairn_format_of_name(name) == CAIRN_FORMAT_PPROF)
        *ret_result = CLI_RESULT_RAW;
    else if (cli_format_is_for_viewers(cairn_format_of_name(name)))
        *ret_result = CLI_RESULT_VIEWER;
    else
        return cli_args_wrong(
                   args,
                   "%s: the ending says nothing, expected .pb.gz, .html, .svg, .txt, "
                   ".collapsed, .folded, .firefox.json.gz, .speedscope.json.gz, .callgrind "
                   "or .trace.json.gz",
                   name),
               false;
    return true;
}

int cli_result_write(enum cli_result result, enum cairn_guest_view guest,
                     struct cairn_profile *profile, const char *subtitle, struct cli_output *output,
                     struct cairn_err *err)
{
    struct cairn_picture_opts picture = {
        .size = sizeof picture, .subtitle = subtitle, .guest = guest};
    if (result != CLI_RESULT_RAW && result != CLI_RESULT_HTML) {
        int code = cairn_profile_view_guests(profile, guest, err);
        if (code < 0)
            return code;
    }
    picture.value_type = cairn_profile_default_value(profile);
    switch (result) {
    case CLI_RESULT_HTML:
    case CLI_RESULT_SVG:
        return cairn_picture_write(
            profile, result == CLI_RESULT_SVG ? CAIRN_PICTURE_SVG : CAIRN_PICTURE_HTML, &picture,
            cli_output_write, output, err);
    case CLI_RESULT_COLLAPSED:
        return cli_write_profile(profile, CAIRN_FORMAT_COLLAPSED, output, err);
    case CLI_RESULT_VIEWER:
        return cli_write_profile(profile, cairn_format_of_name(cli_output_name(output)), output,
                                 err);
    default:
        return cli_write_profile(profile, CAIRN_FORMAT_PPROF, output, err);
    }
}

int cli_result_end(struct cli_output *output, int code, struct cairn_err *err)
{
    if (code == CAIRN_OK)
        return cli_output_commit(output, err);
    (void)cli_output_error(output, err);
    return cli_output_fail(output, code, err);
}
