/* SPDX-License-Identifier: MIT */
/*
 * Symbolizer: turns code addresses into function names, source lines and inline frames.
 *
 * It reads files, not processes. Open a module once, then ask for addresses as its ELF file says
 * them (`vaddr`); for what a running process shows, the conversions below do the arithmetic from
 * the program headers, never "address minus start plus offset".
 *
 * Addresses are looked up as they are given: the caller subtracts one from a return address
 * (cairn_return_address()).
 *
 * A module is read in one of three ways, chosen as look-ups come: out of the cache, where an
 * earlier run left an index of it; unit by unit, as few addresses need; or whole, on all cores,
 * once the addresses asked for are so many that an index is cheaper. Answers are the same in each.
 *
 * Threads: one symbolizer may be used by one thread at a time; two symbolizers are independent.
 * Indexing starts threads of its own and ends them before the call returns.
 *
 * Files are mapped. Where another program shortens a file in place while it is mapped, touching
 * what is gone raises SIGBUS: the cairn command catches it, a program that cares must do so itself.
 */
#ifndef CAIRN_SYMBOLIZER_H
#define CAIRN_SYMBOLIZER_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>
#include <cairn/symbol_source.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_symbolizer;
struct cairn_module;

/* How function names are written. */
enum cairn_names {
    CAIRN_NAMES_FULL,   /* demangled: app::Table<int>::get(std::string const&) */
    CAIRN_NAMES_SHORT,  /* demangled without parameters: app::Table<int>::get */
    CAIRN_NAMES_MANGLED /* as the linker knows it: _ZN3app5TableIiE3getERKSs */
};

/* When a module is read whole. */
enum cairn_index_use {
    CAIRN_INDEX_AUTO,  /* once its look-ups cost so much that this is cheaper: with a cache about a
                          quarter of it, for later runs have the rest */
    CAIRN_INDEX_NEVER, /* unit by unit, whatever is asked */
    CAIRN_INDEX_ALWAYS /* at the first look-up */
};

/* Set .size to sizeof(struct cairn_symbolizer_opts). Fields that a later version adds are then
 * zero, and zero always means "the default". Texts are copied. */
struct cairn_symbolizer_opts {
    size_t size;
    const char *const *symbol_dirs; /* folders (or globs of folders) with symbols, in order */
    size_t n_symbol_dirs;
    const char *debug_dir; /* the global folder of debug files; NULL: /usr/lib/debug */
    size_t memory_bytes;   /* what caches may hold, mapped files not counted; 0: no bound. What was
                              not used for longest goes first, and comes back when asked for */
    enum cairn_names names;
    int no_inlines;        /* nonzero: only the outermost function of an address */
    int allow_mismatch;    /* nonzero: take files whose build ID differs, with a warning */
    const char *root;      /* module paths are looked for below this folder first ("/proc/42/root");
                              NULL: none */
    int use_cache;         /* nonzero: indexes are kept in the cache folder and taken from there */
    const char *cache_dir; /* NULL: as cairn_cache_folder() says */
    uint64_t cache_max_bytes; /* what all entries together may take; 0: 4 GiB */
    unsigned n_threads;       /* for an index; 0: one for each CPU that the process may use */
    enum cairn_index_use index;
    int discriminators; /* nonzero: frames tell theirs; costs one more pass over the line program of
                           each unit that is asked for */
    int symbol_files;   /* nonzero: a local function without line information has the file that the
                           symbol table says it came from: "crtstuff.c"; costs a pass over the table
                           when the first one is asked for */
    int no_local_files; /* nonzero: a module's own path on this machine is not tried, for the
                           addresses are of another; only folders and build IDs lead to files */
    int no_debug_info;  /* nonzero: symbol tables alone, without lines and inlined functions; no
                          cache is used. Much cheaper, for names that are made all the time */
};

/* Why an address has no name. */
enum cairn_symbol_state {
    CAIRN_SYMBOL_NAMED,     /* at least a function name was found */
    CAIRN_SYMBOL_NO_SYMBOL, /* the module is sound, but nothing in it covers the address */
    CAIRN_SYMBOL_OUTSIDE    /* no loadable segment of the module holds the address */
};

/* The way in which a module's names were read so far. */
enum cairn_way {
    CAIRN_WAY_NONE,      /* nothing was asked yet */
    CAIRN_WAY_SYMBOLS,   /* there is no debug information: symbol tables alone */
    CAIRN_WAY_UNITS,     /* unit by unit, found by .debug_aranges or root DIEs */
    CAIRN_WAY_SAVED_MAP, /* unit by unit, found by a map of units out of the cache */
    CAIRN_WAY_INDEX,     /* an index made by this symbolizer */
    CAIRN_WAY_CACHE      /* an index out of the cache */
};

/* One source-level frame. An address inside inlined code gives several, innermost first; all but
 * the last of them are inlined into the one that follows. One of several may have neither function
 * nor file; one alone has at least one of them. */
struct cairn_symbol_frame {
    const char *function; /* as `names` asks for; NULL: unknown */
    const char *linkage;  /* mangled name where one is known, else equal to the plain name; NULL */
    const char *file;     /* path as the compiler was given it, folder joined; NULL: unknown */
    uint32_t line;        /* 0: unknown, or the compiler says "no line" */
    uint32_t start_line;  /* where the function is declared; 0: unknown */
    uint8_t inlined;      /* 1: a call site in the next frame */
    uint8_t source;       /* enum cairn_symbol_source, of the function name */
    uint8_t folded;       /* 1: other functions share these very bytes (identical code folding,
                             aliases), the name is one of several */
    uint8_t reserved;
    const char *suffix;     /* what the compiler made of the function: "cold", "part.0", "isra.0",
                               "constprop.0.cold"; NULL: nothing */
    const char *module;     /* the part of the kernel that was loaded later and holds the function:
                               "nf_tables"; NULL: none */
    uint32_t discriminator; /* which of several pieces of code that its line gave holds the address;
                               0: none, or not asked for. Of the innermost frame alone, and only
                               where inlined ones are told */
};

/* The answer for one address; borrowed until the next call on the same symbolizer. */
struct cairn_symbol {
    enum cairn_symbol_state state;
    uint32_t n_frames; /* 0 unless CAIRN_SYMBOL_NAMED or a line is known */
    const struct cairn_symbol_frame *frames;
};

/* What is known of a module; borrowed until cairn_symbolizer_free(). */
struct cairn_module_info {
    const char *path;       /* the file whose program headers are used */
    const char *debug_path; /* the file that names come from; NULL: the same */
    const char *build_id;   /* lower-case hex; "" where the file has none */
    const char *machine;    /* "x86-64" */
    uint16_t elf_type;      /* ET_EXEC, ET_DYN; ET_REL: laid out, addresses of .text from 0 */
    uint8_t verified;       /* 1: its build ID equals the one that was asked for */
    uint8_t mismatch;       /* 1: it differs, and allow_mismatch took it */
    uint8_t has_lines;      /* 1: line tables are there */
    uint8_t has_symtab;     /* 1: .symtab is there, not only .dynsym */
    uint8_t way;            /* enum cairn_way; changes as look-ups go on */
};

/* `opts` may be NULL. Free with cairn_symbolizer_free(). CAIRN_E_NOMEM, CAIRN_E_ARG. */
CAIRN_API int cairn_symbolizer_new(const struct cairn_symbolizer_opts *opts,
                                   struct cairn_symbolizer **ret_symbolizer, struct cairn_err *err);

/* Accepts NULL. Every module, string and answer of this symbolizer dies here. */
CAIRN_API void cairn_symbolizer_free(struct cairn_symbolizer *symbolizer);

/*
 * Finds the files of the module that a process knows as `path`. `build_id` is lower-case hex, or
 * NULL where it is unknown. The same path and build ID give the same module again, and a failure is
 * remembered as well, so that each is warned of once (through cairn_log_set()).
 *
 * Looked for, in this order, each verified by build ID or CRC: DIR/.build-id/xx/yyy.debug (in each
 * symbol folder, then in the global debug folder); .gnu_debuglink beside the file, in .debug/ and
 * in the global debug folder; then in each symbol folder: by file name directly in it, by the
 * module's path below it, by file name anywhere below it (the first in sorted order).
 *
 * CAIRN_E_MISSING: no such file anywhere. CAIRN_E_FORMAT: damaged. CAIRN_E_ARG: only files of
 * another build were found (the hint says how to take them all the same).
 * The module belongs to the symbolizer.
 */
CAIRN_API int cairn_symbolizer_open(struct cairn_symbolizer *symbolizer, const char *path,
                                    const char *build_id, struct cairn_module **ret_module,
                                    struct cairn_err *err);

/* The same for exactly this file and what it points to (debuglink, build ID): what `cairn symbolize
 * FILE` does. */
CAIRN_API int cairn_symbolizer_open_file(struct cairn_symbolizer *symbolizer, const char *file,
                                         struct cairn_module **ret_module, struct cairn_err *err);

/* A module out of bytes in memory, e.g. the vdso read from a process. Copied. `name` is what
 * answers and messages call it. Compressed sections are unpacked as those of a file that the caller
 * names: without the limit for files that processes map. */
CAIRN_API int cairn_symbolizer_open_bytes(struct cairn_symbolizer *symbolizer, const char *name,
                                          const void *bytes, size_t size,
                                          struct cairn_module **ret_module, struct cairn_err *err);

/*
 * The kernel's functions out of `file`: /proc/kallsyms, a copy of it, or a System.map. Addresses
 * are those of the file: what KASLR added to a System.map, or to a vmlinux, is for the caller to
 * subtract. There are no lines. `modules` is a copy of /proc/modules, which says where kernel
 * modules end; NULL: then the last function of each ends with its page. Each call makes a new
 * module, which belongs to the symbolizer.
 *
 * CAIRN_E_ACCESS: the file cannot be read, or the kernel hides the addresses (the hint says how to
 * see them). CAIRN_E_FORMAT: no line of it is a symbol. CAIRN_E_LIMIT: more than 10^7 lines.
 */
CAIRN_API int cairn_symbolizer_open_kallsyms(struct cairn_symbolizer *symbolizer, const char *file,
                                             const char *modules, struct cairn_module **ret_module,
                                             struct cairn_err *err);

/*
 * Code that a JIT compiler made, out of the text of a perf map: lines "START SIZE NAME", numbers in
 * hex, in any order; where they overlap a later one wins. Look-ups take addresses of that process.
 * `name` is what answers and messages call it. Whoever opens /tmp/perf-PID.map of another user must
 * look at whose file it is: anybody can write there. Each call makes a new module, which belongs to
 * the symbolizer. CAIRN_E_FORMAT: no line of it is one. CAIRN_E_LIMIT: more than 10^7 lines.
 */
CAIRN_API int cairn_symbolizer_open_jit_map(struct cairn_symbolizer *symbolizer, const char *name,
                                            const void *text, size_t size,
                                            struct cairn_module **ret_module,
                                            struct cairn_err *err);

/*
 * A module out of an open file, from its beginning, e.g. one that has no path any more; what
 * belongs to it is looked for as for a file of that name. The file is mapped: the descriptor stays
 * the caller's, its position where it was, and it may be closed afterwards. Each call makes a new
 * module.
 */
CAIRN_API int cairn_symbolizer_open_fd(struct cairn_symbolizer *symbolizer, const char *name,
                                       int fd, struct cairn_module **ret_module,
                                       struct cairn_err *err);

CAIRN_API const struct cairn_module_info *cairn_module_info(const struct cairn_module *module);

/* vaddr of a place `off` bytes into the module's file, by the PT_LOAD whose bytes hold it. False
 * (0) where none does. */
CAIRN_API int cairn_module_vaddr_of_offset(const struct cairn_module *module, uint64_t off,
                                           uint64_t *ret_vaddr);

/* vaddr of an address `rel` bytes above the load base, as dladdr() and backtrace_symbols() count
 * it. For ET_EXEC files the base is 0 to backtrace_symbols(), the lowest mapped address to
 * dladdr(): `rel` is taken for a vaddr where it can be one. Nonzero on success. */
CAIRN_API int cairn_module_vaddr_of_rel(const struct cairn_module *module, uint64_t rel,
                                        uint64_t *ret_vaddr);

/* Where a section lies and how long it is, for addresses that count from its start. Nonzero on
 * success. */
CAIRN_API int cairn_module_find_section(const struct cairn_module *module, const char *name,
                                        uint64_t *ret_vaddr, uint64_t *ret_size);

/* The next section that is loaded, from number `*number` on, which then is that of the one behind
 * it; begin with 0. In a relocatable file, where each has addresses from 0 on, `*ret_vaddr` is the
 * place that it was given. Zero (0): there are no more. */
CAIRN_API int cairn_module_next_section(const struct cairn_module *module, uint32_t *number,
                                        uint64_t *ret_vaddr, uint64_t *ret_size);

/* The vaddr of the first symbol of that name in the symbol table (the dynamic one where there is no
 * other): its linkage name, else its full name, demangled. The table is read through, which takes
 * milliseconds for large ones. CAIRN_E_MISSING: there is none. CAIRN_E_FORMAT, CAIRN_E_NOMEM. */
CAIRN_API int cairn_module_find_name(const struct cairn_module *module, const char *name,
                                     uint64_t *ret_vaddr, struct cairn_err *err);

/*
 * Looks one address up. The answer says in `state` why there is no name; only lack of memory and
 * damage that loses the whole module are errors. Damaged debug information of one unit loses that
 * unit: it is logged once and the symbol table answers.
 */
CAIRN_API int cairn_symbolize(struct cairn_symbolizer *symbolizer, struct cairn_module *module,
                              uint64_t vaddr, struct cairn_symbol *ret_symbol,
                              struct cairn_err *err);

/*
 * The function that holds `vaddr`, for an address that has no symbol: 1 and the vaddrs
 * [*ret_from, *ret_to); 0 where that is unknown. The module's unwind tables say it, which strip(1)
 * leaves in place. Code that a compiler split off ("name.cold") is a function of its own; stubs of
 * a procedure linkage table are none. CAIRN_E_NOMEM.
 */
CAIRN_API int cairn_module_find_function(struct cairn_module *module, uint64_t vaddr,
                                         uint64_t *ret_from, uint64_t *ret_to,
                                         struct cairn_err *err);

/* Takes the answer for vaddrs[index], borrowed until it returns. Nonzero stops. */
typedef int (*cairn_symbol_fn)(void *ctx, size_t index, const struct cairn_symbol *symbol);

/*
 * Looks many addresses up, in any order, and hands the answers out in the order of the questions.
 * How many there are decides the way in before the first is looked up. Returns what `each` returned
 * where that was not 0; errors as cairn_symbolize().
 */
CAIRN_API int cairn_symbolize_batch(struct cairn_symbolizer *symbolizer,
                                    struct cairn_module *module, const uint64_t *vaddrs,
                                    size_t n_vaddrs, cairn_symbol_fn each, void *ctx,
                                    struct cairn_err *err);

/* The address to look up for a return address: one byte before it, inside the call. */
CAIRN_API uint64_t cairn_return_address(uint64_t ret);

/* Text of `way`, for messages: "index from the cache". Static. */
CAIRN_API const char *cairn_way_text(enum cairn_way way);

/* Text of `state`, for messages: "no symbol". Static. */
CAIRN_API const char *cairn_symbol_state_text(enum cairn_symbol_state state);

/* A symbol's name, demangled in full: fills `buf` as snprintf(3) does, with the name itself where
 * it is no mangled one. Returns the length of the whole. */
CAIRN_API int cairn_symbol_demangle(const char *name, char *buf, size_t size);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_SYMBOLIZER_H */
