/* SPDX-License-Identifier: MIT */
#include "trace/plain_event.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "trace/plain_stack.h"

enum { PAGE = 4096, PROTECTION = 2 /* the argument */ };

uint32_t cairn_plain_row(const struct cairn_stopped_call *call, bool *ret_is_x32)
{
    uint64_t number = call->number;
    *ret_is_x32 = cairn_call_abi.has_x32 && call->arch == cairn_call_abi.native.arch &&
                  number & CAIRN_CALL_X32_BIT && number <= INT32_MAX;
    if (*ret_is_x32)
        number &= ~(uint64_t)CAIRN_CALL_X32_BIT;
    if (number >= CAIRN_TRACE_NUMBERS)
        return CAIRN_PLAIN_NO_ROW;
    if (call->arch == cairn_call_abi.native.arch)
        return (uint32_t)number;
    return call->arch == cairn_call_abi.compat.arch ? CAIRN_TRACE_NUMBERS + (uint32_t)number
                                                    : CAIRN_PLAIN_NO_ROW;
}

static const struct cairn_call_table *table_of(const struct cairn_stopped_call *call)
{
    return call->arch == cairn_call_abi.native.arch ? &cairn_call_abi.native
                                                    : &cairn_call_abi.compat;
}

bool cairn_plain_maps(const struct cairn_stopped_call *call)
{
    const struct cairn_call_table *table = table_of(call);
    const int number = (int)call->number;
    return (number == table->mmap || number == table->mprotect || number == table->pkey_mprotect) &&
           call->args[PROTECTION] & PROT_EXEC;
}

bool cairn_plain_renames(const struct cairn_stopped_call *call)
{
    return (int)call->number == table_of(call)->prctl && (int)call->args[0] == PR_SET_NAME;
}

void cairn_plain_begin(struct cairn_plain_pending *pending, const struct cairn_call_thread *thread,
                       const struct cairn_stopped_call *call, uint32_t row)
{
    struct cairn_bpf_event *event = &pending->event.event;
    *event = (struct cairn_bpf_event){
        .stack = {.pid = (uint32_t)thread->pid, .tid = (uint32_t)thread->tid},
        .start_ns = cairn_now_ns(),
        .row = row,
        .cpu = UINT32_MAX,
        .uid = pending->uid,
        .has_payload = 1};
    event->stack.time_ns = event->start_ns;
    memcpy(event->args, call->args, sizeof call->args);
    memcpy(event->comm, pending->comm, sizeof event->comm);
    memset(&pending->event.payload, 0, sizeof pending->event.payload);
}

/* From the front on; how many bytes came. `*io_late`: they may be newer than the event. */
static size_t read_memory(const struct cairn_plain_memory *memory, uint64_t va, void *to,
                          size_t size, bool *io_late)
{
    const struct cairn_target_copy *copy = &memory->copy;
    if (copy->bytes.size && va >= copy->va && va - copy->va < copy->bytes.size) {
        const size_t left = copy->bytes.size - (size_t)(va - copy->va);
        const size_t n = size < left ? size : left;
        memcpy(to, copy->bytes.data + (va - copy->va), n);
        return n;
    }
    const size_t n = cairn_plain_read(memory->tid, va, to, size);
    *io_late = *io_late || (memory->is_running && n);
    return n;
}

/* A text up to its NUL: the page behind may not be there, and the copy may end within it. */
static uint16_t read_text(const struct cairn_plain_memory *memory, uint64_t va, char *to,
                          bool *io_late)
{
    const char *end = NULL;
    size_t got = 0, part = 1;
    while (got < CAIRN_TRACE_TEXT_BYTES && part && !end) {
        size_t n = PAGE - (va + got) % PAGE;
        if (n > CAIRN_TRACE_TEXT_BYTES - got)
            n = CAIRN_TRACE_TEXT_BYTES - got;
        part = read_memory(memory, va + got, to + got, n, io_late);
        end = memchr(to + got, '\0', part);
        got += part;
    }
    if (!got)
        return CAIRN_TRACE_NO_TEXT;
    if (!end)
        to[got - 1] = '\0';
    return (uint16_t)(end ? end - to + 1 : (ptrdiff_t)got);
}

/* All of them, or not: the copy may end within. */
static bool read_bytes(const struct cairn_plain_memory *memory, uint64_t va, uint8_t *to,
                       size_t size, bool *io_late)
{
    const size_t got = read_memory(memory, va, to, size, io_late);
    return got == size ||
           (got && read_memory(memory, va + got, to + got, size - got, io_late) == size - got);
}

static void take_data(struct cairn_plain_pending *pending, const struct cairn_bpf_call *row,
                      const struct cairn_plain_memory *memory, bool at_end)
{
    bool is_late = false;
    struct cairn_bpf_event *event = &pending->event.event;
    const uint32_t arg = row->data, by = row->data_size;
    if (!arg || arg > CAIRN_TRACE_ARGS || (by == CAIRN_TRACE_DATA_BY_RET) != at_end)
        return;
    int64_t n = at_end ? event->ret : 0;
    if (!at_end && by >= 1 && by <= CAIRN_TRACE_ARGS)
        n = (int64_t)event->args[by - 1];
    if (n <= 0)
        return;
    if (n > CAIRN_TRACE_DATA_BYTES)
        n = CAIRN_TRACE_DATA_BYTES;
    if (read_bytes(memory, event->args[arg - 1], pending->event.payload.data, (size_t)n, &is_late))
        pending->event.payload.n_data = (uint16_t)n;
    event->late |= (uint8_t)(is_late << (arg - 1));
}

void cairn_plain_take(struct cairn_plain_pending *pending, const struct cairn_bpf_call *row,
                      const struct cairn_plain_memory *memory, bool at_end)
{
    struct cairn_bpf_payload *payload = &pending->event.payload;
    for (int i = 0; i < CAIRN_TRACE_TEXTS; i++) {
        const uint32_t arg = row->text[i];
        bool is_late = false;
        if (!arg || arg > CAIRN_TRACE_ARGS || (at_end && payload->n_text[i] != CAIRN_TRACE_NO_TEXT))
            continue;
        payload->n_text[i] =
            read_text(memory, pending->event.event.args[arg - 1], payload->text[i], &is_late);
        pending->event.event.late |= (uint8_t)(is_late << (arg - 1));
    }
    take_data(pending, row, memory, at_end);
}

static uint64_t value_of(const struct cairn_plain_pending *pending, uint32_t field)
{
    const struct cairn_bpf_event *event = &pending->event.event;
    switch (field) {
    case CAIRN_TRACE_PID:
        return event->stack.pid;
    case CAIRN_TRACE_TID:
        return event->stack.tid;
    case CAIRN_TRACE_UID:
        return event->uid;
    case CAIRN_TRACE_CPU:
        return event->cpu;
    case CAIRN_TRACE_RET:
        return (uint64_t)event->ret;
    case CAIRN_TRACE_DURATION:
        return event->stack.value;
    default:
        return field < CAIRN_TRACE_ARGS ? event->args[field] : 0;
    }
}

static bool term_holds(const struct cairn_plain_pending *pending, const struct cairn_bpf_term *term)
{
    if (term->field >= CAIRN_TRACE_RET && !pending->event.event.has_ret)
        return false;
    if (term->field == CAIRN_TRACE_COMM)
        return (memcmp(pending->event.event.comm, term->value, sizeof term->value) == 0) ==
               (term->op == CAIRN_TRACE_EQ);
    return cairn_trace_compares(term->op, term->width,
                                cairn_trace_widen(value_of(pending, term->field), term->width),
                                (int64_t)term->value[0]);
}

bool cairn_plain_holds(const struct cairn_plain_pending *pending, const struct cairn_bpf_call *row,
                       bool at_end)
{
    for (uint32_t i = 0; i < row->n_terms && i < CAIRN_TRACE_TERMS_MAX; i++)
        if ((row->terms[i].field >= CAIRN_TRACE_RET) == at_end &&
            !term_holds(pending, &row->terms[i]))
            return false;
    return true;
}
