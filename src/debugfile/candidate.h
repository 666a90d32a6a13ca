/* SPDX-License-Identifier: MIT */
/* A file that may belong to a module: opened, and looked at as far as the choice needs it. */
#ifndef CAIRN_DEBUGFILE_CANDIDATE_H
#define CAIRN_DEBUGFILE_CANDIDATE_H

#include "base/file.h"
#include "elf/image.h"

enum { CAIRN_BUILD_ID_TEXT = 2 * 64 + 1 };

/* How much a file can say, each more than the one before. */
enum cairn_candidate_worth {
    CAIRN_WORTH_EXPORTS, /* .dynsym at best */
    CAIRN_WORTH_SYMTAB,  /* .symtab: names of all functions */
    CAIRN_WORTH_DWARF    /* lines and inline frames */
};

struct cairn_candidate {
    char *path; /* NULL: none */
    struct cairn_file file;
    struct cairn_span
        stored;           /* its bytes as they are in the file; `file.bytes` may be made of them */
    struct cairn_elf elf; /* with is_vouched */
    bool is_relocatable;  /* and was laid out: `elf` is of type ET_DYN */
    char build_id[CAIRN_BUILD_ID_TEXT]; /* lower-case hex; "" where it has none */
    enum cairn_candidate_worth worth;
    bool has_code;    /* a binary, not only a debug file */
    bool other_build; /* than was asked for, but that is allowed */
};

/* What is known of a path before it is opened. */
struct cairn_candidate_place {
    const char *root; /* the path may begin with this root of another system; NULL: none */
    bool is_vouched;  /* the caller chose the path, and no target did */
};

/* CAIRN_E_MISSING where nothing is there, CAIRN_E_FORMAT for what is no sound ELF file. A path like
 * "base.apk!/lib/arm64-v8a/libx.so" is that of a file stored in a zip archive; CAIRN_E_SUPPORT
 * where it is compressed there.
 * A relocatable file is laid out (elf/layout.h), and one that is packed as a whole by gzip, xz or
 * zstd, as kernel modules are, is unpacked where it is vouched for, or a kernel module that nobody
 * else could write; `file` owns what came of it. */
int cairn_candidate_open(const char *path, const struct cairn_candidate_place *place,
                         struct cairn_candidate *ret_candidate, struct cairn_err *err);

/* The same for a file that is open already, and stays so; `name` takes its path's place. */
int cairn_candidate_open_fd(int fd, const char *name, struct cairn_candidate *ret_candidate,
                            struct cairn_err *err);
void cairn_candidate_close(struct cairn_candidate *c); /* all-zero is fine */

/* Could both be of one build? Where a build ID lacks, their code must at least lie alike. */
bool cairn_candidate_fits(const struct cairn_candidate *a, const struct cairn_candidate *b);

bool cairn_candidate_is_same_file(const struct cairn_candidate *a, const struct cairn_candidate *b);

#endif /* CAIRN_DEBUGFILE_CANDIDATE_H */
