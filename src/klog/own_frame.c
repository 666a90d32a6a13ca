/* SPDX-License-Identifier: MIT */
#include "klog/own_frame.h"

#include <cairn/klog.h>

#include "klog/scan.h"

enum { BEHIND_BYTES_MAX = 512 };

/* "[<ffffffff81002f6a>] "; `ret_va` is 0 where the kernel hides it. */
static bool read_brackets(struct cairn_span body, size_t *at, uint64_t *ret_va)
{
    uint64_t va;
    size_t p = *at, digits;
    if (!cairn_scan_text(body, &p, "[<") || !cairn_scan_hex(body, &p, &va, &digits) ||
        digits > 16 || !cairn_scan_text(body, &p, ">]"))
        return false;
    cairn_scan_blanks(body, &p);
    *ret_va = va;
    *at = p;
    return true;
}

static size_t read_symbol(struct cairn_span body, size_t at, struct cairn_klog_symbol *symbol)
{
    return cairn_klog_symbol((const char *)body.data + at, body.size - at, symbol);
}

static bool ends_with(struct cairn_span text, const char *end)
{
    size_t size = strlen(end);
    return text.size >= size && memcmp(text.data + text.size - size, end, size) == 0;
}

/* May these bytes stand behind a symbol? "(P)", "file.c:12", "[inline]", "(inlined)", arm64's. */
static bool is_behind_frame(struct cairn_span behind)
{
    behind = cairn_scan_trim(behind);
    if (!behind.size)
        return true;
    if (behind.size > BEHIND_BYTES_MAX)
        return false;
    if (*behind.data == '(' || *behind.data == '[')
        return memchr(")]", behind.data[behind.size - 1], 2) != NULL;
    size_t blank = 0;
    while (blank < behind.size && behind.data[blank] != ' ')
        blank++;
    const uint8_t *colon = memchr(behind.data, ':', blank);
    return colon && colon + 1 < behind.data + blank && cairn_scan_is_digit(colon[1]);
}

/* "(token.c:74 (inlined by) token.c:82)": what decode_stacktrace.sh puts in the offset's place. */
static bool is_decoded(struct cairn_span behind)
{
    if (behind.size < 2 || *behind.data != '(' || behind.data[behind.size - 1] != ')')
        return false;
    const uint8_t *colon = memchr(behind.data, ':', behind.size - 1);
    return colon && cairn_scan_is_digit(colon[1]);
}

/* "(f) from [<c0112399>] (g+0x18/0x1c)" and "f from g+0x18/0x1c": a call, innermost first. */
static bool read_from(struct cairn_span body, size_t at, struct cairn_klog_own_frame *frame)
{
    struct cairn_klog_symbol symbol;
    size_t from = cairn_scan_find(body, " from "), p = from + 6;
    if (from == body.size || from < at)
        return false;
    struct cairn_span callee = {body.data + at, from - at};
    if (callee.size && *callee.data == '(') {
        callee.data++;
        callee.size -= 1 + (callee.size > 1 && callee.data[callee.size - 2] == ')');
    }
    frame->callee = callee;
    frame->callee_va = frame->va;
    frame->va = 0;
    (void)read_brackets(body, &p, &frame->va);
    (void)cairn_scan_char(body, &p, '(');
    size_t size = read_symbol(body, p, &symbol);
    frame->text = (struct cairn_span){body.data + p, size};
    return size > 0 && read_symbol(callee, 0, &symbol) == callee.size;
}

/* Nothing but an address; "0x0" and "(null)" end chains. */
static bool read_bare(struct cairn_span body, size_t at, struct cairn_klog_own_frame *frame)
{
    size_t digits, p = at;
    if (!cairn_scan_text(body, &p, "0x") || !cairn_scan_hex(body, &p, &frame->va, &digits) ||
        digits > 16)
        return false;
    return cairn_scan_trim(cairn_scan_rest(body, p)).size == 0;
}

bool cairn_klog_own_frame_read(struct cairn_span body, struct cairn_klog_own_frame *ret_frame)
{
    struct cairn_klog_own_frame frame = {0};
    struct cairn_klog_symbol symbol;
    size_t at = 0;
    cairn_scan_blanks(body, &at);
    frame.has_brackets = read_brackets(body, &at, &frame.va);
    frame.is_unproven = cairn_scan_text(body, &at, "? ");
    if (at >= body.size)
        return frame.has_brackets && (*ret_frame = frame, true);
    if ((body.data[at] == '0' && read_bare(body, at, &frame)) ||
        (cairn_scan_find(body, " from ") < body.size && read_from(body, at, &frame))) {
        *ret_frame = frame;
        return true;
    }
    size_t size = read_symbol(body, at, &symbol);
    struct cairn_span behind = cairn_scan_trim(cairn_scan_rest(body, at + size));
    frame.text = cairn_scan_trim(cairn_scan_rest(body, at));
    frame.is_inlined = ends_with(behind, "(inlined)") || ends_with(behind, "[inline]");
    bool is_known = symbol.has_off || frame.is_inlined || frame.has_brackets || is_decoded(behind);
    if (!size || !is_known || !is_behind_frame(behind))
        return false;
    if (cairn_scan_find(behind, "(P") == 0)
        frame.text.size = size;
    *ret_frame = frame;
    return true;
}
