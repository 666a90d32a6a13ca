/* SPDX-License-Identifier: MIT */
#include "attach/slot_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

#define NAME  "cairn-slots"
#define MAGIC "cairn-slots"

enum {
    PAGE = 4096,
    VERSION = 1,
    BYTES = PAGE + sizeof(struct cairn_late_slot) * CAIRN_SLOT_LIST_MAX
};

/* Begins the mapping; the slots begin at its second page. */
struct header {
    char magic[16];
    uint32_t version, n;
};

static uint64_t find_list(const struct cairn_attach_job *job)
{
    return cairn_target_find_memory(&job->target, "/memfd:" NAME, BYTES);
}

static int read_header(const struct cairn_attach_job *job, uint64_t va, struct header *ret,
                       struct cairn_err *err)
{
    int result = cairn_target_read(&job->target, va, ret, sizeof *ret, err);
    if (result == CAIRN_OK && ret->magic[0] == 0) /* made, and not written yet */
        *ret = (struct header){.n = 0};
    else if (result == CAIRN_OK && (memcmp(ret->magic, MAGIC, sizeof MAGIC) != 0 ||
                                    ret->version != VERSION || ret->n > CAIRN_SLOT_LIST_MAX))
        result = cairn_fail(err, CAIRN_E_FORMAT,
                            "pid %d: the list of slots at 0x%llx is damaged, or of another "
                            "version of cairn",
                            job->target.pid, (unsigned long long)va);
    return result;
}

const struct cairn_map *cairn_slot_list_data(const struct cairn_attach_job *job, uint64_t va)
{
    const struct cairn_map *map = cairn_maps_find(job->target.maps, va);
    bool is_data = map && map->flags & CAIRN_MAP_READ && !(map->flags & CAIRN_MAP_EXEC) &&
                   va % sizeof va == 0 && map->end - va >= sizeof va;
    return is_data ? map : NULL;
}

struct cairn_slot_place {
    uint64_t va;
    size_t i;
};

static int compare_places(const void *x, const void *y)
{
    const struct cairn_slot_place *a = x, *b = y;
    return a->va < b->va ? -1 : a->va > b->va;
}

static int sort(struct cairn_slot_list *list, struct cairn_err *err)
{
    cairn_free(list->places);
    list->places = cairn_alloc(list->n + 1, sizeof *list->places);
    list->n_places = list->places ? list->n : 0;
    for (size_t i = 0; i < list->n_places; i++)
        list->places[i] = (struct cairn_slot_place){list->slots[i].va, i};
    qsort(list->places, list->n_places, sizeof *list->places, compare_places);
    return list->places ? CAIRN_OK : cairn_fail_memory(err);
}

/* As it is stored. */
static int read_slots(const struct cairn_attach_job *job, struct cairn_slot_list *list,
                      struct cairn_err *err)
{
    struct header header;
    list->n = list->n_places = 0;
    list->va = find_list(job);
    if (!list->va)
        return CAIRN_OK;
    int result = read_header(job, list->va, &header, err);
    if (result < 0)
        return result;
    if (cairn_grow((void **)&list->slots, &list->cap, header.n + 1, sizeof *list->slots) < 0)
        return cairn_fail_memory(err);
    result = cairn_target_read(&job->target, list->va + PAGE, list->slots,
                               header.n * sizeof *list->slots, err);
    list->n = result == CAIRN_OK ? header.n : 0;
    return result;
}

int cairn_slot_list_read(const struct cairn_attach_job *job, struct cairn_slot_list *list,
                         struct cairn_err *err)
{
    int result = read_slots(job, list, err);
    for (size_t i = 0; i < list->n; i++) {
        struct cairn_late_slot *slot = &list->slots[i];
        const struct cairn_map *map = cairn_slot_list_data(job, slot->va);
        slot->is_active = map != NULL;
        slot->is_read_only = map && !(map->flags & CAIRN_MAP_WRITE);
        slot->is_wanted = 0;
        slot->state = CAIRN_LATE_SLOT_UNSEEN;
    }
    return result < 0 || !list->va ? result : sort(list, err);
}

void cairn_slot_list_done(struct cairn_slot_list *list)
{
    cairn_free(list->slots);
    cairn_free(list->places);
    *list = (struct cairn_slot_list){0};
}

static int make_list(struct cairn_attach_job *job, struct cairn_slot_list *list,
                     struct cairn_err *err)
{
    int fd = memfd_create(NAME, MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, BYTES) < 0) {
        int os_errno = errno;
        if (fd >= 0)
            close(fd);
        return cairn_fail_os(err, os_errno, "no memory for notes (memfd_create)");
    }
    int result =
        cairn_foothold_map_file(&job->foothold, fd, BYTES, PROT_READ | PROT_WRITE, &list->va, err);
    close(fd);
    return result;
}

static int write_list(const struct cairn_attach_job *job, const struct cairn_slot_list *list,
                      struct cairn_err *err)
{
    const struct header header = {.magic = MAGIC, .version = VERSION, .n = (uint32_t)list->n};
    int result = cairn_target_write(&job->target, list->va + PAGE, list->slots,
                                    list->n * sizeof *list->slots, err);
    return result < 0 ? result
                      : cairn_target_write(&job->target, list->va, &header, sizeof header, err);
}

static int apply(struct cairn_attach_job *job, struct cairn_slot_list *list, struct cairn_err *err)
{
    const struct cairn_late_slots call = {
        .size = sizeof call,
        .n = (uint32_t)list->n,
        .slots = (struct cairn_late_slot *)(uintptr_t)(list->va + PAGE)};
    int value,
        result = cairn_target_write(&job->target, job->foothold.page_va, &call, sizeof call, err);
    if (result == CAIRN_OK)
        result = cairn_attach_run(job, "slots", (uintptr_t)job->late.slots, job->foothold.page_va,
                                  &value, err);
    if (result == CAIRN_OK && value != 0)
        result = cairn_fail(err, CAIRN_E_SUPPORT, "pid %d: the tracker takes no slots (%d)",
                            job->target.pid, value);
    return result < 0 ? result
                      : cairn_target_read(&job->target, list->va + PAGE, list->slots,
                                          list->n * sizeof *list->slots, err);
}

struct cairn_late_slot *cairn_slot_list_find(struct cairn_slot_list *list, uint64_t va)
{
    const struct cairn_slot_place key = {.va = va};
    const struct cairn_slot_place *place =
        list->n_places ? bsearch(&key, list->places, list->n_places, sizeof key, compare_places)
                       : NULL;
    return place ? &list->slots[place->i] : NULL;
}

struct cairn_late_slot *cairn_slot_list_add(struct cairn_slot_list *list, uint64_t va)
{
    if (list->n == CAIRN_SLOT_LIST_MAX ||
        cairn_grow((void **)&list->slots, &list->cap, list->n + 1, sizeof *list->slots) < 0)
        return NULL;
    list->slots[list->n] = (struct cairn_late_slot){.va = va};
    return &list->slots[list->n++];
}

int cairn_slot_list_store(struct cairn_attach_job *job, struct cairn_slot_list *list,
                          struct cairn_err *err)
{
    int result = list->n && !list->va ? make_list(job, list, err) : CAIRN_OK;
    if (result == CAIRN_OK && list->n)
        result = write_list(job, list, err);
    return result == CAIRN_OK && list->n ? apply(job, list, err) : result;
}

static bool is_leading(const struct cairn_attach_job *job, const struct cairn_late_slot *slot)
{
    uint64_t now;
    return cairn_slot_list_data(job, slot->va) &&
           cairn_target_read(&job->target, slot->va, &now, sizeof now, NULL) == CAIRN_OK &&
           now == slot->after;
}

int cairn_slot_list_count(const struct cairn_attach_job *job, struct cairn_slot_counts *ret,
                          struct cairn_err *err)
{
    struct cairn_slot_list list = {0};
    int result = read_slots(job, &list, err);
    *ret = (struct cairn_slot_counts){0};
    for (size_t i = 0; i < list.n; i++) {
        ret->n_wanted += list.slots[i].is_wanted;
        ret->n_leading += is_leading(job, &list.slots[i]);
    }
    cairn_slot_list_done(&list);
    return result;
}
