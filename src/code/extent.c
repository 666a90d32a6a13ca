/* SPDX-License-Identifier: MIT */
#include "code/extent.h"

#include "base/alloc.h"
#include "base/error.h"

enum { BYTES_MAX = 64 << 10, NOT_REACHED = 0, BEGINS = 1, CONTINUES = 2 };

/* Offsets take the place of vaddrs. */
struct extent {
    cairn_code_step_fn *step;
    struct cairn_span code;
    uint8_t *reached; /* by byte: an instruction, or its rest */
    uint32_t *todo;   /* each byte is there once at most */
    size_t n_todo;
};

static void take_step(const struct extent *e, size_t off, struct cairn_code_step *ret_step)
{
    e->step((struct cairn_span){e->code.data + off, e->code.size - off}, off, ret_step);
}

/* What lies outside is another function's. */
static void go_to(struct extent *e, uint64_t off)
{
    if (off < e->code.size && e->reached[off] == NOT_REACHED) {
        e->reached[off] = BEGINS;
        e->todo[e->n_todo++] = (uint32_t)off;
    }
}

/* False: where it leads is not known. */
static bool follow(struct extent *e, size_t off)
{
    struct cairn_code_step step;
    take_step(e, off, &step);
    if (step.flow == CAIRN_FLOW_BAD || step.flow == CAIRN_FLOW_INDIRECT)
        return false;
    for (size_t i = 1; i < step.size; i++)
        if (e->reached[off + i] == NOT_REACHED)
            e->reached[off + i] = CONTINUES;
    if (step.flow == CAIRN_FLOW_JUMP || step.flow == CAIRN_FLOW_BRANCH)
        go_to(e, step.to);
    if (step.flow == CAIRN_FLOW_NEXT || step.flow == CAIRN_FLOW_CALL ||
        step.flow == CAIRN_FLOW_BRANCH)
        go_to(e, off + step.size);
    return true;
}

/* The first byte that no way comes to, but for padding in between. */
static size_t end_of_piece(const struct extent *e)
{
    size_t end = 0, off = 0;
    while (off < e->code.size) {
        struct cairn_code_step step;
        if (e->reached[off] != NOT_REACHED) {
            end = ++off;
            continue;
        }
        take_step(e, off, &step);
        if (!step.is_padding)
            break;
        off += step.size;
    }
    return end;
}

static size_t measure(struct extent *e)
{
    go_to(e, 0);
    while (e->n_todo)
        if (!follow(e, e->todo[--e->n_todo]))
            return e->code.size;
    return end_of_piece(e);
}

int cairn_code_extent(uint16_t machine, struct cairn_span code, size_t *ret_size)
{
    struct extent e = {.step = cairn_code_stepper(machine), .code = code};
    size_t size = code.size < BYTES_MAX ? code.size : BYTES_MAX;
    *ret_size = code.size;
    if (!e.step || !size)
        return CAIRN_OK;
    e.code.size = size;
    e.reached = cairn_alloc(size, 1);
    e.todo = cairn_realloc(NULL, size, sizeof *e.todo);
    bool done = e.reached && e.todo;
    if (done)
        size = measure(&e);
    if (size < e.code.size)
        *ret_size = size;
    cairn_free(e.reached);
    cairn_free(e.todo);
    return done ? CAIRN_OK : CAIRN_E_NOMEM;
}

static int size_label(const struct cairn_elf *image, uint64_t vaddr, uint64_t *inout_size)
{
    struct cairn_span code;
    size_t size;
    if (!cairn_elf_bytes_at(image, vaddr, &code))
        return CAIRN_OK;
    code.size = *inout_size < code.size ? (size_t)*inout_size : code.size;
    int result = cairn_code_extent(image->machine, code, &size);
    if (result == CAIRN_OK && size < code.size)
        *inout_size = size;
    return result;
}

void cairn_code_bound_labels(struct cairn_elf_symtab *symtab, const struct cairn_elf *image)
{
    symtab->size_label = size_label;
    symtab->image = image;
}
