/* SPDX-License-Identifier: MIT */
#include "debugfile/search.h"

#include <sys/stat.h>

#include "base/error.h"
#include "base/log.h"
#include "debugfile/debugfile.h"

bool cairn_search_has_lines(const struct cairn_search *s)
{
    return s->code < 0 || s->debug.path || s->image.worth == CAIRN_WORTH_DWARF;
}

bool cairn_search_is_over(const struct cairn_search *s)
{
    return s->code < 0 || (cairn_search_has_lines(s) && (s->image.path || s->any_image));
}

static void note_damage(struct cairn_search *s, const struct cairn_err *why)
{
    if (why->code == CAIRN_E_NOMEM) {
        s->code = cairn_fail_memory(s->err);
        return;
    }
    if (s->takes_others || s->asks_nobody || strcmp(s->damage.msg, why->msg) == 0)
        return; /* said before */
    cairn_log_err(CAIRN_LOG_WARNING, why);
    if (!s->damage.code)
        s->damage = *why;
}

/* Notes a build that differs from `wanted`; true where it may be taken all the same. */
static bool note_other_build(struct cairn_search *s, struct cairn_candidate *c, const char *wanted)
{
    c->other_build = true;
    if (s->takes_others)
        return true;
    struct cairn_err why;
    cairn_fail(&why, CAIRN_E_ARG, "%s: its build ID is %s, expected %s", c->path, c->build_id,
               wanted);
    cairn_hint(&why, "give the folder of that build with --symbols; cairn resolve and symbolize "
                     "take this file with --allow-mismatch");
    cairn_log(CAIRN_LOG_INFO, "%s", why.msg);
    if (s->n_refused++ == 0)
        s->refusal = why;
    return false;
}

bool cairn_search_is_right_build(struct cairn_search *s, struct cairn_candidate *c)
{
    const struct cairn_candidate *kin = s->image.path ? &s->image : &s->debug;
    const char *wanted = s->wanted[0] ? s->wanted : kin->build_id;
    if (kin->path && kin->elf.machine != c->elf.machine)
        return false; /* a folder for several machines */
    if (wanted[0] && c->build_id[0])
        return strcmp(wanted, c->build_id) == 0 || note_other_build(s, c, wanted);
    if (!kin->path || cairn_candidate_fits(kin, c))
        return true;
    cairn_log(CAIRN_LOG_WARNING, "%s: its code lies elsewhere than that of %s; passed over",
              c->path, kin->path);
    return false;
}

bool cairn_search_open(struct cairn_search *s, struct cairn_candidate *ret)
{
    if (s->text.failed) {
        s->code = cairn_fail_memory(s->err);
        return false;
    }
    struct stat st;
    const char *path = cairn_buffer_text(&s->text);
    if (cairn_file_stat(path, &st) && S_ISDIR(st.st_mode))
        return false; /* named like the module, as build folders are */
    struct cairn_err why;
    const struct cairn_candidate_place place = {
        .root = s->finder->root, .is_vouched = cairn_debugfile_finder_vouches(s->finder, path)};
    int code = cairn_candidate_open(path, &place, ret, &why);
    if (code < 0 && code != CAIRN_E_MISSING)
        note_damage(s, &why);
    return code == CAIRN_OK;
}

void cairn_search_settle(struct cairn_search *s, struct cairn_candidate *c)
{
    enum cairn_candidate_worth worth = s->image.path ? s->image.worth : CAIRN_WORTH_EXPORTS;
    if (c->has_code && !s->image.path) {
        s->image = *c;
    } else if (c->worth > worth && !s->debug.path) {
        s->debug = *c;
    } else {
        cairn_candidate_close(c);
        return;
    }
    if (c->other_build)
        cairn_log(CAIRN_LOG_WARNING,
                  "%s: taken, though its build ID or its CRC is not the one expected", c->path);
    s->took_other = s->took_other || c->other_build;
}

bool cairn_search_try(struct cairn_search *s)
{
    struct cairn_candidate c;
    if (!cairn_search_open(s, &c))
        return false;
    bool right = (!s->image.path || !cairn_candidate_is_same_file(&c, &s->image)) &&
                 cairn_search_is_right_build(s, &c);
    if (right)
        cairn_search_settle(s, &c);
    else
        cairn_candidate_close(&c);
    return right;
}
