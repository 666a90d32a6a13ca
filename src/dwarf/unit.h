/* SPDX-License-Identifier: MIT */
/*
 * Units of .debug_info (DWARF 5, 7.5.1). A header is read when someone needs the unit, the root DIE
 * and the abbreviations when it is first opened: of a file with thousands of units an address needs
 * one or two.
 *
 *     .debug_info:  | header | root DIE | children ...        | header | root DIE | ...
 *                   ^ off    ^ dies                           ^ end
 */
#ifndef CAIRN_DWARF_UNIT_H
#define CAIRN_DWARF_UNIT_H

#include "base/arena.h"
#include "dwarf/forms.h"
#include "dwarf/ranges.h"

enum cairn_dwarf_unit_state {
    CAIRN_DWARF_UNIT_CLOSED,
    CAIRN_DWARF_UNIT_OPEN,
    CAIRN_DWARF_UNIT_DAMAGED /* said once; the unit is as good as absent */
};

struct cairn_dwarf_unit {
    uint64_t off, end; /* in .debug_info, header included */
    uint64_t dies;     /* of the root DIE */
    uint64_t abbrev_off;
    uint32_t number; /* counted as units become known: for whoever keeps something for each */
    struct cairn_dwarf_sizes sizes;
    uint8_t type; /* enum cairn_dw_ut */
    uint8_t state;
    bool is_placed;     /* in a .dwp: the three starts are known (and `abbrev_off` counts them) */
    uint64_t signature; /* of a type; or the ID of a skeleton and its .dwo, which version 4 has in
                           the root DIE */
    uint64_t type_off;  /* of a type unit: its type, counted from `off` */
    uint64_t str_start, ranges_start; /* where the unit's part of a shared section begins */

    /* Known once open: */
    bool is_c;        /* plain C: a function's name is its linkage name, nothing is qualified */
    bool is_c_family; /* C or C++: types outside functions hold no code */
    bool is_assembler;
    bool is_split; /* a skeleton: functions and inline frames are in a .dwo file */
    bool has_language;
    bool has_low;
    const struct cairn_dwarf_abbrevs *abbrevs;
    uint64_t line_off;  /* in .debug_line; UINT64_MAX: none */
    uint64_t low_vaddr; /* what range lists count from */
    uint64_t str_base, addr_base, rnglists_base;
    uint64_t high; /* of the root DIE, as it stands there */
    uint64_t ranges;
    uint16_t high_form, ranges_form; /* 0: absent */
    const char *comp_dir, *name;     /* NULL: unknown */
    const char *dwo_name;            /* of a skeleton; NULL: unknown */
    uint64_t split_ranges;           /* of a skeleton in version 4: `ranges_start` for its .dwo */
    const struct cairn_dwarf_unit *skeleton; /* of a unit in a .dwo; NULL: not known yet */
};

struct cairn_dwarf_package;
struct cairn_dwarf_die;

struct cairn_dwarf_units {
    const struct cairn_dwarf *d;

    /* Where references to elsewhere lead; NULL: nowhere. Set after cairn_dwarf_units_init(), all
     * borrowed. */
    struct cairn_dwarf_units *types; /* .debug_types of the same file; NULL: types are here */
    struct cairn_dwarf_units *alt;   /* the supplementary file (dwz -m) */
    const struct cairn_dwarf_package *package; /* the indexes of the .dwp that this is in */

    uint32_t number;                 /* among the files of one module; 0: its own */
    struct cairn_arena memory;       /* what `units` points to: a unit never moves */
    struct cairn_dwarf_unit **units; /* those known, by number */
    size_t n, cap;
    struct cairn_dwarf_unit **sorted; /* the same by offset, for cairn_dwarf_units_find */
    size_t n_sorted, cap_sorted;
    struct cairn_table number_of; /* offset of a header -> number */
    bool complete;                /* all are known that can be */
    bool out_of_memory;           /* cairn_dwarf_units_at or _find could not remember a unit */
    bool told_end, told_odd, told_roots;
    bool has_signatures;
    struct cairn_table by_signature; /* -> number; of type units, and in a .dwo of the others */

    struct cairn_dwarf_abbrevs **tables; /* shared by units that point to the same */
    size_t n_tables, cap_tables;
    struct cairn_dwarf_abbrev_maker maker; /* what they were made in */
    struct cairn_table table_of;           /* offset and sizes -> index in tables */
    uint64_t abbrev_bytes;                 /* that all tables were read from, at least */
};

/* Knows no unit yet, reads nothing; `d` is borrowed until cairn_dwarf_units_done(). CAIRN_E_LIMIT:
 * .debug_info above 4 GiB. */
int cairn_dwarf_units_init(struct cairn_dwarf_units *ret_units, const struct cairn_dwarf *d,
                           struct cairn_err *err);
void cairn_dwarf_units_done(struct cairn_dwarf_units *units);

/* The unit whose header is at this offset, as .debug_aranges says it; where nobody vouches for the
 * offset, cairn_dwarf_units_find() is the one to ask. NULL: no header is there, or memory is gone
 * (cairn_dwarf_units_failed). Not opened yet, and it may be damaged. */
struct cairn_dwarf_unit *cairn_dwarf_units_at(struct cairn_dwarf_units *units, uint64_t header_off);

/* Reads the header at `off` without knowing the unit from then on: for walks over all. Says once
 * what is wrong with it; false where it cannot be crossed. */
bool cairn_dwarf_units_see(struct cairn_dwarf_units *units, uint64_t off,
                           struct cairn_dwarf_unit *ret_unit);

/* The unit that holds this offset of .debug_info, or NULL. Not opened yet. Crosses the units from
 * the nearest known one on; one that cannot be crossed ends the way, with one warning. */
struct cairn_dwarf_unit *cairn_dwarf_units_find(struct cairn_dwarf_units *units, uint64_t off);

/*
 * Reads the headers of all units up to the first that cannot be crossed, which gets a warning.
 * `sorted` then lists them in the order of .debug_info. After this and once every unit was opened,
 * nothing here changes any more: threads may share it. CAIRN_E_NOMEM.
 */
int cairn_dwarf_units_read_all(struct cairn_dwarf_units *units, struct cairn_err *err);

/* CAIRN_E_NOMEM where cairn_dwarf_units_at() or _find() since the last call gave NULL for lack of
 * memory. */
int cairn_dwarf_units_failed(struct cairn_dwarf_units *units, struct cairn_err *err);

/* Reads abbreviations and root DIE. CAIRN_E_FORMAT or CAIRN_E_LIMIT: damaged, said in `err` the
 * first time and CAIRN_E_MISSING later. CAIRN_E_NOMEM. */
int cairn_dwarf_unit_open(struct cairn_dwarf_units *units, struct cairn_dwarf_unit *unit,
                          struct cairn_err *err);

/* The header at `off`. False where its length makes no sense; of an unknown version the unit is
 * damaged from the start. */
bool cairn_dwarf_unit_read_header(const struct cairn_dwarf *d, uint64_t off,
                                  struct cairn_dwarf_unit *ret_unit);

/* Compiles the unit's abbreviations, or takes the table of another unit that has the same. Errors
 * of cairn_dwarf_abbrevs_read(), and CAIRN_E_LIMIT where tables overlap on purpose. */
int cairn_dwarf_unit_read_abbrevs(struct cairn_dwarf_units *units, struct cairn_dwarf_unit *unit,
                                  struct cairn_err *err);

/* What an open unit knows of its root DIE, but for texts. */
void cairn_dwarf_unit_note_numbers(const struct cairn_dwarf *d, struct cairn_dwarf_unit *unit,
                                   const struct cairn_dwarf_die *root);

/* The ranges that the root DIE claims, appended. CAIRN_E_FORMAT, CAIRN_E_NOMEM. */
int cairn_dwarf_unit_ranges(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                            struct cairn_dwarf_ranges *ranges, struct cairn_err *err);

/* A DIE, crossed once. Values that its abbreviation does not have are not touched: look at
 * `present` first. */
struct cairn_dwarf_die {
    uint64_t off;
    const struct cairn_dwarf_abbrev *abbrev; /* NULL: the end of a list of children */
    uint32_t present;                        /* bits by enum cairn_dwarf_want */
    uint16_t form[CAIRN_DWARF_N_WANTS];
    uint64_t value[CAIRN_DWARF_N_WANTS];
};

static inline bool cairn_dwarf_die_has(const struct cairn_dwarf_die *die,
                                       enum cairn_dwarf_want want)
{
    return die->present >> want & 1;
}

/* A cursor over the unit's DIEs, at `off` of .debug_info. */
struct cairn_reader cairn_dwarf_unit_reader(const struct cairn_dwarf *d,
                                            const struct cairn_dwarf_unit *unit, uint64_t off);

/* Reads the code of the next DIE and sets `die->abbrev`; its values follow. False: damaged. */
static inline bool cairn_dwarf_die_begin(struct cairn_reader *r,
                                         const struct cairn_dwarf_unit *unit,
                                         struct cairn_dwarf_die *die)
{
    die->off = r->pos;
    die->abbrev = NULL;
    uint64_t code = cairn_reader_uleb(r);
    if (code)
        die->abbrev = cairn_dwarf_abbrevs_find(unit->abbrevs, code);
    return !r->failed && (die->abbrev || !code);
}

/* The raw value of a step; `*form` as cairn_dwarf_form_read() has it. */
static inline uint64_t cairn_dwarf_step_read(struct cairn_reader *r,
                                             const struct cairn_dwarf_unit *unit,
                                             const struct cairn_dwarf_step *step, uint16_t *form)
{
    switch (step->shape) { /* without a look at the form, most values are read */
    case 1:
        return cairn_reader_u8(r);
    case 2:
        return cairn_reader_u16(r);
    case 4:
        return cairn_reader_u32(r);
    case 8:
        return cairn_reader_u64(r);
    default:
        return cairn_dwarf_form_read(r, form, unit->abbrevs->implicit[step->implicit], unit->sizes);
    }
}

/* Crosses the values of the DIE that was begun and keeps the wanted ones. */
static inline void cairn_dwarf_die_values(struct cairn_reader *r,
                                          const struct cairn_dwarf_unit *unit,
                                          struct cairn_dwarf_die *die)
{
    const struct cairn_dwarf_abbrev *a = die->abbrev;
    const struct cairn_dwarf_step *step = unit->abbrevs->steps + a->first_step;
    die->present = 0;
    for (uint32_t i = 0; i < a->n_steps; i++, step++) {
        cairn_reader_skip(r, step->skip);
        uint16_t form = step->form;
        uint64_t value = cairn_dwarf_step_read(r, unit, step, &form);
        if (step->want == CAIRN_DWARF_NOTHING)
            continue;
        die->present |= 1u << step->want;
        die->form[step->want] = form;
        die->value[step->want] = value;
    }
    cairn_reader_skip(r, a->tail);
}

/* Crosses the values of the DIE that was begun and keeps none. */
static inline void cairn_dwarf_die_cross(struct cairn_reader *r,
                                         const struct cairn_dwarf_unit *unit,
                                         const struct cairn_dwarf_die *die)
{
    const struct cairn_dwarf_abbrev *a = die->abbrev;
    const struct cairn_dwarf_step *step = unit->abbrevs->steps + a->first_step;
    for (uint32_t i = 0; i < a->n_steps; i++, step++) {
        cairn_reader_skip(r, step->skip);
        uint16_t form = step->form;
        (void)cairn_dwarf_form_read(r, &form, 0, unit->sizes);
    }
    cairn_reader_skip(r, a->tail);
}

/* The one DIE at `off`, values and all. False where there is none. */
bool cairn_dwarf_die_at(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                        uint64_t off, struct cairn_dwarf_die *ret_die);

/* Where a DIE's sibling begins, and that this is ahead of `pos` and inside the unit. */
static inline bool cairn_dwarf_die_sibling(const struct cairn_dwarf_unit *unit,
                                           const struct cairn_dwarf_die *die, uint64_t pos,
                                           uint64_t *ret_off)
{
    return cairn_dwarf_die_has(die, CAIRN_DWARF_SIBLING) &&
           cairn_dwarf_reference(unit, die->form[CAIRN_DWARF_SIBLING],
                                 die->value[CAIRN_DWARF_SIBLING], ret_off) &&
           *ret_off >= pos && *ret_off < unit->end;
}

/* A string value of the DIE, or NULL. */
static inline const char *cairn_dwarf_die_string(const struct cairn_dwarf *d,
                                                 const struct cairn_dwarf_unit *unit,
                                                 const struct cairn_dwarf_die *die,
                                                 enum cairn_dwarf_want want)
{
    return cairn_dwarf_die_has(die, want)
               ? cairn_dwarf_string(d, unit, d->info, die->form[want], die->value[want])
               : NULL;
}

#endif /* CAIRN_DWARF_UNIT_H */
