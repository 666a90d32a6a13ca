/* SPDX-License-Identifier: MIT */
/* Each test has a folder of its own, FOLDER below, that does not exist at first. */
#include "cache/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cairn/cache.h>
#include <cairn/log.h>

#include "base/alloc.h"
#include "cache/seal.h"
#include "support/test.h"

#define ID "0123456789abcdef0123"

static char work[64], folder[96];
static char said[16384]; /* what the log got, a line each */

static void keep_log(void *ctx, enum cairn_log_level level, const char *text)
{
    (void)ctx;
    size_t n = strlen(said);
    snprintf(said + n, sizeof said - n, "%c %s\n", "WID"[level], text);
}

static int enter(void **state)
{
    (void)state;
    snprintf(work, sizeof work, "/tmp/cairn-cache.XXXXXX");
    if (!mkdtemp(work))
        return -1;
    snprintf(folder, sizeof folder, "%s/dot/cairn", work);
    said[0] = '\0';
    cairn_log_set(keep_log, NULL, CAIRN_LOG_INFO);
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static int leave(void **state)
{
    (void)state;
    cairn_log_set(NULL, NULL, CAIRN_LOG_WARNING);
    if (getuid() == 0 && seteuid(0) < 0)
        return -1;
    return nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *at(const char *below)
{
    static char paths[8][512];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, 512, "%s/%s", work, below);
    return path;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* The one entry of the folder, with its kind's ending. */
static const char *entry_path(const char *suffix)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/symbols/v1/01/" ID ".%s", folder, suffix);
    return path;
}

static struct cairn_cache *open_cache(uint64_t max_bytes)
{
    struct cairn_cache *cache;
    struct cairn_err err;
    assert_ok(cairn_cache_new(folder, max_bytes, &cache, &err), err);
    return cache;
}

static struct cairn_span span(const char *text)
{
    return cairn_span_of(text);
}

static struct cairn_cache_file image = {.role = CAIRN_CACHE_IMAGE,
                                        .is_guarded = true,
                                        .path = "/bin/prog",
                                        .build_id = ID,
                                        .size = 10,
                                        .layout = 3};

static struct cairn_cache_key key_of(const struct cairn_cache_file *files, size_t n)
{
    return (struct cairn_cache_key){"/bin/prog", ID, files, n};
}

static const struct cairn_cache_key key = {"/bin/prog", ID, &image, 1};

static bool store(const char *payload)
{
    struct cairn_cache *cache = open_cache(0);
    bool stored = cairn_cache_store(cache, &key, CAIRN_CACHE_INDEX, span(payload));
    cairn_cache_free(cache);
    return stored;
}

/* Loads by a new cache; true where there is an entry with this payload. */
static bool loads(const struct cairn_cache_key *by, enum cairn_cache_kind kind, const char *payload)
{
    struct cairn_cache *cache = open_cache(0);
    struct cairn_cache_hit hit;
    bool found = cairn_cache_load(cache, by, kind, &hit);
    if (found) {
        assert_true(cairn_span_equal(hit.payload, span(payload)));
        cairn_file_close(&hit.file);
    }
    cairn_cache_free(cache);
    return found;
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static void what_was_stored_is_loaded_and_private(void **state)
{
    (void)state;
    umask(0);
    assert_false(loads(&key, CAIRN_CACHE_INDEX, "one"));
    assert_true(access(folder, F_OK) < 0); /* looking makes nothing */
    assert_true(store("one"));
    assert_true(loads(&key, CAIRN_CACHE_INDEX, "one"));
    assert_false(loads(&key, CAIRN_CACHE_UNIT_MAP, "one"));
    assert_int_equal(mode_of(at("dot")), 0700);
    assert_int_equal(mode_of(folder), 0700);
    assert_int_equal(mode_of(at("dot/cairn/symbols/v1/01")), 0700);
    assert_int_equal(mode_of(entry_path("index")), 0600);
    assert_true(store("two, which is longer"));
    assert_true(loads(&key, CAIRN_CACHE_INDEX, "two, which is longer"));
    assert_string_equal(said, "");
}

static void a_module_without_a_build_id_goes_by_its_path(void **state)
{
    (void)state;
    struct cairn_cache_file file = {.role = CAIRN_CACHE_IMAGE,
                                    .is_guarded = true,
                                    .path = "/bin/prog",
                                    .build_id = "",
                                    .size = 10,
                                    .mtime_ns = 5};
    struct cairn_cache_key by_path = {"/bin/prog", "", &file, 1};
    struct cairn_cache *cache = open_cache(0);
    assert_true(cairn_cache_store(cache, &by_path, CAIRN_CACHE_INDEX, span("x")));
    cairn_cache_free(cache);
    assert_true(loads(&by_path, CAIRN_CACHE_INDEX, "x"));
    file.mtime_ns++; /* replaced by another build */
    assert_false(loads(&by_path, CAIRN_CACHE_INDEX, "x"));
    assert_contains(said, "I cache: ");
    assert_contains(said, "/bin/prog has changed");
    file.mtime_ns--;
    struct cairn_cache_key nameless = {"", "", &file, 1};
    assert_false(loads(&nameless, CAIRN_CACHE_INDEX, "x"));
}

static void a_changed_set_of_files_is_another_module(void **state)
{
    (void)state;
    struct cairn_cache_file files[] = {image, image};
    files[1].role = CAIRN_CACHE_DEBUG;
    files[1].path = "/debug/prog";
    struct cairn_cache_key with_debug = key_of(files, 2);
    assert_true(store("one"));
    assert_false(loads(&with_debug, CAIRN_CACHE_INDEX, "one")); /* a debug file turned up */
    struct cairn_cache *cache = open_cache(0);
    assert_true(cairn_cache_store(cache, &with_debug, CAIRN_CACHE_INDEX, span("two")));
    cairn_cache_free(cache);
    assert_true(loads(&with_debug, CAIRN_CACHE_INDEX, "two"));
    assert_false(loads(&key, CAIRN_CACHE_INDEX, "two")); /* and went away */
}

static void files_opened_on_the_way_are_looked_at(void **state)
{
    (void)state;
    write_file(at("a.dwo"), "12345");
    struct cairn_cache_file files[] = {image,
                                       {.role = CAIRN_CACHE_OTHER, .path = at("a.dwo")},
                                       {.role = CAIRN_CACHE_OTHER, .path = at("b.dwo")}};
    files[1].build_id = files[2].build_id = "";
    cairn_cache_file_stat(&files[1]);
    cairn_cache_file_stat(&files[2]);
    assert_true(!files[1].absent && files[1].size == 5);
    assert_true(files[2].absent && files[2].size == 0);
    struct cairn_cache_key with_others = key_of(files, 3);
    struct cairn_cache *cache = open_cache(0);
    assert_true(cairn_cache_store(cache, &with_others, CAIRN_CACHE_INDEX, span("x")));
    cairn_cache_free(cache);
    assert_true(loads(&key, CAIRN_CACHE_INDEX, "x"));
    write_file(at("b.dwo"), ""); /* turned up */
    assert_false(loads(&key, CAIRN_CACHE_INDEX, "x"));
    assert_int_equal(unlink(at("b.dwo")), 0);
    assert_true(loads(&key, CAIRN_CACHE_INDEX, "x"));
    struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, at("a.dwo"), times, 0), 0);
    assert_false(loads(&key, CAIRN_CACHE_INDEX, "x"));
    assert_int_equal(unlink(at("a.dwo")), 0);
    assert_false(loads(&key, CAIRN_CACHE_INDEX, "x"));
}

static void a_damaged_entry_is_told_once_and_made_anew(void **state)
{
    (void)state;
    assert_true(store("one"));
    FILE *file = fopen(entry_path("index"), "r+");
    assert_non_null(file);
    fseek(file, 60, SEEK_SET);
    fputc(0xff, file);
    fclose(file);
    assert_false(loads(&key, CAIRN_CACHE_INDEX, "one"));
    assert_contains(said, "W ");
    assert_contains(said, "damaged, and made anew: checksum of its header is wrong");
    assert_true(access(entry_path("index"), F_OK) < 0);
    said[0] = '\0';
    assert_false(loads(&key, CAIRN_CACHE_INDEX, "one"));
    assert_string_equal(said, "");
    assert_true(store("two"));
    assert_int_equal(truncate(entry_path("index"), 100), 0);
    assert_false(loads(&key, CAIRN_CACHE_INDEX, "two"));
    assert_contains(said, "W ");
    assert_true(store("three"));
    assert_true(loads(&key, CAIRN_CACHE_INDEX, "three"));
    struct cairn_cache *cache = open_cache(0);
    struct cairn_err why = {.msg = "record 7 points nowhere"};
    cairn_cache_discard(cache, &key, CAIRN_CACHE_INDEX, &why);
    cairn_cache_free(cache);
    assert_contains(said, "made anew: record 7 points nowhere");
    assert_true(access(entry_path("index"), F_OK) < 0);
}

/* Changes the last byte of the entry, which is the payload's. */
static void change_payload(void)
{
    FILE *file = fopen(entry_path("index"), "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, -1, SEEK_END), 0);
    fputc('!', file);
    fclose(file);
}

static void a_payload_that_was_changed_is_made_anew(void **state)
{
    (void)state;
    assert_true(store("one"));
    change_payload();
    assert_false(loads(&key, CAIRN_CACHE_INDEX, "on!"));
    assert_contains(said, "W ");
    assert_contains(said, "damaged, and made anew: sum of its payload is ");
    assert_true(access(entry_path("index"), F_OK) < 0);
    said[0] = '\0';
    assert_true(store("two"));
    assert_true(loads(&key, CAIRN_CACHE_INDEX, "two"));
    assert_string_equal(said, "");
}

/* Root becomes another user, until the test ends. */
static void be_no_root(void)
{
    enum { NOBODY = 65534 };
    if (geteuid() != 0)
        return;
    assert_int_equal(chown(work, NOBODY, NOBODY), 0);
    assert_int_equal(seteuid(NOBODY), 0);
}

static void an_entry_of_another_boot_is_checked_once(void **state)
{
    (void)state;
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL)}};
    struct stat st;
    be_no_root();
    assert_true(store("one"));
    assert_int_equal(stat(entry_path("index"), &st), 0);
    assert_int_equal(st.st_mtim.tv_nsec, cairn_cache_mark());
    assert_int_equal(utimensat(AT_FDCWD, entry_path("index"), times, 0), 0);
    assert_true(loads(&key, CAIRN_CACHE_INDEX, "one"));
    assert_int_equal(stat(entry_path("index"), &st), 0);
    assert_int_equal(st.st_mtim.tv_nsec, cairn_cache_mark());
    change_payload();
    assert_int_equal(utimensat(AT_FDCWD, entry_path("index"), times, 0), 0);
    assert_false(loads(&key, CAIRN_CACHE_INDEX, "on!"));
    assert_contains(said, "sum of its payload is ");
}

/* Whoever can set a time can set the mark of the boot. */
static void root_checks_the_sum_each_time(void **state)
{
    (void)state;
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                      {.tv_sec = time(NULL), .tv_nsec = cairn_cache_mark()}};
    if (geteuid() != 0) {
        print_message("skipped: not root\n");
        skip();
    }
    assert_true(store("one"));
    change_payload();
    assert_int_equal(utimensat(AT_FDCWD, entry_path("index"), times, 0), 0);
    assert_false(loads(&key, CAIRN_CACHE_INDEX, "on!"));
    assert_contains(said, "sum of its payload is ");
}

/* The program of an ordinary user has the build ID, the size and the section layout of another. */
static void a_forged_build_id_reaches_no_other_file(void **state)
{
    (void)state;
    struct cairn_cache_file forged = image, other;
    forged.path = "/home/eve/prog";
    forged.is_guarded = false;
    forged.uid = 1000;
    forged.dev = 1;
    forged.inode = 2;
    forged.ctime_ns = 3;
    struct cairn_cache_key by_forged = key_of(&forged, 1), by_other = key_of(&other, 1);
    struct cairn_cache *cache = open_cache(0);
    assert_true(cairn_cache_store(cache, &by_forged, CAIRN_CACHE_INDEX, span("false")));
    cairn_cache_free(cache);
    assert_false(loads(&key, CAIRN_CACHE_INDEX, "false"));
    assert_true(store("true"));
    assert_true(loads(&key, CAIRN_CACHE_INDEX, "true"));
    assert_true(loads(&by_forged, CAIRN_CACHE_INDEX, "false")); /* neither displaces the other */
    other = forged;
    other.ctime_ns++; /* written again; the time of change can be set back */
    assert_false(loads(&by_other, CAIRN_CACHE_INDEX, "false"));
    other.inode = 0;
    cache = open_cache(0);
    assert_false(cairn_cache_store(cache, &by_other, CAIRN_CACHE_INDEX, span("x")));
    cairn_cache_free(cache);
}

static void another_version_is_made_anew_in_silence(void **state)
{
    (void)state;
    assert_true(store("one"));
    FILE *file = fopen(entry_path("index"), "r+");
    assert_non_null(file);
    fseek(file, 8, SEEK_SET);
    fputc(99, file);
    fclose(file);
    assert_false(loads(&key, CAIRN_CACHE_INDEX, "one"));
    assert_string_equal(said, "");
    assert_true(store("two"));
    assert_true(loads(&key, CAIRN_CACHE_INDEX, "two"));
}

static void what_others_could_write_is_not_trusted(void **state)
{
    (void)state;
    assert_true(store("one"));
    assert_int_equal(chmod(entry_path("index"), 0620), 0);
    assert_false(loads(&key, CAIRN_CACHE_INDEX, "one"));
    assert_contains(said, "I no cache: ");
    assert_contains(said, "mode 0620: not trusted");
    assert_int_equal(chmod(entry_path("index"), 0644), 0);
    assert_true(loads(&key, CAIRN_CACHE_INDEX, "one"));
    /* a link to it, where the entry was */
    assert_int_equal(rename(entry_path("index"), at("moved")), 0);
    assert_int_equal(symlink(at("moved"), entry_path("index")), 0);
    assert_false(loads(&key, CAIRN_CACHE_INDEX, "one"));
    assert_true(store("two")); /* takes the link's place, not its target's */
    assert_int_equal(mode_of(at("moved")), 0644);
    assert_true(loads(&key, CAIRN_CACHE_INDEX, "two"));
}

static void no_symlink_leads_out_of_the_folder(void **state)
{
    (void)state;
    assert_int_equal(mkdir(at("dot"), 0700), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(mkdir(at("outside"), 0700), 0);
    assert_int_equal(symlink(at("outside"), at("dot/cairn/symbols")), 0);
    assert_false(store("one"));
    assert_contains(said, "I no cache: ");
    assert_int_equal(rmdir(at("outside")), 0); /* empty as it was */
}

static void our_own_link_in_place_of_the_folder_is_followed(void **state)
{
    (void)state;
    assert_int_equal(mkdir(at("dot"), 0700), 0);
    assert_int_equal(mkdir(at("elsewhere"), 0700), 0);
    assert_int_equal(symlink(at("elsewhere"), folder), 0);
    assert_true(store("one"));
    assert_true(loads(&key, CAIRN_CACHE_INDEX, "one"));
    assert_int_equal(access(at("elsewhere/symbols/v1"), F_OK), 0);
}

static void where_nothing_can_be_kept_it_is_said_once(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s/no/such/home", work);
    struct cairn_cache *cache = open_cache(0);
    assert_false(cairn_cache_store(cache, &key, CAIRN_CACHE_INDEX, span("x")));
    assert_false(cairn_cache_store(cache, &key, CAIRN_CACHE_INDEX, span("x")));
    cairn_cache_free(cache);
    assert_contains(said, "I no cache: ");
    assert_null(strchr(strchr(said, '\n') + 1, '\n'));
    assert_true(access(at("no"), F_OK) < 0);
    snprintf(folder, sizeof folder, "%s/file", work);
    write_file(folder, "");
    assert_false(store("x"));
}

static size_t count_files(const char *path)
{
    DIR *dir = opendir(path);
    assert_non_null(dir);
    size_t n = 0;
    for (struct dirent *one; (one = readdir(dir)) != NULL;)
        n += strcmp(one->d_name, ".") != 0 && strcmp(one->d_name, "..") != 0;
    closedir(dir);
    return n;
}

/* The limit is one of the process, so a child has it. */
static void a_full_disk_leaves_nothing_behind(void **state)
{
    (void)state;
    assert_true(store("one"));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit limit = {4096, 4096};
        static char big[100000];
        struct cairn_cache *cache = NULL;
        signal(SIGXFSZ, SIG_IGN);
        memset(big, 'x', sizeof big - 1);
        bool fine = setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
                    cairn_cache_new(folder, 0, &cache, NULL) == CAIRN_OK &&
                    !cairn_cache_store(cache, &key, CAIRN_CACHE_INDEX, span(big)) &&
                    strstr(said, "I no cache: ");
        _exit(fine ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(loads(&key, CAIRN_CACHE_INDEX, "one"));
    assert_int_equal(count_files(at("dot/cairn/symbols/v1/01")), 1);
}

/* Stores entry number `i` of 1000 bytes, used at second `used`. */
static void store_numbered(unsigned i, time_t used)
{
    static char payload[1001], id[32], path[512];
    memset(payload, 'p', 1000);
    snprintf(id, sizeof id, "%02x23456789abcdef0123", i);
    struct cairn_cache_file file = image;
    file.build_id = id;
    struct cairn_cache_key numbered = {"/bin/prog", id, &file, 1};
    struct cairn_cache *cache = open_cache(0);
    assert_true(cairn_cache_store(cache, &numbered, CAIRN_CACHE_INDEX, span(payload)));
    cairn_cache_free(cache);
    snprintf(path, sizeof path, "%s/symbols/v1/%02x/%s.index", folder, i, id);
    struct timespec times[2] = {{.tv_sec = used}, {.tv_sec = used}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

struct seen {
    unsigned n;
    char first[64];
    uint64_t bytes;
};

static int see(void *ctx, const struct cairn_cache_entry *entry)
{
    struct seen *seen = ctx;
    if (!seen->n++)
        snprintf(seen->first, sizeof seen->first, "%s", entry->build_id);
    seen->bytes += entry->bytes;
    assert_int_equal(entry->size, sizeof *entry);
    assert_string_equal(entry->module, "/bin/prog");
    assert_string_equal(entry->kind, "index");
    assert_int_equal(access(entry->file, F_OK), 0);
    return 0;
}

static struct seen see_all(void)
{
    struct seen seen = {0};
    struct cairn_err err;
    assert_ok(cairn_cache_each(folder, see, &seen, &err), err);
    return seen;
}

static void what_was_not_used_for_longest_goes_first(void **state)
{
    (void)state;
    struct cairn_err err;
    size_t n;
    uint64_t bytes;
    assert_int_equal(see_all().n, 0);
    for (unsigned i = 0; i < 5; i++)
        store_numbered(i, 1000 + (i * 2) % 5); /* 0 3 1 4 2 in the order of use */
    struct seen seen = see_all();
    assert_int_equal(seen.n, 5);
    assert_string_equal(seen.first, "0223456789abcdef0123");
    uint64_t each = seen.bytes / 5;
    assert_ok(cairn_cache_trim(folder, 3 * each, &n, &bytes, &err), err);
    assert_int_equal(n, 2);
    assert_int_equal(bytes, 2 * each);
    assert_int_equal(access(at("dot/cairn/symbols/v1/00/0023456789abcdef0123.index"), F_OK), -1);
    assert_int_equal(access(at("dot/cairn/symbols/v1/03/0323456789abcdef0123.index"), F_OK), -1);
    assert_int_equal(see_all().n, 3);
    assert_ok(cairn_cache_trim(folder, 0, NULL, NULL, &err), err);
    assert_int_equal(see_all().n, 0);
}

static void a_store_keeps_the_cap_and_a_use_saves_an_entry(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        store_numbered(i, 1000 + i);
    struct cairn_cache_file file = image;
    file.build_id = "0023456789abcdef0123";
    struct cairn_cache_key oldest = {"/bin/prog", file.build_id, &file, 1};
    struct cairn_cache *cache = open_cache(3600);
    struct cairn_cache_hit hit;
    assert_true(cairn_cache_load(cache, &oldest, CAIRN_CACHE_INDEX, &hit));
    cairn_file_close(&hit.file);
    assert_true(cairn_cache_store(cache, &key, CAIRN_CACHE_UNIT_MAP, span("small")));
    cairn_cache_free(cache);
    assert_int_equal(access(at("dot/cairn/symbols/v1/00/0023456789abcdef0123.index"), F_OK), 0);
    assert_int_equal(access(at("dot/cairn/symbols/v1/01/0123456789abcdef0123.index"), F_OK), -1);
    assert_int_equal(access(at("dot/cairn/symbols/v1/02/0223456789abcdef0123.index"), F_OK), 0);
    assert_int_equal(access(entry_path("units"), F_OK), 0);
    assert_contains(said, "I ");
    assert_contains(said, "1 entries");
    cache = open_cache(10);
    assert_false(cairn_cache_store(cache, &key, CAIRN_CACHE_UNIT_MAP, span("beyond it alone")));
    cairn_cache_free(cache);
}

static void leftovers_go_and_strangers_stay(void **state)
{
    (void)state;
    struct cairn_err err;
    assert_true(store("one"));
    write_file(at("dot/cairn/symbols/v1/01/.tmp-0123456789ab"), "of a killed writer");
    write_file(at("dot/cairn/symbols/v1/01/.tmp-alive"), "of one at work");
    write_file(at("dot/cairn/symbols/v1/01/notes.txt"), "a stranger's");
    write_file(at("dot/cairn/symbols/v1/" ID ".index"), "in the wrong place");
    int fd = open(at("dot/cairn/symbols/v1/01/.tmp-alive"), O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_ok(cairn_cache_trim(folder, 0, NULL, NULL, &err), err);
    assert_int_equal(count_files(at("dot/cairn/symbols/v1/01")), 2);
    assert_int_equal(access(at("dot/cairn/symbols/v1/01/.tmp-alive"), F_OK), 0);
    assert_int_equal(access(at("dot/cairn/symbols/v1/" ID ".index"), F_OK), 0);
    close(fd);
}

/* Many at once, each storing and loading: whoever loads sees one payload or the other, whole. */
static void many_writers_do_no_harm(void **state)
{
    (void)state;
    enum { WRITERS = 4, ROUNDS = 50, SIZE = 100000 };
    static char payload[SIZE + 1];
    for (int i = 0; i < WRITERS; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child)
            continue;
        bool fine = true;
        for (int round = 0; round < ROUNDS && fine; round++) {
            struct cairn_cache *cache = NULL;
            struct cairn_cache_hit hit;
            memset(payload, 'a' + i, SIZE);
            fine = cairn_cache_new(folder, 0, &cache, NULL) == CAIRN_OK &&
                   cairn_cache_store(cache, &key, CAIRN_CACHE_INDEX, span(payload)) &&
                   cairn_cache_load(cache, &key, CAIRN_CACHE_INDEX, &hit);
            if (fine) {
                memset(payload, hit.payload.data[0], SIZE);
                fine = cairn_span_equal(hit.payload, span(payload));
                cairn_file_close(&hit.file);
            }
            cairn_cache_free(cache);
        }
        _exit(fine ? 0 : 1);
    }
    int status, failed = 0;
    for (int i = 0; i < WRITERS; i++)
        failed += wait(&status) < 0 || status != 0;
    assert_int_equal(failed, 0);
    assert_int_equal(count_files(at("dot/cairn/symbols/v1/01")), 1);
}

static void the_folder_follows_the_environment(void **state)
{
    (void)state;
    char path[512], small[4];
    struct cairn_err err;
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    setenv("HOME", "/home/me", 1);
    assert_ok(cairn_cache_folder(path, sizeof path, &err), err);
    assert_string_equal(path, "/xdg/cairn");
    setenv("XDG_CACHE_HOME", "relative", 1);
    assert_ok(cairn_cache_folder(path, sizeof path, &err), err);
    assert_string_equal(path, "/home/me/.cache/cairn");
    assert_int_equal(cairn_cache_folder(small, sizeof small, &err), CAIRN_E_LIMIT);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_fails(cairn_cache_folder(path, sizeof path, &err), CAIRN_E_MISSING, err, "HOME");
    struct cairn_cache *cache;
    assert_ok(cairn_cache_new(NULL, 0, &cache, &err), err);
    assert_false(cairn_cache_store(cache, &key, CAIRN_CACHE_INDEX, span("x")));
    assert_false(loads(&key, CAIRN_CACHE_INDEX, "x"));
    cairn_cache_free(cache);
    assert_contains(said, "I no cache: neither");
}

static void lack_of_memory_stores_nothing_and_breaks_nothing(void **state)
{
    (void)state;
    assert_true(store("one"));
    for (long n = 0; n < 20; n++) {
        struct cairn_cache *cache;
        struct cairn_cache_hit hit;
        struct cairn_err err;
        cairn_alloc_fail_after(n);
        if (cairn_cache_new(folder, 0, &cache, &err) == CAIRN_OK) {
            if (cairn_cache_load(cache, &key, CAIRN_CACHE_INDEX, &hit))
                cairn_file_close(&hit.file);
            (void)cairn_cache_store(cache, &key, CAIRN_CACHE_INDEX, span("one"));
            cairn_cache_free(cache);
        }
        cairn_alloc_fail_after(-1);
        assert_true(loads(&key, CAIRN_CACHE_INDEX, "one"));
        assert_int_equal(count_files(at("dot/cairn/symbols/v1/01")), 1);
    }
}

/* What sudo does with the caller's HOME: the caller could write any entry. */
static void root_uses_no_folder_of_another_user(void **state)
{
    (void)state;
    enum { NOBODY = 65534 };
    if (geteuid() != 0) {
        print_message("skipped: not root\n");
        skip();
    }
    assert_true(store("one"));
    assert_int_equal(chown(folder, NOBODY, NOBODY), 0);
    assert_false(loads(&key, CAIRN_CACHE_INDEX, "one"));
    assert_contains(said, "belongs to uid 65534, expected 0");
    assert_int_equal(chown(folder, 0, 0), 0);
    assert_int_equal(chmod(folder, 0770), 0);
    said[0] = '\0';
    assert_false(loads(&key, CAIRN_CACHE_INDEX, "one"));
    assert_contains(said, "expected a folder that only root can write");
    assert_int_equal(chmod(folder, 0700), 0);
    assert_true(loads(&key, CAIRN_CACHE_INDEX, "one"));
    assert_int_equal(chown(entry_path("index"), 12345, 12345), 0);
    assert_false(loads(&key, CAIRN_CACHE_INDEX, "one"));
    assert_contains(said, "uid 12345");
    /* and makes none, which the other could not delete */
    assert_int_equal(rename(folder, at("before")), 0);
    assert_int_equal(chown(at("dot"), NOBODY, NOBODY), 0);
    assert_false(store("one"));
    assert_true(access(folder, F_OK) < 0);
}

static void a_user_takes_no_folder_of_another(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: only root can become another user\n");
        skip();
    }
    assert_true(store("one"));
    assert_int_equal(chmod(work, 0755), 0);
    assert_int_equal(chmod(at("dot"), 0755), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(seteuid(65534), 0);
    bool loaded = loads(&key, CAIRN_CACHE_INDEX, "one");
    assert_int_equal(seteuid(0), 0);
    assert_false(loaded);
    assert_contains(said, "belongs to uid 0, expected 65534");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define ROW(name) cmocka_unit_test_setup_teardown(name, enter, leave)
        ROW(what_was_stored_is_loaded_and_private),
        ROW(a_module_without_a_build_id_goes_by_its_path),
        ROW(a_changed_set_of_files_is_another_module),
        ROW(files_opened_on_the_way_are_looked_at),
        ROW(a_damaged_entry_is_told_once_and_made_anew),
        ROW(a_payload_that_was_changed_is_made_anew),
        ROW(an_entry_of_another_boot_is_checked_once),
        ROW(another_version_is_made_anew_in_silence),
        ROW(what_others_could_write_is_not_trusted),
        ROW(no_symlink_leads_out_of_the_folder),
        ROW(our_own_link_in_place_of_the_folder_is_followed),
        ROW(where_nothing_can_be_kept_it_is_said_once),
        ROW(a_full_disk_leaves_nothing_behind),
        ROW(what_was_not_used_for_longest_goes_first),
        ROW(a_store_keeps_the_cap_and_a_use_saves_an_entry),
        ROW(leftovers_go_and_strangers_stay),
        ROW(many_writers_do_no_harm),
        ROW(the_folder_follows_the_environment),
        ROW(lack_of_memory_stores_nothing_and_breaks_nothing),
        ROW(root_uses_no_folder_of_another_user),
        ROW(root_checks_the_sum_each_time),
        ROW(a_forged_build_id_reaches_no_other_file),
        ROW(a_user_takes_no_folder_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
