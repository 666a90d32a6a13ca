/* SPDX-License-Identifier: MIT */
/* Programs that a tracked one starts, and that the loader puts no tracker into. */
#ifndef CAIRN_WATCH_MISSED_H
#define CAIRN_WATCH_MISSED_H

#include <stdbool.h>
#include <stddef.h>

#include <cairn/heap.h>

struct cairn_heap_missed_list;
/* `command` is not told of: cairn_heap_unreachable() was asked before it ran. NULL: no memory. */
struct cairn_heap_missed_list *cairn_heap_missed_new(const char *command);
void cairn_heap_missed_free(struct cairn_heap_missed_list *list); /* accepts NULL */
/* Looks at a process and what descends from it, as they are now. */
void cairn_heap_missed_look(struct cairn_heap_missed_list *list, int pid);
/* False: there is none of that number. `ret_kind`: enum cairn_program_kind. */
bool cairn_heap_missed_get(const struct cairn_heap_missed_list *list, size_t index,
                           struct cairn_heap_missed *missed, uint32_t *ret_kind);

/* Into a caller's, of which to->size bytes are there: it may be older. */
void cairn_heap_missed_copy(struct cairn_heap_missed *to, const struct cairn_heap_missed *from);

#endif /* CAIRN_WATCH_MISSED_H */
