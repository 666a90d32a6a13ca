/* SPDX-License-Identifier: MIT */
/*
 * Demangling by libiberty, through the entries that call back piece by piece: those allocate
 * nothing, so that output without end can be left by longjmp. Such names exist: each S_ and T_ of a
 * mangled name repeats an earlier part of it, and sixty of them make 2^60 characters.
 *
 * libiberty's guard against deep recursion refuses names of more than 1,024 characters, which C++
 * has many of. They are demangled without the guard, on a stack that is large enough for any name
 * of their length: see stack_bytes().
 */
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/log.h"

enum {
    NAME_MAX_BYTES = 16 * 1024,    /* longer ones stay mangled */
    OUTPUT_MAX_BYTES = 256 * 1024, /* likewise, where the answer would be longer */
    GUARDED_MAX_BYTES = 1000,      /* what libiberty's own guard lets through */
    SAME = UINT32_MAX,             /* the answer is the name itself */
    RUST_HASH_BYTES = 3 + 16 + 1,  /* "17h" + 16 digits + "E" */
};

/* One name on its way through libiberty. */
struct request {
    const char *name;
    int options;
    int (*demangle)(const char *, int, demangle_callbackref, void *);
    struct cairn_buffer *out;
    bool done;
    jmp_buf leave;
};

/*
 * Leaves where the output is too long. rust_demangle_callback() holds one small block while it
 * prints the characters of a Punycode name one by one: such a piece is one character, so that a
 * piece of two ASCII ones is a safe place to leave from.
 */
static void take_piece(const char *piece, size_t size, void *ctx)
{
    struct request *request = ctx;
    if (request->out->size <= OUTPUT_MAX_BYTES)
        cairn_buffer_add(request->out, piece, size);
    bool is_rust = request->demangle == rust_demangle_callback;
    bool is_safe = !is_rust || (size >= 2 && (unsigned char)piece[0] < 0x80);
    if (request->out->size > OUTPUT_MAX_BYTES && is_safe)
        longjmp(request->leave, 1);
}

static void *run_request(void *ctx)
{
    struct request *request = ctx;
    if (setjmp(request->leave) == 0)
        request->done =
            request->demangle(request->name, request->options, take_piece, request) != 0;
    return NULL;
}

/*
 * libiberty keeps on the stack, for a name of n characters: 2n components of 32 bytes; a frame of
 * at most 200 bytes for each character that opens a level; and for each pair of a template and a
 * reference to a parameter one record of 16 bytes. A template takes 4 characters or more, a
 * reference 3, and the printer counts each twice: (2n/4) * (2n/3) * 16 is under 6 n^2.
 */
static size_t stack_bytes(size_t n)
{
    return ((size_t)1 << 20) + 2048 * n + 6 * n * n;
}

static void run_on_large_stack(struct request *request, size_t size)
{
    pthread_attr_t attr;
    pthread_t thread;
    if (pthread_attr_init(&attr) != 0)
        return;
    if (pthread_attr_setstacksize(&attr, stack_bytes(size) & ~(size_t)0xffff) == 0 &&
        pthread_create(&thread, &attr, run_request, request) == 0)
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

/* Rust's old scheme is C++'s, with a hash as the last part: ...17h0123456789abcdefE */
static bool is_rust_legacy(const char *name, size_t size)
{
    if (size < RUST_HASH_BYTES + 3 || memcmp(name, "_ZN", 3) != 0)
        return false;
    const char *hash = name + size - RUST_HASH_BYTES;
    return memcmp(hash, "17h", 3) == 0 && name[size - 1] == 'E' &&
           strspn(hash + 3, "0123456789abcdef") == 16;
}

static bool is_mangled(const char *name)
{
    return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

static const char stub_ending[] = "@plt";

static bool is_stub(const char *name, size_t size)
{
    size_t ending = sizeof stub_ending - 1;
    return size > ending && memcmp(name + size - ending, stub_ending, ending) == 0;
}

/* "_Z3runv@plt" is "run()@plt". */
static bool demangle_stub(const char *name, size_t size, enum cairn_names names,
                          struct cairn_buffer *out)
{
    struct cairn_buffer target = {0};
    cairn_buffer_add(&target, name, size - (sizeof stub_ending - 1));
    out->failed = target.failed;
    bool done =
        !target.failed && cairn_demangle_to((const char *)target.data, target.size, names, out);
    if (done)
        cairn_buffer_str(out, stub_ending);
    cairn_buffer_done(&target);
    return done && !out->failed;
}

bool cairn_demangle_to(const char *name, size_t size, enum cairn_names names,
                       struct cairn_buffer *out)
{
    struct request request = {.name = name, .out = out};
    request.options = DMGL_ANSI | (names == CAIRN_NAMES_FULL ? DMGL_PARAMS : 0);
    request.demangle = cplus_demangle_v3_callback;
    if (!is_mangled(name) || size > NAME_MAX_BYTES)
        return false;
    if (is_stub(name, size))
        return demangle_stub(name, size, names, out);
    if (strncmp(name, "_R", 2) == 0 || is_rust_legacy(name, size)) {
        request.demangle = rust_demangle_callback;
        run_request(&request); /* its guard counts levels, not characters */
    } else if (size <= GUARDED_MAX_BYTES) {
        run_request(&request);
    } else {
        request.options |= DMGL_NO_RECURSE_LIMIT;
        run_on_large_stack(&request, size);
    }
    return request.done && !out->failed && out->size;
}

/* The number of the answer, SAME, or 0 where memory is gone. */
static uint32_t demangle_new(struct cairn_demangler *d, const char *name, size_t size)
{
    if (!is_mangled(name) || d->names == CAIRN_NAMES_MANGLED)
        return SAME;
    struct cairn_buffer out = {0};
    uint32_t answer = SAME;
    if (cairn_demangle_to(name, size, d->names, &out))
        answer = cairn_strings_add(&d->plain, (const char *)out.data, out.size) + 1;
    else if (size > NAME_MAX_BYTES || out.size > OUTPUT_MAX_BYTES)
        cairn_log(CAIRN_LOG_DEBUG, "a name of %zu bytes stays mangled: %.60s...", size, name);
    cairn_buffer_done(&out);
    return answer;
}

const char *cairn_demangle(struct cairn_demangler *d, const char *name, size_t size)
{
    uint32_t number = cairn_strings_add(&d->mangled, name, size);
    if (number == UINT32_MAX)
        return name;
    size_t old = d->cap;
    if (cairn_grow((void **)&d->plain_of, &d->cap, (size_t)number + 1, sizeof *d->plain_of) < 0)
        return cairn_strings_get(&d->mangled, number);
    if (d->cap > old)
        memset(d->plain_of + old, 0, (d->cap - old) * sizeof *d->plain_of);

    const char *kept = cairn_strings_get(&d->mangled, number);
    if (!d->plain_of[number])
        d->plain_of[number] = demangle_new(d, kept, cairn_strings_size(&d->mangled, number));
    uint32_t answer = d->plain_of[number];
    return answer == 0 || answer == SAME ? kept : cairn_strings_get(&d->plain, answer - 1);
}

void cairn_demangler_done(struct cairn_demangler *d)
{
    cairn_strings_done(&d->mangled);
    cairn_strings_done(&d->plain);
    cairn_free(d->plain_of);
    *d = (struct cairn_demangler){.names = d->names};
}

/* What may follow a dot. A word that could as well be a function of Go's ("pkg.cold") counts only
 * where a number, or a mangled name before it, tells it apart. */
enum word_rule { ALONE_OR_NUMBERED, NUMBERED, BEHIND_MANGLED };

static const struct {
    const char *text;
    enum word_rule rule;
    bool is_prefix;
} words[] = {
    {"cold", ALONE_OR_NUMBERED, false}, /* gcc, clang: the part that seldom runs */
    {"part", NUMBERED, false},          /* gcc: the outlined rest of an inlined function */
    {"isra", NUMBERED, false},          /* gcc: parameters changed */
    {"constprop", NUMBERED, false},     /* gcc: parameters known */
    {"lto_priv", NUMBERED, false},      /* gcc: renamed by link-time optimisation */
    {"localalias", ALONE_OR_NUMBERED, false},
    {"clone", NUMBERED, false},
    {"_omp_fn", NUMBERED, false}, /* gcc: body of an OpenMP region */
    {"omp_outlined", ALONE_OR_NUMBERED, false},
    {"llvm", NUMBERED, false}, /* clang, rustc: ThinLTO, the module's hash */
    {"__uniq", NUMBERED, false},
    {"__part", NUMBERED, false},
    {"specialized", NUMBERED, false},
    {"avx", ALONE_OR_NUMBERED, true}, /* target_clones: avx2, avx512f */
    {"sse", ALONE_OR_NUMBERED, true},
    {"arch_", ALONE_OR_NUMBERED, true},
    {"default", BEHIND_MANGLED, false},
    {"resolver", BEHIND_MANGLED, false},
    {"actor", BEHIND_MANGLED, false}, /* coroutines */
    {"destroy", BEHIND_MANGLED, false},
    {"resume", BEHIND_MANGLED, false},
    {"cleanup", BEHIND_MANGLED, false},
};

/* The digits at `at` that end with the text or before a dot, or 0. */
static size_t number_size(const char *at)
{
    size_t n = strspn(at, "0123456789");
    return n && (!at[n] || at[n] == '.') ? n : 0;
}

/* Length of ".word" or ".word.7" at `at`, or 0 where no known word stands there. */
static size_t word_with_number(const char *at, bool mangled)
{
    size_t size = strcspn(at + 1, ".");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].text);
        bool same = words[i].is_prefix ? size > n : size == n;
        if (!same || memcmp(at + 1, words[i].text, n) != 0)
            continue;
        size_t number = at[1 + size] ? number_size(at + 1 + size + 1) : 0;
        if (number)
            return 1 + size + 1 + number;
        bool alone = words[i].rule == ALONE_OR_NUMBERED;
        return alone || (words[i].rule == BEHIND_MANGLED && mangled) ? 1 + size : 0;
    }
    return 0;
}

/* Are there only suffixes from this dot to the end? */
static bool is_all_suffixes(const char *dot, bool mangled, bool first)
{
    while (*dot) {
        size_t size = word_with_number(dot, mangled);
        size_t number = number_size(dot + 1);
        if (!size && number && (mangled || first))
            size = 1 + number; /* "name.123": one of several locals of that name */
        if (!size)
            return false;
        dot += size;
        first = false;
    }
    return true;
}

size_t cairn_symbol_split_suffix(const char *name, const char **ret_suffix)
{
    bool mangled = is_mangled(name);
    *ret_suffix = name + strlen(name);
    const char *version = strchr(name, '@');
    if (version && version > name && strcmp(version, "@plt") != 0)
        return (size_t)(version - name);
    bool first = true;
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
        if (dot > name && is_all_suffixes(dot, mangled, first)) {
            *ret_suffix = dot + 1;
            return (size_t)(dot - name);
        }
        first = false;
    }
    return strlen(name);
}

int cairn_symbol_demangle(const char *name, char *buf, size_t size)
{
    struct cairn_buffer plain = {0};
    bool done = cairn_demangle_to(name, strlen(name), CAIRN_NAMES_FULL, &plain);
    int length = snprintf(buf, size, "%s", done ? cairn_buffer_text(&plain) : name);
    cairn_buffer_done(&plain);
    return length;
}
