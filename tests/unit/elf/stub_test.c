/* SPDX-License-Identifier: MIT */
#include "elf/stub.h"

#include <elf.h>
#include <stdio.h>

#include "support/test.h"

enum { VADDR = 0x10000, GOT = 0x30000, BYTES_MAX = 32 };

/* One stub at VADDR as a linker writes it, in hex; padding to 32 bytes is something else. */
struct example {
    const char *what;
    uint16_t machine;
    const char *hex;
    uint64_t slot, size;
    bool by_index;
};

static const struct example examples[] = {
    {"x86-64 .plt", EM_X86_64, "ff25e22f0000 6800000000 e9e0ffffff", 0x12fe8, 16, false},
    {"x86-64 .plt.sec", EM_X86_64, "f30f1efa f2ff25dd2f0000 0f1f440000", 0x12fe8, 16, false},
    {"x86-64 .plt.sec without MPX", EM_X86_64, "f30f1efa ff25de2f0000 660f1f440000", 0x12fe8, 16,
     false},
    {"x86-64 .plt.got", EM_X86_64, "ff25e22f0000 6690", 0x12fe8, 8, false},
    {"x86-64 .plt beside .plt.sec", EM_X86_64, "f30f1efa 6803000000 f2e9e1ffffff 90", 3, 16, true},
    {"mold's .plt", EM_X86_64, "f30f1efa 41bb01000000 ff25d82f0000", 0x12fe8, 16, false},
    {"mold's .plt.got", EM_X86_64, "f30f1efa ff25de2f0000 cccccccccccc", 0x12fe8, 16, false},
    {"lld's retpoline", EM_X86_64,
     "4c8b1de12f0000 e8f4ffffff e9e1ffffff 6800000000 e9d5ffffff cccccccccc", 0x12fe8, 32, false},
    {"lld's retpoline, now", EM_X86_64, "4c8b1de12f0000 e9f4ffffff cccccccc", 0x12fe8, 16, false},
    {"i386 absolute", EM_386, "ff250cf00408 6800000000 e9e0ffffff", 0x0804f00c, 16, false},
    {"i386 by EBX", EM_386, "ffa30c000000 6800000000 e9e0ffffff", GOT + 12, 16, false},
    {"i386 .plt.sec", EM_386, "f30f1efb ffa3f0ffffff 660f1f440000", GOT - 16, 16, false},
    {"i386 beside .plt.sec", EM_386, "f30f1efb 6818000000 e9e1ffffff 6690", 3, 16, true},
    {"aarch64", EM_AARCH64, "100100b0 11fe47f9 10e23f91 20021fd6", 0x31ff8, 16, false},
    {"aarch64 BTI", EM_AARCH64, "5f2403d5 100100b0 11fe47f9 10e23f91 20021fd6 1f2003d5", 0x31ff8,
     24, false},
    {"aarch64 PAC", EM_AARCH64, "100100b0 11fe47f9 10e23f91 9f2103d5 20021fd6 1f2003d5", 0x31ff8,
     24, false},
    {"aarch64, page before", EM_AARCH64, "f0ffffb0 11fe47f9 10e23f91 20021fd6", 0xdff8, 16, false},
    {"arm", EM_ARM, "00c68fe2 02ca8ce2 0cf0bce5", 0x1201c - 8, 12, false},
    {"arm, long", EM_ARM, "00c28fe2 00c68ce2 02ca8ce2 0cf0bce5", 0x12014, 16, false},
    {"arm, for Thumb callers", EM_ARM, "7847c046 00c68fe2 02ca8ce2 0cf0bce5", 0x12018, 16, false},
    {"lld's arm", EM_ARM, "00c68fe2 02ca8ce2 0cf0bce5 d4d4d4d4", 0x12014, 16, false},
    {"lld's arm, far", EM_ARM, "04c09fe5 0fc08ce0 00f09ce5 00100000", 0x1100c, 16, false},
    {"Thumb", EM_ARM, "40f2340c c0f2010c fc44 dcf800f0 fce7", 0x20000 + 0x34 + 12, 16, false},
    {"riscv", EM_RISCV, "172e0000 033e8efe 67030e00 13000000", 0x11fe8, 16, false},
};

static size_t bytes_of(const char *hex, uint8_t *bytes)
{
    size_t n = 0;
    for (unsigned value; *hex; hex += 2) {
        hex += strspn(hex, " ");
        assert_int_equal(sscanf(hex, "%2x", &value), 1);
        bytes[n++] = (uint8_t)value;
    }
    return n;
}

static void every_linker_s_stubs_give_their_slot(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const struct example *e = &examples[i];
        uint8_t bytes[BYTES_MAX + 8];
        memset(bytes, 0x5a, sizeof bytes);
        size_t n = bytes_of(e->hex, bytes);
        struct cairn_elf elf = {.machine = e->machine};
        struct cairn_elf_code code = {
            .elf = &elf, .bytes = {bytes, sizeof bytes}, .vaddr = VADDR, .got_vaddr = GOT};
        struct cairn_elf_stub_code stub;
        if (!cairn_elf_stub_decode(&code, VADDR, &stub))
            fail_msg("%s: not seen", e->what);
        if (stub.slot != e->slot || stub.size != e->size || stub.by_index != e->by_index)
            fail_msg("%s: slot 0x%llx size %llu", e->what, (unsigned long long)stub.slot,
                     (unsigned long long)stub.size);
        code.bytes.size = n - 1; /* cut off: padding may lack, instructions may not */
        if (cairn_elf_stub_decode(&code, VADDR, &stub) && stub.slot != e->slot)
            fail_msg("%s: cut to 0x%llx", e->what, (unsigned long long)stub.slot);
        code.bytes.size = n / 2;
        assert_false(cairn_elf_stub_decode(&code, VADDR, &stub));
        assert_false(cairn_elf_stub_decode(&code, VADDR - 4, &stub));
        assert_false(cairn_elf_stub_decode(&code, VADDR + 64, &stub));
    }
}

static void a_stub_begins_at_its_landing_pad(void **state)
{
    (void)state;
    uint8_t bytes[BYTES_MAX];
    struct cairn_elf elf = {.machine = EM_AARCH64};
    struct cairn_elf_code code = {.elf = &elf, .vaddr = VADDR};
    struct cairn_elf_stub_code stub;
    code.bytes = (struct cairn_span){
        bytes, bytes_of("5f2403d5 100100b0 11fe47f9 10e23f91 20021fd6 1f2003d5", bytes)};
    assert_false(cairn_elf_stub_decode(&code, VADDR + 4, &stub));
    elf.machine = EM_ARM;
    code.bytes.size = bytes_of("7847c046 00c68fe2 02ca8ce2 0cf0bce5", bytes);
    assert_false(cairn_elf_stub_decode(&code, VADDR + 4, &stub));
}

static void code_that_is_no_stub_is_none(void **state)
{
    (void)state;
    static const struct {
        uint16_t machine;
        const char *hex;
    } others[] = {
        {EM_X86_64, "ff35e22f0000 ff25e42f0000 0f1f4000"},            /* first entry */
        {EM_X86_64, "ff15e22f0000 6800000000 e9e0ffffff"},            /* call *slot */
        {EM_AARCH64, "f07bbfa9 100100b0 11fe47f9 10e23f91 20021fd6"}, /* first entry */
        {EM_AARCH64, "100100b0 11fe47f9 10e23f91 c0035fd6"},          /* ret */
        {EM_ARM, "04e02de5 04e09fe5 0ee08fe0 08f0bee5 c41a0000"},     /* first entry */
        {EM_386, "ffb304000000 ffa308000000 00000000"},               /* first entry */
        {EM_PPC64, "ff25e22f0000 6800000000 e9e0ffffff"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        uint8_t bytes[BYTES_MAX];
        struct cairn_elf elf = {.machine = others[i].machine};
        struct cairn_elf_code code = {.elf = &elf, .vaddr = VADDR, .got_vaddr = GOT};
        struct cairn_elf_stub_code stub;
        code.bytes = (struct cairn_span){bytes, bytes_of(others[i].hex, bytes)};
        assert_false(cairn_elf_stub_decode(&code, VADDR, &stub));
    }
}

static void without_a_got_nothing_is_relative_to_it(void **state)
{
    (void)state;
    uint8_t bytes[BYTES_MAX];
    struct cairn_elf elf = {.machine = EM_386};
    struct cairn_elf_code code = {.elf = &elf, .vaddr = VADDR};
    struct cairn_elf_stub_code stub;
    code.bytes = (struct cairn_span){bytes, bytes_of("ffa30c000000 6800000000 e9e0ffffff", bytes)};
    assert_false(cairn_elf_stub_decode(&code, VADDR, &stub));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_linker_s_stubs_give_their_slot),
        cmocka_unit_test(a_stub_begins_at_its_landing_pad),
        cmocka_unit_test(code_that_is_no_stub_is_none),
        cmocka_unit_test(without_a_got_nothing_is_relative_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
