/* SPDX-License-Identifier: MIT */
/*
 * Form: why a program keeps no pointer to the start of a block, only one into it. A block says so
 * by the words at its start and around the place that is pointed to:
 *
 *     off      bytes of the block                        what it is
 *     8, 16    | ... count | elements                    new T[count] of a T with a destructor
 *                                                        (Itanium C++ ABI, 2.7)
 *     8        | size of the rest | bytes                an allocator that keeps sizes
 *     16       | number of slots, 0 | slots of 16 bytes  glibc's DTV of a thread (dl-tls.c)
 *     24       | length | capacity | references | text   std::string before C++11
 *     any      | vtable | ... | vtable | ...             a base class that is not the first one
 *     any      | ... | the block's own address | data    memory that was aligned by hand, or that
 *                                                        has its head behind it, as sqlite's pages
 *     1 to 24  | length | ... | text                     a length of 1, 2, 4 or 8 bytes that fits
 *                                                        the block, as of redis' strings
 */
#ifndef CAIRN_REACH_FORM_H
#define CAIRN_REACH_FORM_H

#include "reach/blocks.h"

enum { CAIRN_REACH_FORM_HEAD = 32, CAIRN_REACH_FORM_WORDS = 2 };

struct cairn_reach_form {
    struct cairn_reach_block block;
    uint64_t off;                            /* what is pointed to */
    uint64_t head[4];                        /* the block's first words; zero behind its end */
    uint64_t around[CAIRN_REACH_FORM_WORDS]; /* the word before `off`, and the one there */
    const struct cairn_reach_range *tables;  /* where vtables may be, ascending */
    size_t n_tables;
    uint64_t slack; /* bytes by which the block may be larger than what was asked for */
};

/* May a pointer to this place be of one of these forms? */
bool cairn_reach_form_is_off(uint64_t off);

bool cairn_reach_form_holds(const struct cairn_reach_form *form);

#endif /* CAIRN_REACH_FORM_H */
