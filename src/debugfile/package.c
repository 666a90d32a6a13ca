/* SPDX-License-Identifier: MIT */
#include "debugfile/package.h"

#include <string.h>
#include <strings.h>

/* Of a desktop's 3,000 packages all lists together have some 40 MB. */
enum {
    SMALL_BYTES_MAX = 64 << 10,
    LIST_BYTES_MAX = 16 << 20,
    LISTS_BYTES_MAX = 256 << 20,
    LISTS_MAX = 1 << 16
};

struct finding {
    const struct cairn_root *root;
    struct cairn_package *packages;
    size_t n, n_found;
    uint64_t n_bytes;                   /* read */
    size_t lengths[CAIRN_PACKAGES_MAX]; /* of the paths */
    uint64_t length_bits;               /* which of them a line may have, modulo 64 */
    struct cairn_buffer text;
};

enum { USR_BYTES = 4 }; /* "/usr" */

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
}

/* The name as far as it is one (Debian Policy 5.6.1); "" where it is too long. */
static void copy_name(char ret_name[CAIRN_PACKAGE_NAME_BYTES], const char *from, const char *end)
{
    size_t size = 0;
    while (from + size < end && is_name_char(from[size]))
        size++;
    size = size < CAIRN_PACKAGE_NAME_BYTES ? size : 0;
    memcpy(ret_name, from, size);
    ret_name[size] = '\0';
}

/* Only there do packages have programs and libraries; most of what users build is elsewhere, and no
 * list need be read for it. */
static bool may_be_packaged(const char *path)
{
    static const char *const folders[] = {"/usr/", "/lib", "/bin/", "/sbin/"};
    bool is = false;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        is = is || strncmp(path, folders[i], strlen(folders[i])) == 0;
    return is && strncmp(path, "/usr/local/", strlen("/usr/local/")) != 0;
}

/* Where /lib is a link to /usr/lib, dpkg knows the path that the package was built with. */
static bool is_path(const struct finding *f, size_t i, const char *line, size_t size)
{
    const char *wanted = f->packages[i].path;
    if (size == f->lengths[i])
        return memcmp(line, wanted, size) == 0;
    return size + USR_BYTES == f->lengths[i] && memcmp(wanted, "/usr", USR_BYTES) == 0 &&
           memcmp(line, wanted + USR_BYTES, size) == 0;
}

static void set_lengths(struct finding *f)
{
    for (size_t i = 0; i < f->n; i++) {
        f->lengths[i] = strlen(f->packages[i].path);
        f->length_bits |= 1ull << f->lengths[i] % 64 | 1ull << (f->lengths[i] - USR_BYTES) % 64;
    }
}

static void take_line(struct finding *f, const char *list, const char *line, size_t size)
{
    for (size_t i = 0; i < f->n; i++) {
        struct cairn_package *package = &f->packages[i];
        if (*package->name || !may_be_packaged(package->path) || !is_path(f, i, line, size))
            continue;
        copy_name(package->name, list, list + strlen(list) - strlen(".list"));
        f->n_found += *package->name != '\0';
    }
}

/* False: it was not read, because it is missing or larger than that. */
static bool read_list(struct finding *f, int folder, const char *list, size_t limit)
{
    if (!cairn_root_read(f->root, folder, list, limit, &f->text))
        return false;
    const char *line = cairn_buffer_text(&f->text), *end = line + f->text.size;
    while (line < end) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        next = next ? next : end;
        if (f->length_bits >> (next - line) % 64 & 1)
            take_line(f, list, line, (size_t)(next - line));
        line = next + 1;
    }
    f->n_bytes += f->text.size;
    return true;
}

static bool is_list(const char *name)
{
    size_t size = strlen(name), tail = strlen(".list");
    return size > tail && strcmp(name + size - tail, ".list") == 0;
}

/* All lists in the folder, one behind the other, each with a byte before it: 'u' for unread. */
static void list_lists(DIR *folder, struct cairn_buffer *out)
{
    const struct dirent *entry;
    for (size_t n = 0; n < LISTS_MAX && (entry = readdir(folder));) {
        if (!is_list(entry->d_name))
            continue;
        cairn_buffer_char(out, 'u');
        cairn_buffer_add(out, entry->d_name, strlen(entry->d_name) + 1);
        n++;
    }
}

/* Does a list's name begin like a wanted file's, or the folder that it lies in? "python3.11" is in
 * python3.11-minimal.list. */
static bool is_alike(const struct finding *f, const char *list)
{
    enum { LIKE = 4 };
    for (size_t i = 0; i < f->n; i++) {
        const char *path = f->packages[i].path, *slash = strrchr(path, '/'), *before = slash;
        while (before > path && before[-1] != '/')
            before--;
        if (!*f->packages[i].name && slash &&
            (strncasecmp(slash + 1, list, LIKE) == 0 || strncasecmp(before, list, LIKE) == 0))
            return true;
    }
    return false;
}

/* Programs and libraries are hardly in packages of headers, documents or data. */
static bool is_other(const char *list)
{
    static const char *const tails[] = {"-dev",  "-doc",     "-src",  "-dbg",
                                        "-data", "-headers", "-theme"};
    size_t size = strcspn(list, ":");
    size = size == strlen(list) ? size - strlen(".list") : size;
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        size_t tail = strlen(tails[i]);
        if (size > tail && memcmp(list + size - tail, tails[i], tail) == 0)
            return true;
    }
    return false;
}

enum pass { PASS_ALIKE, PASS_SMALL, PASS_REST, N_PASSES };

static bool is_turn(const struct finding *f, enum pass pass, const char *list)
{
    return pass == PASS_ALIKE ? is_alike(f, list) : pass == PASS_REST || !is_other(list);
}

/* To read all lists takes as long as all else that a short command does, so those that are likely
 * come first. */
static void read_lists(struct finding *f)
{
    DIR *folder = cairn_root_list(f->root, "var/lib/dpkg/info");
    struct cairn_buffer lists = {0};
    if (folder)
        list_lists(folder, &lists);
    for (enum pass pass = PASS_ALIKE; !lists.failed && pass < N_PASSES; pass++) {
        size_t limit = pass == PASS_SMALL ? SMALL_BYTES_MAX : LIST_BYTES_MAX;
        for (size_t at = 0; at < lists.size && f->n_found < f->n && f->n_bytes < LISTS_BYTES_MAX;
             at += strlen((char *)lists.data + at) + 1) {
            const char *list = (char *)lists.data + at + 1;
            if (lists.data[at] == 'u' && is_turn(f, pass, list) &&
                read_list(f, dirfd(folder), list, limit))
                lists.data[at] = 'r';
        }
    }
    cairn_buffer_done(&lists);
    if (folder)
        closedir(folder);
}

void cairn_packages_find(const struct cairn_root *root, struct cairn_package *packages, size_t n)
{
    struct finding f = {.root = root, .packages = packages, .n = n};
    for (size_t i = 0; i < n; i++)
        packages[i].name[0] = '\0';
    for (size_t i = 0; i < n; i++)
        f.n_found += !may_be_packaged(packages[i].path); /* nothing to look for */
    set_lengths(&f);
    read_lists(&f);
    cairn_buffer_done(&f.text);
}
