/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/out.h"

#include <errno.h>
#include <string.h>

#include "rt/sys.h"

enum { PIECE_BYTES = 1 << 20 };

void cairn_heap_out_flush(struct cairn_heap_out *out)
{
    const char *text = out->text.items;
    for (size_t at = 0; at < out->text.n && !out->failed;) {
        long got = cairn_sys_write(out->fd, text + at, out->text.n - at);
        if (got > 0)
            at += (size_t)got;
        else
            out->failed = got < 0 ? (int)-got : ENOSPC;
    }
    out->text.n = 0;
}

void cairn_heap_out_bytes(struct cairn_heap_out *out, const void *bytes, size_t n)
{
    if (out->fd >= 0 && out->text.n >= PIECE_BYTES)
        cairn_heap_out_flush(out);
    char *to = out->failed ? NULL : cairn_array_add(&out->text, n, 1);
    if (to)
        memcpy(to, bytes, n);
    else if (!out->failed)
        out->failed = ENOMEM;
}

void cairn_heap_out_str(struct cairn_heap_out *out, const char *plain)
{
    cairn_heap_out_bytes(out, plain, strlen(plain));
}

static void put_number(struct cairn_heap_out *out, uint64_t value, unsigned base)
{
    char digits[20];
    size_t first = sizeof(digits);
    do
        digits[--first] = "0123456789abcdef"[value % base];
    while (value /= base);
    cairn_heap_out_bytes(out, digits + first, sizeof(digits) - first);
}

void cairn_heap_out_decimal(struct cairn_heap_out *out, uint64_t value)
{
    put_number(out, value, 10);
}

void cairn_heap_out_hex(struct cairn_heap_out *out, uint64_t value)
{
    cairn_heap_out_bytes(out, "0x", 2);
    put_number(out, value, 16);
}

static void put_escaped(struct cairn_heap_out *out, const char *name, size_t n, const char *escape,
                        const char *special)
{
    size_t plain = 0; /* from there on nothing was put yet */
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)name[i];
        if (c >= 0x20 && c < 0x7f && c != (unsigned char)special[0] &&
            c != (unsigned char)special[1])
            continue;
        const char hex[] = {"0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15]};
        cairn_heap_out_bytes(out, name + plain, i - plain);
        cairn_heap_out_str(out, escape);
        cairn_heap_out_bytes(out, hex, sizeof(hex));
        plain = i + 1;
    }
    cairn_heap_out_bytes(out, name + plain, n - plain);
}

void cairn_heap_out_name(struct cairn_heap_out *out, const char *name, size_t n)
{
    put_escaped(out, name, n, "\\x", "\n\n");
}

void cairn_heap_out_json(struct cairn_heap_out *out, const char *name, size_t n)
{
    cairn_heap_out_bytes(out, "\"", 1);
    put_escaped(out, name, n, "\\u00", "\"\\");
    cairn_heap_out_bytes(out, "\"", 1);
}

void cairn_heap_out_done(struct cairn_heap_out *out)
{
    cairn_array_done(&out->text);
}
