/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "hook/slots.h"

#include <elf.h>
#include <string.h>

#include "hook/slots_read.h"

#ifndef DT_ANDROID_REL /* bionic's <elf.h> */
#define DT_ANDROID_REL    0x6000000f
#define DT_ANDROID_RELSZ  0x60000010
#define DT_ANDROID_RELA   0x60000011
#define DT_ANDROID_RELASZ 0x60000012
#endif

enum { VERSION_MASK = 0x7fff };
/* Entries of DT_VERNEED that are looked at: of one module no more than some hundred are sound, and
 * each symbol with a version looks for its own. */
enum { MOST_VERSIONS = 1 << 16, MOST_VERSION_STEPS = 1 << 26 };

const uint8_t *cairn_slots_bytes(const struct cairn_slots_image *image, uint64_t vaddr,
                                 size_t *ret_n)
{
    for (uint32_t i = 0; i < image->n_segments; i++) {
        const struct cairn_slots_segment *segment = &image->segments[i];
        uint64_t off = vaddr - segment->vaddr;
        if (vaddr >= segment->vaddr && off < segment->n_bytes) {
            *ret_n = segment->n_bytes - (size_t)off;
            return segment->bytes + off;
        }
    }
    *ret_n = 0;
    return NULL;
}

uint16_t cairn_slots_u16(const uint8_t *from)
{
    return (uint16_t)(from[0] | from[1] << 8);
}

uint32_t cairn_slots_u32(const uint8_t *from)
{
    return cairn_slots_u16(from) | (uint32_t)cairn_slots_u16(from + 2) << 16;
}

uint64_t cairn_slots_word(const struct cairn_slots_image *image, const uint8_t *from)
{
    uint64_t low = cairn_slots_u32(from);
    return image->is_64 ? low | (uint64_t)cairn_slots_u32(from + 4) << 32 : low;
}

static size_t word_bytes(const struct cairn_slots_image *image)
{
    return image->is_64 ? 8 : 4;
}

/* What the dynamic section says; 0: nothing of it. */
struct tables {
    uint64_t symbols, names, names_bytes, versions, needs;
    uint64_t jump, jump_bytes, rela, rela_bytes, rel, rel_bytes;
    uint64_t packed, packed_bytes;
    bool jump_has_addends, packed_has_addends;
};

/* glibc adds the base to addresses in the section itself, musl and the vdso do not have that. */
static uint64_t to_vaddr(const struct cairn_slots_image *image, uint64_t value)
{
    size_t n;
    uint64_t base = image->load_base;
    return base && value >= base && cairn_slots_bytes(image, value - base, &n) ? value - base
                                                                               : value;
}

static void note_entry(const struct cairn_slots_image *image, struct tables *ret, uint64_t tag,
                       uint64_t value)
{
    uint64_t vaddr = to_vaddr(image, value);
    const struct {
        uint64_t tag, value, *to;
    } rows[] = {
        {DT_SYMTAB, vaddr, &ret->symbols},
        {DT_STRTAB, vaddr, &ret->names},
        {DT_STRSZ, value, &ret->names_bytes},
        {DT_VERSYM, vaddr, &ret->versions},
        {DT_VERNEED, vaddr, &ret->needs},
        {DT_JMPREL, vaddr, &ret->jump},
        {DT_PLTRELSZ, value, &ret->jump_bytes},
        {DT_RELA, vaddr, &ret->rela},
        {DT_RELASZ, value, &ret->rela_bytes},
        {DT_REL, vaddr, &ret->rel},
        {DT_RELSZ, value, &ret->rel_bytes},
        {DT_ANDROID_RELA, vaddr, &ret->packed},
        {DT_ANDROID_REL, vaddr, &ret->packed},
        {DT_ANDROID_RELASZ, value, &ret->packed_bytes},
        {DT_ANDROID_RELSZ, value, &ret->packed_bytes},
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].tag == tag)
            *rows[i].to = rows[i].value;
    if (tag == DT_PLTREL)
        ret->jump_has_addends = value == DT_RELA;
    if (tag == DT_ANDROID_RELA)
        ret->packed_has_addends = true;
}

static bool read_dynamic(const struct cairn_slots_image *image, struct tables *ret)
{
    size_t n, word = word_bytes(image);
    const uint8_t *at = cairn_slots_bytes(image, image->dynamic_vaddr, &n);
    *ret = (struct tables){.jump_has_addends = image->is_64};
    if (!at)
        return false;
    for (size_t i = 0; i < CAIRN_SLOTS_MAX_DYNAMIC && (i + 1) * 2 * word <= n; i++) {
        uint64_t tag = cairn_slots_word(image, at + 2 * i * word);
        if (tag == DT_NULL)
            return true;
        note_entry(image, ret, tag, cairn_slots_word(image, at + (2 * i + 1) * word));
    }
    return false;
}

struct reading {
    const struct cairn_slots_image *image;
    struct tables tables;
    cairn_slots_fn *each;
    void *context;
    struct cairn_slots_result *result;
    uint32_t n_version_steps;
};

/* A text of the table of names; NULL: it does not end within it. */
static const char *name_at(const struct reading *r, uint64_t at)
{
    size_t n;
    if (at >= r->tables.names_bytes)
        return NULL;
    const uint8_t *text = cairn_slots_bytes(r->image, r->tables.names + at, &n);
    uint64_t most = r->tables.names_bytes - at;
    if (n > most)
        n = (size_t)most;
    if (n > CAIRN_SLOTS_MAX_NAME)
        n = CAIRN_SLOTS_MAX_NAME;
    return text && memchr(text, 0, n) ? (const char *)text : NULL;
}

/* The one of DT_VERNEED with that number: files, each with a list of versions. Elf32 and Elf64 have
 * the same layout (gABI, "Symbol Version Requirements"): 16 bytes each. */
static const char *version_name(const struct reading *r, unsigned number, uint32_t *inout_steps)
{
    enum { ENTRY = 16 };
    size_t n;
    uint64_t need = r->tables.needs;
    const uint32_t most = *inout_steps + MOST_VERSIONS;
    for (; need && *inout_steps < most; ++*inout_steps) {
        const uint8_t *file = cairn_slots_bytes(r->image, need, &n);
        if (!file || n < ENTRY)
            return NULL;
        uint64_t aux = need + cairn_slots_u32(file + 8);
        for (unsigned i = cairn_slots_u16(file + 2); i > 0 && *inout_steps < most;
             i--, ++*inout_steps) {
            const uint8_t *entry = cairn_slots_bytes(r->image, aux, &n);
            if (!entry || n < ENTRY)
                return NULL;
            if ((cairn_slots_u16(entry + 6) & VERSION_MASK) == number)
                return name_at(r, cairn_slots_u32(entry + 8));
            if (cairn_slots_u32(entry + 12) == 0)
                break;
            aux += cairn_slots_u32(entry + 12);
        }
        uint32_t step = cairn_slots_u32(file + 12);
        need = step ? need + step : 0;
    }
    return NULL;
}

static const char *version_of(struct reading *r, uint64_t symbol)
{
    size_t n;
    if (!r->tables.versions || !r->tables.needs)
        return NULL;
    const uint8_t *entry = cairn_slots_bytes(r->image, r->tables.versions + 2 * symbol, &n);
    unsigned number = entry && n >= 2 ? cairn_slots_u16(entry) & VERSION_MASK : 0;
    if (number <= 1) /* 0: local, 1: global */
        return NULL;
    return version_name(r, number, &r->n_version_steps);
}

/* The place lies whole in a segment that no code is in. */
static bool is_data(const struct cairn_slots_image *image, uint64_t vaddr)
{
    for (uint32_t i = 0; i < image->n_segments; i++) {
        const struct cairn_slots_segment *segment = &image->segments[i];
        uint64_t off = vaddr - segment->vaddr;
        if (vaddr >= segment->vaddr && off < segment->n_memory)
            return segment->n_memory - off >= word_bytes(image) && !segment->is_executable;
    }
    return false;
}

bool cairn_slots_is_code(const struct cairn_slots_image *image, uint64_t vaddr)
{
    for (uint32_t i = 0; i < image->n_segments; i++) {
        const struct cairn_slots_segment *segment = &image->segments[i];
        if (segment->is_executable && vaddr >= segment->vaddr &&
            vaddr - segment->vaddr < segment->n_memory)
            return true;
    }
    return false;
}

/* Types that fill a slot with a symbol's address. */
static const struct {
    uint16_t machine;
    uint32_t type;
    enum cairn_slots_kind kind;
    const char *name;
} types[] = {
    {EM_X86_64, R_X86_64_JUMP_SLOT, CAIRN_SLOTS_JUMP, "R_X86_64_JUMP_SLOT"},
    {EM_X86_64, R_X86_64_GLOB_DAT, CAIRN_SLOTS_DATA, "R_X86_64_GLOB_DAT"},
    {EM_X86_64, R_X86_64_64, CAIRN_SLOTS_POINTER, "R_X86_64_64"},
    {EM_AARCH64, R_AARCH64_JUMP_SLOT, CAIRN_SLOTS_JUMP, "R_AARCH64_JUMP_SLOT"},
    {EM_AARCH64, R_AARCH64_GLOB_DAT, CAIRN_SLOTS_DATA, "R_AARCH64_GLOB_DAT"},
    {EM_AARCH64, R_AARCH64_ABS64, CAIRN_SLOTS_POINTER, "R_AARCH64_ABS64"},
    {EM_ARM, R_ARM_JUMP_SLOT, CAIRN_SLOTS_JUMP, "R_ARM_JUMP_SLOT"},
    {EM_ARM, R_ARM_GLOB_DAT, CAIRN_SLOTS_DATA, "R_ARM_GLOB_DAT"},
    {EM_ARM, R_ARM_ABS32, CAIRN_SLOTS_POINTER, "R_ARM_ABS32"},
    {EM_386, R_386_JMP_SLOT, CAIRN_SLOTS_JUMP, "R_386_JUMP_SLOT"},
    {EM_386, R_386_GLOB_DAT, CAIRN_SLOTS_DATA, "R_386_GLOB_DAT"},
    {EM_386, R_386_32, CAIRN_SLOTS_POINTER, "R_386_32"},
};
enum { N_TYPES = sizeof(types) / sizeof(types[0]) };

static unsigned find_type(uint16_t machine, uint64_t type)
{
    unsigned i = 0;
    while (i < N_TYPES && (types[i].machine != machine || types[i].type != type))
        i++;
    return i;
}

const char *cairn_slots_type_name(uint16_t machine, uint32_t type)
{
    unsigned i = find_type(machine, type);
    return i < N_TYPES ? types[i].name : NULL;
}

static int read_relocation(void *context, uint64_t place, uint64_t info, int64_t addend)
{
    struct reading *r = context;
    const struct cairn_slots_image *image = r->image;
    uint64_t symbol = image->is_64 ? info >> 32 : info >> 8;
    unsigned type = find_type(image->machine, image->is_64 ? info & UINT32_MAX : info & 0xff);
    size_t n, entry_bytes = image->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    size_t shndx_at = image->is_64 ? offsetof(Elf64_Sym, st_shndx) : offsetof(Elf32_Sym, st_shndx);
    r->result->n_read++;
    if (r->n_version_steps > MOST_VERSION_STEPS)
        return 1;
    /* With an addend it is not the function's address. */
    if (type == N_TYPES || symbol == 0 || addend != 0)
        return 0;
    const uint8_t *entry = cairn_slots_bytes(image, r->tables.symbols + symbol * entry_bytes, &n);
    const char *name = entry && n >= entry_bytes ? name_at(r, cairn_slots_u32(entry)) : NULL;
    if (!name || !is_data(image, place)) {
        r->result->n_left++;
        return 0;
    }
    const struct cairn_slot slot = {.vaddr = place,
                                    .name = name,
                                    .version = version_of(r, symbol),
                                    .type = types[type].type,
                                    .is_defined = cairn_slots_u16(entry + shndx_at) != SHN_UNDEF,
                                    .kind = types[type].kind};
    return r->each(r->context, &slot);
}

static bool fail(struct reading *r, enum cairn_slots_reason reason, uint64_t vaddr)
{
    r->result->reason = reason;
    r->result->vaddr = vaddr;
    return false;
}

static bool read_table(struct reading *r, uint64_t vaddr, uint64_t bytes, bool has_addends)
{
    size_t n, word = word_bytes(r->image), step = word * (has_addends ? 3 : 2);
    if (vaddr == 0 || bytes == 0)
        return true;
    const uint8_t *at = cairn_slots_bytes(r->image, vaddr, &n);
    if (!at || bytes > n)
        return fail(r, CAIRN_SLOTS_TABLE, vaddr);
    if (bytes / step > CAIRN_SLOTS_MAX)
        return fail(r, CAIRN_SLOTS_LIMIT, vaddr);
    for (uint64_t i = 0; i < bytes / step; i++, at += step) {
        uint64_t addend = has_addends ? cairn_slots_word(r->image, at + 2 * word) : 0;
        if (read_relocation(r, cairn_slots_word(r->image, at),
                            cairn_slots_word(r->image, at + word), (int64_t)addend) != 0)
            return fail(r, CAIRN_SLOTS_STOPPED, vaddr);
    }
    return true;
}

static bool read_packed(struct reading *r)
{
    size_t n, at;
    uint64_t vaddr = r->tables.packed, bytes = r->tables.packed_bytes;
    if (vaddr == 0 || bytes == 0)
        return true;
    const uint8_t *from = cairn_slots_bytes(r->image, vaddr, &n);
    if (!from || bytes > n)
        return fail(r, CAIRN_SLOTS_TABLE, vaddr);
    enum cairn_slots_reason reason =
        cairn_slots_packed(from, (size_t)bytes, read_relocation, r, &at);
    return reason == CAIRN_SLOTS_FINE || fail(r, reason, vaddr + at);
}

static bool is_known(uint16_t machine)
{
    for (unsigned i = 0; i < N_TYPES; i++)
        if (types[i].machine == machine)
            return true;
    return false;
}

bool cairn_slots_each(const struct cairn_slots_image *image, cairn_slots_fn *each, void *context,
                      struct cairn_slots_result *ret_result)
{
    struct reading r = {.image = image, .each = each, .context = context, .result = ret_result};
    const struct tables *t = &r.tables;
    *ret_result = (struct cairn_slots_result){CAIRN_SLOTS_FINE, 0, 0, 0};
    if (!is_known(image->machine))
        return fail(&r, CAIRN_SLOTS_MACHINE, 0);
    if (image->n_dynamic == 0)
        return fail(&r, CAIRN_SLOTS_NO_DYNAMIC, 0);
    if (!read_dynamic(image, &r.tables))
        return fail(&r, CAIRN_SLOTS_DYNAMIC, image->dynamic_vaddr);
    bool has_any = t->jump_bytes || t->rela_bytes || t->rel_bytes || t->packed_bytes;
    if (has_any && (!t->symbols || !t->names))
        return fail(&r, CAIRN_SLOTS_SYMBOLS, image->dynamic_vaddr);
    if (read_table(&r, t->jump, t->jump_bytes, t->jump_has_addends) &&
        read_table(&r, t->rela, t->rela_bytes, true) &&
        read_table(&r, t->rel, t->rel_bytes, false) && read_packed(&r))
        return true;
    if (r.n_version_steps > MOST_VERSION_STEPS)
        fail(&r, CAIRN_SLOTS_VERSIONS, t->needs);
    return false;
}
