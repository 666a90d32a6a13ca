/* SPDX-License-Identifier: MIT */
#include "base/sha256.h"

#include "support/test.h"

static void the_examples_of_the_standard_agree(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char text[CAIRN_SHA256_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cairn_sha256_text(
            (struct cairn_span){(const uint8_t *)cases[i].text, strlen(cases[i].text)}, text);
        assert_string_equal(text, cases[i].wanted);
    }
}

static void a_million_bytes_agree(void **state)
{
    (void)state;
    enum { SIZE = 1000000 };
    uint8_t *bytes = malloc(SIZE);
    char text[CAIRN_SHA256_TEXT];
    memset(bytes, 'a', SIZE);
    cairn_sha256_text((struct cairn_span){bytes, SIZE}, text);
    assert_string_equal(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_the_standard_agree),
        cmocka_unit_test(a_million_bytes_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
