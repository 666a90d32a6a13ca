/* SPDX-License-Identifier: MIT */
#include "cache/cache.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/cache.h>

#include "base/alloc.h"
#include "base/archive.h"
#include "base/error.h"
#include "base/log.h"
#include "base/open.h"
#include "cache/seal.h"
#include "cache/store.h"

enum {
    BUILD_ID_MIN = 16, /* hex digits; a shorter one was made up by hand, and tells little */
    BUILD_ID_MAX = 128,
    TRIMMED_EVERY = 16 /* the folder is trimmed after a 16th of its cap was written */
};
static const uint64_t default_max_bytes = (uint64_t)4 << 30;

struct cairn_cache {
    char *folder; /* NULL: there is none */
    uint64_t max_bytes;
    struct cairn_cache_store store; /* fd is -1: not there, or not made yet */
    uint64_t stored_bytes;          /* since the folder was last trimmed */
    bool told;                      /* why nothing can be kept */
};

static const char *suffix_of(enum cairn_cache_kind kind)
{
    switch (kind) {
    case CAIRN_CACHE_INDEX:
        return "index";
    case CAIRN_CACHE_UNIT_MAP:
        return "units";
    case CAIRN_CACHE_UNPACKED:
        return "unpacked";
    }
    return "";
}

/* Keeping nothing is no failure, but who wonders why it is slow will ask with -v. */
static void tell(struct cairn_cache *cache, const struct cairn_err *why)
{
    if (!cache->told && why->code != CAIRN_E_NOMEM)
        cairn_log(CAIRN_LOG_INFO, "no cache: %s", why->msg);
    cache->told = true;
}

int cairn_cache_new(const char *folder, uint64_t max_bytes, struct cairn_cache **ret_cache,
                    struct cairn_err *err)
{
    char own[PATH_MAX];
    struct cairn_err why;
    struct cairn_cache *cache = cairn_alloc(1, sizeof *cache);
    if (!cache)
        return cairn_fail_memory(err);
    cache->store.fd = -1;
    cache->max_bytes = max_bytes ? max_bytes : default_max_bytes;
    if (!folder && cairn_cache_folder(own, sizeof own, &why) < 0) {
        tell(cache, &why);
        *ret_cache = cache;
        return CAIRN_OK;
    }
    cache->folder = cairn_strdup(folder ? folder : own);
    int code = cache->folder ? cairn_cache_store_open(cache->folder, false, &cache->store, &why)
                             : cairn_fail_memory(&why);
    if (code == CAIRN_E_NOMEM) {
        cairn_cache_free(cache);
        return cairn_fail_memory(err);
    }
    if (code < 0 && code != CAIRN_E_MISSING)
        tell(cache, &why);
    *ret_cache = cache;
    return CAIRN_OK;
}

static void trim(struct cairn_cache *cache)
{
    struct cairn_err why;
    size_t n;
    uint64_t bytes;
    cache->stored_bytes = 0;
    if (cairn_cache_store_trim(&cache->store, cache->max_bytes, &n, &bytes, &why) < 0)
        tell(cache, &why);
    else if (n)
        cairn_log(CAIRN_LOG_INFO, "%s: %zu entries (%" PRIu64 " bytes) deleted, to keep %" PRIu64,
                  cache->folder, n, bytes, cache->max_bytes);
}

void cairn_cache_free(struct cairn_cache *cache)
{
    if (!cache)
        return;
    if (cache->stored_bytes)
        trim(cache);
    cairn_cache_store_close(&cache->store);
    cairn_free(cache->folder);
    cairn_free(cache);
}

static void add_number(struct cairn_buffer *out, uint64_t number)
{
    cairn_buffer_add(out, &number, sizeof number);
}

/* The module in hand, if another user could have written one of its files: another user's file then
 * has another name, and cannot even displace the entry. 0: there is no identity to go by. */
static uint64_t hash_identity(const struct cairn_cache_key *key)
{
    struct cairn_buffer all = {0};
    bool known = true;
    for (size_t i = 0; i < key->n_files; i++) {
        const struct cairn_cache_file *file = &key->files[i];
        if (file->role == CAIRN_CACHE_OTHER)
            continue;
        known &= file->inode != 0;
        add_number(&all, file->role);
        add_number(&all, file->size); /* this and the next tell the files of an archive apart */
        add_number(&all, file->layout);
        add_number(&all, file->dev);
        add_number(&all, file->inode);
        add_number(&all, file->uid);
        add_number(&all, file->mtime_ns);
        add_number(&all, file->ctime_ns);
    }
    uint64_t hash = known && !all.failed ? cairn_cache_hash(cairn_buffer_span(&all)) : 0;
    cairn_buffer_done(&all);
    return hash;
}

static bool all_are_guarded(const struct cairn_cache_key *key)
{
    for (size_t i = 0; i < key->n_files; i++)
        if (key->files[i].role != CAIRN_CACHE_OTHER && !key->files[i].is_guarded)
            return false;
    return true;
}

/* The name of an entry; false where nothing identifies the module. */
static bool name_of(const struct cairn_cache_key *key, enum cairn_cache_kind kind,
                    char ret_name[CAIRN_CACHE_NAME_MAX + 1])
{
    size_t size = strlen(key->build_id);
    if (!all_are_guarded(key)) {
        uint64_t identity = hash_identity(key);
        snprintf(ret_name, CAIRN_CACHE_NAME_MAX + 1, "%016" PRIx64 "-file.%s", identity,
                 suffix_of(kind));
        return identity != 0;
    }
    if (size >= BUILD_ID_MIN && size <= BUILD_ID_MAX) {
        snprintf(ret_name, CAIRN_CACHE_NAME_MAX + 1, "%s.%s", key->build_id, suffix_of(kind));
        return true;
    }
    uint64_t hash = cairn_cache_hash(cairn_span_of(key->path));
    snprintf(ret_name, CAIRN_CACHE_NAME_MAX + 1, "%016" PRIx64 "-path.%s", hash, suffix_of(kind));
    return key->path[0] != '\0';
}

/* A file that is stored in an archive is as old as the archive. */
static bool stat_archive(const char *path, struct stat *ret_st, bool *ret_is_guarded)
{
    const char *split = cairn_archive_split(path);
    char *archive = split ? cairn_strdup(path) : NULL;
    if (!archive)
        return false;
    archive[split - path] = 0;
    bool found = cairn_file_stat_guarded(archive, ret_st, ret_is_guarded);
    cairn_free(archive);
    return found;
}

void cairn_cache_file_stat(struct cairn_cache_file *file)
{
    struct stat st;
    file->absent = !cairn_file_stat_guarded(file->path, &st, &file->is_guarded) &&
                   !stat_archive(file->path, &st, &file->is_guarded);
    if (file->absent)
        st = (struct stat){0};
    file->size = (uint64_t)st.st_size;
    file->mtime_ns = cairn_time_ns(&st.st_mtim);
    file->ctime_ns = cairn_time_ns(&st.st_ctim);
    file->dev = st.st_dev;
    file->inode = st.st_ino;
    file->uid = st.st_uid;
}

static bool is_in_hand(const struct cairn_cache_key *key, const struct cairn_cache_file *file)
{
    for (size_t i = 0; i < key->n_files; i++)
        if (cairn_cache_file_equal(&key->files[i], file))
            return true;
    return false;
}

/* Others were opened on the way, by a path that the entry knows: they must lie there as they did.
 */
static bool is_as_it_was(const struct cairn_cache_file *file)
{
    struct cairn_cache_file now = {.path = file->path};
    cairn_cache_file_stat(&now);
    if (now.absent || file->absent)
        return now.absent == file->absent;
    return now.size == file->size && now.is_guarded == file->is_guarded &&
           (now.is_guarded ? now.mtime_ns == file->mtime_ns
                           : cairn_cache_file_identical(&now, file));
}

/* Every file in hand went into the entry, and every file that went into it is still the same. */
static bool files_are_right(const struct cairn_cache_key *key,
                            const struct cairn_cache_entry_header *header, const char *name)
{
    size_t n_in_hand = 0;
    for (size_t i = 0; i < header->n_files; i++) {
        const struct cairn_cache_file *file = &header->files[i];
        bool other = file->role == CAIRN_CACHE_OTHER;
        if (other ? !is_as_it_was(file) : !is_in_hand(key, file)) {
            cairn_log(CAIRN_LOG_INFO, "cache: %s: %s has changed", name, file->path);
            return false;
        }
        n_in_hand += !other;
    }
    if (n_in_hand != key->n_files)
        cairn_log(CAIRN_LOG_INFO, "cache: %s: was made from other files", name);
    return n_in_hand == key->n_files;
}

static void discard(struct cairn_cache *cache, const char *name, const struct cairn_err *why)
{
    struct cairn_err ignored;
    cairn_log(CAIRN_LOG_WARNING, "%s/%.2s/%s: damaged, and made anew: %s", cache->store.path, name,
              name, why->msg);
    (void)cairn_cache_store_remove(&cache->store, name, &ignored);
}

static int check_payload(const struct cairn_cache_entry_read *entry, struct cairn_err *err)
{
    uint64_t sum = cairn_cache_sum(entry->payload);
    if (sum == entry->payload_sum)
        return CAIRN_OK;
    return cairn_fail(err, CAIRN_E_FORMAT,
                      "sum of its payload is %016" PRIx64 ", its header says %016" PRIx64, sum,
                      entry->payload_sum);
}

/* The entry in a mapped file; false where it serves nobody. */
static bool read_entry(struct cairn_cache *cache, const struct cairn_cache_key *key,
                       enum cairn_cache_kind kind, const char *name, struct cairn_span bytes,
                       bool sealed, struct cairn_span *ret_payload)
{
    struct cairn_cache_entry_read entry = {0};
    struct cairn_err why;
    int code = cairn_cache_entry_read(bytes, &entry, &why);
    if (code == CAIRN_OK && entry.header.kind != kind)
        code = cairn_fail(&why, CAIRN_E_FORMAT, "kind is %d, expected %d", (int)entry.header.kind,
                          (int)kind);
    bool good = code == CAIRN_OK && files_are_right(key, &entry.header, name);
    if (good && !sealed) {
        code = check_payload(&entry, &why);
        good = code == CAIRN_OK;
        if (good)
            cairn_cache_store_vouch(&cache->store, name);
    }
    if (code == CAIRN_E_FORMAT)
        discard(cache, name, &why);
    *ret_payload = entry.payload;
    cairn_cache_entry_done(&entry);
    return good;
}

bool cairn_cache_load(struct cairn_cache *cache, const struct cairn_cache_key *key,
                      enum cairn_cache_kind kind, struct cairn_cache_hit *ret_hit)
{
    char name[CAIRN_CACHE_NAME_MAX + 1];
    struct cairn_cache_hit hit;
    struct cairn_err why;
    bool sealed;
    if (cache->store.fd < 0 || !name_of(key, kind, name))
        return false;
    int code = cairn_cache_store_map(&cache->store, name, true, &hit.file, &sealed, &why);
    if (code < 0) {
        if (code != CAIRN_E_MISSING)
            tell(cache, &why);
        return false;
    }
    bool good = read_entry(cache, key, kind, name, hit.file.bytes, sealed, &hit.payload);
    if (good)
        *ret_hit = hit;
    else
        cairn_file_close(&hit.file);
    return good;
}

static int put(struct cairn_cache *cache, const char *name, struct cairn_span head,
               struct cairn_span body, struct cairn_err *err)
{
    if (head.size + body.size > cache->max_bytes)
        return cairn_fail(err, CAIRN_E_LIMIT, "%s: an entry of %zu bytes, at most %" PRIu64,
                          cache->folder, head.size + body.size, cache->max_bytes);
    if (cache->store.fd < 0) {
        int code = cairn_cache_store_open(cache->folder, true, &cache->store, err);
        if (code < 0)
            return code;
    }
    return cairn_cache_store_put(&cache->store, name, head, body, err);
}

bool cairn_cache_store(struct cairn_cache *cache, const struct cairn_cache_key *key,
                       enum cairn_cache_kind kind, struct cairn_span payload)
{
    char name[CAIRN_CACHE_NAME_MAX + 1];
    struct cairn_buffer head = {0};
    struct cairn_err why;
    /* What was made of a file that read as zeros must not outlive this run. */
    if (!cache->folder || cairn_file_any_cut() || !name_of(key, kind, name))
        return false;
    struct cairn_cache_entry_header header = {.kind = kind,
                                              .module = key->path,
                                              .build_id = key->build_id,
                                              .files = key->files,
                                              .n_files = key->n_files};
    cairn_cache_entry_write(&header, payload, &head);
    int code = head.failed ? cairn_fail_memory(&why)
                           : put(cache, name, cairn_buffer_span(&head), payload, &why);
    if (code < 0)
        tell(cache, &why);
    else
        cache->stored_bytes += head.size + payload.size;
    cairn_buffer_done(&head);
    if (cache->stored_bytes > cache->max_bytes / TRIMMED_EVERY)
        trim(cache);
    return code == CAIRN_OK;
}

void cairn_cache_discard(struct cairn_cache *cache, const struct cairn_cache_key *key,
                         enum cairn_cache_kind kind, const struct cairn_err *why)
{
    char name[CAIRN_CACHE_NAME_MAX + 1];
    if (cache->store.fd >= 0 && name_of(key, kind, name))
        discard(cache, name, why);
}
