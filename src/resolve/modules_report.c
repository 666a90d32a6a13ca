/* SPDX-License-Identifier: MIT */
/* What is said of modules once the input has ended: a warning for each cause, and for stripped ones
 * where their debug files can be had. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "debugfile/debug_source.h"
#include "debugfile/package.h"
#include "resolve/modules.h"

/* STRIPPED_MAX: modules with a hint of their own; the lists of packages are read for them. */
enum { WARNED_MAX = 256, STRIPPED_MAX = 5 };

/* What a person can do about it; NULL: nothing. */
static const char *advice(const struct cairn_modules *m, enum cairn_cause cause)
{
    switch (cause) {
    case CAIRN_CAUSE_NO_BINARY:
        return "give the folder that holds it with --symbols DIR";
    case CAIRN_CAUSE_MISMATCH:
        return m->is_live ? "its file was replaced; root can read the one that is mapped, or give "
                            "the folder of that build with --symbols DIR"
                          : "cairn resolve --allow-mismatch takes it all the same";
    case CAIRN_CAUSE_ANONYMOUS:
        return "of a JIT compiler? give its /tmp/perf-PID.map with --perf-map FILE";
    case CAIRN_CAUSE_NO_KERNEL:
        return "give a copy of its /proc/kallsyms with --kallsyms FILE";
    case CAIRN_CAUSE_KERNEL_HIDDEN:
        return "sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1, or run as root";
    case CAIRN_CAUSE_BEFORE_SEGMENT:
        return "is it the file that was mapped?";
    default:
        return NULL;
    }
}

static const char *shown_path(const struct cairn_known_module *known)
{
    return known->path[0] ? known->path : "a mapping without a name";
}

/* A file that was replaced while it ran may be another build, unless a build ID vouches for it. */
static bool may_be_another(const struct cairn_known_module *known)
{
    return known->deleted && known->module && !cairn_module_info(known->module)->verified;
}

/* A debug file would help: said of all such modules together, in the end. */
static bool is_stripped(const struct cairn_known_module *known)
{
    return known->unique_by_cause[CAIRN_CAUSE_NO_SYMBOL] && known->kind == CAIRN_KNOWN_FILE &&
           known->module && !cairn_module_info(known->module)->has_symtab;
}

static bool deserves_warning(const struct cairn_known_module *known)
{
    uint64_t other = is_stripped(known) ? known->unique_by_cause[CAIRN_CAUSE_NO_SYMBOL] : 0;
    return known->n_unique > known->n_unique_named + other || may_be_another(known);
}

static void warn(const struct cairn_modules *m, const struct cairn_known_module *known)
{
    const char *path = shown_path(known);
    for (int cause = 0; cause < CAIRN_N_CAUSES; cause++) {
        unsigned long long n = known->unique_by_cause[cause];
        if (!n || (cause == CAIRN_CAUSE_NO_SYMBOL && is_stripped(known)))
            continue;
        const char *what = advice(m, (enum cairn_cause)cause);
        cairn_log(CAIRN_LOG_WARNING, "%s: %s for %llu of %llu addresses%s%s%s", path,
                  cairn_cause_text((enum cairn_cause)cause), n, (unsigned long long)known->n_unique,
                  what ? " (" : "", what ? what : "", what ? ")" : "");
    }
    if (may_be_another(known))
        cairn_log(CAIRN_LOG_WARNING,
                  "%s: was removed or replaced while the process ran, so %s may be another build "
                  "(%s)",
                  path, cairn_module_info(known->module)->path,
                  m->is_live ? "root can read the one that is mapped"
                             : "cairn resolve --build-ids FILE says which it was");
}

void cairn_modules_report(struct cairn_modules *m)
{
    size_t n_silent = 0;
    for (size_t i = 0; i < m->n; i++) {
        struct cairn_known_module *known = m->list[i];
        cairn_log(CAIRN_LOG_INFO, "%s: %llu addresses, %llu named", shown_path(known),
                  (unsigned long long)known->n_unique, (unsigned long long)known->n_unique_named);
        if (known->warned || !deserves_warning(known))
            continue;
        known->warned = true;
        if (m->n_warned++ < WARNED_MAX)
            warn(m, known);
        else
            n_silent++;
    }
    if (n_silent)
        cairn_log(CAIRN_LOG_WARNING, "addresses without a name in %zu further modules", n_silent);
}

/* By what samples weigh, where that is known; then by addresses. */
static int by_weight(const void *left, const void *right)
{
    const struct cairn_known_module *a = *(struct cairn_known_module *const *)left;
    const struct cairn_known_module *b = *(struct cairn_known_module *const *)right;
    uint64_t n = a->unique_by_cause[CAIRN_CAUSE_NO_SYMBOL];
    uint64_t m = b->unique_by_cause[CAIRN_CAUSE_NO_SYMBOL];
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return n != m ? (n > m ? -1 : 1) : strcmp(a->path, b->path);
}

static void say_stripped(const struct cairn_known_module *known,
                         const struct cairn_debug_source *source)
{
    static const char other[] = "give its unstripped or debug file with --symbols DIR";
    cairn_log(CAIRN_LOG_HINT, "%s: no symbol for %llu of %llu addresses (it is stripped; %s)",
              shown_path(known), (unsigned long long)known->unique_by_cause[CAIRN_CAUSE_NO_SYMBOL],
              (unsigned long long)known->n_unique, *source->text ? source->text : other);
}

/* A file that was not opened by its path may be a container's, and its path another's here. */
static struct cairn_debug_source source_of(const struct cairn_known_module *known)
{
    const struct cairn_module_info *info = cairn_module_info(known->module);
    bool is_sure = known->is_by_path && !known->deleted && !info->mismatch;
    return (struct cairn_debug_source){.file = is_sure ? info->path : "",
                                       .build_id = info->build_id};
}

/* A hint that is due. */
static bool is_untold(const struct cairn_known_module *known)
{
    return is_stripped(known) && !known->told_stripped;
}

bool cairn_modules_want_weights(const struct cairn_modules *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n && n < 2; i++)
        n += is_untold(m->list[i]);
    return n == 2 && cairn_log_wants(CAIRN_LOG_HINT);
}

static size_t take_stripped(struct cairn_modules *m, struct cairn_known_module **ret_stripped)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        if (is_untold(m->list[i])) {
            m->list[i]->told_stripped = true;
            ret_stripped[n++] = m->list[i];
        }
    return n;
}

/* In one line for all; with INFO one for each. */
static void say_rest(struct cairn_known_module *const *stripped, size_t n)
{
    unsigned long long rest = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned long long missed = stripped[i]->unique_by_cause[CAIRN_CAUSE_NO_SYMBOL];
        rest += missed;
        cairn_log(CAIRN_LOG_INFO, "%s: no symbol for %llu of %llu addresses (it is stripped)",
                  shown_path(stripped[i]), missed, (unsigned long long)stripped[i]->n_unique);
    }
    if (n)
        cairn_log(CAIRN_LOG_HINT,
                  "and %zu more stripped module%s: no symbol for %llu addresses (-v lists %s)", n,
                  n > 1 ? "s" : "", rest, n > 1 ? "them" : "it");
}

void cairn_modules_report_stripped(struct cairn_modules *m)
{
    struct cairn_debug_source sources[STRIPPED_MAX];
    struct cairn_known_module **stripped = cairn_alloc(m->n + 1, sizeof(void *));
    size_t n = stripped && cairn_log_wants(CAIRN_LOG_HINT) ? take_stripped(m, stripped) : 0;
    size_t shown = n < STRIPPED_MAX ? n : STRIPPED_MAX;
    if (!n) {
        cairn_free(stripped);
        return;
    }
    qsort(stripped, n, sizeof *stripped, by_weight);
    for (size_t i = 0; i < shown; i++)
        sources[i] = source_of(stripped[i]);
    cairn_debug_sources_find(m->root, sources, shown);
    for (size_t i = 0; i < shown; i++)
        say_stripped(stripped[i], &sources[i]);
    say_rest(stripped + shown, n - shown);
    cairn_free(stripped);
}
