/* SPDX-License-Identifier: MIT */
#include "target/library.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

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
