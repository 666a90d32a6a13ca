/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Slots: the words of a module that the loader fills with addresses of functions: those that calls
 * go through, and function pointers in data. Bytes in, answers out. All that is read is bounded by
 * the segments, whatever the dynamic section says.
 *
 *     dynamic section ─► DT_JMPREL, DT_RELA, DT_REL, DT_ANDROID_RELA/REL (APS2)
 *                           │ place, type, symbol number
 *                           ▼
 *                        DT_SYMTAB ─► DT_STRTAB (name); DT_VERSYM ─► DT_VERNEED (version)
 *
 * DT_RELR is not read: it has no symbols.
 */
#ifndef CAIRN_HOOK_SLOTS_H
#define CAIRN_HOOK_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that lie from `vaddr` on. */
struct cairn_slots_segment {
    uint64_t vaddr;
    const uint8_t *bytes; /* what of it can be read; may be fewer than `n_memory` */
    size_t n_bytes;
    uint64_t n_memory;
    bool is_executable;
};

struct cairn_slots_image {
    const struct cairn_slots_segment *segments;
    uint32_t n_segments;
    uint64_t dynamic_vaddr, n_dynamic; /* PT_DYNAMIC */
    uint64_t load_base; /* that the loader may have added to addresses in it; 0: it has not */
    uint16_t machine;   /* e_machine */
    bool is_64;
};

enum cairn_slots_kind {
    CAIRN_SLOTS_JUMP,   /* of calls, may be bound at the first one (JUMP_SLOT) */
    CAIRN_SLOTS_DATA,   /* of calls and of `&function` (GLOB_DAT) */
    CAIRN_SLOTS_POINTER /* in data: `void (*p)(void *) = free` */
};

struct cairn_slot {
    uint64_t vaddr;
    const char *name;    /* borrowed from the image */
    const char *version; /* "GLIBC_2.14", borrowed; NULL: it has none */
    uint32_t type;       /* of the relocation */
    bool is_defined;     /* the module has the function itself */
    enum cairn_slots_kind kind;
};

/* Why reading ended, or what was left out. */
enum cairn_slots_reason {
    CAIRN_SLOTS_FINE,
    CAIRN_SLOTS_MACHINE,    /* relocations of this CPU are not known */
    CAIRN_SLOTS_NO_DYNAMIC, /* there is no dynamic section: a static program, or no symbols */
    CAIRN_SLOTS_DYNAMIC,    /* the dynamic section lies outside of the segments, or has no end */
    CAIRN_SLOTS_TABLE,      /* a table of relocations lies outside of the segments */
    CAIRN_SLOTS_SYMBOLS,    /* there are relocations, and no table of symbols or names */
    CAIRN_SLOTS_PACKED,     /* APS2: no magic, or the stream ends inside of a relocation */
    CAIRN_SLOTS_LIMIT,      /* more relocations than CAIRN_SLOTS_MAX */
    CAIRN_SLOTS_VERSIONS,   /* looking for versions of symbols takes too long */
    CAIRN_SLOTS_STOPPED     /* the caller's function said so */
};

enum {
    CAIRN_SLOTS_MAX_DYNAMIC = 4096,
    CAIRN_SLOTS_MAX = 1 << 24, /* relocations of one module */
    CAIRN_SLOTS_MAX_NAME = 4096
};

struct cairn_slots_result {
    enum cairn_slots_reason reason;
    uint64_t vaddr;  /* where, of a reason other than FINE */
    uint32_t n_read; /* relocations */
    uint32_t
        n_left; /* left out: place, symbol or name outside of the segments, or a place in code */
};

/* Returns nonzero to stop. */
typedef int cairn_slots_fn(void *context, const struct cairn_slot *slot);

/* Calls `each` for every slot of a named function or object. True: the reason is FINE. */
bool cairn_slots_each(const struct cairn_slots_image *image, cairn_slots_fn *each, void *context,
                      struct cairn_slots_result *ret_result);

/* Is there code of the module at `vaddr`? A slot that is not bound yet holds the address of a stub
 * there. */
bool cairn_slots_is_code(const struct cairn_slots_image *image, uint64_t vaddr);

/* "R_X86_64_JUMP_SLOT"; NULL: another type. */
const char *cairn_slots_type_name(uint16_t machine, uint32_t type);
/* A sentence without a full stop; static. */
const char *cairn_slots_reason_text(enum cairn_slots_reason reason);

/* Does `name` match? `*` stands for any characters, `?` for one. A pattern with a slash is held
 * against the whole path, one without against the last part. */
bool cairn_slots_match(const char *pattern, const char *path);

#endif /* CAIRN_HOOK_SLOTS_H */
