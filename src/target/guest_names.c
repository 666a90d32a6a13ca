/* SPDX-License-Identifier: MIT */
#include "target/guest_names.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"

enum { FILE_MAX = 8 << 20 };

/* Below the process's root; what is not absolute is counted from its folder. */
static bool path_of(int pid, const char *root, const char *file, char *to, size_t room)
{
    char link[64], folder[PATH_MAX] = "";
    ssize_t n = 0;
    snprintf(link, sizeof link, "/proc/%d/cwd", pid);
    if (*file != '/' &&
        ((n = readlink(link, folder, sizeof folder)) <= 0 || (size_t)n >= sizeof folder))
        return false;
    folder[n] = 0;
    return (size_t)snprintf(to, room, "%s%s/%s", root, folder, file) < room;
}

static int split_lines(struct cairn_source_file *source)
{
    const struct cairn_span text = source->file.bytes;
    for (uint32_t at = 0; at < text.size;) {
        if (cairn_grow((void **)&source->lines, &source->cap_lines, source->n_lines + 1,
                       sizeof *source->lines) < 0)
            return CAIRN_E_NOMEM;
        source->lines[source->n_lines++] = at;
        const uint8_t *end = memchr(text.data + at, '\n', text.size - at);
        at = end ? (uint32_t)(end - text.data) + 1 : (uint32_t)text.size;
    }
    return CAIRN_OK;
}

static void read_source(struct cairn_target_guest_names *names, const char *file,
                        struct cairn_source_file *source)
{
    char root[64], path[PATH_MAX];
    snprintf(root, sizeof root, "/proc/%d/root", names->pid);
    if (!path_of(names->pid, root, file, path, sizeof path) ||
        cairn_file_open_below(root, path, &source->file, NULL) < 0)
        return;
    uint64_t size = source->file.bytes.size;
    if (size > FILE_MAX || names->n_bytes + size > CAIRN_SOURCES_BYTES_MAX ||
        split_lines(source) < 0)
        source->n_lines = 0;
    else
        names->n_bytes += size;
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
    size_t end = line < source->n_lines ? source->lines[line] - 1 : source->file.bytes.size;
    size_t n = end - from < size - 1 ? end - from : size - 1;
    memcpy(to, source->file.bytes.data + from, n);
    to[n] = 0;
    return true;
}

const struct cairn_registry *
cairn_target_guest_names_registry(struct cairn_target_guest_names *names,
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
    const struct cairn_registry *registry = cairn_target_guest_names_registry(names, place->module);
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
        cairn_file_close(&names->sources[i].file);
        cairn_free(names->sources[i].lines);
    }
    cairn_free(names->sources);
    cairn_free(names->registries);
    cairn_strings_done(&names->paths);
}
