/* SPDX-License-Identifier: MIT */
/* Compiles abbreviation tables: abbrev.h draws what comes out. */
#include "dwarf/abbrev.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "dwarf/constants.h"
#include "dwarf/forms.h"

enum {
    ABBREVS_MAX = 1 << 20,    /* in one table; big programs of today have some 2,000 */
    ATTRIBUTES_MAX = 1 << 12, /* of one abbreviation */
    USUAL_ABBREVS = 128,      /* of a unit in C; more are made room for */
    USUAL_STEPS = 256
};

#define BIT(want) (1u << (want))

static const uint32_t function_wants = BIT(CAIRN_DWARF_SIBLING) | BIT(CAIRN_DWARF_NAME) |
                                       BIT(CAIRN_DWARF_LINKAGE) | BIT(CAIRN_DWARF_LOW) |
                                       BIT(CAIRN_DWARF_HIGH) | BIT(CAIRN_DWARF_RANGES) |
                                       BIT(CAIRN_DWARF_ORIGIN) | BIT(CAIRN_DWARF_DECL_LINE) |
                                       BIT(CAIRN_DWARF_CALL_FILE) | BIT(CAIRN_DWARF_CALL_LINE);
static const uint32_t root_wants =
    BIT(CAIRN_DWARF_NAME) | BIT(CAIRN_DWARF_LOW) | BIT(CAIRN_DWARF_HIGH) | BIT(CAIRN_DWARF_RANGES) |
    BIT(CAIRN_DWARF_STMT_LIST) | BIT(CAIRN_DWARF_COMP_DIR) | BIT(CAIRN_DWARF_LANGUAGE) |
    BIT(CAIRN_DWARF_STR_BASE) | BIT(CAIRN_DWARF_ADDR_BASE) | BIT(CAIRN_DWARF_RNGLISTS_BASE) |
    BIT(CAIRN_DWARF_DWO_NAME) | BIT(CAIRN_DWARF_DWO_ID) | BIT(CAIRN_DWARF_RANGES_BASE);

/* What a DIE of this tag is to us, and which of its values are kept. */
static uint8_t kind_of(uint16_t tag, uint32_t *ret_wants)
{
    switch (tag) {
    case CAIRN_DW_TAG_SUBPROGRAM:
    case CAIRN_DW_TAG_INLINED_SUBROUTINE:
        *ret_wants = function_wants;
        return CAIRN_DWARF_FUNCTION;
    case CAIRN_DW_TAG_NAMESPACE:
    case CAIRN_DW_TAG_MODULE:
    case CAIRN_DW_TAG_CLASS_TYPE:
    case CAIRN_DW_TAG_STRUCTURE_TYPE:
    case CAIRN_DW_TAG_UNION_TYPE:
    case CAIRN_DW_TAG_INTERFACE_TYPE:
    case CAIRN_DW_TAG_ENUMERATION_TYPE:
        *ret_wants = BIT(CAIRN_DWARF_SIBLING) | BIT(CAIRN_DWARF_NAME) | BIT(CAIRN_DWARF_ORIGIN);
        return CAIRN_DWARF_SCOPE;
    case CAIRN_DW_TAG_ARRAY_TYPE:
    case CAIRN_DW_TAG_SUBROUTINE_TYPE:
    case CAIRN_DW_TAG_CALL_SITE:
    case CAIRN_DW_TAG_GNU_CALL_SITE:
    case CAIRN_DW_TAG_GNU_TEMPLATE_PARAMETER_PACK:
    case CAIRN_DW_TAG_GNU_FORMAL_PARAMETER_PACK:
        *ret_wants = BIT(CAIRN_DWARF_SIBLING);
        return CAIRN_DWARF_NO_CODE;
    case CAIRN_DW_TAG_COMPILE_UNIT:
    case CAIRN_DW_TAG_PARTIAL_UNIT:
    case CAIRN_DW_TAG_SKELETON_UNIT:
    case CAIRN_DW_TAG_TYPE_UNIT:
        *ret_wants = root_wants;
        return CAIRN_DWARF_OTHER;
    default:
        *ret_wants = 0;
        return CAIRN_DWARF_OTHER;
    }
}

static enum cairn_dwarf_want want_of(uint64_t attribute)
{
    switch (attribute) {
    case CAIRN_DW_AT_SIBLING:
        return CAIRN_DWARF_SIBLING;
    case CAIRN_DW_AT_NAME:
        return CAIRN_DWARF_NAME;
    case CAIRN_DW_AT_LINKAGE_NAME:
    case CAIRN_DW_AT_MIPS_LINKAGE_NAME:
        return CAIRN_DWARF_LINKAGE;
    case CAIRN_DW_AT_LOW_PC:
        return CAIRN_DWARF_LOW;
    case CAIRN_DW_AT_HIGH_PC:
        return CAIRN_DWARF_HIGH;
    case CAIRN_DW_AT_RANGES:
        return CAIRN_DWARF_RANGES;
    case CAIRN_DW_AT_ABSTRACT_ORIGIN:
    case CAIRN_DW_AT_SPECIFICATION:
    case CAIRN_DW_AT_SIGNATURE:
        return CAIRN_DWARF_ORIGIN;
    case CAIRN_DW_AT_DECL_LINE:
        return CAIRN_DWARF_DECL_LINE;
    case CAIRN_DW_AT_CALL_FILE:
        return CAIRN_DWARF_CALL_FILE;
    case CAIRN_DW_AT_CALL_LINE:
        return CAIRN_DWARF_CALL_LINE;
    case CAIRN_DW_AT_STMT_LIST:
        return CAIRN_DWARF_STMT_LIST;
    case CAIRN_DW_AT_COMP_DIR:
        return CAIRN_DWARF_COMP_DIR;
    case CAIRN_DW_AT_LANGUAGE:
        return CAIRN_DWARF_LANGUAGE;
    case CAIRN_DW_AT_STR_OFFSETS_BASE:
        return CAIRN_DWARF_STR_BASE;
    case CAIRN_DW_AT_ADDR_BASE:
    case CAIRN_DW_AT_GNU_ADDR_BASE:
        return CAIRN_DWARF_ADDR_BASE;
    case CAIRN_DW_AT_RNGLISTS_BASE:
        return CAIRN_DWARF_RNGLISTS_BASE;
    case CAIRN_DW_AT_DWO_NAME:
    case CAIRN_DW_AT_GNU_DWO_NAME:
        return CAIRN_DWARF_DWO_NAME;
    case CAIRN_DW_AT_GNU_DWO_ID:
        return CAIRN_DWARF_DWO_ID;
    case CAIRN_DW_AT_GNU_RANGES_BASE:
        return CAIRN_DWARF_RANGES_BASE;
    default:
        return CAIRN_DWARF_NOTHING;
    }
}

static int add_step(struct cairn_dwarf_abbrevs *t, struct cairn_dwarf_step step)
{
    if (cairn_grow((void **)&t->steps, &t->cap_steps, t->n_steps + 1, sizeof *t->steps) < 0)
        return CAIRN_E_NOMEM;
    t->steps[t->n_steps++] = step;
    return CAIRN_OK;
}

/* One attribute: a step of its own, or some more bytes of `*skip` for the next one. */
static int add_attribute(struct cairn_dwarf_abbrevs *t, struct cairn_dwarf_sizes sizes,
                         struct cairn_dwarf_step step, uint32_t *skip)
{
    int size = cairn_dwarf_form_size(step.form, sizes);
    if (step.want == CAIRN_DWARF_NOTHING && size >= 0 && *skip + (unsigned)size <= UINT16_MAX) {
        *skip += (unsigned)size;
        return CAIRN_OK;
    }
    step.skip = (uint16_t)*skip;
    *skip = 0;
    return add_step(t, step);
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

static int read_attributes(struct cairn_reader *r, struct cairn_dwarf_abbrevs *t,
                           struct cairn_dwarf_sizes sizes, uint32_t wants, uint32_t *ret_tail,
                           struct cairn_err *err)
{
    uint32_t skip = 0;
    for (unsigned n = 0;; n++) {
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
        enum cairn_dwarf_want want = wants ? want_of(attribute) : CAIRN_DWARF_NOTHING;
        if (want != CAIRN_DWARF_NOTHING && !(wants & BIT(want)))
            want = CAIRN_DWARF_NOTHING;
        struct cairn_dwarf_step step = {.form = (uint16_t)form, .want = want, .implicit = implicit};
        if (add_attribute(t, sizes, step, &skip) < 0)
            return cairn_fail_memory(err);
    }
    *ret_tail = skip;
    return CAIRN_OK;
}

static int read_abbrev(struct cairn_reader *r, uint64_t code, struct cairn_dwarf_abbrevs *t,
                       struct cairn_dwarf_sizes sizes, struct cairn_err *err)
{
    uint64_t tag = cairn_reader_uleb(r);
    struct cairn_dwarf_abbrev a = {
        .code = code,
        .tag = tag <= UINT16_MAX ? (uint16_t)tag : 0,
        .children = cairn_reader_u8(r) != 0,
        .first_step = (uint32_t)t->n_steps,
    };
    uint32_t wants;
    a.kind = kind_of(a.tag, &wants);
    int code_or_error = read_attributes(r, t, sizes, wants, &a.tail, err);
    if (code_or_error < 0)
        return code_or_error;
    a.n_steps = (uint32_t)t->n_steps - a.first_step;
    if (t->n >= ABBREVS_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, ".debug_abbrev: more than %d abbreviations",
                          ABBREVS_MAX);
    if (cairn_grow((void **)&t->abbrevs, &t->cap, t->n + 1, sizeof *t->abbrevs) < 0)
        return cairn_fail_memory(err);
    t->sequential &= code == t->n + 1;
    t->abbrevs[t->n++] = a;
    return CAIRN_OK;
}

static int index_codes(struct cairn_dwarf_abbrevs *t, struct cairn_err *err)
{
    for (size_t i = t->n; !t->sequential && i-- > 0;) /* backwards: the first of equal codes wins */
        if (cairn_table_set(&t->find, t->abbrevs[i].code, (uint32_t)i) < 0)
            return cairn_fail_memory(err);
    return CAIRN_OK;
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
                                 struct cairn_dwarf_abbrevs *one, uint64_t *ret_crossed,
                                 struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(d->abbrev, d->swap);
    cairn_reader_seek(&r, off);
    one->n = one->n_steps = 0;
    bool found = !r.failed && find_code(&r, code);
    *ret_crossed = r.pos - (off < r.pos ? off : r.pos);
    if (!found)
        return cairn_fail(err, CAIRN_E_FORMAT, ".debug_abbrev at 0x%llx: no code %llu",
                          (unsigned long long)off, (unsigned long long)code);
    if (cairn_grow((void **)&one->steps, &one->cap_steps, 1, sizeof *one->steps) < 0)
        return cairn_fail_memory(err);
    int result = read_abbrev(&r, code, one, sizes, err);
    if (result < 0)
        one->n = 0;
    return result;
}

static void free_abbrevs(struct cairn_dwarf_abbrevs **t)
{
    cairn_dwarf_abbrevs_free(*t);
}

int cairn_dwarf_abbrevs_read(const struct cairn_dwarf *d, uint64_t off,
                             struct cairn_dwarf_sizes sizes,
                             struct cairn_dwarf_abbrevs **ret_abbrevs, struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(d->abbrev, d->swap);
    cairn_reader_seek(&r, off);
    if (r.failed)
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "abbreviations at 0x%llx, past the end of .debug_abbrev (0x%zx)",
                          (unsigned long long)off, d->abbrev.size);
    CAIRN_AUTO(free_abbrevs) struct cairn_dwarf_abbrevs *t = cairn_alloc(1, sizeof *t);
    if (!t)
        return cairn_fail_memory(err);
    t->sequential = true;
    if (cairn_grow((void **)&t->abbrevs, &t->cap, USUAL_ABBREVS, sizeof *t->abbrevs) < 0 ||
        cairn_grow((void **)&t->steps, &t->cap_steps, USUAL_STEPS, sizeof *t->steps) < 0)
        return cairn_fail_memory(err); /* never NULL, so that a first step can be pointed to */
    for (uint64_t code; (code = cairn_reader_uleb(&r)) != 0;) {
        int failure = read_abbrev(&r, code, t, sizes, err);
        if (failure < 0)
            return failure;
    }
    if (r.failed)
        return cairn_fail(err, CAIRN_E_FORMAT, ".debug_abbrev at 0x%llx: table has no end",
                          (unsigned long long)off);
    int failure = index_codes(t, err);
    if (failure < 0)
        return failure;
    *ret_abbrevs = CAIRN_TAKE(t);
    return CAIRN_OK;
}

void cairn_dwarf_abbrevs_done(struct cairn_dwarf_abbrevs *t)
{
    cairn_free(t->abbrevs);
    cairn_free(t->steps);
    cairn_table_done(&t->find);
    *t = (struct cairn_dwarf_abbrevs){0};
}

void cairn_dwarf_abbrevs_free(struct cairn_dwarf_abbrevs *t)
{
    if (!t)
        return;
    cairn_dwarf_abbrevs_done(t);
    cairn_free(t);
}

const struct cairn_dwarf_abbrev *
cairn_dwarf_abbrevs_search(const struct cairn_dwarf_abbrevs *abbrevs, uint64_t code)
{
    uint32_t index;
    return cairn_table_find(&abbrevs->find, code, &index) ? &abbrevs->abbrevs[index] : NULL;
}
