/* SPDX-License-Identifier: MIT */
/*
 * The one place where a return address becomes the address to look up.
 *
 * A return address is that of the instruction after the call. After a noreturn call, or where the
 * call is the last one of an inlined body, that is already another line or another function, so
 * names and unwind rules are asked for one byte earlier: still inside the call, on every CPU.
 */
#ifndef CAIRN_BASE_ADDRESS_H
#define CAIRN_BASE_ADDRESS_H

#include <stdint.h>

enum cairn_address_kind {
    CAIRN_ADDRESS_EXACT,  /* a sampled ip, a fault, the frame that a signal interrupted */
    CAIRN_ADDRESS_RETURN, /* pushed by a call */
};

static inline uint64_t cairn_lookup_address(uint64_t address, enum cairn_address_kind kind)
{
    return kind == CAIRN_ADDRESS_RETURN && address ? address - 1 : address;
}

#endif /* CAIRN_BASE_ADDRESS_H */
