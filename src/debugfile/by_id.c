/* SPDX-License-Identifier: MIT */
#include "debugfile/by_id.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/own_folder.h"
#include "base/path.h"

enum { ID_DIGITS_MIN = 3, USE_NOTED_S = 3600 };

/* The paths of a build ID in the program's own folders. */
enum { STORE_DEBUG, STORE_IMAGE, N_IN_STORE, FETCHED_DEBUG = N_IN_STORE, FETCHED_IMAGE, N_PATHS };

/* Of the whole program, as the log's sink is. */
static struct {
    char *store, *fetched; /* NULL: none */
    cairn_fetch_fn fetch;
    void *ctx;
} places;

static int set_folder(char **place, const char *folder, struct cairn_err *err)
{
    char *copy = folder ? cairn_strdup(folder) : NULL;
    if (folder && !copy)
        return cairn_fail_memory(err);
    cairn_free(*place);
    *place = copy;
    return CAIRN_OK;
}

int cairn_by_id_set_store(const char *folder, struct cairn_err *err)
{
    return set_folder(&places.store, folder, err);
}

int cairn_by_id_set_fetched(const char *folder, cairn_fetch_fn fetch, void *ctx,
                            struct cairn_err *err)
{
    int code = set_folder(&places.fetched, folder, err);
    if (code < 0)
        return code;
    places.fetch = fetch;
    places.ctx = ctx;
    return CAIRN_OK;
}

bool cairn_by_id_can_fetch(void)
{
    return places.fetch != NULL;
}

void cairn_by_id_fetch(const struct cairn_lacking *wanted, size_t n)
{
    if (places.fetch && n)
        places.fetch(places.ctx, wanted, n);
}

bool cairn_by_id_vouches(const char *path)
{
    return (places.store && cairn_path_behind(places.store, path)) ||
           (places.fetched && cairn_path_behind(places.fetched, path));
}

/* The use of a file of the store is in the time of the note beside it, by which `cairn symbols gc`
 * decides: its own times are those of a hard link's other name, or change with every look. */
static void note_use(struct cairn_buffer *path)
{
    struct stat st;
    time_t now = time(NULL);
    cairn_buffer_str(path, ".from");
    if (!path->failed && lstat(cairn_buffer_text(path), &st) == 0 &&
        (now - st.st_mtime > USE_NOTED_S || st.st_mtime - now > USE_NOTED_S))
        (void)utimensat(AT_FDCWD, cairn_buffer_text(path), NULL, AT_SYMLINK_NOFOLLOW);
}

/* Is the folder ours, as base/own_folder.h has it? */
static bool is_own(const char *folder)
{
    int fd;
    struct cairn_err why;
    int code = cairn_own_folder_open(folder, 0, &fd, &why);
    if (code == CAIRN_E_ACCESS)
        cairn_log(CAIRN_LOG_INFO, "%s; passed over", why.msg);
    if (code < 0)
        return false;
    close(fd);
    return true;
}

static const char *folder_of(unsigned number)
{
    return number < N_IN_STORE ? places.store : places.fetched;
}

bool cairn_by_id_put_path(struct cairn_buffer *out, unsigned number, const char *id)
{
    static const char *const names[N_PATHS] = {".debug", "", "debuginfo", "executable"};
    struct stat st;
    if (number >= N_PATHS || strlen(id) < ID_DIGITS_MIN)
        return false;
    const char *folder = folder_of(number);
    cairn_buffer_clear(out);
    if (folder && number < N_IN_STORE)
        cairn_buffer_printf(out, "%s/.build-id/%.2s/%s%s", folder, id, id + 2, names[number]);
    else if (folder)
        cairn_buffer_printf(out, "%s/%s/%s", folder, id, names[number]);
    const char *path = cairn_buffer_text(out);
    bool is_there = folder && !out->failed && lstat(path, &st) == 0 && is_own(folder);
    bool is_trusted = is_there && cairn_own_folder_trusts(&st);
    if (is_there && !is_trusted)
        cairn_log(CAIRN_LOG_INFO, "%s: uid %u, mode %04o: not trusted, passed over", path,
                  st.st_uid, st.st_mode & 07777);
    if (!is_trusted || !st.st_size) /* an empty file says that the server had none */
        cairn_buffer_clear(out);
    return true;
}

/* One of the paths of the program's own folders. */
static void try_own(struct cairn_search *s, unsigned number, const char *id)
{
    if (!folder_of(number) || !cairn_by_id_put_path(&s->text, number, id) || !s->text.size)
        return;
    if (cairn_search_try(s) && number < N_IN_STORE)
        note_use(&s->text);
}

static void try_debug_in(struct cairn_search *s, const char *dir, const char *id)
{
    if (cairn_search_has_lines(s))
        return;
    cairn_buffer_clear(&s->text);
    cairn_buffer_printf(&s->text, "%s/.build-id/%.2s/%s.debug", dir, id, id + 2);
    cairn_search_try(s);
}

void cairn_by_id_try_debug(struct cairn_search *s, const char *id)
{
    if (strlen(id) < ID_DIGITS_MIN)
        return;
    for (size_t i = 0; i < s->finder->dirs.n; i++)
        try_debug_in(s, s->finder->dirs.dirs[i].path, id);
    try_debug_in(s, s->finder->debug_dir, id);
    for (unsigned number = STORE_DEBUG; number < N_PATHS; number += 2)
        if (!cairn_search_has_lines(s))
            try_own(s, number, id);
}

static void try_image_in(struct cairn_search *s, const char *dir, const char *id)
{
    static const char *const of_perf[] = {"elf", "debug"};
    struct stat st;
    if (cairn_search_is_over(s))
        return;
    cairn_buffer_clear(&s->text);
    cairn_buffer_printf(&s->text, "%s/.build-id/%.2s/%s", dir, id, id + 2);
    if (s->text.failed || stat(cairn_buffer_text(&s->text), &st) < 0)
        return;
    if (!S_ISDIR(st.st_mode)) {
        cairn_search_try(s);
        return;
    }
    for (size_t i = 0; i < 2 && !cairn_search_is_over(s); i++) {
        cairn_buffer_clear(&s->text);
        cairn_buffer_printf(&s->text, "%s/.build-id/%.2s/%s/%s", dir, id, id + 2, of_perf[i]);
        cairn_search_try(s);
    }
}

void cairn_by_id_try_images(struct cairn_search *s, const char *id)
{
    if (strlen(id) < ID_DIGITS_MIN)
        return;
    for (size_t i = 0; i < s->finder->dirs.n; i++)
        try_image_in(s, s->finder->dirs.dirs[i].path, id);
    try_image_in(s, s->finder->debug_dir, id);
    for (unsigned number = STORE_IMAGE; number < N_PATHS; number += 2)
        if (!cairn_search_is_over(s))
            try_own(s, number, id);
}

static unsigned lacks_of(const struct cairn_search *s)
{
    return (cairn_search_has_lines(s) ? 0 : CAIRN_LACKS_DEBUG) |
           (s->image.path || s->any_image ? 0 : CAIRN_LACKS_IMAGE);
}

/* "ext4.ko", "ext4.ko.xz"; but not "libtext.kopete.so". */
static bool is_module_name(const char *name)
{
    const char *ending = strstr(name, ".ko");
    return ending && (!ending[3] || ending[3] == '.');
}

/* Half a gigabyte for names that kallsyms has: the kernel's files are not fetched. */
static bool is_kernels(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return path[0] == '[' || strncmp(name, "vmlinux", 7) == 0 || strncmp(name, "vdso", 4) == 0 ||
           is_module_name(name);
}

void cairn_by_id_try_fetched(struct cairn_search *s)
{
    const char *id = s->wanted[0] ? s->wanted : s->image.build_id;
    struct cairn_lacking lacking = {.build_id = id, .path = s->path, .lacks = lacks_of(s)};
    s->lacks = lacking.lacks;
    if (!places.fetch || !s->finder->fetches || s->asks_nobody || s->code < 0 || !lacking.lacks ||
        strlen(id) < ID_DIGITS_MIN || is_kernels(s->path))
        return;
    cairn_by_id_fetch(&lacking, 1);
    if (lacking.lacks & CAIRN_LACKS_DEBUG)
        try_own(s, FETCHED_DEBUG, id);
    if (lacking.lacks & CAIRN_LACKS_IMAGE)
        try_own(s, FETCHED_IMAGE, id);
}
