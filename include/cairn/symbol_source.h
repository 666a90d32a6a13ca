/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_SYMBOL_SOURCE_H
#define CAIRN_SYMBOL_SOURCE_H

/* Where a name came from. */
enum cairn_symbol_source {
    CAIRN_SOURCE_NONE,
    CAIRN_SOURCE_DWARF,
    CAIRN_SOURCE_SYMTAB,
    CAIRN_SOURCE_DYNSYM,
    CAIRN_SOURCE_DEBUGDATA, /* .symtab inside .gnu_debugdata */
    CAIRN_SOURCE_PLT,       /* a stub of the procedure linkage table: "memcpy@plt" */
    CAIRN_SOURCE_KERNEL,    /* kallsyms or System.map */
    CAIRN_SOURCE_JIT        /* a /tmp/perf-PID.map */
};

#endif /* CAIRN_SYMBOL_SOURCE_H */
