/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE, but for dl_iterate_phdr */
#include "heap/late_slots.h"

#include <fcntl.h>
#include <link.h>
#include <memory_tracker.h>
#include <stdatomic.h>
#include <string.h>

#include "heap/late_rows.h"
#include "hook/slots_loaded.h"
#include "rt/array.h"
#include "rt/lock.h"
#include "rt/sys.h"
#include "rt/word_write.h"
#include "unwind/loader.h"

enum {
    MOST_ROWS = 128,
    HASHES = 256,
    /* Looks at modules with slots that are not as they should be, until they count as foreign: one
     * that is just being loaded is not relocated yet. */
    MOST_LOOKS = 16
};

struct pattern {
    char text[CAIRN_LATE_PATTERN_BYTES];
};

/* Guards all that follows. */
static struct cairn_lock lock;
static struct cairn_array patterns;
/* The functions that the rows stand for, as slots have them. An original may be moved code. */
static uintptr_t functions[MOST_ROWS];
static uint8_t row_of_hash[HASHES]; /* 1 + the first row; 0: none */
static uint8_t next_row[MOST_ROWS]; /* of the same hash */
static char program[CAIRN_LATE_PATTERN_BYTES];

/* What the modules were at the last look; read without the lock. */
static _Atomic(uint64_t) seen_adds, seen_subs;
static atomic_uint looks_left;

static unsigned hash_of(const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619u;
    return hash % HASHES;
}

static void index_rows(void)
{
    const struct cairn_late_row *row;
    for (uint32_t i = 0; (row = cairn_late_row(i)) && i < MOST_ROWS; i++) {
        unsigned hash = hash_of(row->name);
        next_row[i] = row_of_hash[hash];
        row_of_hash[hash] = (uint8_t)(i + 1);
    }
}

static const struct cairn_late_row *find_row(const char *name, uint32_t *ret_i)
{
    for (uint32_t i = row_of_hash[hash_of(name)]; i != 0; i = next_row[i - 1]) {
        const struct cairn_late_row *row = cairn_late_row(i - 1);
        *ret_i = i - 1;
        if (strcmp(row->name, name) == 0)
            return row;
    }
    return NULL;
}

/* Within dl_iterate_phdr, so that no module goes. Libraries that came later may have more. */
static void find_functions(void)
{
    const struct cairn_late_row *row;
    for (uint32_t i = 0; (row = cairn_late_row(i)) && i < MOST_ROWS; i++) {
        if (functions[i])
            continue;
        uintptr_t va = cairn_loader_before(row->name);
        functions[i] = va ? va : cairn_loader_next(row->name);
        if (functions[i] && !*row->original)
            *row->original = (void *)functions[i];
    }
}

static int find_in_list(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)info;
    (void)size;
    (void)ctx;
    find_functions();
    return 1;
}

bool cairn_late_slots_find(uint32_t *ret_granule_bits)
{
    uint32_t malloc_row = 0;
    cairn_lock_take(&lock);
    if (!row_of_hash[hash_of("malloc")]) {
        index_rows();
        long n = cairn_sys_read_link("/proc/self/exe", program, sizeof(program) - 1);
        program[n > 0 ? n : 0] = 0;
    }
    dl_iterate_phdr(find_in_list, NULL);
    bool found = find_row("malloc", &malloc_row) && functions[malloc_row];
    uintptr_t va = functions[malloc_row];
    *ret_granule_bits = va == cairn_loader_libc("malloc")   ? CAIRN_LATE_GRANULE_GLIBC
                        : va == cairn_loader_musl("malloc") ? CAIRN_LATE_GRANULE_MUSL
                                                            : CAIRN_LATE_GRANULE_OTHER;
    cairn_lock_give(&lock);
    return found;
}

static size_t find_pattern(const char *text)
{
    const struct pattern *all = patterns.items;
    size_t i = 0;
    while (i < patterns.n && strcmp(all[i].text, text) != 0)
        i++;
    return i;
}

static int check_list(const char *const *list, size_t n)
{
    if (!list || n == 0 || n > CAIRN_LATE_PATTERNS)
        return MEMORY_TRACKER_E_ARG;
    for (size_t i = 0; i < n; i++)
        if (!list[i] || !list[i][0] || strlen(list[i]) >= CAIRN_LATE_PATTERN_BYTES)
            return MEMORY_TRACKER_E_ARG;
    return MEMORY_TRACKER_OK;
}

static int add_locked(const char *const *list, size_t n)
{
    size_t before = patterns.n;
    for (size_t i = 0; i < n; i++) {
        if (find_pattern(list[i]) < patterns.n)
            continue;
        struct pattern *pattern = patterns.n < CAIRN_LATE_PATTERNS
                                      ? cairn_array_add(&patterns, 1, sizeof(*pattern))
                                      : NULL;
        if (!pattern) {
            patterns.n = before;
            return MEMORY_TRACKER_E_NOMEM;
        }
        memcpy(pattern->text, list[i], strlen(list[i]) + 1);
    }
    return MEMORY_TRACKER_OK;
}

int cairn_late_slots_add(const char *const *list, size_t n)
{
    int code = check_list(list, n);
    if (code != MEMORY_TRACKER_OK)
        return code;
    cairn_lock_take(&lock);
    code = add_locked(list, n);
    cairn_lock_give(&lock);
    return code;
}

int cairn_late_slots_remove(const char *const *list, size_t n)
{
    int code = check_list(list, n);
    if (code != MEMORY_TRACKER_OK)
        return code;
    cairn_lock_take(&lock);
    for (size_t i = 0; i < n; i++) {
        struct pattern *all = patterns.items;
        size_t at = find_pattern(list[i]);
        if (at < patterns.n)
            all[at] = all[--patterns.n];
    }
    cairn_lock_give(&lock);
    return MEMORY_TRACKER_OK;
}

int cairn_late_slots_remove_all(void)
{
    cairn_lock_take(&lock);
    patterns.n = 0;
    cairn_lock_give(&lock);
    return MEMORY_TRACKER_OK;
}

static bool is_wanted(const char *path)
{
    const struct pattern *all = patterns.items;
    for (size_t i = 0; i < patterns.n; i++)
        if (cairn_slots_match(all[i].text, path))
            return true;
    return false;
}

struct applying {
    struct cairn_late_slots_count *count;
    struct cairn_word_writer writer;
    /* Of the module. */
    uintptr_t base;
    const struct dl_phdr_info *info;
    const struct cairn_slots_image *image;
    bool is_wanted;
    bool is_odd; /* a slot has a value that is not known */
};

/* What a slot is to hold; 0: what the loader gives it. */
static uintptr_t wanted_value(const struct cairn_late_row *row, bool is_hooked)
{
    bool is_for_all = !(row->roles & CAIRN_LATE_BIRTH);
    return (uintptr_t)(is_hooked || is_for_all ? row->replacement : row->elsewhere);
}

/* A slot that is not bound yet holds an address of the module's own PLT. It is bound here. */
static int apply_slot(void *context, const struct cairn_slot *slot)
{
    struct applying *a = context;
    uint32_t i;
    const struct cairn_late_row *row = find_row(slot->name, &i);
    if (!row || !functions[i])
        return 0;
    _Atomic(uintptr_t) *place = (_Atomic(uintptr_t) *)(a->base + (uintptr_t)slot->vaddr);
    uintptr_t now = atomic_load(place), wanted = wanted_value(row, a->is_wanted);
    bool is_ours =
        now == (uintptr_t)row->replacement || (row->elsewhere && now == (uintptr_t)row->elsewhere);
    bool is_lazy = slot->kind == CAIRN_SLOTS_JUMP && !slot->is_defined &&
                   cairn_slots_is_code(a->image, now - a->base);
    if (!is_ours && now != functions[i] && !is_lazy) {
        a->is_odd = true;
        a->count->n_foreign++;
        return 0;
    }
    if (!wanted)
        wanted = is_ours ? functions[i] : now;
    a->writer.is_read_only = !cairn_slots_is_writable(a->info, slot->vaddr);
    if (now != wanted && !cairn_word_write(&a->writer, place, now, wanted))
        a->count->n_failed++;
    else if (a->is_wanted && wanted != functions[i])
        a->count->n_slots++;
    return 0;
}

static void note_generation(const struct dl_phdr_info *info, size_t size)
{
    if (size < offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
        return;
    bool is_new = atomic_exchange(&seen_adds, info->dlpi_adds) != info->dlpi_adds;
    is_new |= atomic_exchange(&seen_subs, info->dlpi_subs) != info->dlpi_subs;
    if (is_new)
        atomic_store(&looks_left, MOST_LOOKS);
}

static int apply_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct applying *a = ctx;
    struct cairn_slots_loaded loaded;
    struct cairn_slots_result result;
    const char *path = info->dlpi_name && info->dlpi_name[0] ? info->dlpi_name : program;
    if (!a->image) {
        note_generation(info, size);
        find_functions();
    }
    a->image = &loaded.image;
    if (!cairn_slots_load(info, &loaded) || cairn_slots_has_va(&loaded, (uintptr_t)&cairn_late))
        return 0;
    a->writer.low = loaded.relro_low;
    a->writer.high = loaded.relro_high;
    a->base = (uintptr_t)info->dlpi_addr;
    a->info = info;
    a->is_wanted = is_wanted(path);
    a->count->n_modules += a->is_wanted;
    if (!cairn_slots_each(&loaded.image, apply_slot, a, &result))
        a->count->n_broken++;
    return 0;
}

static void apply_locked(struct cairn_late_slots_count *ret_count)
{
    struct applying a = {.count = ret_count};
    memset(ret_count, 0, sizeof(*ret_count));
    if (!row_of_hash[hash_of("malloc")])
        return;
    cairn_word_writer_open(&a.writer);
    dl_iterate_phdr(apply_module, &a);
    cairn_word_writer_close(&a.writer);
    if (!a.is_odd)
        atomic_store(&looks_left, 0);
}

void cairn_late_slots_apply(struct cairn_late_slots_count *ret_count)
{
    cairn_lock_take(&lock);
    apply_locked(ret_count);
    cairn_lock_give(&lock);
}

static int is_changed(struct dl_phdr_info *info, size_t size, void *ctx)
{
    bool *ret = ctx;
    *ret = size < offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs) ||
           atomic_load(&seen_adds) != info->dlpi_adds || atomic_load(&seen_subs) != info->dlpi_subs;
    return 1;
}

void cairn_late_slots_look(void)
{
    struct cairn_late_slots_count count;
    bool changed = false;
    dl_iterate_phdr(is_changed, &changed);
    if ((!changed && atomic_load(&looks_left) == 0) || !cairn_lock_try(&lock))
        return;
    if (!changed)
        atomic_fetch_sub(&looks_left, 1);
    apply_locked(&count);
    cairn_lock_give(&lock);
}
