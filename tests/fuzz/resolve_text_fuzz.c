/* SPDX-License-Identifier: MIT */
/* Collapsed stacks as nobody writes them. No module of the maps is there, so that whatever the text
 * says, it must come out as it went in, byte for byte. */
#include <cairn/resolve.h>

#include "base/buffer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The last row hides the one page that has names without any file. */
static const char maps_text[] =
    "1000-3000 r-xp 00000000 08:01 7 /nonexistent/cairn/a.so\n"
    "3000-4000 r-xp 00000000 00:00 0 [vdso]\n"
    "7f0000000000-7f0000001000 r-xp 00001000 08:01 8 /nonexistent/b\n"
    "ffffffffff600000-ffffffffff601000 r-xp 00000000 08:01 9 /nonexistent/v\n";

struct input {
    const uint8_t *data;
    size_t size, piece;
};

static long read_input(void *ctx, void *buf, size_t size)
{
    struct input *in = ctx;
    size_t n = in->size < in->piece ? in->size : in->piece;
    n = n < size ? n : size;
    if (n)
        memcpy(buf, in->data, n);
    in->data += n;
    in->size -= n;
    return (long)n;
}

static int write_output(void *ctx, const void *bytes, size_t size)
{
    cairn_buffer_add(ctx, bytes, size);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_maps *maps = NULL;
    struct cairn_resolver *resolver = NULL;
    if (cairn_maps_parse(maps_text, sizeof maps_text - 1, &maps, NULL) < 0)
        __builtin_trap();
    struct cairn_resolve_opts opts = {.size = sizeof opts, .maps = maps};
    opts.symbols.size = sizeof opts.symbols;
    opts.symbols.debug_dir = "/nonexistent";
    opts.symbols.root = "/nonexistent";
    opts.leaf = size & 1 ? CAIRN_LEAF_IP : CAIRN_LEAF_RET;
    opts.offsets = size & 2 ? CAIRN_OFFSETS_REL : CAIRN_OFFSETS_FILE;
    if (cairn_resolver_new(&opts, &resolver, NULL) < 0)
        __builtin_trap();
    struct input in = {data, size, size & 4 ? 3 : size + 1};
    struct cairn_buffer out = {0};
    int result = cairn_resolve_text(resolver, read_input, &in, write_output, &out, NULL);
    struct cairn_span given = {data, size};
    if (result != CAIRN_OK || !cairn_span_equal(given, cairn_buffer_span(&out)))
        __builtin_trap();
    cairn_buffer_done(&out);
    cairn_resolver_free(resolver);
    cairn_maps_free(maps);
    return 0;
}
