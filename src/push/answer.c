/* SPDX-License-Identifier: MIT */
/* What a store answered, in words. Its text is untrusted: bounded here, escaped where it is shown.
 */
#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "formats/protobuf.h"
#include "push/push.h"

enum {
    WORDS_BYTES = 240,
    STATUS_MESSAGE = 2, /* google.rpc.Status, which OTLP answers with */
    PARTIAL_SUCCESS = 1,
    PARTIAL_REJECTED = 1,
    PARTIAL_MESSAGE = 2
};

static void add_base64(struct cairn_buffer *b, const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t size = strlen(text);
    for (size_t at = 0; at < size; at += 3) {
        size_t n = size - at < 3 ? size - at : 3;
        uint32_t bits = 0;
        for (size_t i = 0; i < 3; i++)
            bits = bits << 8 | (i < n ? (unsigned char)text[at + i] : 0);
        for (size_t i = 0; i < 4; i++)
            cairn_buffer_char(b, i <= n ? digits[bits >> (18 - 6 * i) & 63] : '=');
    }
}

/* What follows "Basic ". */
static void add_basic(struct cairn_buffer *b, const struct cairn_push_opts *opts)
{
    struct cairn_buffer both = {0};
    cairn_buffer_printf(&both, "%s:%s", opts->user, opts->password ? opts->password : "");
    add_base64(b, cairn_buffer_text(&both));
    b->failed |= both.failed;
    if (both.data)
        explicit_bzero(both.data, both.size);
    cairn_buffer_done(&both);
}

void cairn_push_authorization(struct cairn_buffer *b, const struct cairn_push_opts *opts)
{
    if (opts->token) {
        cairn_buffer_str(b, "Authorization: Bearer ");
        cairn_buffer_str(b, opts->token);
    } else if (opts->user) {
        cairn_buffer_str(b, "Authorization: Basic ");
        add_basic(b, opts);
    }
}

static void hide(struct cairn_span text, const char *secret, uint8_t *hidden)
{
    size_t size = secret ? strlen(secret) : 0;
    for (size_t at = 0; size && at + size <= text.size; at++)
        if (memcmp(text.data + at, secret, size) == 0)
            memset(hidden + at, 1, size);
}

/* White space of any kind is one blank; a secret is "***"; what else there is, as it came. */
static void add_words(struct cairn_buffer *b, struct cairn_span text,
                      const struct cairn_push_opts *opts)
{
    uint8_t hidden[CAIRN_HTTP_TEXT_BYTES] = {0};
    struct cairn_buffer basic = {0};
    const size_t start = b->size;
    if (opts->user)
        add_basic(&basic, opts);
    hide(text, opts->token, hidden);
    hide(text, opts->password, hidden);
    hide(text, cairn_buffer_text(&basic), hidden);
    cairn_buffer_done(&basic);
    for (size_t i = 0; i < text.size && b->size - start < WORDS_BYTES; i++) {
        bool is_first_hidden = hidden[i] && !(i && hidden[i - 1]);
        bool is_blank = isspace(text.data[i]) || !text.data[i];
        if (is_first_hidden)
            cairn_buffer_str(b, "***");
        if (!hidden[i] && !is_blank)
            cairn_buffer_char(b, (char)text.data[i]);
        else if (is_blank && b->size > start && b->data[b->size - 1] != ' ')
            cairn_buffer_char(b, ' ');
    }
    while (b->size > start && b->data[b->size - 1] == ' ')
        b->data[--b->size] = 0;
    if (b->size - start >= WORDS_BYTES)
        cairn_buffer_str(b, "...");
}

/* A field of a message; what is damaged has none. */
static bool find_field(struct cairn_span message, uint32_t number, struct cairn_pb_field *ret_field)
{
    struct cairn_reader r = cairn_reader_of(message, false);
    while (cairn_pb_next(&r, ret_field))
        if (ret_field->number == number)
            return true;
    return false;
}

static bool find_partial(const struct cairn_http_answer *answer, struct cairn_pb_field *ret_field)
{
    const struct cairn_span text = {(const uint8_t *)answer->text, answer->size};
    return answer->is_protobuf && find_field(text, PARTIAL_SUCCESS, ret_field) &&
           ret_field->wire == CAIRN_PB_BYTES;
}

uint64_t cairn_push_n_rejected(const struct cairn_http_answer *answer)
{
    struct cairn_pb_field partial, n;
    return find_partial(answer, &partial) && find_field(partial.bytes, PARTIAL_REJECTED, &n) &&
                   n.wire == CAIRN_PB_VARINT
               ? n.value
               : 0;
}

void cairn_push_words(struct cairn_buffer *b, const struct cairn_http_answer *answer,
                      const struct cairn_push_opts *opts)
{
    struct cairn_span text = {(const uint8_t *)answer->text, answer->size};
    struct cairn_pb_field field, message;
    if (answer->is_protobuf) {
        bool is_partial = answer->status < 300 && find_partial(answer, &field);
        struct cairn_span whole = is_partial ? field.bytes : text;
        if (!find_field(whole, is_partial ? (uint32_t)PARTIAL_MESSAGE : (uint32_t)STATUS_MESSAGE,
                        &message) ||
            message.wire != CAIRN_PB_BYTES)
            return;
        text = message.bytes;
    }
    add_words(b, text, opts);
}

struct status_row {
    int status;
    const char *words, *hint;
};

static const struct status_row rows[] = {
    {400, "the store does not understand the request", "is this the store that --to names?"},
    {401, "the store does not know us", "--auth FILE gives the user or the token"},
    {403, "the store does not allow it",
     "--auth FILE gives a user or token with the right to write, "
     "--tenant the tenant"},
    {404, "the store has no such address",
     "is this the store that --to names? Has its URL a path?"},
    {408, "the store waited too long", NULL},
    {413, "the profile is too large for the store",
     "record a shorter time or fewer processes, send parts (cairn convert --time 0-10, --thread "
     "RE), "
     "or raise the store's limit"},
    {415, "the store takes no such bodies", "is this the store that --to names?"},
    {422, "the store's rules refuse the profile",
     "its limits for labels, sizes and ages are in its "
     "configuration"},
    {429, "the store takes no more for now",
     "send less often, or raise the store's limits; "
     "--timeout waits longer"},
    {502, "the store cannot be reached behind its proxy", NULL},
    {503, "the store is not ready", NULL},
    {504, "the store did not answer its proxy in time", NULL},
};

int cairn_push_fail_status(const struct cairn_http_answer *answer, const char *shown,
                           size_t n_bytes, const struct cairn_push_opts *opts,
                           struct cairn_err *err)
{
    const struct status_row *row = NULL;
    struct cairn_buffer words = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].status == answer->status)
            row = &rows[i];
    cairn_push_words(&words, answer, opts);
    int code = answer->status == 401 || answer->status == 403 ? CAIRN_E_ACCESS : CAIRN_E_IO;
    cairn_fail(err, code, "%.120s: HTTP status %ld%s%s%s%s", shown, answer->status, row ? ": " : "",
               row ? row->words : "", words.size ? ": " : "", cairn_buffer_text(&words));
    if (answer->status == 413)
        cairn_hint(err, "the body has %zu bytes: %s", n_bytes, row->hint);
    else if (row && row->hint)
        cairn_hint(err, "%s", row->hint);
    cairn_buffer_done(&words);
    return code;
}
