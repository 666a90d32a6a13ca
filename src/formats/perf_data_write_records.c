/* SPDX-License-Identifier: MIT */
/* The data of a perf.data: units, names, mappings and samples, in the order of time. */
#include <stdio.h>

#include "base/error.h"
#include "formats/perf_data_numbers.h"
#include "formats/perf_data_write.h"

enum { PROT_READ_EXEC = 5, MAP_PRIVATE_FLAG = 2 };
enum { ROUND = 10000 }; /* samples: so that a reader need not hold all of them to sort them */

static const uint64_t mark_kernel = (uint64_t)-128, mark_user = (uint64_t)-512;
static const uint64_t marks = (uint64_t)-4095; /* from here on no address */

struct who {
    uint32_t pid, tid;
    uint32_t process, thread; /* texts; 0: unknown */
    uint32_t cpu;
};

static void put32(struct cairn_perf_data_writing *w, uint64_t value)
{
    cairn_buffer_le(&w->out.bytes, value, 4);
}

static void put64(struct cairn_perf_data_writing *w, uint64_t value)
{
    cairn_buffer_le(&w->out.bytes, value, 8);
}

/* A record has 64 KiB, and readers have room for a path in it. */
static void put_text(struct cairn_perf_data_writing *w, const char *text)
{
    char cut[CAIRN_PERF_DATA_WRITE_TEXT];
    snprintf(cut, sizeof cut, "%s", text);
    cairn_perf_data_put_text(&w->out.bytes, cut, 8);
}

/* What ends a record that is no sample: sample_id_all. */
static void end_record(struct cairn_perf_data_writing *w, uint32_t pid, uint32_t tid)
{
    put32(w, pid);
    put32(w, tid);
    put64(w, w->at_ns);
    if (w->has_cpus)
        put64(w, 0);
    put64(w, CAIRN_PERF_DATA_WRITE_ID);
    cairn_perf_data_out_end(&w->out);
}

static uint32_t number_of(const struct cairn_profile *p, uint32_t labels, const char *key)
{
    const struct cairn_profile_label *label = cairn_profile_find_label(p, labels, key);
    return label && !label->text && label->number > 0 && label->number <= INT32_MAX
               ? (uint32_t)label->number
               : 0;
}

static uint32_t text_of(const struct cairn_profile *p, uint32_t labels, const char *key)
{
    const struct cairn_profile_label *label = cairn_profile_find_label(p, labels, key);
    return label ? label->text : 0;
}

/* A thread without a number is the main one of its process. */
static struct who who_of(const struct cairn_profile *p, uint32_t labels)
{
    struct who who = {.pid = number_of(p, labels, "pid"), .tid = number_of(p, labels, "tid")};
    who.tid = who.tid ? who.tid : who.pid;
    who.process = text_of(p, labels, "process");
    who.thread = text_of(p, labels, "thread");
    const struct cairn_profile_label *cpu = cairn_profile_find_label(p, labels, "cpu");
    who.cpu = cpu && !cpu->text ? (uint32_t)cpu->number : UINT32_MAX;
    return who;
}

static int put_name(struct cairn_perf_data_writing *w, uint32_t pid, uint32_t tid, uint32_t name)
{
    uint32_t known;
    if (!name || (cairn_table_find(&w->names, tid, &known) && known == name))
        return CAIRN_OK;
    cairn_perf_data_out_begin(&w->out, PERF_DATA_COMM, 0);
    put32(w, pid);
    put32(w, tid);
    put_text(w, cairn_strings_get(&w->p->strings, name));
    end_record(w, pid, tid);
    return cairn_table_set(&w->names, tid, name);
}

static int put_names(struct cairn_perf_data_writing *w, const struct who *who)
{
    bool is_main = who->pid == who->tid;
    int code = put_name(w, who->pid, who->pid, is_main && who->thread ? who->thread : who->process);
    return code < 0 || is_main ? code : put_name(w, who->pid, who->tid, who->thread);
}

static void put_kernel_map(struct cairn_perf_data_writing *w, uint32_t module)
{
    const struct cairn_perf_data_place *place = &w->places[module];
    const char *path = cairn_strings_get(&w->p->strings, w->p->modules[module].path);
    bool is_image = place->kind == CAIRN_PERF_DATA_PLACE_KERNEL_IMAGE;
    cairn_perf_data_out_begin(&w->out, PERF_DATA_MMAP, PERF_DATA_MODE_KERNEL);
    put32(w, UINT32_MAX);
    put32(w, 0);
    put64(w, place->start);
    put64(w, place->end - place->start);
    put64(w, is_image ? place->start : 0);
    put_text(w, is_image ? "[kernel.kallsyms]_text" : path);
    end_record(w, 0, 0);
}

static void put_user_map(struct cairn_perf_data_writing *w, uint32_t pid, uint32_t module)
{
    const struct cairn_profile_module *m = &w->p->modules[module];
    const struct cairn_perf_data_place *place = &w->places[module];
    uint8_t id[PERF_DATA_BUILD_ID_BYTES] = {0};
    size_t size = cairn_perf_data_write_build_id(cairn_strings_get(&w->p->strings, m->build_id), id,
                                                 sizeof id);
    cairn_perf_data_out_begin(&w->out, PERF_DATA_MMAP2,
                              size ? PERF_DATA_MODE_USER | PERF_DATA_MISC_MMAP_BUILD_ID
                                   : PERF_DATA_MODE_USER);
    put32(w, pid);
    put32(w, pid);
    put64(w, place->start);
    put64(w, place->end - place->start);
    put64(w, place->off);
    put32(w, size); /* or a device, of which nothing is known */
    cairn_buffer_add(&w->out.bytes, id, sizeof id);
    put32(w, PROT_READ_EXEC);
    put32(w, MAP_PRIVATE_FLAG);
    const char *path = cairn_strings_get(&w->p->strings, m->path);
    /* perf names code there by the perf map of the process. */
    put_text(w, strcmp(path, "[anon]") == 0 ? "//anon" : path);
    end_record(w, pid, pid);
}

static int put_map(struct cairn_perf_data_writing *w, uint32_t pid, uint32_t module)
{
    const enum cairn_perf_data_place_kind kind = w->places[module].kind;
    const uint64_t of = kind == CAIRN_PERF_DATA_PLACE_USER ? pid : UINT32_MAX;
    const uint64_t key = of << 32 | module;
    uint32_t known;
    if (kind == CAIRN_PERF_DATA_PLACE_NONE || cairn_table_find(&w->mapped, key, &known))
        return CAIRN_OK;
    w->places[module].is_mapped = true;
    if (kind == CAIRN_PERF_DATA_PLACE_USER)
        put_user_map(w, pid, module);
    else
        put_kernel_map(w, module);
    return cairn_table_set(&w->mapped, key, 1);
}

static int put_maps(struct cairn_perf_data_writing *w, uint32_t pid, uint32_t stack)
{
    const struct cairn_profile *p = w->p;
    int code = CAIRN_OK;
    for (uint32_t last = 0; stack && code == CAIRN_OK; stack = p->stacks[stack].parent) {
        const uint32_t module = p->frames[p->stacks[stack].frame].module;
        if (module && module != last)
            code = put_map(w, pid, module);
        last = module;
    }
    return code;
}

/* A chain as it is made. */
struct chain {
    size_t n_frames, n_turns; /* marks of a side before those that are of it */
    uint64_t ip;              /* the first address */
    bool starts_in_kernel;
    bool is_kernel, was_kernel; /* which side, of this frame and the one before */
    bool has_side[2];           /* a frame of the user, of the kernel was there */
};

/* Of each side the first address is exact, the others are return addresses. */
static uint64_t address_of(struct cairn_perf_data_writing *w, uint32_t number, struct chain *chain)
{
    const struct cairn_profile_frame *frame = &w->p->frames[number];
    const uint64_t va = cairn_perf_data_placed(w->p, w->places, number);
    chain->is_kernel =
        frame->what == CAIRN_WHAT_KERNEL || (frame->module && cairn_perf_data_is_kernel_va(va));
    bool is_return = chain->has_side[chain->is_kernel] && va && !cairn_frame_is_exact(frame->how);
    return is_return ? va + 1 : va;
}

static void count_left(struct cairn_perf_data_writing *w, const struct cairn_profile_frame *frame)
{
    if (frame->what == CAIRN_WHAT_INTERPRETED)
        w->left.n_interpreted++;
    else if (frame->what == CAIRN_WHAT_INLINED)
        w->left.n_inlined++;
    else
        w->left.n_no_address++;
}

bool cairn_perf_data_write_holds(const struct cairn_profile_frame *frame)
{
    bool is_code = frame->what == CAIRN_WHAT_NATIVE || frame->what == CAIRN_WHAT_KERNEL ||
                   frame->what == CAIRN_WHAT_JIT;
    return is_code && (frame->address || !frame->n_lines);
}

static struct chain put_chain(struct cairn_perf_data_writing *w, uint32_t stack)
{
    struct chain chain = {0};
    for (; stack; stack = w->p->stacks[stack].parent) {
        const uint32_t number = w->p->stacks[stack].frame;
        const uint64_t va = address_of(w, number, &chain);
        if (!cairn_perf_data_write_holds(&w->p->frames[number]) || va >= marks) {
            count_left(w, &w->p->frames[number]);
            continue;
        }
        const bool turns = !chain.n_frames || chain.is_kernel != chain.was_kernel;
        if (chain.n_frames == CAIRN_PERF_DATA_WRITE_FRAMES ||
            (turns && chain.n_turns == CAIRN_PERF_DATA_WRITE_TURNS)) {
            w->left.n_deep++;
            break;
        }
        chain.n_turns += turns;
        if (turns)
            put64(w, chain.is_kernel ? mark_kernel : mark_user);
        put64(w, va);
        w->left.n_inlined +=
            w->p->frames[number].n_lines > 1 ? w->p->frames[number].n_lines - 1 : 0;
        chain.ip = chain.n_frames ? chain.ip : va;
        chain.starts_in_kernel |= !chain.n_frames++ && chain.is_kernel;
        chain.was_kernel = chain.is_kernel;
        chain.has_side[chain.is_kernel] = true;
    }
    return chain;
}

/* What comes before the chain is known behind it. */
static void put_sample(struct cairn_perf_data_writing *w, const struct who *who, uint32_t stack,
                       size_t event, uint64_t value)
{
    enum { MISC_AT = 4, IP_AT = 16 };
    cairn_perf_data_out_begin(&w->out, PERF_DATA_SAMPLE, PERF_DATA_MODE_USER);
    const size_t start = w->out.record;
    put64(w, CAIRN_PERF_DATA_WRITE_ID + event);
    put64(w, 0);
    put32(w, who->pid);
    put32(w, who->tid);
    put64(w, w->at_ns);
    if (w->has_cpus)
        put64(w, who->cpu);
    put64(w, value);
    const size_t count_at = w->out.bytes.size;
    put64(w, 0);
    const struct chain chain = put_chain(w, stack);
    const size_t n_words = (w->out.bytes.size - count_at) / 8 - 1;
    if (chain.starts_in_kernel)
        cairn_buffer_set_le(&w->out.bytes, start + MISC_AT, PERF_DATA_MODE_KERNEL, 2);
    cairn_buffer_set_le(&w->out.bytes, start + IP_AT, chain.ip, 8);
    cairn_buffer_set_le(&w->out.bytes, count_at, n_words, 8);
    cairn_perf_data_out_end(&w->out);
}

static void set_time(struct cairn_perf_data_writing *w, size_t sample)
{
    const int64_t time_ns = cairn_profile_time_of(w->p, sample);
    const uint64_t at_ns = (uint64_t)time_ns - w->clock_shift;
    if (!w->n_records)
        w->first_ns = w->at_ns = w->first_ns ? w->first_ns : 1;
    if (w->step_ns)
        w->at_ns = w->first_ns + w->n_records * w->step_ns;
    else if (time_ns && at_ns > w->at_ns && at_ns <= INT64_MAX)
        w->at_ns = at_ns;
    w->last_ns = w->at_ns;
}

static void put_round(struct cairn_perf_data_writing *w)
{
    if (w->n_records % ROUND)
        return;
    cairn_perf_data_out_begin(&w->out, PERF_DATA_FINISHED_ROUND, 0);
    cairn_perf_data_out_end(&w->out);
}

uint64_t cairn_perf_data_write_count(const struct cairn_perf_data_writing *w, size_t row,
                                     size_t event)
{
    const int64_t *values = w->p->values + row * w->p->n_types;
    bool is_zero =
        values[w->events[event].values] == 0 && !event && w->samples_type < w->p->n_types;
    for (size_t i = 1; i < w->n_events; i++) /* the first event has the samples without a value */
        is_zero &= values[w->events[i].values] == 0;
    if (values[w->events[event].values] <= 0 && !is_zero)
        return 0;
    const uint64_t n = cairn_profile_weight(w->p, row);
    return w->sums_rows && n > 1 ? 1 : n;
}

/* Records of one event share the row's value. */
static void put_event(struct cairn_perf_data_writing *w, size_t row, const struct who *who,
                      size_t event)
{
    const int64_t value = w->p->values[row * w->p->n_types + w->events[event].values];
    const uint64_t n = cairn_perf_data_write_count(w, row, event);
    w->left.n_negative += value < 0;
    for (uint64_t i = 0; i < n && !w->out.refused; i++) {
        set_time(w, row);
        put_sample(w, who, w->p->samples[row].stack, event,
                   (uint64_t)value / n + (i < (uint64_t)value % n));
        w->n_records++;
        put_round(w);
    }
}

static int put_row(struct cairn_perf_data_writing *w, size_t row)
{
    const struct cairn_profile_sample *sample = &w->p->samples[row];
    const struct who who = who_of(w->p, sample->labels);
    set_time(w, row);
    int code = put_names(w, &who);
    if (code == CAIRN_OK)
        code = put_maps(w, who.pid, sample->stack);
    for (size_t i = 0; i < w->n_events && code == CAIRN_OK; i++)
        put_event(w, row, &who, i);
    w->left.n_cut += cairn_profile_cut_short(w->p, sample->labels) != 0;
    return code;
}

/* Attributes cannot say that a value is of bytes. */
static void put_units(struct cairn_perf_data_writing *w)
{
    for (size_t i = 0; i < w->n_events; i++) {
        const struct cairn_profile_type *type = &w->p->types[w->events[i].values];
        if (!w->events[i].has_unit)
            continue;
        cairn_perf_data_out_begin(&w->out, PERF_DATA_EVENT_UPDATE, 0);
        put64(w, PERF_DATA_UPDATE_UNIT);
        put64(w, CAIRN_PERF_DATA_WRITE_ID + i);
        put_text(w, cairn_strings_get(&w->p->strings, type->unit));
        cairn_perf_data_out_end(&w->out);
    }
}

int cairn_perf_data_write_records(struct cairn_perf_data_writing *w)
{
    int code = CAIRN_OK;
    cairn_table_done(&w->names);
    cairn_table_done(&w->mapped);
    w->n_records = w->at_ns = 0;
    w->left = (struct cairn_perf_data_left){.n_types = w->left.n_types};
    put_units(w);
    for (size_t i = 0; i < w->p->n_samples && code == CAIRN_OK && !w->out.refused; i++)
        code = put_row(w, w->order[i]);
    return code;
}
