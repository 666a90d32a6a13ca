/* SPDX-License-Identifier: MIT */
/*
 * Look-ups by address. Sorted symbols are flattened, so that one binary search answers, however
 * they nest:
 *
 *     symbols     |---- outer (sized) -----------|        label (no size)
 *                       |-- inner --|                     |........ next symbol, data or mapping
 *                                                                   symbol, section end
 *     reaches     outer  inner       outer       nobody   label
 */
#include "elf/symtab.h"

#include <elf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/below.h"
#include "base/error.h"
#include "elf/symtab_scan.h"

enum {
    NOBODY = UINT32_MAX, /* owner of a gap */
    FEW_MAX = 256,       /* symbols that decide about an address; a table with more is sorted */
    DIGIT_BITS = 11,
    DIGITS = 1 << DIGIT_BITS
};

struct cairn_elf_reach {
    uint64_t vaddr; /* from here to the next reach */
    uint32_t owner; /* number of the symbol, or NOBODY */
};

/* Counted first: a doubling array of ten million symbols would take as much again. */
static int read_symbols(const struct cairn_elf_symbol_table *table, struct cairn_elf_symtab *symtab)
{
    struct cairn_elf_symbol symbol;
    size_t n = 0;
    for (uint32_t i = 1; i < table->n; i++) {
        enum cairn_elf_entry entry = cairn_elf_symbol_table_read(table, i, &symbol);
        n += entry == CAIRN_ELF_ENTRY_CODE;
        symtab->has_ends |= entry == CAIRN_ELF_ENTRY_END;
    }
    symtab->symbols = cairn_realloc(NULL, n ? n : 1, sizeof *symtab->symbols);
    if (!symtab->symbols)
        return CAIRN_E_NOMEM;
    for (uint32_t i = 1; i < table->n && symtab->n < n; i++)
        if (cairn_elf_symbol_table_get(table, i, &symbol))
            symtab->symbols[symtab->n++] = symbol;
    return CAIRN_OK;
}

static int bind_rank(const struct cairn_elf_symbol *symbol)
{
    return symbol->bind == STB_LOCAL ? 2 : symbol->bind == STB_WEAK ? 1 : 0;
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Of names of one function the one that perf shows too (choose_best_symbol() in Linux 6.1's
 * tools/perf/util/symbol.c): perf takes another name for an inlined function. So it is malloc, not
 * __libc_malloc. */
static int compare_names(const char *a, const char *b)
{
    size_t a_underscores = strspn(a, "_"), b_underscores = strspn(b, "_");
    int order = compare_u64(a_underscores, b_underscores);
    if (!order)
        order = compare_u64(strlen(b), strlen(a));
    return order ? order : strcmp(a, b);
}

/* Before sizes of labels are known: the sized before the others, else as the header promises. */
static int compare_symbols(const void *left, const void *right)
{
    const struct cairn_elf_symbol *a = left, *b = right;
    int order = compare_u64(a->vaddr, b->vaddr);
    if (!order)
        order = b->sized - a->sized;
    if (!order)
        order = compare_u64(b->size, a->size);
    if (!order)
        order = bind_rank(a) - bind_rank(b);
    if (!order)
        order = (a->type == STT_NOTYPE) - (b->type == STT_NOTYPE);
    return order ? order : compare_names(a->name, b->name);
}

/* One stable pass by a digit of the address; false where all have the same, and nothing moved. */
static bool sort_digit(const struct cairn_elf_symbol *from, struct cairn_elf_symbol *to, size_t n,
                       unsigned shift)
{
    size_t start[DIGITS] = {0};
    for (size_t i = 0; i < n; i++)
        start[from[i].vaddr >> shift & (DIGITS - 1)]++;
    if (start[from->vaddr >> shift & (DIGITS - 1)] == n)
        return false;
    for (size_t digit = 0, sum = 0; digit < DIGITS; digit++) {
        size_t count = start[digit];
        start[digit] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        to[start[from[i].vaddr >> shift & (DIGITS - 1)]++] = from[i];
    return true;
}

/* By address digit by digit, then each address by the rest: only a few symbols are compared, and
 * the names of fewer. */
static int sort_symbols(struct cairn_elf_symtab *symtab)
{
    size_t n = symtab->n;
    struct cairn_elf_symbol *from = symtab->symbols;
    struct cairn_elf_symbol *to = cairn_realloc(NULL, n, sizeof *to);
    if (!to)
        return CAIRN_E_NOMEM;
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if (!sort_digit(from, to, n, shift))
            continue;
        struct cairn_elf_symbol *sorted = to;
        to = from;
        from = sorted;
    }
    symtab->symbols = from;
    cairn_free(to);
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && from[end].vaddr == from[first].vaddr;)
            end++;
        if (end - first > 1)
            qsort(from + first, end - first, sizeof *from, compare_symbols);
    }
    return CAIRN_OK;
}

static bool same_bytes(const struct cairn_elf_symbol *a, const struct cairn_elf_symbol *b)
{
    return a->vaddr == b->vaddr && a->size == b->size && a->sized == b->sized;
}

/* Names of one function, which differ in the version ("f" and "f@@V2") or, of a constructor or
 * destructor, in one digit: ...C1E... and ...C2E... */
static bool is_variant(const char *a, const char *b)
{
    size_t i = 0, size = strcspn(a, "@");
    if (size && size == strcspn(b, "@") && strncmp(a, b, size) == 0)
        return true;
    while (a[i] && a[i] == b[i])
        i++;
    bool digits = a[i] >= '0' && a[i] <= '5' && b[i] >= '0' && b[i] <= '5';
    return i > 0 && digits && (a[i - 1] == 'C' || a[i - 1] == 'D') && strncmp(a, "_Z", 2) == 0 &&
           strcmp(a + i + 1, b + i + 1) == 0;
}

/* Drops what stands twice. */
static void unique_symbols(struct cairn_elf_symtab *symtab)
{
    size_t kept = 0;
    for (size_t i = 0; i < symtab->n; i++) {
        const struct cairn_elf_symbol *last = kept ? &symtab->symbols[kept - 1] : NULL;
        if (last && same_bytes(last, &symtab->symbols[i]) &&
            strcmp(last->name, symtab->symbols[i].name) == 0)
            continue;
        symtab->symbols[kept++] = symtab->symbols[i];
    }
    symtab->n = kept;
}

static void mark_shared(struct cairn_elf_symtab *symtab)
{
    for (size_t first = 0, end; first < symtab->n; first = end) {
        struct cairn_elf_symbol *group = &symtab->symbols[first];
        bool shared = false;
        for (end = first + 1; end < symtab->n && same_bytes(group, &symtab->symbols[end]); end++)
            shared = shared || !is_variant(group->name, symtab->symbols[end].name);
        for (size_t i = first; shared && i < end; i++)
            symtab->symbols[i].shared = true;
    }
}

/* Data and mapping symbols end the labels before them. Of several labels at one place only the last
 * is cut here; size_group() cuts the others. Reads the whole table again, so only where an end was
 * seen. */
static void clip_labels(struct cairn_elf_symtab *symtab)
{
    struct cairn_elf_symbol end;
    size_t n_labels = 0;
    for (size_t i = 0; symtab->has_ends && i < symtab->n; i++)
        n_labels += !symtab->symbols[i].sized;
    for (uint32_t i = 1; n_labels && i < symtab->table.n; i++) {
        if (cairn_elf_symbol_table_read(&symtab->table, i, &end) != CAIRN_ELF_ENTRY_END ||
            !end.vaddr)
            continue;
        size_t n = CAIRN_COUNT_BELOW(symtab->symbols, symtab->n, vaddr, end.vaddr - 1);
        struct cairn_elf_symbol *last = n ? &symtab->symbols[n - 1] : NULL;
        if (last && !last->sized && end.vaddr - last->vaddr < last->size)
            last->size = end.vaddr - last->vaddr;
    }
}

/* Those that begin at the same place, of which one is a function, reach less far maybe. */
static int size_group(const struct cairn_elf_symtab *symtab, struct cairn_elf_symbol *group,
                      size_t n, uint64_t most)
{
    bool is_function = false;
    for (size_t i = 0; i < n; i++)
        is_function |= !group[i].sized && group[i].type != STT_NOTYPE;
    most = group[n - 1].size < most ? group[n - 1].size : most; /* the labels come last */
    if (is_function && symtab->size_label &&
        symtab->size_label(symtab->image, group->vaddr, &most) < 0)
        return CAIRN_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        if (!group[i].sized && most < group[i].size)
            group[i].size = most;
    return CAIRN_OK;
}

/* Labels reach up to the next higher symbol, if no data comes before it; until now they reach to
 * the end of their section. */
static int size_labels(struct cairn_elf_symtab *symtab)
{
    for (size_t first = 0, end; first < symtab->n; first = end) {
        struct cairn_elf_symbol *group = &symtab->symbols[first];
        for (end = first + 1; end < symtab->n && symtab->symbols[end].vaddr == group->vaddr;)
            end++;
        uint64_t next = end < symtab->n ? symtab->symbols[end].vaddr : UINT64_MAX;
        if (!symtab->symbols[end - 1].sized &&
            size_group(symtab, group, end - first, next - group->vaddr) < 0)
            return CAIRN_E_NOMEM;
    }
    return CAIRN_OK;
}

/* The flattening: a sweep over the symbols with those that are open on a stack. */
struct sweep {
    struct cairn_elf_symtab *symtab;
    uint32_t *open; /* sized ones, the innermost last */
    size_t n_open;
    uint32_t label; /* the label that fills gaps, or NOBODY */
    uint64_t done;  /* all below is said */
    size_t cap;
    bool failed;
};

static uint64_t symbol_end(const struct sweep *sweep, uint32_t number)
{
    const struct cairn_elf_symbol *symbol = &sweep->symtab->symbols[number];
    return symbol->vaddr + symbol->size;
}

/* From `done` on, `owner` answers. */
static void sweep_say(struct sweep *sweep, uint32_t owner)
{
    struct cairn_elf_symtab *symtab = sweep->symtab;
    struct cairn_elf_reach *last =
        symtab->n_reaches ? &symtab->reaches[symtab->n_reaches - 1] : NULL;
    if (last && last->vaddr == sweep->done) {
        last->owner = owner;
        return;
    }
    if (last ? last->owner == owner : owner == NOBODY)
        return;
    if (cairn_grow((void **)&symtab->reaches, &sweep->cap, symtab->n_reaches + 1,
                   sizeof *symtab->reaches) < 0) {
        sweep->failed = true;
        return;
    }
    symtab->reaches[symtab->n_reaches++] = (struct cairn_elf_reach){sweep->done, owner};
}

static void close_ended(struct sweep *sweep, uint64_t vaddr)
{
    while (sweep->n_open && symbol_end(sweep, sweep->open[sweep->n_open - 1]) <= vaddr)
        sweep->n_open--;
    if (sweep->label != NOBODY && symbol_end(sweep, sweep->label) <= vaddr)
        sweep->label = NOBODY;
}

/* Says who answers between `done` and `vaddr`. */
static void sweep_to(struct sweep *sweep, uint64_t vaddr)
{
    while (!sweep->failed && sweep->done < vaddr) {
        close_ended(sweep, sweep->done);
        uint32_t owner = sweep->n_open ? sweep->open[sweep->n_open - 1] : sweep->label;
        sweep_say(sweep, owner);
        uint64_t end = owner == NOBODY ? vaddr : symbol_end(sweep, owner);
        sweep->done = end < vaddr ? end : vaddr;
    }
}

static int flatten(struct cairn_elf_symtab *symtab)
{
    struct sweep sweep = {.symtab = symtab, .label = NOBODY};
    sweep.open = cairn_realloc(NULL, symtab->n, sizeof *sweep.open);
    if (!sweep.open)
        return CAIRN_E_NOMEM;
    uint64_t end = 0;
    for (uint32_t i = 0; i < symtab->n; i++) {
        const struct cairn_elf_symbol *symbol = &symtab->symbols[i];
        sweep_to(&sweep, symbol->vaddr);
        close_ended(&sweep, symbol->vaddr);
        bool alias = i && same_bytes(symbol, symbol - 1);
        if (alias)
            continue; /* the best came first */
        if (symbol->sized)
            sweep.open[sweep.n_open++] = i;
        else if (!sweep.n_open)
            sweep.label = i; /* inside a function a label is a jump target */
        else
            continue;
        end = symbol_end(&sweep, i) > end ? symbol_end(&sweep, i) : end;
    }
    sweep_to(&sweep, end);
    sweep_say(&sweep, NOBODY);
    cairn_free(sweep.open);
    return sweep.failed ? CAIRN_E_NOMEM : CAIRN_OK;
}

/* From symbols in any order to answers. */
static int arrange(struct cairn_elf_symtab *symtab)
{
    if (!symtab->n)
        return CAIRN_OK;
    if (sort_symbols(symtab) < 0)
        return CAIRN_E_NOMEM;
    unique_symbols(symtab);
    mark_shared(symtab);
    clip_labels(symtab);
    return size_labels(symtab) < 0 ? CAIRN_E_NOMEM : flatten(symtab);
}

int cairn_elf_symtab_open(const struct cairn_elf *elf, enum cairn_elf_symtab_kind kind,
                          const struct cairn_elf *image, struct cairn_elf_symtab *ret_symtab,
                          struct cairn_err *err)
{
    struct cairn_elf_symtab symtab = {0};
    int code = cairn_elf_symbol_table_open(elf, kind, image, &symtab.table, err);
    if (code == CAIRN_OK)
        *ret_symtab = symtab;
    return code;
}

bool cairn_elf_symtab_is_empty(const struct cairn_elf_symtab *symtab)
{
    struct cairn_elf_symbol symbol;
    for (uint32_t i = 1; i < symtab->table.n; i++)
        if (cairn_elf_symbol_table_get(&symtab->table, i, &symbol))
            return false;
    return true;
}

static void drop_sorted(struct cairn_elf_symtab *symtab)
{
    cairn_free(symtab->symbols);
    cairn_free(symtab->reaches);
    symtab->symbols = NULL;
    symtab->reaches = NULL;
    symtab->n = symtab->n_reaches = 0;
    symtab->sorted = false;
}

int cairn_elf_symtab_sort(struct cairn_elf_symtab *symtab, struct cairn_err *err)
{
    if (symtab->sorted)
        return CAIRN_OK;
    if (read_symbols(&symtab->table, symtab) < 0 || arrange(symtab) < 0) {
        drop_sorted(symtab);
        return cairn_fail_memory(err);
    }
    symtab->sorted = true;
    return CAIRN_OK;
}

int cairn_elf_symtab_read(const struct cairn_elf *elf, enum cairn_elf_symtab_kind kind,
                          struct cairn_elf_symtab *ret_symtab, struct cairn_err *err)
{
    struct cairn_elf_symtab symtab;
    int code = cairn_elf_symtab_open(elf, kind, elf, &symtab, err);
    if (code < 0)
        return code;
    code = cairn_elf_symtab_sort(&symtab, err);
    if (code < 0)
        cairn_elf_symtab_done(&symtab);
    else
        *ret_symtab = symtab;
    return code;
}

int cairn_elf_symtab_of(struct cairn_elf_symbol *symbols, size_t n,
                        struct cairn_elf_symtab *ret_symtab, struct cairn_err *err)
{
    struct cairn_elf_symtab symtab = {.symbols = symbols, .n = n};
    if (arrange(&symtab) < 0) {
        drop_sorted(&symtab);
        return cairn_fail_memory(err);
    }
    symtab.sorted = true;
    *ret_symtab = symtab;
    return CAIRN_OK;
}

void cairn_elf_symtab_done(struct cairn_elf_symtab *symtab)
{
    drop_sorted(symtab);
    cairn_elf_symbol_table_done(&symtab->table);
    *symtab = (struct cairn_elf_symtab){0};
}

const struct cairn_elf_symbol *cairn_elf_symtab_find(const struct cairn_elf_symtab *symtab,
                                                     uint64_t vaddr)
{
    size_t low = 0, high = symtab->n_reaches; /* the last reach at or below is in [low, high) */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (symtab->reaches[middle].vaddr <= vaddr)
            low = middle;
        else
            high = middle;
    }
    if (high == low || symtab->reaches[low].vaddr > vaddr)
        return NULL;
    uint32_t owner = symtab->reaches[low].owner;
    return owner == NOBODY ? NULL : &symtab->symbols[owner];
}

/* Answers from the few symbols that matter, by the same rules as from all. CAIRN_E_LIMIT: they are
 * too many; CAIRN_E_NOMEM. */
static int answer_from_few(const struct cairn_elf_symtab *symtab, uint64_t vaddr, bool *ret_found,
                           struct cairn_elf_symbol *ret_symbol)
{
    struct cairn_elf_symtab few = {.size_label = symtab->size_label, .image = symtab->image};
    few.symbols = cairn_realloc(NULL, FEW_MAX, sizeof *few.symbols);
    if (!few.symbols)
        return CAIRN_E_NOMEM;
    int code = cairn_elf_symtab_scan(&symtab->table, vaddr, few.symbols, FEW_MAX, &few.n)
                   ? arrange(&few)
                   : CAIRN_E_LIMIT;
    const struct cairn_elf_symbol *found =
        code == CAIRN_OK ? cairn_elf_symtab_find(&few, vaddr) : NULL;
    *ret_found = found != NULL;
    if (found)
        *ret_symbol = *found;
    drop_sorted(&few);
    return code;
}

int cairn_elf_symtab_ask(struct cairn_elf_symtab *symtab, uint64_t vaddr,
                         const struct cairn_elf_symbol **ret_symbol, struct cairn_err *err)
{
    if (!symtab->sorted && symtab->n_scans < CAIRN_ELF_SYMTAB_SCANS) {
        struct cairn_elf_symbol *answer = &symtab->scanned[symtab->n_scans];
        bool found;
        int code = answer_from_few(symtab, vaddr, &found, answer);
        if (code == CAIRN_E_NOMEM)
            return cairn_fail_memory(err);
        if (code == CAIRN_OK) {
            symtab->n_scans++;
            *ret_symbol = found ? answer : NULL;
            return CAIRN_OK;
        }
    }
    int code = cairn_elf_symtab_sort(symtab, err);
    if (code == CAIRN_OK)
        *ret_symbol = cairn_elf_symtab_find(symtab, vaddr);
    return code;
}
