/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Table: the unwind rules of one module, compiled from its CFI into one image of bytes that means
 * the same wherever it lies: in the heap tracker's pages, in a file of the cache, in a map of BPF.
 *
 *     header | blocks u32[n_blocks] | pages u32[n_kept + 1] | rules u32[n_rows]
 *            | low u8[n_rows + pad] | side u64[n_side]
 *
 * A page is 256 bytes of text. pages[p] is the first row that begins in page p or behind it, so the
 * rows that begin in it are [pages[p], pages[p + 1]), and low[] is the last byte of where each
 * does. Where most text has no rows (Chromium's: 96 %), its pages are not kept: a block is 64
 * pages, and blocks[] says where in pages[] they are, or, with its top bit, that no row begins in
 * any of them, and which one would be next. The row for a pc is the last one that begins at or
 * before it, in its page or in one before; row 0 begins at `base`. Rows of the same rule follow
 * each other never. A search compares bytes, 16 at once, and most pages have fewer rows than that.
 *
 * In the byte order of the machine that made it. An image is believed nothing: what it says of
 * itself is checked when it is opened, and what it holds whenever it is asked, so that an image in
 * memory that others write to may give wrong rules, but never a read outside of it.
 */
#ifndef CAIRN_UNWIND_TABLE_H
#define CAIRN_UNWIND_TABLE_H

#include "dwarf/cfi.h"
#include "unwind/arch.h"
#include "unwind/rule.h"

enum {
    CAIRN_TABLE_PAGE = 256,  /* bytes of text; more would not fit into low[] */
    CAIRN_TABLE_BLOCK = 64,  /* pages */
    CAIRN_TABLE_VERSION = 2, /* of the image; another one is refused */
    CAIRN_TABLE_PAD = 16     /* bytes that may be read behind low[] */
};

/* As in the image, at its first byte. */
struct cairn_unwind_table_header {
    char magic[4]; /* "CUT\n" */
    uint16_t version;
    uint16_t machine;  /* EM_*: whose rules they are */
    uint64_t base;     /* vaddr of page 0; a multiple of CAIRN_TABLE_PAGE */
    uint64_t from, to; /* vaddrs: rules are NONE outside of [from, to) */
    uint64_t bytes;    /* of the whole image */
    uint32_t n_pages, n_rows, n_side;
    uint32_t order;            /* 0x01020304 */
    uint32_t n_blocks, n_kept; /* no blocks: all pages are kept */
};

/* An image that was opened: borrows its bytes. */
struct cairn_unwind_table {
    uint64_t base;
    uint32_t n_pages, n_rows, n_blocks, n_kept;
    const uint32_t *blocks; /* n_blocks: as many as the pages need, or none */
    const uint32_t *pages;  /* n_kept + 1 */
    const uint32_t *rules;
    const uint8_t *low; /* CAIRN_TABLE_PAD bytes more may be read */
    const uint64_t *side;
    uint32_t n_side;
    uint16_t machine;
    uint64_t from, to;
};

enum cairn_unwind_table_source {
    CAIRN_TABLE_EH_FRAME,
    CAIRN_TABLE_DEBUG_FRAME,
    CAIRN_TABLE_EXIDX,
    CAIRN_TABLE_KNOWN
};

/* What a rule of kind SIDE refers to. */
struct cairn_unwind_table_side {
    enum cairn_unwind_table_source source;
    uint64_t off; /* bytes: the FDE's in its section, the entry's in .ARM.exidx */
};

/* False: no image, another version, another byte order, or it does not fit into its bytes. The
 * bytes must be aligned to 8 and outlive the table. Constant time. */
bool cairn_unwind_table_open(struct cairn_span image, struct cairn_unwind_table *ret_table);

/* The rule for the instruction at `vaddr` (a return address is looked up one byte before, see
 * base/address.h); NONE where the table has none. Any thread, signal-safe, no locks: three loads
 * that depend on each other (four where pages were left out), about 25 instructions. */
uint32_t cairn_unwind_table_find(const struct cairn_unwind_table *table, uint64_t vaddr);

/* False: `rule` is not SIDE, or its entry is not there. */
bool cairn_unwind_table_side(const struct cairn_unwind_table *table, uint32_t rule,
                             struct cairn_unwind_table_side *ret_side);

/* Row `i`: where it begins, and its rule; rows end where the next one begins, the last one never.
 * For tests, tools and who writes tables in another form; not fast. False: no such row. */
bool cairn_unwind_table_row(const struct cairn_unwind_table *table, uint32_t i, uint64_t *ret_vaddr,
                            uint32_t *ret_rule);

/* What a table is made of: each NULL where a module has it not. Where several speak of a pc, the
 * first of them is believed. */
struct cairn_unwind_table_input {
    const struct cairn_unwind_arch *arch;
    const struct cairn_cfi *known; /* asked first; NULL: none */
    const struct cairn_cfi *eh_frame;
    const struct cairn_cfi *debug_frame;
    const struct cairn_exidx *exidx; /* unwind/exidx.h */
    uint64_t text_from, text_to;     /* vaddrs: what lies outside of [from, to) is left out */
};

/* How a table was made. */
struct cairn_unwind_table_built {
    struct cairn_span image; /* the first bytes of `work` */
    uint32_t n_fdes;         /* inside of the text; entries of exidx are not counted */
    uint32_t n_damaged;      /* entries that were read over */
};

enum cairn_unwind_table_end {
    CAIRN_TABLE_OK,
    CAIRN_TABLE_NOTHING, /* no entry inside of the text */
    CAIRN_TABLE_TOO_BIG, /* 4 GiB of text or of a section, or more */
    CAIRN_TABLE_NO_ROOM  /* `work` is smaller than was measured, or the bytes changed since */
};

/* How many bytes cairn_unwind_table_build() is to be given: for the image, and for what it needs to
 * make it. Most of them are never touched, so fresh pages of mmap cost little more than the image.
 * A quick pass over the lengths of the entries; like build it calls nothing but what is here and in
 * dwarf/: both run inside an interposed malloc and in a signal handler. */
enum cairn_unwind_table_end cairn_unwind_table_measure(const struct cairn_unwind_table_input *input,
                                                       uint64_t *ret_work_bytes);

/* Makes the image at the start of `work`, which is aligned to 8; what lies behind the image may be
 * given back. The same input makes the same image. */
enum cairn_unwind_table_end cairn_unwind_table_build(const struct cairn_unwind_table_input *input,
                                                     void *work, uint64_t work_bytes,
                                                     struct cairn_unwind_table_built *ret_built);

#endif /* CAIRN_UNWIND_TABLE_H */
