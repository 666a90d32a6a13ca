/* SPDX-License-Identifier: MIT */
/*
 * Derive: call frame information of code that has none, made of what its instructions do. musl's
 * libc has next to none, so that no stack of a program with it would reach main; nor has much that
 * is written by hand.
 *
 *     gaps: code that no entry covers
 *       │
 *       │  function starts: symbols, targets of calls, addresses in code
 *       ▼
 *     state before each instruction, on every path: the CFA, the slots of the caller's registers
 *       │
 *       │  accepted if all paths to an instruction agree,
 *       │  and each return finds the return address at the stack pointer
 *       ▼
 *     .debug_frame
 *
 * A function for which that does not hold is left out, and so is what no way leads to: nothing is
 * said that the code does not do. Registers beside those that calls keep are not followed.
 */
#ifndef CAIRN_UNWIND_DERIVE_H
#define CAIRN_UNWIND_DERIVE_H

#include "base/buffer.h"
#include "code/flow.h"
#include "elf/symtab.h"

/* Of code: [from, to), vaddrs. */
struct cairn_derive_gap {
    uint64_t from, to;
};

struct cairn_derive_input {
    const struct cairn_elf *elf;
    const struct cairn_derive_gap *gaps; /* sorted, disjoint */
    size_t n_gaps;
    const struct cairn_elf_symtab *const *symtabs; /* sorted ones */
    size_t n_symtabs;
};

/* Of all gaps together; of more nothing is said. */
enum { CAIRN_DERIVE_BYTES_MAX = 4 << 20 };

/* Is it a section of code in which functions are looked for? Stubs of a PLT are no functions. */
bool cairn_derive_is_code(const struct cairn_elf_section *section);

/* Appends a .debug_frame with a CIE of its own, or nothing, where there is nothing to say or the
 * CPU is not x86-64. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_derive(const struct cairn_derive_input *input, struct cairn_buffer *ret_debug_frame);

/*
 * What one CPU's file gives: a state is that before an instruction, and becomes that behind it.
 */

/* CAIRN_DERIVE_KEPT_FP: the number of fp among the registers that calls keep. */
enum { CAIRN_DERIVE_KEPT = 6, CAIRN_DERIVE_KEPT_FP = 1, CAIRN_DERIVE_UNKNOWN = INT32_MIN };

struct cairn_derive_state {
    int32_t sp, fp;                   /* CFA - register; UNKNOWN */
    int32_t saved[CAIRN_DERIVE_KEPT]; /* the caller's value lies at CFA - this; 0: nowhere */
    uint32_t intact;                  /* bits: the register has the caller's value */
};

/* What bounds a number: a comparison with another one, and the branch behind it. */
enum cairn_derive_guard {
    CAIRN_DERIVE_NO_GUARD,
    CAIRN_DERIVE_COMPARES, /* with `number` */
    CAIRN_DERIVE_ABOVE,    /* branches where it is above that, */
    CAIRN_DERIVE_NOT_ABOVE /* where it is not */
};

struct cairn_derive_insn {
    enum cairn_flow flow;
    size_t size;
    bool knows_to, has_place;
    uint64_t to, place; /* vaddrs; `place`: whose address is taken, or of a jump's table */
    enum cairn_derive_guard guard;
    bool loads; /* `number`, into a register: where code does not move, an address maybe */
    uint64_t number;
};

void cairn_derive_x86_64(struct cairn_span code, uint64_t vaddr, struct cairn_derive_state *state,
                         struct cairn_derive_insn *ret_insn);

/* The registers that calls keep, by their number in `saved`: DWARF's. */
extern const uint8_t cairn_derive_x86_64_kept[CAIRN_DERIVE_KEPT];

#endif /* CAIRN_UNWIND_DERIVE_H */
