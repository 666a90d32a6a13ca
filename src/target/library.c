/* SPDX-License-Identifier: MIT */
#include "target/library.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/open.h"
#include "elf/dynamic.h"

enum { FILES_MAX = 256 };

static bool is_file(const struct cairn_buffer *path)
{
    struct stat st;
    return !path->failed && cairn_file_stat(cairn_buffer_text(path), &st) && S_ISREG(st.st_mode);
}

/* $ORIGIN and ${ORIGIN} become the folder; other such words are left, and lead nowhere. */
static void add_folder(struct cairn_buffer *path, const char *folder, size_t size,
                       const char *origin)
{
    static const char *const words[] = {"$ORIGIN", "${ORIGIN}"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t word = strlen(words[i]);
        if (size < word || memcmp(folder, words[i], word) != 0)
            continue;
        cairn_buffer_str(path, origin);
        folder += word;
        size -= word;
        break;
    }
    cairn_buffer_add(path, folder, size);
}

static bool is_in_folders(const char *folders, const char *origin, const char *name,
                          struct cairn_buffer *path)
{
    while (*folders) {
        const size_t size = strcspn(folders, ":;");
        cairn_buffer_clear(path);
        add_folder(path, folders, size, origin);
        cairn_buffer_printf(path, "/%s", name);
        if (size && is_file(path))
            return true;
        folders += size + (folders[size] != 0);
    }
    return false;
}

bool cairn_library_find(const char *name, const struct cairn_library_user *user,
                        struct cairn_buffer *ret_path)
{
    static const char usual[] = "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:"
                                "/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu:"
                                "/lib64:/usr/lib64:/usr/local/lib:/lib:/usr/lib";
    static const struct cairn_library_user nobody = {"", ""};
    const char *given = getenv("LD_LIBRARY_PATH");
    user = user ? user : &nobody;
    if (strchr(name, '/')) {
        cairn_buffer_clear(ret_path);
        cairn_buffer_str(ret_path, name);
        return is_file(ret_path);
    }
    return (given && is_in_folders(given, user->origin, name, ret_path)) ||
           is_in_folders(user->folders, user->origin, name, ret_path) ||
           is_in_folders(usual, "", name, ret_path);
}

/* Files in the order in which the loader meets them. */
struct wanted {
    char *paths[FILES_MAX];
    size_t n;
    const char *origin; /* of the file that asks now */
};

static bool has(const struct wanted *wanted, const char *path)
{
    for (size_t i = 0; i < wanted->n; i++)
        if (strcmp(wanted->paths[i], path) == 0)
            return true;
    return false;
}

static void want(struct wanted *wanted, const char *path)
{
    char *copy = wanted->n < FILES_MAX && !has(wanted, path) ? cairn_strdup(path) : NULL;
    if (copy)
        wanted->paths[wanted->n++] = copy;
}

static bool on_needed(void *ctx, const char *name, const char *folders)
{
    struct wanted *wanted = ctx;
    const struct cairn_library_user user = {folders, wanted->origin};
    struct cairn_buffer path = {0};
    if (cairn_library_find(name, &user, &path))
        want(wanted, cairn_buffer_text(&path));
    cairn_buffer_done(&path);
    return wanted->n < FILES_MAX;
}

static void want_needed(const struct cairn_elf *elf, const char *path, struct wanted *wanted)
{
    char *folder = cairn_strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash)
        *slash = 0;
    wanted->origin = slash ? folder : ".";
    (void)cairn_elf_each_needed(elf, on_needed, wanted);
    cairn_free(folder);
}

static int take_file(const char *path, struct wanted *wanted, cairn_library_file_fn fn, void *ctx)
{
    struct cairn_file file;
    struct cairn_elf elf;
    int fd = cairn_open_regular(path), code = 0;
    if (fd < 0)
        return 0;
    if (cairn_file_open_fd(fd, path, &file, NULL) == CAIRN_OK) {
        const bool is_elf = cairn_elf_open(file.bytes, &elf, NULL) == CAIRN_OK;
        code = fn(ctx, &(struct cairn_library_file){path, fd, is_elf ? &elf : NULL});
        if (is_elf && !code)
            want_needed(&elf, path, wanted);
        cairn_file_close(&file);
    }
    close(fd);
    return code;
}

int cairn_library_each_file(const char *program, cairn_library_file_fn fn, void *ctx)
{
    struct wanted wanted = {0};
    int code = 0;
    want(&wanted, program);
    for (size_t i = 0; i < wanted.n && !code; i++) /* `n` grows */
        code = take_file(wanted.paths[i], &wanted, fn, ctx);
    for (size_t i = 0; i < wanted.n; i++)
        cairn_free(wanted.paths[i]);
    return code;
}
