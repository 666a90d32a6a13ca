/* SPDX-License-Identifier: MIT */
/* The language of filters: text in, a condition out that can be evaluated. */
#include <stdlib.h>
#include <string.h>

#include "trace/filter.h"
#include "trace/filter_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_trace_filter filter;
    struct cairn_bpf_term terms[CAIRN_TRACE_TERMS_MAX];
    struct cairn_syscall call;
    const uint64_t args[CAIRN_CALL_ARGS] = {1, UINT64_MAX, 4096};
    const struct cairn_trace_filter_subject subject = {
        .args = args, .texts = {NULL, "/dev/null"}, .comm = "x", .has_result = true, .ret = -2};
    bool no_field;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    (void)cairn_call_find("openat", &call);
    if (cairn_trace_filter_parse(text, &call, &filter, &no_field, NULL) == 0) {
        const struct cairn_fields fields = {.n = 2, .fields = {{8, 4, true, false}, {12, 16}}};
        struct cairn_buffer out = {0};
        (void)cairn_trace_filter_text(&filter, &call, &fields, &out);
        if (out.size && strlen(cairn_buffer_text(&out)) != out.size)
            abort();
        cairn_buffer_done(&out);
        bool before = cairn_trace_filter_holds(&filter, &subject);
        size_t n = cairn_trace_filter_terms(&filter, true, terms, CAIRN_TRACE_TERMS_MAX);
        /* What the kernel evaluates is only left out: the rest cannot be stricter. */
        if (n > CAIRN_TRACE_TERMS_MAX || (before && !cairn_trace_filter_holds(&filter, &subject)))
            abort();
    }
    free(text);
    return 0;
}
