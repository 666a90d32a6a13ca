/* SPDX-License-Identifier: MIT */
#include "doctor/config.h"

#include "base/zip.h"
#include "root.h"

static const char text[] = "#\n# Linux/x86 6.1.0 Kernel Configuration\n#\n"
                           "CONFIG_PERF_EVENTS=y\n"
                           "# CONFIG_KPROBES is not set\n"
                           "CONFIG_UPROBES=m\r\n"
                           "CONFIG_UPROBE_EVENTS=yes\n"
                           "CONFIG_KALLSYMS_ALL=y\n"
                           "XCONFIG_STACKTRACE=y\n"
                           "CONFIG_BPF_SYSCALL=y";

static void lines_are_read(void **state)
{
    (void)state;
    char values[CAIRN_N_OPTIONS];
    cairn_doctor_config_parse((struct cairn_span){(const uint8_t *)text, strlen(text)}, values);
    assert_int_equal(values[CAIRN_OPTION_PERF_EVENTS], 'y');
    assert_int_equal(values[CAIRN_OPTION_KPROBES], 'n');
    assert_int_equal(values[CAIRN_OPTION_UPROBES], 'm');
    assert_int_equal(values[CAIRN_OPTION_UPROBE_EVENTS], 'n');
    assert_int_equal(values[CAIRN_OPTION_KALLSYMS], 'n');
    assert_int_equal(values[CAIRN_OPTION_STACKTRACE], 'n');
    assert_int_equal(values[CAIRN_OPTION_BPF_SYSCALL], 'y'); /* without a last line break */
}

static void any_bytes_are_read(void **state)
{
    (void)state;
    char values[CAIRN_N_OPTIONS];
    for (size_t cut = 0; cut <= strlen(text); cut++) {
        uint8_t *copy = test_copy(text, cut);
        cairn_doctor_config_parse((struct cairn_span){copy, cut}, values);
        for (int i = 0; i < CAIRN_N_OPTIONS; i++)
            assert_non_null(strchr("ymn", values[i]));
        free(copy);
    }
}

static void it_is_found_packed_and_plain(void **state)
{
    (void)state;
    struct test_root root;
    struct cairn_doctor_config config;
    struct cairn_buffer packed = {0};
    struct cairn_err err;
    test_root_make(&root);
    cairn_doctor_config_read(root.path, "6.1.0-1", &config);
    assert_string_equal(config.path, "");
    assert_int_equal(config.values[CAIRN_OPTION_PERF_EVENTS], '?');
    test_root_text(&root, "/lib/modules/6.1.0-1/config", text);
    cairn_doctor_config_read(root.path, "6.1.0-1", &config);
    assert_string_equal(config.path, "/lib/modules/6.1.0-1/config");
    test_root_text(&root, "/boot/config-6.1.0-1", text);
    cairn_doctor_config_read(root.path, "6.1.0-1", &config);
    assert_string_equal(config.path, "/boot/config-6.1.0-1");
    assert_int_equal(config.values[CAIRN_OPTION_PERF_EVENTS], 'y');
    assert_ok(
        cairn_zip_gzip((struct cairn_span){(const uint8_t *)text, strlen(text)}, 6, &packed, &err),
        err);
    test_root_put(&root, "/proc/config.gz", packed.data, packed.size / 2);
    cairn_doctor_config_read(root.path, "6.1.0-1", &config);
    assert_string_equal(config.path, "/boot/config-6.1.0-1"); /* the packed one is damaged */
    test_root_put(&root, "/proc/config.gz", packed.data, packed.size);
    cairn_doctor_config_read(root.path, "6.1.0-1", &config);
    assert_string_equal(config.path, "/proc/config.gz");
    assert_int_equal(config.values[CAIRN_OPTION_UPROBES], 'm');
    cairn_buffer_done(&packed);
    test_root_drop(&root);
}

static void a_release_is_no_path(void **state)
{
    (void)state;
    struct test_root root;
    struct cairn_doctor_config config;
    char odd[CAIRN_CONFIG_PATH + 64];
    test_root_make(&root);
    test_root_text(&root, "/boot/config-/../../x", text);
    cairn_doctor_config_read(root.path, "/../../x", &config);
    assert_string_equal(config.path, "");
    memset(odd, 'a', sizeof odd);
    odd[sizeof odd - 1] = 0;
    cairn_doctor_config_read(root.path, odd, &config);
    assert_string_equal(config.path, "");
    test_root_drop(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read),
        cmocka_unit_test(any_bytes_are_read),
        cmocka_unit_test(it_is_found_packed_and_plain),
        cmocka_unit_test(a_release_is_no_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
