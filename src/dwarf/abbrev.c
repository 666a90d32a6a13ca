/* SPDX-License-Identifier: MIT */
/* Compiles abbreviation tables: abbrev.h draws what comes out. */
#include "dwarf/abbrev.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "dwarf/abbrev_wants.h"
#include "dwarf/constants.h"
#include "dwarf/forms.h"

enum {
    ABBREVS_MAX = 1 << 20,    /* in one table; big programs of today have some 2,000 */
    ATTRIBUTES_MAX = 1 << 12, /* of one abbreviation */
    USUAL_ABBREVS = 128,      /* of a unit in C; more are made room for */
    USUAL_STEPS = 256
};

static int add_step(struct cairn_dwarf_abbrev_maker *m, struct cairn_dwarf_step step,
                    int64_t implicit)
{
    struct cairn_dwarf_abbrevs *t = &m->made;
    if (cairn_grow((void **)&t->steps, &m->cap_steps, t->n_steps + 1, sizeof *t->steps) < 0)
        return CAIRN_E_NOMEM;
    if (implicit) {
        if (cairn_grow((void **)&t->implicit, &m->cap_implicit, t->n_implicit + 1,
                       sizeof *t->implicit) < 0)
            return CAIRN_E_NOMEM;
        step.implicit = (uint32_t)t->n_implicit;
        t->implicit[t->n_implicit++] = implicit;
    }
    t->steps[t->n_steps++] = step;
    return CAIRN_OK;
}

static uint8_t varying_shape(uint16_t form)
{
    switch (form) {
    case CAIRN_DW_FORM_UDATA:
    case CAIRN_DW_FORM_SDATA:
    case CAIRN_DW_FORM_REF_UDATA:
    case CAIRN_DW_FORM_STRX:
    case CAIRN_DW_FORM_ADDRX:
    case CAIRN_DW_FORM_LOCLISTX:
    case CAIRN_DW_FORM_RNGLISTX:
        return CAIRN_DWARF_SHAPE_LEB;
    case CAIRN_DW_FORM_STRING:
        return CAIRN_DWARF_SHAPE_STRING;
    case CAIRN_DW_FORM_BLOCK:
    case CAIRN_DW_FORM_EXPRLOC:
        return CAIRN_DWARF_SHAPE_BLOCK;
    default:
        return CAIRN_DWARF_SHAPE_RARE;
    }
}

/* One attribute: a step of its own, or some more bytes of `*skip` for the next one. */
static int add_attribute(struct cairn_dwarf_abbrev_maker *m, struct cairn_dwarf_step step,
                         int64_t implicit, uint32_t *skip)
{
    int size = cairn_dwarf_form_size(step.form, m->sizes);
    if (step.want == CAIRN_DWARF_NOTHING && size >= 0 && *skip + (unsigned)size <= UINT16_MAX) {
        *skip += (unsigned)size;
        return CAIRN_OK;
    }
    step.shape = size >= 0 ? (uint8_t)size : varying_shape(step.form);
    step.skip = (uint16_t)*skip;
    *skip = 0;
    return add_step(m, step, step.want == CAIRN_DWARF_NOTHING ? 0 : implicit);
}

/* Crosses pairs that mean a number of bytes and nothing else, and counts them and their bytes: most
 * do, and have a byte for the attribute and one for the form. */
static unsigned melt_pairs(const struct cairn_dwarf_abbrev_maker *m, struct cairn_reader *r,
                           uint32_t wants, unsigned most, uint32_t *skip)
{
    const uint8_t *start = r->bytes.data + r->pos, *at = start;
    size_t left = cairn_reader_left(r) / 2;
    const uint8_t *end = at + 2 * (left < most ? left : most);
    uint32_t bytes = *skip;
    for (; at < end; at += 2) {
        unsigned attribute = at[0], form = at[1];
        if ((attribute | form) & 0x80)
            break;
        unsigned size = m->form_bytes[form];
        bool wanted = wants && (attribute == CAIRN_DW_AT_SIBLING ||
                                (cairn_dwarf_standard_wants[attribute] &&
                                 wants >> cairn_dwarf_standard_wants[attribute] & 1));
        if (wanted || size == UINT8_MAX || bytes + size > UINT16_MAX)
            break;
        bytes += size;
    }
    r->pos += (size_t)(at - start);
    *skip = bytes;
    return (unsigned)((at - start) / 2);
}

/* An attribute and its form: mostly a byte each. */
static void read_pair(struct cairn_reader *r, uint64_t *ret_attribute, uint64_t *ret_form)
{
    const uint8_t *bytes = r->bytes.data;
    size_t at = r->pos;
    if (r->bytes.size - at >= 2 && !((bytes[at] | bytes[at + 1]) & 0x80)) {
        *ret_attribute = bytes[at];
        *ret_form = bytes[at + 1];
        r->pos = at + 2;
        return;
    }
    *ret_attribute = cairn_reader_uleb(r);
    *ret_form = cairn_reader_uleb(r);
}

static int read_attributes(struct cairn_reader *r, struct cairn_dwarf_abbrev_maker *m,
                           uint32_t wants, uint16_t *ret_tail, struct cairn_err *err)
{
    uint32_t skip = 0;
    for (unsigned n = 0;; n++) {
        n += melt_pairs(m, r, wants, ATTRIBUTES_MAX - n, &skip);
        uint64_t at = r->pos, attribute, form;
        read_pair(r, &attribute, &form);
        int64_t implicit = form == CAIRN_DW_FORM_IMPLICIT_CONST ? cairn_reader_sleb(r) : 0;
        if (r->failed)
            return cairn_fail(err, CAIRN_E_FORMAT, ".debug_abbrev at 0x%llx: cut off",
                              (unsigned long long)at);
        if (!attribute && !form)
            break;
        if (n >= ATTRIBUTES_MAX)
            return cairn_fail(err, CAIRN_E_LIMIT,
                              ".debug_abbrev at 0x%llx: more than %d attributes in one "
                              "abbreviation",
                              (unsigned long long)at, ATTRIBUTES_MAX);
        if (form > UINT16_MAX)
            return cairn_fail(err, CAIRN_E_FORMAT, ".debug_abbrev at 0x%llx: form 0x%llx, unknown",
                              (unsigned long long)at, (unsigned long long)form);
        uint8_t want = wants ? cairn_dwarf_want_of(attribute) : CAIRN_DWARF_NOTHING;
        if (want != CAIRN_DWARF_NOTHING && !(wants >> want & 1))
            want = CAIRN_DWARF_NOTHING;
        struct cairn_dwarf_step step = {.form = (uint16_t)form, .want = want};
        if (add_attribute(m, step, implicit, &skip) < 0)
            return cairn_fail_memory(err);
    }
    *ret_tail = (uint16_t)skip;
    return CAIRN_OK;
}

static int read_abbrev(struct cairn_reader *r, uint64_t code, struct cairn_dwarf_abbrev_maker *m,
                       struct cairn_err *err)
{
    struct cairn_dwarf_abbrevs *t = &m->made;
    uint64_t tag = cairn_reader_uleb(r);
    struct cairn_dwarf_abbrev a = {
        .tag = tag <= UINT16_MAX ? (uint16_t)tag : 0,
        .children = cairn_reader_u8(r) != 0,
        .first_step = (uint32_t)t->n_steps,
    };
    uint32_t wants;
    a.kind = cairn_dwarf_kind_of(a.tag, &wants);
    int code_or_error = read_attributes(r, m, wants, &a.tail, err);
    if (code_or_error < 0)
        return code_or_error;
    a.n_steps = (uint16_t)(t->n_steps - a.first_step);
    if (t->n >= ABBREVS_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, ".debug_abbrev: more than %d abbreviations",
                          ABBREVS_MAX);
    if (cairn_grow((void **)&t->abbrevs, &m->cap, t->n + 1, sizeof *t->abbrevs) < 0 ||
        cairn_grow((void **)&m->codes, &m->cap_codes, t->n + 1, sizeof *m->codes) < 0)
        return cairn_fail_memory(err);
    t->sequential &= code == t->n + 1;
    m->codes[t->n] = code;
    t->abbrevs[t->n++] = a;
    return CAIRN_OK;
}

/* Nothing is made yet. */
static int begin(struct cairn_dwarf_abbrev_maker *m, struct cairn_dwarf_sizes sizes,
                 struct cairn_err *err)
{
    struct cairn_dwarf_abbrevs *t = &m->made;
    t->n = t->n_steps = 0;
    t->sequential = true;
    if (cairn_grow((void **)&t->abbrevs, &m->cap, USUAL_ABBREVS, sizeof *t->abbrevs) < 0 ||
        cairn_grow((void **)&t->steps, &m->cap_steps, USUAL_STEPS, sizeof *t->steps) < 0 ||
        cairn_grow((void **)&t->implicit, &m->cap_implicit, 1, sizeof *t->implicit) < 0)
        return cairn_fail_memory(err);
    t->implicit[0] = 0;
    t->n_implicit = 1;
    bool same = m->sizes.version == sizes.version && m->sizes.offset_size == sizes.offset_size &&
                m->sizes.address_size == sizes.address_size;
    m->sizes = sizes;
    for (unsigned form = 0; !same && form < sizeof m->form_bytes; form++) {
        int size = cairn_dwarf_form_size(form, sizes);
        bool plain = size >= 0 && form != CAIRN_DW_FORM_IMPLICIT_CONST;
        m->form_bytes[form] = plain ? (uint8_t)size : UINT8_MAX;
    }
    return CAIRN_OK;
}

static int index_codes(const struct cairn_dwarf_abbrev_maker *m, struct cairn_dwarf_abbrevs *t,
                       struct cairn_err *err)
{
    for (size_t i = t->n; !t->sequential && i-- > 0;) /* backwards: the first of equal codes wins */
        if (cairn_table_set(&t->find, m->codes[i], (uint32_t)i) < 0)
            return cairn_fail_memory(err);
    return CAIRN_OK;
}

/* A copy in one piece; those that need the most alignment come first. NULL: memory is gone. */
static struct cairn_dwarf_abbrevs *pack(const struct cairn_dwarf_abbrevs *made)
{
    size_t implicit_bytes = made->n_implicit * sizeof *made->implicit;
    size_t steps_bytes = made->n_steps * sizeof *made->steps;
    size_t abbrevs_bytes = made->n * sizeof *made->abbrevs;
    struct cairn_dwarf_abbrevs *t =
        cairn_realloc(NULL, sizeof *t + implicit_bytes + steps_bytes + abbrevs_bytes, 1);
    if (!t)
        return NULL;
    *t = *made;
    t->find = (struct cairn_table){0};
    uint8_t *at = (uint8_t *)(t + 1);
    t->implicit = memcpy(at, made->implicit, implicit_bytes);
    at += implicit_bytes;
    t->steps = memcpy(at, made->steps, steps_bytes);
    at += steps_bytes;
    t->abbrevs = memcpy(at, made->abbrevs, abbrevs_bytes);
    return t;
}

/* Crosses the attributes of an abbreviation that nobody asked for. A byte is mostly a whole number
 * here, and tables are megabytes: this loop is a third of a walk over the roots of all units. */
static void cross_attributes(struct cairn_reader *r)
{
    const uint8_t *bytes = r->bytes.data;
    uint64_t attribute, form;
    do {
        size_t at = r->pos, size = r->bytes.size;
        for (; size - at >= 2; at += 2) {
            attribute = bytes[at];
            form = bytes[at + 1];
            if (((attribute | form) & 0x80) || form == CAIRN_DW_FORM_IMPLICIT_CONST ||
                !(attribute | form))
                break;
        }
        r->pos = at;
        attribute = cairn_reader_uleb(r);
        form = cairn_reader_uleb(r);
        if (form == CAIRN_DW_FORM_IMPLICIT_CONST)
            (void)cairn_reader_sleb(r);
    } while (!r->failed && (attribute || form));
}

/* Moves behind the code that is asked for. */
static bool find_code(struct cairn_reader *r, uint64_t wanted)
{
    for (uint64_t code; (code = cairn_reader_uleb(r)) != 0;) {
        if (code == wanted)
            return true;
        (void)cairn_reader_uleb(r); /* the tag */
        cairn_reader_skip(r, 1);
        cross_attributes(r);
    }
    return false;
}

int cairn_dwarf_abbrevs_read_one(const struct cairn_dwarf *d, uint64_t off,
                                 struct cairn_dwarf_sizes sizes, uint64_t code,
                                 struct cairn_dwarf_abbrev_maker *maker, uint64_t *ret_crossed,
                                 struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(d->abbrev, d->swap);
    cairn_reader_seek(&r, off);
    bool found = !r.failed && find_code(&r, code);
    *ret_crossed = r.pos - (off < r.pos ? off : r.pos);
    maker->made.n = 0;
    if (!found)
        return cairn_fail(err, CAIRN_E_FORMAT, ".debug_abbrev at 0x%llx: no code %llu",
                          (unsigned long long)off, (unsigned long long)code);
    int result = begin(maker, sizes, err);
    return result < 0 ? result : read_abbrev(&r, code, maker, err);
}

static void free_abbrevs(struct cairn_dwarf_abbrevs **t)
{
    cairn_dwarf_abbrevs_free(*t);
}

int cairn_dwarf_abbrevs_read(const struct cairn_dwarf *d, uint64_t off,
                             struct cairn_dwarf_sizes sizes, struct cairn_dwarf_abbrev_maker *maker,
                             struct cairn_dwarf_abbrevs **ret_abbrevs, struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(d->abbrev, d->swap);
    cairn_reader_seek(&r, off);
    if (r.failed)
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "abbreviations at 0x%llx, past the end of .debug_abbrev (0x%zx)",
                          (unsigned long long)off, d->abbrev.size);
    int code_or_error = begin(maker, sizes, err);
    for (uint64_t code; code_or_error == CAIRN_OK && (code = cairn_reader_uleb(&r)) != 0;)
        code_or_error = read_abbrev(&r, code, maker, err);
    if (code_or_error < 0)
        return code_or_error;
    if (r.failed)
        return cairn_fail(err, CAIRN_E_FORMAT, ".debug_abbrev at 0x%llx: table has no end",
                          (unsigned long long)off);
    CAIRN_AUTO(free_abbrevs) struct cairn_dwarf_abbrevs *t = pack(&maker->made);
    if (!t)
        return cairn_fail_memory(err);
    code_or_error = index_codes(maker, t, err);
    if (code_or_error == CAIRN_OK)
        *ret_abbrevs = CAIRN_TAKE(t);
    return code_or_error;
}

void cairn_dwarf_abbrev_maker_done(struct cairn_dwarf_abbrev_maker *maker)
{
    cairn_free(maker->made.abbrevs);
    cairn_free(maker->made.steps);
    cairn_free(maker->made.implicit);
    cairn_free(maker->codes);
    *maker = (struct cairn_dwarf_abbrev_maker){0};
}

void cairn_dwarf_abbrevs_free(struct cairn_dwarf_abbrevs *t)
{
    if (!t)
        return;
    cairn_table_done(&t->find);
    cairn_free(t);
}

const struct cairn_dwarf_abbrev *
cairn_dwarf_abbrevs_search(const struct cairn_dwarf_abbrevs *abbrevs, uint64_t code)
{
    uint32_t index;
    return cairn_table_find(&abbrevs->find, code, &index) ? &abbrevs->abbrevs[index] : NULL;
}
