/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/print_dynamic.h"

#include <string.h>

enum {
    HEADERS_MAX = 256,
    ENTRIES_MAX = 1024,    /* of PT_DYNAMIC */
    BUCKETS_MAX = 1 << 22, /* of a hash table; and symbols */
    CHAIN_MAX = 1 << 16
};

/* What PT_DYNAMIC says, as vas; 0: it does not. */
struct found {
    uintptr_t symbols, names, hash, gnu_hash;
    size_t names_bytes;
};

/* The loader has put vas in place of vaddrs, but not in each module, nor in each C library. */
static uintptr_t va_of(uintptr_t bias, uintptr_t pointer)
{
    return pointer < bias ? pointer + bias : pointer;
}

static bool read_va(const struct cairn_print_source *from, uintptr_t va, void *to, size_t size)
{
    return va >= from->image && cairn_print_source_read(from, va - from->image, to, size);
}

/* The header is the first thing of the first segment. */
static bool find_dynamic(const struct cairn_print_source *from, uintptr_t *ret_bias,
                         uintptr_t *ret_va)
{
    ElfW(Ehdr) head;
    ElfW(Phdr) p;
    bool has_bias = false;
    if (!cairn_print_source_read(from, 0, &head, sizeof head) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof p)
        return false;
    for (unsigned i = 0; i < head.e_phnum && i < HEADERS_MAX; i++) {
        if (!cairn_print_source_read(from, head.e_phoff + (uint64_t)i * sizeof p, &p, sizeof p))
            return false;
        if (p.p_type == PT_LOAD && !has_bias) {
            *ret_bias = from->image - (uintptr_t)p.p_vaddr;
            has_bias = p.p_offset == 0;
        } else if (p.p_type == PT_DYNAMIC && has_bias) {
            *ret_va = *ret_bias + (uintptr_t)p.p_vaddr;
            return true;
        }
    }
    return false;
}

static bool read_dynamic(const struct cairn_print_source *from, uintptr_t bias, uintptr_t va,
                         struct found *ret)
{
    ElfW(Dyn) entry = {0};
    *ret = (struct found){0};
    for (int i = 0; i < ENTRIES_MAX; i++, va += sizeof entry) {
        if (!read_va(from, va, &entry, sizeof entry))
            return false;
        uintptr_t pointer = va_of(bias, (uintptr_t)entry.d_un.d_ptr);
        switch (entry.d_tag) {
        case DT_NULL:
            return ret->symbols && ret->names && (ret->hash || ret->gnu_hash);
        case DT_SYMTAB:
            ret->symbols = pointer;
            break;
        case DT_STRTAB:
            ret->names = pointer;
            break;
        case DT_STRSZ:
            ret->names_bytes = (size_t)entry.d_un.d_val;
            break;
        case DT_HASH:
            ret->hash = pointer;
            break;
        case DT_GNU_HASH:
            ret->gnu_hash = pointer;
            break;
        default:
            break;
        }
    }
    return false;
}

/* The last chain begins at the highest of the buckets, and ends with a number that is odd. */
static uint32_t count_by_gnu_hash(const struct cairn_print_source *from, uintptr_t va,
                                  uint32_t *block, size_t block_words)
{
    uint32_t head[4], last = 0; /* buckets, first symbol, words of the filter, its shift */
    if (!read_va(from, va, head, sizeof head) || head[0] > BUCKETS_MAX || head[2] > BUCKETS_MAX)
        return 0;
    uintptr_t buckets = va + sizeof head + (uintptr_t)head[2] * sizeof(ElfW(Addr));
    for (uint32_t at = 0; at < head[0];) {
        uint32_t n = head[0] - at < block_words ? head[0] - at : (uint32_t)block_words;
        if (!read_va(from, buckets + (uintptr_t)at * 4, block, (size_t)n * 4))
            return 0;
        for (uint32_t i = 0; i < n; i++)
            last = block[i] > last ? block[i] : last;
        at += n;
    }
    if (last < head[1] || last > BUCKETS_MAX)
        return 0;
    uintptr_t chain = buckets + ((uintptr_t)head[0] + (last - head[1])) * 4;
    for (uint32_t i = 0, hash; i < CHAIN_MAX; i++) {
        if (!read_va(from, chain + (uintptr_t)i * 4, &hash, sizeof hash))
            return 0;
        if (hash & 1)
            return last + i + 1;
    }
    return 0;
}

bool cairn_print_dynamic_read(const struct cairn_print_source *from, void *block,
                              size_t block_bytes, struct cairn_print_dynamic *ret)
{
    uintptr_t va;
    struct found found;
    uint32_t head[2], n = 0; /* of DT_HASH: buckets, symbols */
    if (!find_dynamic(from, &ret->bias, &va) || !read_dynamic(from, ret->bias, va, &found) ||
        found.symbols < from->image || found.names < from->image)
        return false;
    if (found.hash && read_va(from, found.hash, head, sizeof head))
        n = head[1];
    else if (found.gnu_hash)
        n = count_by_gnu_hash(from, found.gnu_hash, block, block_bytes / 4);
    if (n == 0 || n > BUCKETS_MAX)
        return false;
    ret->table = (ElfW(Shdr)){.sh_offset = found.symbols - from->image,
                              .sh_size = (size_t)n * sizeof(ElfW(Sym))};
    ret->names = (ElfW(Shdr)){.sh_offset = found.names - from->image, .sh_size = found.names_bytes};
    return true;
}
