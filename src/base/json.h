/* SPDX-License-Identifier: MIT */
/*
 * A JSON writer: appends to a buffer, keeps commas and nesting right, escapes all text. Two blanks
 * of indentation, one member a line, so that diffs read well.
 */
#ifndef CAIRN_BASE_JSON_H
#define CAIRN_BASE_JSON_H

#include "base/buffer.h"

enum { CAIRN_JSON_DEPTH_MAX = 16 };

struct cairn_json {
    struct cairn_buffer *out;
    unsigned depth;
    bool filled[CAIRN_JSON_DEPTH_MAX + 1]; /* has this level a member yet? */
    bool compact;                          /* no line breaks: for one object a line */
};

/* `name` is NULL inside an array and at the top. */
void cairn_json_open(struct cairn_json *j, const char *name, char bracket);    /* '{' or '[' */
void cairn_json_close(struct cairn_json *j, char bracket);                     /* '}' or ']' */
void cairn_json_str(struct cairn_json *j, const char *name, const char *text); /* NULL: null */
void cairn_json_u64(struct cairn_json *j, const char *name, uint64_t value);
void cairn_json_i64(struct cairn_json *j, const char *name, int64_t value);
void cairn_json_real(struct cairn_json *j, const char *name, double value); /* shortest that is
                                                                                exact to 6 places */
/* value / 10^places, exactly: "1.5" of 1500 and 3 places. `places` is at most 18. */
void cairn_json_fixed(struct cairn_json *j, const char *name, int64_t value, unsigned places);
void cairn_json_hex(struct cairn_json *j, const char *name, uint64_t value); /* "0x..." */
void cairn_json_bool(struct cairn_json *j, const char *name, bool value);

#endif /* CAIRN_BASE_JSON_H */
