/* SPDX-License-Identifier: MIT */
/*
 * What opens a shell on another machine, and what that shell reads.
 *
 * The script comes on stdin of a plain `sh`, for there is no way of quoting that ssh, adb, kubectl,
 * docker and sudo share. It is one compound command, so that the shell has read all of it before
 * its first part runs; from then on stdin belongs to the protocol. The far end speaks first: what a
 * shell may have read ahead is the script alone.
 *
 * The script must not hold what the protocol begins with: a terminal may echo it.
 */
#include <stdio.h>
#include <string.h>

#include "cli/remote.h"

/*
 * Folders that are tried for a program of ours. Other users can make "cairn-0" in /tmp, too, or let
 * it be a link: it counts only where it is a folder of our own that nobody else enters, by one look
 * at it that follows no link. A sticky /tmp keeps others from replacing it after that.
 */
static const char folders[] =
    "u=$(id -u)\n"
    "b=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}\n"
    "private() { set -- $(ls -ldn \"$1\" 2>/dev/null); "
    "case ${1-}/${3-} in drwx------*/\"$u\") ;; *) false ;; esac; }\n"
    "ours() { case $d in \"$b/cairn/bin\") ;; *) private \"${d%/bin}\" || return 1 ;; esac; "
    "private \"$d\"; }\n"
    "for d in ${b:+\"$b/cairn/bin\"} \"/var/tmp/cairn-$u/bin\" \"/dev/shm/cairn-$u/bin\" "
    "\"/tmp/cairn-$u/bin\" ${ANDROID_ROOT:+/data/local/tmp/cairn/bin}; do\n";

static const char find[] = "if ours && [ -f \"$d/$h\" ] && [ -x \"$d/$h\" ]; then "
                           "c=$d/$h; break; fi\n"
                           "done\n"
                           "[ -n \"$c\" ] || c=$(command -v cairn)\n"
                           "[ -z \"$c\" ] || exec %s\"$c\" remote serve\n";

/* What is mounted noexec shows when a script in it does not run. */
static const char choose_folder[] =
    "case $d in \"$b/cairn/bin\") mkdir -p \"$b\" ;; esac 2>/dev/null\n"
    "mkdir \"${d%/bin}\" 2>/dev/null\n"
    "mkdir \"$d\" 2>/dev/null\n"
    "ours || continue\n"
    "if (echo '#!/bin/sh' >\"$d/.try$$\") 2>/dev/null && chmod 700 \"$d/.try$$\" && "
    "\"$d/.try$$\" 2>/dev/null; then o=$d; fi\n"
    "rm -f \"$d/.try$$\" 2>/dev/null\n"
    "[ -z \"$o\" ] || break\n"
    "done\n";

static const char say_absent[] =
    "printf '\\000cairn far end 0\\n%s %s %s\\n' \"$(uname -s)\" \"$(uname -m)\" \"$o\"\n";

static const char take_program[] =
    "[ -n \"$o\" ] || exit 127\n"
    "t=$o/.new$$\n"
    "trap 'rm -f \"$t\"' EXIT\n"
    "head -c %llu >\"$t\" || { echo \"$t: cannot be written: is the disk full?\" >&2; exit 126; }\n"
    "s=$(sha256sum \"$t\") || { echo 'sha256sum is missing' >&2; exit 126; }\n"
    "[ \"${s%%%% *}\" = %s ] || { echo \"$t: arrived damaged\" >&2; exit 126; }\n"
    "chmod 700 \"$t\" && mv -f \"$t\" \"$o/$h\" || exit 126\n"
    "trap - EXIT\n"
    "exec %s\"$o/$h\" remote serve\n";

void cli_remote_add_script(struct cairn_buffer *out, const struct cli_remote_script *script)
{
    const char *sudo = script->sudo ? "sudo -n " : "";
    /* Under a terminal all bytes must pass as they are. */
    cairn_buffer_str(out, "{\n[ ! -t 0 ] || stty raw -echo 2>/dev/null\n");
    cairn_buffer_printf(out, "h=%s\n", *script->build_id ? script->build_id : "none");
    cairn_buffer_str(out, "c=\no=\n");
    cairn_buffer_str(out, folders);
    cairn_buffer_printf(out, find, sudo);
    if (script->install) {
        cairn_buffer_str(out, "umask 077\n");
        cairn_buffer_str(out, folders);
        cairn_buffer_str(out, choose_folder);
    }
    cairn_buffer_str(out, say_absent);
    if (script->install)
        cairn_buffer_printf(out, take_program, (unsigned long long)script->program_bytes,
                            script->sha256, sudo);
    cairn_buffer_str(out, "exit 127\n}\n");
}

void cli_remote_add_clean_script(struct cairn_buffer *out)
{
    cairn_buffer_str(out, "{\nn=0\n");
    cairn_buffer_str(out, folders);
    cairn_buffer_str(out, "if ours; then rm -rf \"$d\" && rmdir \"${d%/bin}\" 2>/dev/null; n=1; "
                          "echo \"removed $d\"; fi\n"
                          "done\n"
                          "[ $n = 1 ] || echo 'nothing is installed'\n"
                          "exit 0\n}\n");
}

struct preset {
    const char *prefix;
    const char *argv[10]; /* %1, %2, %3: the parts of the name, with '/' between */
};

static const struct preset presets[] = {
    {"adb:", {"adb", "-s", "%1", "shell"}},
    {"docker:", {"docker", "exec", "-i", "%1"}},
    {"ns:", {"nsenter", "-t", "%1", "-a"}},
    {"pod:", {"kubectl", "exec", "-i", "-n", "%1", "%2", "-c", "%3", "--"}},
};

/* Texts whose places in `text` are known once it is complete. */
struct words {
    size_t at[CLI_REMOTE_ARGV_MAX];
    size_t n;
};

static void add_word(struct words *words, struct cairn_buffer *text, const char *word, size_t size)
{
    words->at[words->n++] = text->size;
    cairn_buffer_add(text, word, size);
    cairn_buffer_char(text, '\0');
}

static void add_str(struct words *words, struct cairn_buffer *text, const char *word)
{
    add_word(words, text, word, strlen(word));
}

static void add_part(struct words *words, struct cairn_buffer *text, const char *name, int number)
{
    for (; number > 1 && strchr(name, '/'); number--)
        name = strchr(name, '/') + 1;
    add_word(words, text, number > 1 ? "" : name, number > 1 ? 0 : strcspn(name, "/"));
}

static bool add_preset(struct words *words, struct cairn_buffer *text, const char *host)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        const struct preset *preset = &presets[i];
        size_t size = strlen(preset->prefix);
        if (strncmp(host, preset->prefix, size) != 0)
            continue;
        for (size_t j = 0; preset->argv[j]; j++) {
            if (preset->argv[j][0] == '%')
                add_part(words, text, host + size, preset->argv[j][1] - '0');
            else
                add_str(words, text, preset->argv[j]);
        }
        return true;
    }
    return false;
}

/* "HOST:PORT", "[v6]:PORT", "[v6]"; more than one colon without brackets is an IPv6 address. */
static void add_ssh(struct words *words, struct cairn_buffer *text, const char *host)
{
    const char *open = strchr(host, '['), *close = open ? strchr(open, ']') : NULL;
    const char *colon = strrchr(close ? close : host, ':');
    if (!close && colon && strchr(host, ':') != colon)
        colon = NULL;
    add_str(words, text, "ssh");
    add_str(words, text, "-T");
    if (colon) {
        add_str(words, text, "-p");
        add_str(words, text, colon + 1);
    }
    add_str(words, text, "--");
    words->at[words->n++] = text->size;
    for (const char *at = host; *at && at != colon; at++)
        if (*at != '[' && *at != ']')
            cairn_buffer_char(text, *at);
    cairn_buffer_char(text, '\0');
}

void cli_remote_argv(const struct cli_remote *remote, const char *host,
                     const char *argv[CLI_REMOTE_ARGV_MAX], struct cairn_buffer *text)
{
    struct words words = {0};
    if (remote->rsh) {
        add_str(&words, text, "/bin/sh");
        add_str(&words, text, "-c");
        words.at[words.n++] = text->size;
        cairn_buffer_printf(text, "exec %s \"$@\"", remote->rsh);
        cairn_buffer_char(text, '\0');
        add_str(&words, text, "sh");
        if (remote->has_host_word)
            add_str(&words, text, host);
    } else if (!add_preset(&words, text, host)) {
        add_ssh(&words, text, host);
    }
    add_str(&words, text, "sh");
    for (size_t i = 0; i < words.n; i++)
        argv[i] = cairn_buffer_text(text) + words.at[i];
    argv[words.n] = NULL;
}
