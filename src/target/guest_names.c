/* SPDX-License-Identifier: MIT */
#include "target/guest_names.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/foreign.h"

enum { FILE_MAX = 8 << 20 };

/* A path that is not absolute is counted from the process's folder. */
static bool path_of(int pid, const char *file, char *to, size_t room)
{
    char link[64];
    if (*file == '/')
        return (size_t)snprintf(to, room, "%s", file) < room;
    snprintf(link, sizeof link, "/proc/%d/cwd", pid);
    ssize_t n = readlink(link, to, room);
    return n > 0 && (size_t)n < room &&
           (size_t)snprintf(to + n, room - (size_t)n, "/%s", file) < room - (size_t)n;
}

/* A regular file below the process's root, and none that makes us wait. -1: there is none. */
static int open_source(int pid, const char *file)
{
    char root[64], path[PATH_MAX];
    int fd = -1;
    snprintf(root, sizeof root, "/proc/%d/root", pid);
    int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -1;
    const struct cairn_foreign_wish wish = {.path = path, .folder = folder};
    if (!path_of(pid, file, path, sizeof path) || cairn_foreign_open(&wish, &fd, NULL) < 0)
        fd = -1;
    close(folder);
    return fd;
}

static int split_lines(struct cairn_source_file *source)
{
    const char *text = cairn_buffer_text(&source->text);
    for (uint32_t at = 0; at < source->text.size;) {
        if (cairn_grow((void **)&source->lines, &source->cap_lines, source->n_lines + 1,
                       sizeof *source->lines) < 0)
            return CAIRN_E_NOMEM;
        source->lines[source->n_lines++] = at;
        const char *end = memchr(text + at, '\n', source->text.size - at);
        at = end ? (uint32_t)(end - text) + 1 : (uint32_t)source->text.size;
    }
    return CAIRN_OK;
}

static void read_source(struct cairn_target_guest_names *names, const char *file,
                        struct cairn_source_file *source)
{
    struct stat st;
    int fd = open_source(names->pid, file);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size <= FILE_MAX &&
        names->n_bytes + (uint64_t)st.st_size <= CAIRN_SOURCES_BYTES_MAX) {
        char piece[4096];
        ssize_t n;
        while (source->text.size < FILE_MAX && (n = read(fd, piece, sizeof piece)) > 0)
            cairn_buffer_add(&source->text, piece, (size_t)n);
        names->n_bytes += source->text.size;
        if (split_lines(source) < 0)
            source->n_lines = 0;
    }
    close(fd);
}

/* NULL: there is no such file, or no memory. */
static const struct cairn_source_file *source_of(struct cairn_target_guest_names *names,
                                                 const char *file)
{
    uint32_t number = cairn_strings_add_str(&names->paths, file);
    if (number == UINT32_MAX || number >= CAIRN_SOURCES_MAX)
        return NULL;
    if (number >= names->n_sources) {
        if (cairn_grow((void **)&names->sources, &names->cap_sources, number + 1u,
                       sizeof *names->sources) < 0)
            return NULL;
        while (names->n_sources <= number)
            names->sources[names->n_sources++] = (struct cairn_source_file){0};
        read_source(names, file, &names->sources[number]);
    }
    return &names->sources[number];
}

static bool source_line(void *ctx, const char *file, uint32_t line, char *to, size_t size)
{
    struct cairn_target_guest_names *names = ctx;
    const struct cairn_source_file *source = names->pid ? source_of(names, file) : NULL;
    if (!source || !line || line > source->n_lines)
        return false;
    size_t from = source->lines[line - 1];
    size_t end = line < source->n_lines ? source->lines[line] - 1 : source->text.size;
    size_t n = end - from < size - 1 ? end - from : size - 1;
    memcpy(to, cairn_buffer_text(&source->text) + from, n);
    to[n] = 0;
    return true;
}

/* NULL: memory is gone. */
static const struct cairn_registry *registry_of(struct cairn_target_guest_names *names,
                                                const struct cairn_space_module *module)
{
    for (size_t i = 0; i < names->n_registries; i++)
        if (names->registries[i].module == module)
            return &names->registries[i].registry;
    if (cairn_grow((void **)&names->registries, &names->cap_registries, names->n_registries + 1,
                   sizeof *names->registries) < 0)
        return NULL;
    struct cairn_known_registry *known = &names->registries[names->n_registries];
    known->module = module;
    if (cairn_registry_make(&module->elf, &known->registry) < 0)
        return NULL;
    names->n_registries++;
    return &known->registry;
}

static bool function(void *ctx, uint64_t va, char *to, size_t size)
{
    struct cairn_target_guest_names *names = ctx;
    const struct cairn_space_place *place = cairn_space_at(names->space, va);
    if (!place || !place->module || !place->module->usable)
        return false;
    const struct cairn_registry *registry = registry_of(names, place->module);
    const char *name = registry ? cairn_registry_find(registry, va - place->bias) : NULL;
    if (!name) {
        const struct cairn_elf_symbol *symbol =
            cairn_space_module_symbol(place->module, va - place->bias);
        name = symbol && symbol->vaddr == va - place->bias ? symbol->name : NULL;
    }
    return name && (size_t)snprintf(to, size, "%s", name) < size;
}

void cairn_target_guest_names_init(struct cairn_target_guest_names *names,
                                   struct cairn_unwind_space *space, int pid)
{
    *names = (struct cairn_target_guest_names){.space = space, .pid = pid};
    names->names = (struct cairn_guest_names){names, source_line, function};
}

void cairn_target_guest_names_forget(struct cairn_target_guest_names *names)
{
    for (size_t i = 0; i < names->n_registries; i++)
        cairn_registry_done(&names->registries[i].registry);
    names->n_registries = 0;
}

void cairn_target_guest_names_done(struct cairn_target_guest_names *names)
{
    cairn_target_guest_names_forget(names);
    for (size_t i = 0; i < names->n_sources; i++) {
        cairn_buffer_done(&names->sources[i].text);
        cairn_free(names->sources[i].lines);
    }
    cairn_free(names->sources);
    cairn_free(names->registries);
    cairn_strings_done(&names->paths);
}
