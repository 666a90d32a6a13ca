/* SPDX-License-Identifier: MIT */
#include "trace/fields.h"

#include <string.h>

#include "support/test.h"

static const char format[] = "name: probe_me\nID: 7\nformat:\n"
                             "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                             "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                             "\tfield:char comm[8];\toffset:8;\tsize:8;\tsigned:0;\n"
                             "\tfield:pid_t pid;\toffset:16;\tsize:4;\tsigned:1;\n"
                             "\tfield:short delta;\toffset:20;\tsize:2;\tsigned:1;\n"
                             "\tfield:unsigned long ip;\toffset:24;\tsize:8;\tsigned:0;\n"
                             "\tfield:__data_loc char[] name;\toffset:32;\tsize:4;\tsigned:0;\n"
                             "\tfield:u64 bytes;\toffset:40;\tsize:8;\tsigned:0;\n\n"
                             "print fmt: \"ip=0x%lx bytes=%llu\", REC->ip, REC->bytes\n";

static struct cairn_span text_of(const char *text)
{
    return (struct cairn_span){(const uint8_t *)text, strlen(text)};
}

static void fields_have_names_and_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum cairn_call_kind kind;
    } want[] = {{"comm", CAIRN_KIND_TEXT}, {"pid", CAIRN_KIND_INT},   {"delta", CAIRN_KIND_INT},
                {"ip", CAIRN_KIND_HEX},    {"name", CAIRN_KIND_TEXT}, {"bytes", CAIRN_KIND_SIZE}};
    struct cairn_fields fields;
    struct cairn_syscall call = {0};
    assert_true(cairn_fields_read(text_of(format), &fields, &call));
    assert_int_equal(fields.n, 6);
    assert_int_equal(call.n_args, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(call.args[i].name, want[i].name);
        assert_int_equal(call.args[i].kind, want[i].kind);
    }
    assert_int_equal(fields.record_bytes, CAIRN_RECORD_BYTES_MAX); /* a dynamic field */
}

static void a_record_is_read_by_them(void **state)
{
    (void)state;
    struct cairn_fields fields;
    struct cairn_syscall call = {0};
    uint8_t record[64] = {0};
    const uint32_t place = 48 | 5 << 16;
    const int16_t delta = -3;
    const uint64_t ip = 0x7fff00001234;
    assert_true(cairn_fields_read(text_of(format), &fields, &call));
    memcpy(record + 8, "eightlng", 8); /* without a NUL */
    memcpy(record + 20, &delta, 2);
    memcpy(record + 24, &ip, 8);
    memcpy(record + 32, &place, 4);
    memcpy(record + 48, "word", 5);
    const struct cairn_span bytes = {record, sizeof record};
    assert_int_equal(cairn_field_text(&fields.fields[0], bytes, false).size, 8);
    assert_int_equal((int64_t)cairn_field_number(&fields.fields[2], bytes, false), -3);
    assert_int_equal(cairn_field_number(&fields.fields[3], bytes, false), ip);
    const struct cairn_span word = cairn_field_text(&fields.fields[4], bytes, false);
    assert_int_equal(word.size, 4);
    assert_memory_equal(word.data, "word", 4);
}

static void what_lies_out_of_the_record_is_empty(void **state)
{
    (void)state;
    struct cairn_fields fields;
    struct cairn_syscall call = {0};
    uint8_t record[36] = {0};
    const uint32_t place = 0xfff0 | 0xffffu << 16;
    assert_true(cairn_fields_read(text_of(format), &fields, &call));
    memcpy(record + 32, &place, 4);
    const struct cairn_span bytes = {record, sizeof record};
    assert_int_equal(cairn_field_text(&fields.fields[4], bytes, false).size, 0);
    assert_int_equal(cairn_field_number(&fields.fields[5], bytes, false), 0);
}

static void lines_that_are_none_are_left_out(void **state)
{
    (void)state;
    static const char bad[] = "\tfield:int;\toffset:8;\tsize:4;\tsigned:1;\n"
                              "\tfield:int a;\toffset:;\tsize:4;\tsigned:1;\n"
                              "\tfield:int b;\toffset:99999999999;\tsize:4;\tsigned:1;\n"
                              "\tfield:int c;\toffset:8\n"
                              "\tfield:int d[;\toffset:510;\tsize:4;\tsigned:1;\n"
                              "\tfield:int e;\toffset:510;\tsize:4;\tsigned:1;\n"
                              "field:";
    struct cairn_fields fields;
    struct cairn_syscall call = {0};
    assert_false(cairn_fields_read(text_of(bad), &fields, &call));
    assert_int_equal(call.n_args, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_have_names_and_kinds),
        cmocka_unit_test(a_record_is_read_by_them),
        cmocka_unit_test(what_lies_out_of_the_record_is_empty),
        cmocka_unit_test(lines_that_are_none_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
