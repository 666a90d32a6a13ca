/* SPDX-License-Identifier: MIT */
/* Notes: what is known of a recording as a whole, and the line that a file has for each. */
#include "base/alloc.h"
#include "base/buffer.h"
#include "profile/profile.h"

/* By enum cairn_note. */
static const char *const words[] = {
    [CAIRN_NOTE_OTHER] = "",
    [CAIRN_NOTE_COMMAND] = "command: ",
    [CAIRN_NOTE_KERNEL] = "kernel: ",
    [CAIRN_NOTE_HOST] = "host: ",
    [CAIRN_NOTE_CPU] = "cpu: ",
    [CAIRN_NOTE_LEFT_OUT] = "left out: ",
    [CAIRN_NOTE_QUALITY] = "quality: ",
    [CAIRN_NOTE_CLOCK] = "sample times: recorder's clock + ",
};

enum { N_KINDS = sizeof words / sizeof *words };

/* The number of a note's line; that of its text where it has no word. UINT32_MAX: no memory. */
static uint32_t add_line(struct cairn_profile *p, enum cairn_note kind, const char *text)
{
    struct cairn_buffer line = {0};
    cairn_buffer_str(&line, words[kind]);
    cairn_buffer_str(&line, text);
    uint32_t number =
        line.failed ? UINT32_MAX : cairn_strings_add_str(&p->strings, cairn_buffer_text(&line));
    cairn_buffer_done(&line);
    return number;
}

int cairn_profile_add_note(struct cairn_profile *p, enum cairn_note kind, const char *text)
{
    if ((unsigned)kind >= N_KINDS)
        return CAIRN_E_ARG;
    const struct cairn_profile_note note = {kind, cairn_strings_add_str(&p->strings, text)};
    uint32_t line = add_line(p, kind, text);
    if (note.text == UINT32_MAX || line == UINT32_MAX ||
        cairn_grow((void **)&p->notes, &p->cap_notes, p->n_notes + 1, sizeof *p->notes) < 0)
        return CAIRN_E_NOMEM;
    const char **lent = cairn_realloc(p->public_comments, p->n_notes + 1, sizeof *lent);
    if (!lent)
        return CAIRN_E_NOMEM;
    p->public_comments = lent;
    lent[p->n_notes] = cairn_strings_get(&p->strings, line);
    p->notes[p->n_notes++] = note;
    return CAIRN_OK;
}

int cairn_profile_add_comment(struct cairn_profile *p, const char *text)
{
    unsigned kind = N_KINDS - 1;
    while (kind > CAIRN_NOTE_OTHER && strncmp(text, words[kind], strlen(words[kind])) != 0)
        kind--;
    return cairn_profile_add_note(p, (enum cairn_note)kind, text + strlen(words[kind]));
}

const char *cairn_profile_note(const struct cairn_profile *p, enum cairn_note kind, size_t index)
{
    for (size_t i = 0; i < p->n_notes; i++)
        if (p->notes[i].kind == (uint32_t)kind && index-- == 0)
            return cairn_strings_get(&p->strings, p->notes[i].text);
    return NULL;
}

size_t cairn_profile_comments(const struct cairn_profile *p, const char *const **ret_comments)
{
    *ret_comments = p->public_comments;
    return p->n_notes;
}
