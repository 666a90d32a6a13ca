/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <time.h>

#include "base/error.h"
#include "base/log.h"
#include "symbol/module.h"
#include "symbol/module_files.h"

enum {
    SPLIT_SHARE = 4,     /* .debug_info is hardly less than the lines, unless it is elsewhere */
    SPLIT_FACTOR = 8,    /* and in most programs so many times as much */
    SHARE = 4,           /* an index is made once the look-ups have cost a quarter of it */
    LOOKUP_BYTES = 1024, /* what a look-up costs, in bytes of .debug_info that could be read */
    BATCH_MIN = 64,      /* fewer addresses are not worth an estimate */
    SAMPLED_MAX = 4096,  /* addresses of a batch that are looked at for it */
    INDEX_SHARE = 2,     /* of the debug information: what making an index may need in memory */
};

const char *cairn_way_text(enum cairn_way way)
{
    switch (way) {
    case CAIRN_WAY_NONE:
        return "not read yet";
    case CAIRN_WAY_SYMBOLS:
        return "symbol tables alone";
    case CAIRN_WAY_UNITS:
        return "unit by unit";
    case CAIRN_WAY_SAVED_MAP:
        return "unit by unit, found by a map from the cache";
    case CAIRN_WAY_INDEX:
        return "indexed whole";
    case CAIRN_WAY_CACHE:
        return "index from the cache";
    }
    return "unknown";
}

static uint64_t size_of(const struct cairn_elf *elf, const char *name)
{
    struct cairn_elf_section section;
    return cairn_elf_find_section(elf, name, &section) && section.type != SHT_NOBITS ? section.size
                                                                                     : 0;
}

/* Bytes of debug information as they stand in the file; 0: there is none. Where functions are in
 * .dwo files it is guessed from the lines, which stay in the program. */
static uint64_t guess_size(const struct cairn_module *m)
{
    const struct cairn_elf *elf = cairn_module_dwarf_elf(m);
    uint64_t info = size_of(elf, ".debug_info") + size_of(elf, ".zdebug_info");
    uint64_t lines = size_of(elf, ".debug_line") + size_of(elf, ".zdebug_line");
    return info < lines / SPLIT_SHARE ? lines * SPLIT_FACTOR : info + lines;
}

static bool has_aranges(const struct cairn_module *m)
{
    struct cairn_elf_section section;
    return cairn_elf_find_section(cairn_module_dwarf_elf(m), ".debug_aranges", &section) &&
           section.size > 0;
}

static void take_way(struct cairn_module *m, enum cairn_way way)
{
    m->info.way = (uint8_t)way;
    m->way.settled = way == CAIRN_WAY_SYMBOLS || way == CAIRN_WAY_INDEX || way == CAIRN_WAY_CACHE;
}

void cairn_module_leave_way(struct cairn_module *m)
{
    struct cairn_module_way *way = &m->way;
    if (m->index)
        cairn_index_done(&way->index);
    m->index = NULL;
    cairn_file_close(&way->entry);
    way->gave_up |= way->image.size > 0;
    cairn_buffer_done(&way->image);
    way->begun = way->settled = false;
    way->held_bytes = 0;
}

/* Is what is found out about the module worth a file? */
static bool is_kept(const struct cairn_module *m, const struct cairn_way_settings *settings)
{
    return settings->cache && m->way.size && m->way.size >= settings->small_bytes;
}

/* An entry of the cache, made from the module's files as they are. CAIRN_E_MISSING: there is none.
 */
static int load(const struct cairn_module *m, struct cairn_cache *cache, enum cairn_cache_kind kind,
                struct cairn_cache_hit *ret_hit, struct cairn_err *err)
{
    struct cairn_module_key key;
    int code = cairn_module_key_make(m, false, &key, err);
    if (code == CAIRN_OK && !cairn_cache_load(cache, &key.key, kind, ret_hit))
        code = CAIRN_E_MISSING;
    cairn_module_key_done(&key);
    return code;
}

/* Its payload is damaged, or memory is gone: CAIRN_E_MISSING, or CAIRN_E_NOMEM. */
static int refuse(const struct cairn_module *m, struct cairn_cache *cache,
                  enum cairn_cache_kind kind, const struct cairn_err *why, struct cairn_err *err)
{
    struct cairn_module_key key;
    if (why->code == CAIRN_E_NOMEM || cairn_module_key_make(m, false, &key, err) < 0)
        return cairn_fail_memory(err);
    cairn_cache_discard(cache, &key.key, kind, why);
    cairn_module_key_done(&key);
    return CAIRN_E_MISSING;
}

static int load_index(struct cairn_module *m, struct cairn_cache *cache, struct cairn_err *err)
{
    struct cairn_cache_hit hit;
    struct cairn_err why;
    int code = load(m, cache, CAIRN_CACHE_INDEX, &hit, err);
    if (code < 0)
        return code;
    if (cairn_index_open(hit.payload, &m->way.index, &why) < 0) {
        cairn_file_close(&hit.file);
        return refuse(m, cache, CAIRN_CACHE_INDEX, &why, err);
    }
    m->way.entry = hit.file;
    m->index = &m->way.index;
    return CAIRN_OK;
}

/* The map of units, where the compiler wrote none. */
static int load_map(struct cairn_module *m, struct cairn_cache *cache, struct cairn_err *err)
{
    struct cairn_cache_hit hit;
    struct cairn_unit_map map;
    struct cairn_err why;
    int code = cairn_module_need_dwarf(m, err);
    if (code == CAIRN_OK)
        code = m->unit_finder.units ? load(m, cache, CAIRN_CACHE_UNIT_MAP, &hit, err)
                                    : CAIRN_E_MISSING;
    if (code < 0)
        return code;
    code = cairn_unit_map_load(hit.payload, &m->units, &map, &why);
    cairn_file_close(&hit.file);
    if (code < 0)
        return refuse(m, cache, CAIRN_CACHE_UNIT_MAP, &why, err);
    cairn_unit_finder_take_roots(&m->unit_finder, &map);
    return CAIRN_OK;
}

/* What is missing or damaged is told in every run, so that an index made without it is not kept. */
static bool is_whole(const struct cairn_module *m)
{
    return !m->files.is_incomplete && !m->n_told && !m->files.n_told;
}

/* Puts the image that was made in use: out of the cache if it could be kept there, since what is
 * mapped costs none of the memory that is bounded. */
static int use_image(struct cairn_module *m, const struct cairn_way_settings *settings,
                     struct cairn_buffer *image, struct cairn_err *err)
{
    struct cairn_module_key key;
    bool kept = false;
    if (is_kept(m, settings) && is_whole(m)) {
        int code = cairn_module_key_make(m, true, &key, err);
        if (code < 0)
            return code;
        kept = cairn_cache_store(settings->cache, &key.key, CAIRN_CACHE_INDEX,
                                 cairn_buffer_span(image));
        cairn_module_key_done(&key);
    }
    /* All that look-ups need is in the index. */
    cairn_module_unload(m);
    m->loaded = true;
    if (kept && load_index(m, settings->cache, err) == CAIRN_OK)
        return CAIRN_OK;
    int code = cairn_index_open(cairn_buffer_span(image), &m->way.index, err);
    if (code < 0)
        return code;
    m->way.image = *image;
    *image = (struct cairn_buffer){0};
    m->index = &m->way.index;
    return CAIRN_OK;
}

static double seconds_since(struct timespec start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9;
}

/* What a run keeps of a module whose debug information is compressed. To unpack it, which no
 * look-up does without, takes a third of what an index takes: the second run makes one. */
enum cairn_unpacked {
    UNPACKED_ONCE = 0,
    UNPACKED_EACH_TIME = 1 /* the index could not be made, or kept */
};

static void note_unpacked(const struct cairn_module *m, const struct cairn_way_settings *settings,
                          enum cairn_unpacked what)
{
    const uint8_t payload = (uint8_t)what;
    struct cairn_module_key key;
    if (cairn_module_key_make(m, false, &key, NULL) < 0)
        return;
    cairn_cache_store(settings->cache, &key.key, CAIRN_CACHE_UNPACKED,
                      (struct cairn_span){&payload, sizeof payload});
    cairn_module_key_done(&key);
}

static bool was_unpacked(const struct cairn_module *m, const struct cairn_way_settings *settings,
                         uint8_t *ret_what)
{
    struct cairn_cache_hit hit;
    if (load(m, settings->cache, CAIRN_CACHE_UNPACKED, &hit, NULL) < 0)
        return false;
    bool is_sound = hit.payload.size == sizeof *ret_what;
    *ret_what = is_sound ? hit.payload.data[0] : UNPACKED_EACH_TIME;
    cairn_file_close(&hit.file);
    return true;
}

/* Reads the module whole. Where that cannot be done, its units still can be read. */
static void make_index(struct cairn_module *m, const struct cairn_way_settings *settings)
{
    struct cairn_buffer image = {0};
    struct cairn_err why;
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    int code = cairn_index_build(m, settings->n_threads, settings->memory_bytes, &image, &why);
    double seconds = seconds_since(start);
    double megabytes = (double)image.size / 1e6;
    if (code == CAIRN_OK)
        code = use_image(m, settings, &image, &why);
    cairn_buffer_done(&image);
    m->way.begun = m->way.settled = true;
    if (code < 0) {
        m->way.gave_up = true;
        cairn_log(CAIRN_LOG_INFO, "%s: cannot be indexed, and is read unit by unit: %s", m->path,
                  why.msg);
        return;
    }
    take_way(m, CAIRN_WAY_INDEX);
    cairn_log(CAIRN_LOG_INFO, "%s: indexed whole in %.2f s (%.1f MB)", m->path, seconds, megabytes);
}

/* Unit by unit, or by symbols alone. */
static int begin_units(struct cairn_module *m, const struct cairn_way_settings *settings,
                       struct cairn_err *err)
{
    bool by_aranges = has_aranges(m);
    enum cairn_way way = m->way.size ? CAIRN_WAY_UNITS : CAIRN_WAY_SYMBOLS;
    if (way == CAIRN_WAY_UNITS && !by_aranges && is_kept(m, settings)) {
        int code = load_map(m, settings->cache, err);
        if (code < 0 && code != CAIRN_E_MISSING)
            return code;
        if (code == CAIRN_OK)
            way = CAIRN_WAY_SAVED_MAP;
    }
    take_way(m, way);
    m->way.settled |= settings->use == CAIRN_INDEX_NEVER || m->way.gave_up;
    cairn_log(CAIRN_LOG_INFO, "%s: %s%s", m->path, cairn_way_text(way),
              way != CAIRN_WAY_UNITS ? ""
              : by_aranges           ? ", found by .debug_aranges"
                                     : ", found by root DIEs");
    return CAIRN_OK;
}

/* An index for the third run and all after it. */
static bool begin_anew(struct cairn_module *m, const struct cairn_way_settings *settings)
{
    uint8_t what;
    if (settings->use != CAIRN_INDEX_AUTO || m->way.gave_up || !is_kept(m, settings) ||
        m->way.size / INDEX_SHARE > settings->memory_bytes || !was_unpacked(m, settings, &what) ||
        what != UNPACKED_ONCE)
        return false;
    make_index(m, settings);
    if (!m->way.entry.bytes.data)
        note_unpacked(m, settings, UNPACKED_EACH_TIME);
    return true;
}

/* Nothing found is no failure. */
static int begin(struct cairn_module *m, const struct cairn_way_settings *settings,
                 struct cairn_err *err)
{
    m->way.begun = true;
    m->way.size = guess_size(m);
    if (settings->use != CAIRN_INDEX_NEVER && is_kept(m, settings)) {
        int code = load_index(m, settings->cache, err);
        if (code == CAIRN_OK) {
            take_way(m, CAIRN_WAY_CACHE);
            cairn_log(CAIRN_LOG_INFO, "%s: %s (%.1f MB)", m->path, cairn_way_text(CAIRN_WAY_CACHE),
                      (double)m->index->image.size / 1e6);
        }
        if (code != CAIRN_E_MISSING)
            return code;
    }
    if (settings->use == CAIRN_INDEX_ALWAYS)
        make_index(m, settings);
    else if (!begin_anew(m, settings))
        return begin_units(m, settings, err);
    return CAIRN_OK;
}

static bool is_by_units(const struct cairn_module *m)
{
    return m->info.way == CAIRN_WAY_UNITS || m->info.way == CAIRN_WAY_SAVED_MAP;
}

static void keep_map(struct cairn_module *m, const struct cairn_way_settings *settings)
{
    const struct cairn_unit_finder *finder = &m->unit_finder;
    struct cairn_module_key key;
    struct cairn_buffer map = {0};
    bool missed = m->info.way == CAIRN_WAY_UNITS && m->has_dwarf && finder->units &&
                  (finder->has_roots || finder->n_walks);
    if (!missed || has_aranges(m) || !is_kept(m, settings) ||
        cairn_unit_finder_need_roots(&m->unit_finder, NULL) < 0 ||
        cairn_module_key_make(m, false, &key, NULL) < 0)
        return;
    cairn_unit_map_save(&finder->roots, &map);
    if (!map.failed)
        cairn_cache_store(settings->cache, &key.key, CAIRN_CACHE_UNIT_MAP, cairn_buffer_span(&map));
    cairn_buffer_done(&map);
    cairn_module_key_done(&key);
}

void cairn_module_end_way(struct cairn_module *m, const struct cairn_way_settings *settings)
{
    uint8_t what;
    keep_map(m, settings);
    if (settings->use == CAIRN_INDEX_AUTO && is_by_units(m) && m->has_dwarf &&
        m->sections[0].owned && is_kept(m, settings) && !was_unpacked(m, settings, &what))
        note_unpacked(m, settings, UNPACKED_ONCE);
}

/*
 * May an index be made, and is it worth the while? `bytes` of .debug_info would be read for the
 * look-ups that are known of, beside those that were. To make an index costs more than to read all
 * units: where it is kept, later runs repay that; where it is not, the look-ups themselves must.
 */
static bool is_worth_it(struct cairn_module *m, const struct cairn_way_settings *settings,
                        uint64_t bytes, uint64_t n_lookups)
{
    uint64_t all = m->dwarf.info.size;
    if (!m->has_dwarf || m->way.size < settings->small_bytes)
        return false;
    if (m->way.size / INDEX_SHARE > settings->memory_bytes) {
        m->way.settled = true;
        return false;
    }
    if (!is_kept(m, settings))
        return n_lookups >= m->way.size / LOOKUP_BYTES;
    uint64_t left = all > m->way.held_bytes ? all - m->way.held_bytes : 0;
    bool by_units = bytes >= all / SHARE && left >= all / SHARE;
    return by_units || n_lookups >= m->way.size / LOOKUP_BYTES / SHARE;
}

int cairn_module_choose_way(struct cairn_module *m, const struct cairn_way_settings *settings,
                            struct cairn_err *err)
{
    m->way.n_lookups++;
    if (!m->way.begun) {
        int code = begin(m, settings, err);
        if (code < 0)
            m->way.begun = false;
        return code;
    }
    if (!m->way.settled && is_worth_it(m, settings, m->way.read_bytes, m->way.n_lookups))
        make_index(m, settings);
    return CAIRN_OK;
}

/* How much of .debug_info the units are that claim these addresses, by a sample of them. */
static int estimate(struct cairn_module *m, const uint64_t *vaddrs, size_t n_vaddrs,
                    uint64_t *ret_bytes, struct cairn_err *err)
{
    struct cairn_table seen = {0};
    size_t step = n_vaddrs / SAMPLED_MAX + 1;
    uint64_t bytes = 0;
    const struct cairn_unit_map *map = NULL;
    int code = cairn_module_need_dwarf(m, err);
    m->unit_finder.expects_many = true;
    if (code == CAIRN_OK && m->unit_finder.units)
        code = cairn_unit_finder_need_map(&m->unit_finder, &map, err);
    n_vaddrs = map ? n_vaddrs : 0;
    for (size_t i = 0; i < n_vaddrs && code == CAIRN_OK; i += step) {
        uint32_t at, end, off, ignored;
        size_t cursor = SIZE_MAX;
        if (!cairn_dwarf_place(&m->dwarf, vaddrs[i], vaddrs[i] + 1, &at, &end))
            continue;
        while (code == CAIRN_OK && cairn_unit_map_next(map, at, &cursor, &off)) {
            if (cairn_table_find(&seen, off, &ignored))
                continue;
            const struct cairn_dwarf_unit *unit = cairn_dwarf_units_at(&m->units, off);
            bytes += unit ? unit->end - unit->off : 0;
            if (cairn_table_set(&seen, off, 1) < 0)
                code = cairn_fail_memory(err);
        }
    }
    cairn_table_done(&seen);
    *ret_bytes = bytes;
    return code;
}

int cairn_module_choose_way_for(struct cairn_module *m, const struct cairn_way_settings *settings,
                                const uint64_t *vaddrs, size_t n_vaddrs, struct cairn_err *err)
{
    uint64_t bytes = 0;
    if (!m->way.begun) {
        int code = cairn_module_choose_way(m, settings, err);
        if (code < 0)
            return code;
    }
    if (m->way.settled || n_vaddrs < BATCH_MIN || m->way.size < settings->small_bytes)
        return CAIRN_OK;
    int code = estimate(m, vaddrs, n_vaddrs, &bytes, err);
    if (code < 0)
        return code;
    if (is_worth_it(m, settings, m->way.read_bytes + bytes, m->way.n_lookups + n_vaddrs))
        make_index(m, settings);
    return CAIRN_OK;
}
