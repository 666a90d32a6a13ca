/* SPDX-License-Identifier: MIT */
#include "debugfile/debug_source.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "debugfile/package.h"

enum { OS_RELEASE_BYTES_MAX = 64 << 10, WORD_BYTES = 64, URL_BYTES = 160 };

/* What an installation says of itself. */
struct installation {
    char id[WORD_BYTES], codename[WORD_BYTES];
    const char *server; /* NULL: none is known */
};

/* As the servers' operators publish them (sourceware.org/elfutils/Debuginfod.html). */
static const struct {
    const char *id, *url;
} servers[] = {
    {"debian", "https://debuginfod.debian.net"},
    {"ubuntu", "https://debuginfod.ubuntu.com"},
    {"fedora", "https://debuginfod.fedoraproject.org"},
    {"centos", "https://debuginfod.centos.org"},
    {"arch", "https://debuginfod.archlinux.org"},
    {"opensuse-leap", "https://debuginfod.opensuse.org"},
    {"opensuse-tumbleweed", "https://debuginfod.opensuse.org"},
    {"void", "https://debuginfod.s.voidlinux.org"},
    {"altlinux", "https://debuginfod.altlinux.org"},
};

/* KEY=value or KEY="value" (os-release(5)), as far as it is a word. */
static void read_word(const char *text, const char *key, char ret_word[WORD_BYTES])
{
    size_t key_size = strlen(key), size = 0;
    ret_word[0] = '\0';
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, key_size) != 0 || line[key_size] != '=')
            continue;
        const char *value = line + key_size + 1;
        value += *value == '"' || *value == '\'';
        while ((value[size] >= 'a' && value[size] <= 'z') ||
               (value[size] >= '0' && value[size] <= '9') || value[size] == '-')
            size++;
        if (size < WORD_BYTES) {
            memcpy(ret_word, value, size);
            ret_word[size] = '\0';
        }
        return;
    }
}

static void read_installation(const struct cairn_root *root, struct installation *ret_found)
{
    struct cairn_buffer text = {0};
    *ret_found = (struct installation){0};
    if (cairn_root_read(root, -1, "etc/os-release", OS_RELEASE_BYTES_MAX, &text) ||
        cairn_root_read(root, -1, "usr/lib/os-release", OS_RELEASE_BYTES_MAX, &text)) {
        cairn_buffer_char(&text, '\n');
        read_word(cairn_buffer_text(&text), "ID", ret_found->id);
        read_word(cairn_buffer_text(&text), "VERSION_CODENAME", ret_found->codename);
    }
    cairn_buffer_done(&text);
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++)
        if (strcmp(servers[i].id, ret_found->id) == 0)
            ret_found->server = servers[i].url;
}

/* The first of DEBUGINFOD_URLS; "" where there is none that is one word. */
static void read_wish(char ret_url[URL_BYTES])
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    urls = urls ? urls + strspn(urls, " ") : "";
    size_t size = strcspn(urls, " ");
    while (size && urls[size - 1] == '/')
        size--;
    bool is_url = strncmp(urls, "http://", 7) == 0 || strncmp(urls, "https://", 8) == 0;
    size = is_url && size < URL_BYTES ? size : 0;
    memcpy(ret_url, urls, size);
    ret_url[size] = '\0';
}

static bool is_debian(const struct installation *from)
{
    return strcmp(from->id, "debian") == 0 || strcmp(from->id, "ubuntu") == 0;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* What has its debug files in an ordinary package of Debian 12 or Ubuntu: glibc, CPython, binutils
 * and ceph. All others have them in NAME-dbgsym. */
static bool add_old_package(struct cairn_buffer *out, const char *name)
{
    const char *python = begins(name, "lib") ? name + 3 : name;
    if (begins(name, "libc6") || strcmp(name, "libc-bin") == 0)
        cairn_buffer_str(out, "libc6-dbg");
    else if (begins(python, "python3."))
        cairn_buffer_printf(out, "%.*s-dbg", (int)strcspn(python, "-"), python);
    else if (begins(name, "binutils") || begins(name, "libbinutils") || begins(name, "libctf") ||
             begins(name, "ceph"))
        cairn_buffer_printf(out, "%s-dbg", name);
    else
        return false;
    return true;
}

static void add_package(struct cairn_buffer *out, const struct installation *from,
                        const struct cairn_package *package)
{
    const char *codename = *from->codename ? from->codename : "CODENAME";
    if (add_old_package(out, package->name))
        return;
    cairn_buffer_printf(out, "%s-dbgsym", package->name);
    if (strcmp(from->id, "debian") == 0)
        cairn_buffer_printf(out, " (deb http://deb.debian.org/debian-debug %s-debug main)",
                            codename);
    else
        cairn_buffer_printf(out, " (deb http://ddebs.ubuntu.com %s main universe)", codename);
}

/* Of a system without dpkg: what its packages install, and nobody else does. */
static bool is_systems(const char *path)
{
    static const char *const folders[] = {"/usr/bin/", "/usr/sbin/", "/usr/lib", "/usr/libexec/",
                                          "/lib",      "/bin/",      "/sbin/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            return true;
    return false;
}

static void describe(const struct installation *from, const struct cairn_package *package,
                     struct cairn_debug_source *source)
{
    struct cairn_buffer out = {0};
    char wish[URL_BYTES];
    bool has_package = *package->name && is_debian(from);
    bool is_known = has_package || (!is_debian(from) && is_systems(package->path));
    read_wish(wish);
    const char *server = *wish ? wish : is_known ? from->server : NULL;
    bool has_server = server && *source->build_id;
    if (has_package)
        add_package(&out, from, package);
    if (has_package && has_server)
        cairn_buffer_str(&out, " or ");
    if (has_server)
        cairn_buffer_printf(&out, "%s/buildid/%s/debuginfo", server, source->build_id);
    if (out.size)
        cairn_buffer_str(&out, " should have its debug file");
    source->text[0] = '\0';
    if (out.size && out.size < sizeof source->text && !out.failed)
        memcpy(source->text, cairn_buffer_text(&out), out.size + 1);
    cairn_buffer_done(&out);
}

/* A root, and where the link /proc/PID/root leads: the maps of a process behind chroot(2) have
 * paths as the host sees them. */
struct place {
    const char *root; /* "": the host's */
    char real[PATH_MAX];
};

/* The path from the root on; NULL where the file is not below it. */
static const char *below(const struct place *place, const char *file)
{
    const char *path = cairn_path_behind(place->root, file);
    return path ? path : cairn_path_behind(place->real, file);
}

static void find_in(const char *root, const struct cairn_package *wanted, const size_t *numbers,
                    size_t n, struct cairn_debug_source *sources)
{
    struct cairn_package packages[CAIRN_PACKAGES_MAX];
    struct installation from;
    struct cairn_root opened;
    if (!n || !cairn_root_open(root, &opened))
        return;
    memcpy(packages, wanted, n * sizeof *packages);
    read_installation(&opened, &from);
    if (is_debian(&from))
        cairn_packages_find(&opened, packages, n);
    for (size_t i = 0; i < n; i++)
        describe(&from, &packages[i], &sources[numbers[i]]);
    cairn_root_close(&opened);
}

static struct place place_of(const char *root)
{
    struct place place = {.root = root ? root : ""};
    ssize_t size = *place.root ? readlink(root, place.real, sizeof place.real - 1) : 0;
    place.real[size > 0 ? size : 0] = '\0';
    return place;
}

void cairn_debug_sources_find(const char *root, struct cairn_debug_source *sources, size_t n)
{
    const struct place place = place_of(root);
    for (size_t i = 0; i < n; i++)
        sources[i].text[0] = '\0';
    for (int is_below = 0; is_below < 2; is_below++) {
        struct cairn_package packages[CAIRN_PACKAGES_MAX];
        size_t numbers[CAIRN_PACKAGES_MAX], n_here = 0;
        for (size_t i = 0; i < n && n_here < CAIRN_PACKAGES_MAX; i++) {
            const char *path = below(&place, sources[i].file);
            if ((path != NULL) != is_below || (!path && *sources[i].file != '/'))
                continue;
            numbers[n_here] = i;
            packages[n_here++] = (struct cairn_package){.path = path ? path : sources[i].file};
        }
        find_in(is_below ? place.root : "", packages, numbers, n_here, sources);
    }
}
