/* SPDX-License-Identifier: MIT */
/* The format of a tracepoint, and a record of it: a byte says how long the record is, which
 * follows; the rest is the format. */
#include <stdlib.h>

#include "trace/fields.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_fields fields;
    struct cairn_syscall call = {0};
    if (!size || (size_t)data[0] + 1 > size)
        return 0;
    const struct cairn_span record = {data + 1, data[0]};
    const struct cairn_span text = {data + 1 + data[0], size - 1 - data[0]};
    (void)cairn_fields_read(text, &fields, &call);
    for (uint8_t i = 0; i < fields.n; i++) {
        const struct cairn_span word = cairn_field_text(&fields.fields[i], record, false);
        if (word.size && (word.data < record.data || word.size > record.size ||
                          (size_t)(word.data - record.data) > record.size - word.size))
            abort();
        (void)cairn_field_number(&fields.fields[i], record, false);
    }
    return 0;
}
