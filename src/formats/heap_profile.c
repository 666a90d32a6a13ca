/* SPDX-License-Identifier: MIT */
#include "formats/heap_profile.h"

#include <stdlib.h>
#include <string.h>

#include <cairn/frame.h>
#include <cairn/unwind_end.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/below.h"
#include "base/error.h"
#include "base/log.h"
#include "formats/format.h"

static const char BEFORE[] = "[before attach]";

enum { REASON_BYTES = 64, HEX_BYTES = 2 * 64 + 1 };

static const struct {
    const char *type, *unit;
} types[CAIRN_HEAP_VALUES] = {
    [CAIRN_HEAP_INUSE_OBJECTS] = {"inuse_objects", "count"},
    [CAIRN_HEAP_INUSE_SPACE] = {"inuse_space", "bytes"},
    [CAIRN_HEAP_ALLOC_OBJECTS] = {"alloc_objects", "count"},
    [CAIRN_HEAP_ALLOC_SPACE] = {"alloc_space", "bytes"},
    [CAIRN_HEAP_PEAK_OBJECTS] = {"peak_objects", "count"},
    [CAIRN_HEAP_PEAK_SPACE] = {"peak_space", "bytes"},
    [CAIRN_HEAP_TEMPORARY_OBJECTS] = {"temporary_objects", "count"},
    [CAIRN_HEAP_MAPPED_OBJECTS] = {"mapped_objects", "count"},
    [CAIRN_HEAP_MAPPED_SPACE] = {"mapped_space", "bytes"},
};

/* A mapping and the module that it became. */
struct place {
    uint64_t from, to;
    uint32_t order; /* number of its record */
    uint32_t module;
};

struct adding {
    struct cairn_heap_view *view;
    struct cairn_profile *p;
    struct place *places; /* by `from`, then in the order of their records */
    size_t n_places, cap_places;
    uint32_t *stacks; /* by number: the profile's; UINT32_MAX: none */
    uint16_t *depths;
    bool failed; /* memory is gone, or a limit of the profile is reached */
};

static int add_types(struct cairn_profile *profile, struct cairn_err *err)
{
    for (size_t i = 0; i < CAIRN_HEAP_VALUES; i++)
        if (cairn_profile_add_type(profile, types[i].type, types[i].unit) == UINT32_MAX)
            return cairn_fail_memory(err);
    return cairn_profile_set_default_value(profile, CAIRN_HEAP_INUSE_SPACE, err);
}

int cairn_heap_profile_new(struct cairn_profile **ret_profile, struct cairn_err *err)
{
    int result = cairn_profile_new(ret_profile, err);
    if (result == CAIRN_OK)
        result = add_types(*ret_profile, err);
    if (result < 0) {
        cairn_profile_free(*ret_profile);
        *ret_profile = NULL;
    }
    return result;
}

static uint32_t text(struct adding *a, const char *text, size_t size)
{
    uint32_t number = cairn_profile_text(a->p, text, size);
    a->failed |= number == UINT32_MAX;
    return number;
}

static uint32_t build_id_text(struct adding *a, struct cairn_span id)
{
    static const char digits[] = "0123456789abcdef";
    char hex[HEX_BYTES];
    size_t n = id.size < HEX_BYTES / 2 ? id.size : HEX_BYTES / 2;
    for (size_t i = 0; i < n; i++) {
        hex[2 * i] = digits[id.data[i] >> 4];
        hex[2 * i + 1] = digits[id.data[i] & 15];
    }
    return text(a, hex, 2 * n);
}

static void add_mapping(void *ctx, const struct cairn_heap_mapping *mapping)
{
    struct adding *a = ctx;
    const struct cairn_heap_module *head = &mapping->head;
    struct cairn_profile_module module = {.start = head->from, .end = head->to, .off = head->off};
    module.path = text(a, (const char *)mapping->path.data, mapping->path.size);
    module.build_id = build_id_text(a, mapping->build_id);
    if (a->failed ||
        cairn_grow((void **)&a->places, &a->cap_places, a->n_places + 1, sizeof *a->places) < 0) {
        a->failed = true;
        return;
    }
    uint32_t number =
        mapping->path.size ? cairn_profile_add_module(a->p, &module) : CAIRN_PROFILE_NO_MODULE;
    a->failed |= number == UINT32_MAX;
    a->places[a->n_places] = (struct place){
        .from = head->from, .to = head->to, .order = (uint32_t)a->n_places, .module = number};
    a->n_places++;
}

static int compare_places(const void *x, const void *y)
{
    const struct place *a = x, *b = y;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* The module that lay at `address` when the stack was new: of those that cover it the last of the
 * `n_records` that there were. Mappings of one place follow each other, and hardly any overlap
 * others. */
static uint32_t module_at(const struct adding *a, uint64_t address, uint32_t n_records)
{
    enum { LOOK_BACK = 64 };
    const size_t n = CAIRN_COUNT_BELOW(a->places, a->n_places, from, address);
    const struct place *best = NULL;
    for (size_t i = n; i > 0 && n - i < LOOK_BACK; i--) {
        const struct place *place = &a->places[i - 1];
        if (address < place->to && place->order < n_records &&
            (!best || place->order > best->order))
            best = place;
    }
    return best ? best->module : CAIRN_PROFILE_NO_MODULE;
}

static uint32_t add_frame(struct adding *a, uint32_t parent, uint64_t ret, uint32_t n_records,
                          enum cairn_frame_how how)
{
    struct cairn_profile_frame frame = {.address = cairn_lookup_address(ret, CAIRN_ADDRESS_RETURN),
                                        .how = (uint8_t)how};
    frame.module = module_at(a, frame.address, n_records);
    uint32_t number = cairn_profile_add_frame(a->p, &frame, NULL, 0);
    uint32_t child =
        number == UINT32_MAX ? UINT32_MAX : cairn_profile_add_stack(a->p, parent, number);
    a->failed |= child == UINT32_MAX;
    return child;
}

/* The profile's stack of the outermost `n` frames of stack `base`. */
static bool shared_part(const struct adding *a, uint32_t base, uint32_t n, uint32_t *ret_stack)
{
    uint32_t stack = n ? a->stacks[base] : 0;
    if (n && (stack == UINT32_MAX || a->depths[base] < n))
        return false;
    for (uint32_t depth = n ? a->depths[base] : 0; depth > n; depth--)
        stack = a->p->stacks[stack].parent;
    *ret_stack = stack;
    return true;
}

/* A frame of its own, so that these blocks are told from those whose stack is not known. */
static uint32_t add_text_frame(struct adding *a, const char *name, size_t size)
{
    struct cairn_profile_function function = {.name = text(a, name, size)};
    function.system_name = function.name;
    struct cairn_profile_line line = {0};
    struct cairn_profile_frame frame = {.how = CAIRN_HOW_TEXT};
    line.function = a->failed ? UINT32_MAX : cairn_profile_add_function(a->p, &function);
    uint32_t number =
        line.function == UINT32_MAX ? UINT32_MAX : cairn_profile_add_frame(a->p, &frame, &line, 1);
    uint32_t stack = number == UINT32_MAX ? UINT32_MAX : cairn_profile_add_stack(a->p, 0, number);
    a->failed |= stack == UINT32_MAX;
    return stack;
}

static void add_stack(struct adding *a, uint32_t stack)
{
    struct cairn_heap_record record;
    uint32_t at;
    a->stacks[stack] = UINT32_MAX;
    if (!cairn_heap_view_record(a->view, stack, &record) ||
        !shared_part(a, record.head.base, record.head.n_shared, &at)) {
        a->view->n_damaged += stack != 0;
        return;
    }
    if (record.head.flags & CAIRN_HEAP_LOG_BEFORE)
        at = add_text_frame(a, BEFORE, strlen(BEFORE));
    if (record.head.flags & CAIRN_HEAP_LOG_KIND) {
        const char *kind = (const char *)record.rets;
        a->stacks[stack] = add_text_frame(a, kind, strnlen(kind, record.head.n * sizeof(uint64_t)));
        return;
    }
    enum cairn_frame_how how =
        record.head.flags & CAIRN_HEAP_LOG_GUESSED ? CAIRN_HOW_FP_GUESS : CAIRN_HOW_CFI;
    for (uint32_t i = 0; i < record.head.n && !a->failed; i++)
        at = add_frame(a, at, cairn_heap_record_ret(&record, i), record.head.n_modules, how);
    a->stacks[stack] = at;
    a->depths[stack] = (uint16_t)(record.head.n_shared + record.head.n);
}

/* Why the stack ends where it does; "": it is whole. */
static const char *cut_reason(const struct adding *a, uint32_t stack)
{
    struct cairn_heap_record record;
    if (stack == 0)
        return "no stack was taken";
    if (a->stacks[stack] == UINT32_MAX || !cairn_heap_view_record(a->view, stack, &record))
        return "its record is damaged";
    if (record.head.flags & CAIRN_HEAP_LOG_CALLER)
        return "no stack was taken";
    if (record.head.n_cut)
        return "depth limit";
    return record.head.end == CAIRN_END_OUTERMOST ? "" : cairn_unwind_end_text(record.head.end);
}

static void add_sample(struct adding *a, uint32_t stack, const int64_t *values, int64_t time_ns)
{
    const char *reason = cut_reason(a, stack);
    uint32_t at = a->stacks[stack], cut = text(a, reason, strlen(reason));
    uint32_t labels = a->failed ? 0 : cairn_profile_add_label_set(a->p, NULL, 0, cut, time_ns);
    a->failed |= labels == UINT32_MAX || cairn_profile_add_sample(a->p, at == UINT32_MAX ? 0 : at,
                                                                  labels, values) == UINT32_MAX;
}

static bool is_zero(const int64_t *values)
{
    for (size_t i = 0; i < CAIRN_HEAP_VALUES; i++)
        if (values[i])
            return false;
    return true;
}

/* The sum of a stack ends at what 63 bits hold, its parts may be more. */
static int64_t rest_of(int64_t value, int64_t part)
{
    return value > part ? value - part : 0;
}

/* Each epoch of a stack by itself, from birth number `*next` on; what is left of its values has no
 * time. */
static void add_births(struct adding *a, const struct cairn_heap_births *births, uint32_t stack,
                       size_t *next, int64_t *values)
{
    for (; *next < births->n && births->rows[*next].stack == stack && !a->failed; ++*next) {
        const struct cairn_heap_birth *birth = &births->rows[*next];
        int64_t born[CAIRN_HEAP_VALUES] = {
            [CAIRN_HEAP_INUSE_OBJECTS] = birth->blocks, [CAIRN_HEAP_INUSE_SPACE] = birth->bytes};
        add_sample(a, stack, born, cairn_heap_birth_ns(a->view, birth->epoch));
        values[CAIRN_HEAP_INUSE_OBJECTS] = rest_of(values[CAIRN_HEAP_INUSE_OBJECTS], birth->blocks);
        values[CAIRN_HEAP_INUSE_SPACE] = rest_of(values[CAIRN_HEAP_INUSE_SPACE], birth->bytes);
    }
}

static void add_all(struct adding *a, const struct cairn_heap_sums *sums)
{
    size_t next_birth = 0;
    cairn_heap_view_mappings(a->view, add_mapping, a);
    if (a->n_places)
        qsort(a->places, a->n_places, sizeof *a->places, compare_places);
    for (uint32_t stack = 0; stack < sums->n && !a->failed; stack++) {
        int64_t values[CAIRN_HEAP_VALUES];
        memcpy(values, sums->values[stack], sizeof values);
        add_stack(a, stack);
        add_births(a, &sums->births, stack, &next_birth, values);
        if (!a->failed && !is_zero(values))
            add_sample(a, stack, values, 0);
    }
}

int cairn_heap_profile_add(struct cairn_heap_view *view, const struct cairn_heap_sums *sums,
                           struct cairn_profile *profile, uint32_t *ret_stacks,
                           struct cairn_err *err)
{
    struct adding a = {.view = view, .p = profile};
    a.stacks = ret_stacks ? ret_stacks : cairn_alloc(sums->n + 1, sizeof *a.stacks);
    a.depths = cairn_alloc(sums->n + 1, sizeof *a.depths);
    a.failed = !a.stacks || !a.depths;
    if (!a.failed)
        add_all(&a, sums);
    if (!ret_stacks)
        cairn_free(a.stacks);
    cairn_free(a.depths);
    cairn_free(a.places);
    return a.failed ? cairn_fail_memory(err) : CAIRN_OK;
}

/* "server" of "/usr/bin/server -x": the command may lack its end. */
static uint32_t name_of(struct cairn_profile *p, const struct cairn_heap_header *header)
{
    const char *command = header->command;
    size_t size = strnlen(command, sizeof header->command);
    for (size_t i = 0; i < size; i++)
        if (command[i] == ' ')
            size = i;
    for (size_t i = size; i-- > 0;)
        if (command[i] == '/')
            return cairn_profile_text(p, command + i + 1, size - i - 1);
    return cairn_profile_text(p, command, size);
}

/* The samples from number `first` on are of that process. False: memory is gone. */
static bool label_process(struct cairn_profile *p, size_t first,
                          const struct cairn_heap_header *header)
{
    struct cairn_profile_label labels[] = {
        {.key = cairn_profile_text(p, "pid", 3), .number = header->pid},
        {.key = cairn_profile_text(p, "process", 7), .text = name_of(p, header)},
    };
    uint32_t n = labels[1].text ? 2 : 1;
    bool ok =
        labels[0].key != UINT32_MAX && labels[1].key != UINT32_MAX && labels[1].text != UINT32_MAX;
    for (size_t i = first; i < p->n_samples && ok; i++) {
        const struct cairn_profile_label_set old = p->label_sets[p->samples[i].labels];
        p->samples[i].labels = cairn_profile_add_label_set(p, labels, n, old.cut, old.time_ns);
        ok = p->samples[i].labels != UINT32_MAX;
    }
    return ok;
}

/* What ran, and when: of several processes the first one's. */
static int describe(const struct cairn_heap_header *header, struct cairn_profile *profile,
                    struct cairn_err *err)
{
    if (profile->time_ns || cairn_profile_note(profile, CAIRN_NOTE_COMMAND, 0))
        return CAIRN_OK;
    profile->time_ns = (int64_t)header->begin_ns;
    char command[sizeof header->command + 1] = {0};
    memcpy(command, header->command, sizeof header->command);
    if (!*command)
        return CAIRN_OK;
    int result = cairn_profile_add_note(profile, CAIRN_NOTE_COMMAND, command);
    return result < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}

static int add_state(struct cairn_heap_view *view, unsigned keeps, struct cairn_profile *profile,
                     struct cairn_err *err)
{
    struct cairn_heap_sums sums = {0};
    size_t n_before = profile->n_samples;
    int result = cairn_heap_sums_make(view, &CAIRN_HEAP_ALL, &sums, err);
    if (result == CAIRN_OK && keeps & CAIRN_FORMAT_BIRTHS)
        result = cairn_heap_births_make(view, sums.n, &sums.births, err);
    if (result == CAIRN_OK)
        result = cairn_heap_profile_add(view, &sums, profile, NULL, err);
    if (result == CAIRN_OK && keeps & CAIRN_FORMAT_PROCESSES &&
        !label_process(profile, n_before, &view->header))
        result = cairn_fail_memory(err);
    cairn_heap_sums_done(&sums);
    return result;
}

/* A file may hold the states of several processes, one behind another. */
static int read_states(struct cairn_span bytes, unsigned keeps, struct cairn_profile *profile,
                       uint64_t *ret_damaged, struct cairn_err *err)
{
    struct cairn_heap_view view;
    size_t size;
    do {
        int result = cairn_heap_view_open(bytes, &view, &size, err);
        if (result < 0)
            return result;
        result = describe(&view.header, profile, err);
        if (result == CAIRN_OK)
            result = add_state(&view, keeps, profile, err);
        *ret_damaged += view.header.flags & CAIRN_HEAP_WAS_RUNNING ? 0 : view.n_damaged;
        cairn_heap_view_close(&view);
        if (result < 0)
            return result;
        bytes = (struct cairn_span){bytes.data + size, bytes.size - size};
    } while (cairn_heap_view_sniff(bytes));
    return CAIRN_OK;
}

static int read_heap(struct cairn_source *source, struct cairn_profile *profile,
                     struct cairn_err *err)
{
    struct cairn_span bytes;
    uint64_t n_damaged = 0;
    int result = cairn_source_slurp(source, CAIRN_FORMAT_BYTES_MAX, &bytes, err);
    if (result == CAIRN_OK)
        result = add_types(profile, err);
    if (result == CAIRN_OK)
        result = read_states(bytes, source->input.keeps, profile, &n_damaged, err);
    if (result == CAIRN_OK && n_damaged)
        cairn_log(CAIRN_LOG_WARNING, "heap state: %llu entries make no sense and were passed over",
                  (unsigned long long)n_damaged);
    return result;
}

const struct cairn_format_row cairn_format_heap = {
    .format = CAIRN_FORMAT_HEAP,
    .name = "heap",
    .endings = (const char *const[]){".heap", NULL},
    .sniff = cairn_heap_view_sniff,
    .read = read_heap,
};
