/* SPDX-License-Identifier: MIT */
/*
 * Perf data symbols: what simpleperf stores in a recording beside the records: the symbols of each
 * file, so that no file is needed to name addresses, and what it says of the recording.
 *
 * Source: AOSP, system/extras/simpleperf, record_file_format.h and record_file.proto.
 */
#ifndef CAIRN_FORMATS_PERF_DATA_SYMBOLS_H
#define CAIRN_FORMATS_PERF_DATA_SYMBOLS_H

#include "profile/profile.h"

/* Kinds of files. Other kinds have no symbols. */
enum cairn_perf_data_file_kind {
    CAIRN_PERF_DATA_FILE_KERNEL,
    CAIRN_PERF_DATA_FILE_KERNEL_MODULE,
    CAIRN_PERF_DATA_FILE_ELF,
    CAIRN_PERF_DATA_FILE_DEX,
    CAIRN_PERF_DATA_FILE_SYMBOL_MAP /* of code that was compiled at run time */
};

struct cairn_perf_data_symbol_file {
    uint32_t path; /* a text of the profile */
    uint32_t kind;
    uint64_t min_vaddr, off; /* of its first executable segment: vaddr, and where in the file */
    size_t first, n;         /* of the symbols; sorted by vaddr */
};

struct cairn_perf_data_symbol {
    uint64_t vaddr;
    uint32_t size, name; /* 0: up to the next one; a text of the profile */
};

struct cairn_perf_data_symbols {
    struct cairn_perf_data_symbol_file *files;
    size_t n_files, cap_files;
    struct cairn_perf_data_symbol *symbols;
    size_t n_symbols, cap_symbols;
};

void cairn_perf_data_symbols_done(struct cairn_perf_data_symbols *symbols);

/* The feature FILE, a row of structs, or FILE2, a row of messages. What is damaged, or beyond a
 * limit, is left out. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_perf_data_symbols_read(struct cairn_perf_data_symbols *symbols,
                                 struct cairn_profile *profile, struct cairn_span bytes,
                                 bool are_messages, bool swap);

/* Gives the frames of the profile their names. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_perf_data_symbols_name(const struct cairn_perf_data_symbols *symbols,
                                 struct cairn_profile *profile);

#endif /* CAIRN_FORMATS_PERF_DATA_SYMBOLS_H */
