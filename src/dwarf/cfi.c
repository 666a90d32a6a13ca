/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "dwarf/cfi.h"

#include "base/reader.h"
#include "dwarf/cfi_pointer.h"

/* Whole CIEs of compilers have up to 40 bytes. All FDEs of a section may name one CIE, so that its
 * size times their number is what a hostile section can cost. */
enum { MAX_LETTERS = 16, MAX_CIE_PROGRAM = 1024 };

/* An entry of the section, before it is known what it says. */
struct entry {
    struct cairn_reader r; /* over the section up to the entry's end; at what follows the id */
    uint64_t cie_off;      /* of an FDE */
    bool is_cie;
};

const char *cairn_cfi_damage_text(enum cairn_cfi_damage damage)
{
    switch (damage) {
    case CAIRN_CFI_SOUND:
        return "sound";
    case CAIRN_CFI_CUT:
        return "cut short";
    case CAIRN_CFI_NO_CIE:
        return "no CIE where the FDE says";
    case CAIRN_CFI_VERSION:
        return "CIE of a version other than 1, 3 and 4";
    case CAIRN_CFI_EH_DATA:
        return "augmentation \"eh\" of GCC 2";
    case CAIRN_CFI_AUGMENTATION:
        return "unknown augmentation";
    case CAIRN_CFI_ENCODING:
        return "unknown encoding of a pointer";
    case CAIRN_CFI_INDIRECT:
        return "pointer that lies in the program's memory";
    case CAIRN_CFI_ADDRESS_SIZE:
        return "addresses of neither 2, 4 nor 8 bytes";
    case CAIRN_CFI_RANGE:
        return "function that ends beyond the address space";
    case CAIRN_CFI_LIMIT:
        return "CIE with a program of more than 1024 bytes";
    }
    return "?";
}

static struct cairn_cfi_bases bases_of(const struct cairn_cfi *cfi, const struct cairn_cie *cie)
{
    return (struct cairn_cfi_bases){cfi->vaddr, cfi->text_vaddr, cfi->data_vaddr,
                                    cie->address_size};
}

/* Where the entry at `off` ends and its contents begin; false where the section does. In .eh_frame
 * a length of 0 ends the section (in memory, something else follows); in .debug_frame it is
 * padding. */
static inline __attribute__((always_inline)) bool read_length(const struct cairn_cfi *cfi,
                                                              uint64_t *off,
                                                              struct cairn_reader *ret_r,
                                                              bool *ret_dwarf64)
{
    struct cairn_reader r = cairn_reader_of(cfi->bytes, cfi->swap);
    uint64_t size;
    cairn_reader_seek(&r, *off);
    do {
        *off = r.pos;
        size = cairn_reader_u32(&r);
        if (r.failed || (!size && !cfi->debug_frame))
            return false;
    } while (!size);
    *ret_dwarf64 = size == UINT32_MAX;
    if (*ret_dwarf64)
        size = cairn_reader_u64(&r);
    if (r.failed)
        return false;
    if (size > cairn_reader_left(&r)) {
        r.failed = true;
        size = cairn_reader_left(&r);
    }
    r.bytes.size = r.pos + (size_t)size;
    *ret_r = r;
    return true;
}

/* The id says whether it is a CIE, or where an FDE's CIE lies: in .debug_frame by its offset, in
 * .eh_frame by the distance back from the id itself, which has 4 bytes in either format there. */
static inline __attribute__((always_inline)) enum cairn_cfi_damage
read_id(const struct cairn_cfi *cfi, struct entry *e, bool dwarf64)
{
    uint64_t at = e->r.pos;
    if (e->r.failed)
        return CAIRN_CFI_CUT;
    if (cfi->debug_frame) {
        uint64_t id = dwarf64 ? cairn_reader_u64(&e->r) : cairn_reader_u32(&e->r);
        e->is_cie = id == (dwarf64 ? UINT64_MAX : UINT32_MAX);
        e->cie_off = id;
    } else {
        uint32_t id = cairn_reader_u32(&e->r);
        e->is_cie = !id;
        e->cie_off = at - (uint64_t)(int32_t)id;
    }
    return e->r.failed ? CAIRN_CFI_CUT : CAIRN_CFI_SOUND;
}

/* The pointer to the personality routine: only its size matters, so it may be indirect. */
static enum cairn_cfi_damage skip_personality(struct cairn_reader *r,
                                              const struct cairn_cfi_bases *bases)
{
    uint8_t encoding = cairn_reader_u8(r);
    uint64_t value;
    if (encoding == CAIRN_DW_EH_PE_OMIT)
        return CAIRN_CFI_SOUND;
    if ((encoding & CAIRN_DW_EH_PE_BASE) == CAIRN_DW_EH_PE_ALIGNED)
        cairn_reader_skip(r, -(bases->vaddr + r->pos) & (bases->address_size - 1u));
    return cairn_cfi_read_number(r, encoding, bases->address_size, &value);
}

static enum cairn_cfi_damage read_augmentation(const char *letters, struct cairn_reader *r,
                                               const struct cairn_cfi_bases *bases,
                                               struct cairn_cie *cie)
{
    enum cairn_cfi_damage damage = CAIRN_CFI_SOUND;
    for (; *letters && !damage; letters++) {
        switch (*letters) {
        case 'R':
            cie->pointer_encoding = cairn_reader_u8(r);
            break;
        case 'P':
            damage = skip_personality(r, bases);
            break;
        case 'L':
            cie->lsda_encoding = cairn_reader_u8(r);
            break;
        case 'S':
            cie->is_signal_frame = true;
            break;
        case 'B':
            cie->b_key = true;
            break;
        case 'G': /* aarch64: the frame's memory is tagged */
            break;
        default:
            damage = CAIRN_CFI_AUGMENTATION;
        }
    }
    return damage ? damage : r->failed ? CAIRN_CFI_CUT : CAIRN_CFI_SOUND;
}

static enum cairn_cfi_damage read_sizes(const struct cairn_cfi *cfi, struct cairn_reader *r,
                                        struct cairn_cie *cie)
{
    cie->address_size = cfi->address_size;
    if (cie->version == 4) {
        cie->address_size = cairn_reader_u8(r);
        cie->segment_size = cairn_reader_u8(r);
    }
    cie->code_align = cairn_reader_uleb(r);
    cie->data_align = cairn_reader_sleb(r);
    uint64_t ra = cie->version == 1 ? cairn_reader_u8(r) : cairn_reader_uleb(r);
    if (r->failed)
        return CAIRN_CFI_CUT;
    if (cie->address_size != 2 && cie->address_size != 4 && cie->address_size != 8)
        return CAIRN_CFI_ADDRESS_SIZE;
    cie->ra_reg = ra < UINT32_MAX ? (uint32_t)ra : UINT32_MAX;
    return CAIRN_CFI_SOUND;
}

static enum cairn_cfi_damage read_cie(const struct cairn_cfi *cfi, uint64_t off,
                                      struct cairn_cie *ret_cie)
{
    struct cairn_cie cie = {.off = off, .lsda_encoding = CAIRN_DW_EH_PE_OMIT};
    struct entry e = {0};
    bool dwarf64;
    if (off >= cfi->bytes.size || !read_length(cfi, &off, &e.r, &dwarf64) || off != cie.off ||
        read_id(cfi, &e, dwarf64) || !e.is_cie)
        return CAIRN_CFI_NO_CIE;
    struct cairn_reader *r = &e.r;
    cie.version = cairn_reader_u8(r);
    struct cairn_span text = {r->bytes.data + r->pos, cairn_reader_left(r)};
    if (text.size > MAX_LETTERS)
        text.size = MAX_LETTERS;
    const char *letters = cairn_span_str(text, 0);
    if (!letters)
        return text.size < MAX_LETTERS ? CAIRN_CFI_CUT : CAIRN_CFI_AUGMENTATION;
    cairn_reader_skip(r, strlen(letters) + 1);
    if (cie.version != 1 && cie.version != 3 && cie.version != 4)
        return CAIRN_CFI_VERSION;
    if (letters[0] == 'e' && letters[1] == 'h')
        return CAIRN_CFI_EH_DATA;
    if (letters[0] && letters[0] != 'z')
        return CAIRN_CFI_AUGMENTATION;
    enum cairn_cfi_damage damage = read_sizes(cfi, r, &cie);
    if (!damage && letters[0] == 'z') {
        struct cairn_cfi_bases bases = bases_of(cfi, &cie);
        struct cairn_reader inside = *r;
        cie.has_z = true;
        uint64_t size = cairn_reader_uleb(r);
        inside.pos = r->pos;
        cairn_reader_skip(r, size);
        inside.bytes.size = r->pos;
        damage = r->failed ? CAIRN_CFI_CUT : read_augmentation(letters + 1, &inside, &bases, &cie);
    }
    if (damage)
        return damage;
    cie.program = cairn_reader_take(r, cairn_reader_left(r));
    if (cie.program.size > MAX_CIE_PROGRAM)
        return CAIRN_CFI_LIMIT;
    *ret_cie = cie;
    return CAIRN_CFI_SOUND;
}

/* What compilers write: two numbers of 4 bytes, the first counted from itself. */
static bool read_usual_range(const struct cairn_cfi *cfi, const struct cairn_cie *cie,
                             struct cairn_reader *r, struct cairn_cfi_entry *fde)
{
    if (cie->pointer_encoding != (CAIRN_DW_EH_PE_PCREL | CAIRN_DW_EH_PE_SDATA4) ||
        cie->address_size != 8 || cie->segment_size || cairn_reader_left(r) < 8)
        return false;
    uint64_t at = cfi->vaddr + r->pos;
    int32_t distance = (int32_t)cairn_reader_u32(r);
    uint32_t size = cairn_reader_u32(r);
    fde->from = at + (uint64_t)(int64_t)distance;
    fde->to = fde->from + size;
    if (distance && size <= INT32_MAX && fde->to >= fde->from)
        return true;
    r->pos -= 8; /* for the long way to judge */
    return false;
}

static enum cairn_cfi_damage read_range(const struct cairn_cfi *cfi, const struct cairn_cie *cie,
                                        struct cairn_reader *r, struct cairn_cfi_entry *fde)
{
    uint64_t size = 0;
    if (read_usual_range(cfi, cie, r, fde))
        return CAIRN_CFI_SOUND;
    cairn_reader_skip(r, cie->segment_size);
    struct cairn_cfi_bases bases = bases_of(cfi, cie);
    enum cairn_cfi_damage damage =
        cairn_cfi_read_pointer(r, cie->pointer_encoding, &bases, &fde->from);
    if (!damage)
        damage = cairn_cfi_read_number(r, cie->pointer_encoding, cie->address_size, &size);
    if (damage)
        return damage;
    uint64_t last = cairn_cfi_address(UINT64_MAX, cie->address_size);
    size &= last;
    if (fde->from == last) /* what lld writes where it threw the function away */
        size = 0;
    if (size > last - fde->from)
        return CAIRN_CFI_RANGE;
    fde->to = fde->from + size;
    return CAIRN_CFI_SOUND;
}

/* What follows the id of an FDE; fde->cie is there. */
static enum cairn_cfi_damage read_fde(const struct cairn_cfi *cfi, struct cairn_reader *r,
                                      struct cairn_cfi_entry *fde)
{
    enum cairn_cfi_damage damage = read_range(cfi, fde->cie, r, fde);
    if (damage)
        return damage;
    if (fde->cie->has_z)
        cairn_reader_skip(r, cairn_reader_uleb(r));
    fde->program = cairn_reader_take(r, cairn_reader_left(r));
    return r->failed ? CAIRN_CFI_CUT : CAIRN_CFI_SOUND;
}

/* The CIE at `off`, read once while it is among the latest few; `last_cie` is its place. */
static enum cairn_cfi_damage find_cie(struct cairn_cfi_iter *iter, uint64_t off)
{
    for (unsigned i = 0; i < iter->n_cies; i++) {
        if (iter->cies[i].off == off) {
            iter->last_cie = i;
            return CAIRN_CFI_SOUND;
        }
    }
    unsigned at = iter->n_cies < CAIRN_CFI_ITER_CIES ? iter->n_cies
                                                     : (iter->last_cie + 1) % CAIRN_CFI_ITER_CIES;
    enum cairn_cfi_damage damage = read_cie(iter->cfi, off, &iter->cies[at]);
    if (damage)
        return damage;
    iter->last_cie = at;
    if (at == iter->n_cies)
        iter->n_cies++;
    return CAIRN_CFI_SOUND;
}

/* An FDE as compilers write nearly all, of a CIE that was met lately: numbers of 4 bytes, and what
 * is counted from itself. False: none of these, or damaged; the long way tells. */
static inline __attribute__((always_inline)) bool next_usual(struct cairn_cfi_iter *iter,
                                                             struct cairn_cfi_entry *ret)
{
    enum { ID = 4, FROM = 8, SIZE = 12, AUGMENTATION = 16, SMALLEST = 17 };
    const struct cairn_cfi *cfi = iter->cfi;
    uint64_t off = iter->off, left = cfi->bytes.size - off;
    uint32_t size, id, n;
    int32_t distance;
    if (cfi->swap || cfi->debug_frame || off > cfi->bytes.size || left < SMALLEST)
        return false;
    const uint8_t *at = cfi->bytes.data + off;
    memcpy(&size, at, sizeof size);
    memcpy(&id, at + ID, sizeof id);
    memcpy(&distance, at + FROM, sizeof distance);
    memcpy(&n, at + SIZE, sizeof n);
    if (size > left - ID || size < SMALLEST - ID || size == UINT32_MAX || !id || !distance || !n ||
        n > INT32_MAX)
        return false;
    uint64_t cie_off = off + ID - (uint64_t)(int32_t)id;
    unsigned k = 0;
    while (k < iter->n_cies && iter->cies[k].off != cie_off)
        k++;
    const struct cairn_cie *cie = &iter->cies[k < iter->n_cies ? k : 0];
    uint64_t program = AUGMENTATION + 1u + at[AUGMENTATION], end = size + ID;
    uint64_t from = cfi->vaddr + off + FROM + (uint64_t)(int64_t)distance;
    if (k == iter->n_cies || !cie->has_z || cie->segment_size || cie->address_size != 8 ||
        cie->pointer_encoding != (CAIRN_DW_EH_PE_PCREL | CAIRN_DW_EH_PE_SDATA4) ||
        at[AUGMENTATION] >= 0x80 || program > end || from + n < from)
        return false;
    iter->last_cie = k;
    iter->off = off + end;
    ret->off = off;
    ret->from = from;
    ret->to = from + n;
    ret->program = (struct cairn_span){at + program, (size_t)(end - program)};
    ret->cie = cie;
    return true;
}

static bool next_any(struct cairn_cfi_iter *iter, struct cairn_cfi_entry *ret)
{
    struct entry e = {0};
    bool dwarf64;
    while (read_length(iter->cfi, &iter->off, &e.r, &dwarf64)) {
        ret->off = iter->off;
        iter->off = e.r.bytes.size;
        enum cairn_cfi_damage damage = read_id(iter->cfi, &e, dwarf64);
        if (!damage && e.is_cie)
            continue;
        if (!damage)
            damage = find_cie(iter, e.cie_off);
        if (!damage) {
            ret->cie = &iter->cies[iter->last_cie];
            damage = read_fde(iter->cfi, &e.r, ret);
        }
        if (!damage && ret->from < ret->to)
            return true;
        iter->n_damaged += damage != CAIRN_CFI_SOUND;
        iter->last_damage = damage ? damage : iter->last_damage;
    }
    return false;
}

bool cairn_cfi_next_entry(struct cairn_cfi_iter *iter, struct cairn_cfi_entry *ret_entry)
{
    return next_usual(iter, ret_entry) || next_any(iter, ret_entry);
}

bool cairn_cfi_next(struct cairn_cfi_iter *iter, struct cairn_fde *ret_fde)
{
    struct cairn_cfi_entry e;
    if (!cairn_cfi_next_entry(iter, &e))
        return false;
    *ret_fde = (struct cairn_fde){e.off, e.from, e.to, e.program, *e.cie};
    return true;
}

bool cairn_cfi_cie_at(const struct cairn_cfi *cfi, uint64_t off, struct cairn_cie *ret_cie)
{
    return read_cie(cfi, off, ret_cie) == CAIRN_CFI_SOUND;
}

bool cairn_cfi_fde_at(const struct cairn_cfi *cfi, uint64_t off, struct cairn_fde *ret_fde)
{
    struct cairn_cie cie;
    struct cairn_cfi_entry fde = {.off = off, .cie = &cie};
    struct entry e = {0};
    bool dwarf64;
    if (off >= cfi->bytes.size || !read_length(cfi, &off, &e.r, &dwarf64) || off != fde.off ||
        read_id(cfi, &e, dwarf64) || e.is_cie || read_cie(cfi, e.cie_off, &cie) ||
        read_fde(cfi, &e.r, &fde) || fde.from >= fde.to)
        return false;
    *ret_fde = (struct cairn_fde){fde.off, fde.from, fde.to, fde.program, cie};
    return true;
}
