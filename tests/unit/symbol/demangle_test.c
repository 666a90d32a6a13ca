/* SPDX-License-Identifier: MIT */
#include "symbol/demangle.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "support/test.h"

static const char *demangle(struct cairn_demangler *d, const char *name)
{
    return cairn_demangle(d, name, strlen(name));
}

/* Names as gcc 12, clang 14 and rustc wrote them. */
static const struct {
    const char *mangled, *full, *brief;
} names[] = {
    {"main", "main", "main"},
    {"", "", ""},
    {"_Zwhatever", "_Zwhatever", "_Zwhatever"},
    {"_Z4workiPKc", "work(int, char const*)", "work"},
    {"_ZN12_GLOBAL__N_13runEv", "(anonymous namespace)::run()", "(anonymous namespace)::run"},
    {"_ZNK3app5TableIiE3getERKSs", "app::Table<int>::get(std::string const&) const",
     "app::Table<int>::get"},
    {"_ZN3app5TableIiE4convIlEET_S3_", "long app::Table<int>::conv<long>(long)",
     "app::Table<int>::conv<long>"},
    {"_ZNK3app5TableIiE2ItclEi", "app::Table<int>::It::operator()(int) const",
     "app::Table<int>::It::operator()"},
    {"_ZNK3app5TableIiE2ItcvbEv", "app::Table<int>::It::operator bool() const",
     "app::Table<int>::It::operator bool"},
    {"_ZNK3app5TableIiEcvSt6vectorIiSaIiEEEv",
     "app::Table<int>::operator std::vector<int, std::allocator<int> >() const",
     "app::Table<int>::operator std::vector<int, std::allocator<int> >"},
    {"_ZN3appltERKNS_5TableIiEES3_",
     "app::operator<(app::Table<int> const&, app::Table<int> const&)", "app::operator<"},
    {"_ZN3app3fptIiEEPFiiET_", "int (*app::fpt<int>(int))(int)", "app::fpt<int>"},
    {"_ZZN3app2fnEiENKUliE_clEi", "app::fn(int)::{lambda(int)#1}::operator()(int) const",
     "app::fn(int)::{lambda(int)#1}::operator()"},
    {"_ZN3app5applyIZNS_1qEvEUliE_EEDaOT_",
     "auto app::apply<app::q()::{lambda(int)#1}>(app::q()::{lambda(int)#1}&&)",
     "app::apply<app::q()::{lambda(int)#1}>"},
    {"_ZN3FooC1Ev", "Foo::Foo()", "Foo::Foo"},
    {"_ZN3FooD0Ev", "Foo::~Foo()", "Foo::~Foo"},
    {"_ZThn16_N3Foo3runEv", "non-virtual thunk to Foo::run()", "non-virtual thunk to Foo::run()"},
    {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad",
     "core::fmt::Formatter::pad"},
    {"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar"
     "17h930b740aa94f1d3aE",
     "<Test + 'static as foo::Bar<Test>>::bar", "<Test + 'static as foo::Bar<Test>>::bar"},
    {"_RNvCs1234_7mycrate3foo", "mycrate::foo", "mycrate::foo"},
    {"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>", "std::mem::align_of::<f64>"},
    {"_RNvNtCs1234_7mycrateu8gdel_5qa3run",
     "mycrate::g\xc3\xb6"
     "del::run",
     "mycrate::g\xc3\xb6"
     "del::run"},
};

static void real_names_come_out_full_and_short(void **state)
{
    (void)state;
    struct cairn_demangler full = {0}, brief = {.names = CAIRN_NAMES_SHORT},
                           mangled = {.names = CAIRN_NAMES_MANGLED};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_string_equal(demangle(&full, names[i].mangled), names[i].full);
        assert_string_equal(demangle(&brief, names[i].mangled), names[i].brief);
        assert_string_equal(demangle(&mangled, names[i].mangled), names[i].mangled);
    }
    cairn_demangler_done(&full);
    cairn_demangler_done(&brief);
    cairn_demangler_done(&mangled);
}

static void each_name_is_demangled_once(void **state)
{
    (void)state;
    struct cairn_demangler d = {0};
    const char *first = demangle(&d, "_Z4workiPKc");
    for (int i = 0; i < 1000; i++) {
        char other[32];
        snprintf(other, sizeof other, "_Z5f%04di", i);
        demangle(&d, other);
    }
    assert_ptr_equal(demangle(&d, "_Z4workiPKc"), first);
    assert_string_equal(first, "work(int, char const*)");
    assert_ptr_equal(cairn_demangle(&d, "_Z4workiPKc.cold", 11), first);
    cairn_demangler_done(&d);
}

/* namespace n1 { namespace n2 { ... f() } }: more than libiberty's guard lets through. */
static void long_names_are_demangled_too(void **state)
{
    (void)state;
    struct cairn_buffer name = {0};
    cairn_buffer_str(&name, "_ZN");
    for (int i = 0; i < 200; i++)
        cairn_buffer_printf(&name, "50n%049d", i);
    cairn_buffer_str(&name, "1fEv");
    struct cairn_demangler d = {.names = CAIRN_NAMES_SHORT};
    const char *plain = demangle(&d, cairn_buffer_text(&name));
    assert_int_equal(strlen(plain), 200 * 52 + 1);
    assert_string_equal(plain + 200 * 52 - 5, "199::f");
    while (name.size <= 16 * 1024)
        cairn_buffer_str(&name, "i");
    assert_string_equal(demangle(&d, cairn_buffer_text(&name)), cairn_buffer_text(&name));
    cairn_demangler_done(&d);
    cairn_buffer_done(&name);
}

static void names_that_explode_stay_as_they_are(void **state)
{
    (void)state;
    /* f(P<int, int>, P<S0_, S0_>, ...): every argument is twice the one before */
    struct cairn_buffer cpp = {0}, rust = {0};
    cairn_buffer_str(&cpp, "_Z1f1PIiiE");
    for (int i = 0; i < 60; i++) {
        char digit[3] = {0};
        int seq = i + 1; /* the substitution that the argument before made */
        if (i < 35)
            digit[0] = (char)(seq < 10 ? '0' + seq - 0 : 'A' + seq - 10);
        else
            snprintf(digit, sizeof digit, "1%c", 'A' + (i - 35) % 26);
        cairn_buffer_printf(&cpp, "S_IS%s_S%s_E", digit, digit);
    }
    /* a tuple of twice the tuple before, by back reference */
    cairn_buffer_str(&rust, "_RINvC1a1bTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTllE");
    for (int i = 0; i < 31; i++)
        cairn_buffer_printf(&rust, "B%c_E", "56789abcdefghijklmnopqrstuvwxyzABCDEFG"[31 - i]);
    cairn_buffer_str(&rust, "E");
    struct cairn_demangler d = {0};
    assert_string_equal(demangle(&d, cairn_buffer_text(&cpp)), cairn_buffer_text(&cpp));
    const char *answer = demangle(&d, cairn_buffer_text(&rust));
    assert_true(strlen(answer) < 1 << 20);
    cairn_demangler_done(&d);
    cairn_buffer_done(&cpp);
    cairn_buffer_done(&rust);
}

/* One unit of nesting, repeated until the name is as long as is let through. */
static void deep_names_do_not_exhaust_the_stack(void **state)
{
    (void)state;
    static const char *const units[][3] = {
        {"_Z1f", "P", "i"},        {"_Z1f", "1aI", "iE"},     {"_Z", "N", "1aE"},
        {"_Z1fI", "RT_", "EvT_"},  {"_Z1fI", "1aIRT_", "E"},  {"_Z1fIX", "ad", "L_Z1gEEEvv"},
        {"_Z1f", "M1a", "i"},      {"_Z1f", "F", "iE"},       {"_ZZ1fvEN", "Ul", "E_"},
        {"_Z1fIiEv", "DTcl", "E"}, {"_R", "INvC1a1b", "E"},   {"_R", "NvNvNv", "C1a1b"},
        {"_RINvC1a1b", "T", "E"},  {"_RINvC1a1b", "F", "uE"}, {"_Z1f", "1aI1bIRT_EEOS_", "i"},
    };
    struct cairn_demangler d = {0};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        for (size_t size = 500; size <= 16 * 1024; size += 15800) {
            struct cairn_buffer name = {0};
            cairn_buffer_str(&name, units[i][0]);
            while (name.size + 20 < size)
                cairn_buffer_str(&name, units[i][1]);
            cairn_buffer_str(&name, units[i][2]);
            assert_non_null(demangle(&d, cairn_buffer_text(&name)));
            cairn_buffer_done(&name);
        }
    }
    cairn_demangler_done(&d);
}

static const struct {
    const char *name, *alone, *suffix;
} suffixes[] = {
    {"foo", "foo", ""},
    {"", "", ""},
    {"foo.part.0", "foo", "part.0"},
    {"foo.constprop.0.isra.0", "foo", "constprop.0.isra.0"},
    {"foo.isra.0.cold", "foo", "isra.0.cold"},
    {"foo.cold", "foo", "cold"},
    {"foo.cold.1", "foo", "cold.1"},
    {"_ZN3app3runEv.part.0.cold", "_ZN3app3runEv", "part.0.cold"},
    {"_ZL3runv.llvm.1234567890", "_ZL3runv", "llvm.1234567890"},
    {"_ZN4core3ptr13drop_in_place17h0123456789abcdefE.llvm.77",
     "_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "llvm.77"},
    {"_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE",
     "_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE", ""},
    {"foo.lto_priv.0", "foo", "lto_priv.0"},
    {"main._omp_fn.0", "main", "_omp_fn.0"},
    {"foo.avx512f", "foo", "avx512f"},
    {"foo.arch_haswell.0", "foo", "arch_haswell.0"},
    {"_Z3dotv.default", "_Z3dotv", "default"},
    {"_Z4corov.actor", "_Z4corov", "actor"},
    {"foo.123", "foo", "123"},
    {"foo.123.cold", "foo", "123.cold"},
    {"main.main.func1", "main.main.func1", ""}, /* Go */
    {"main.main.func1.2", "main.main.func1.2", ""},
    {"pkg.resume", "pkg.resume", ""},
    {"pkg.part", "pkg.part", ""},
    {".hidden", ".hidden", ""},
    {"foo.", "foo.", ""},
    {"foo.part.", "foo.part.", ""},
    {"foo..cold", "foo.", "cold"},
    {"memcpy@@GLIBC_2.14", "memcpy", ""},
    {"memcpy@GLIBC_2.2.5", "memcpy", ""},
    {"memcpy@plt", "memcpy@plt", ""},
};

static void suffixes_of_compilers_are_split_off(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const char *suffix;
        size_t size = cairn_symbol_split_suffix(suffixes[i].name, &suffix);
        assert_int_equal(size, strlen(suffixes[i].alone));
        assert_memory_equal(suffixes[i].name, suffixes[i].alone, size);
        assert_string_equal(suffix, suffixes[i].suffix);
    }
}

static void without_memory_the_name_itself_is_the_answer(void **state)
{
    (void)state;
    for (long n = 0; n < 12; n++) {
        struct cairn_demangler d = {0};
        cairn_alloc_fail_after(n);
        const char *answer = demangle(&d, "_Z4workiPKc");
        cairn_alloc_fail_after(-1);
        assert_true(strcmp(answer, "_Z4workiPKc") == 0 ||
                    strcmp(answer, "work(int, char const*)") == 0);
        cairn_demangler_done(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_names_come_out_full_and_short),
        cmocka_unit_test(each_name_is_demangled_once),
        cmocka_unit_test(long_names_are_demangled_too),
        cmocka_unit_test(names_that_explode_stay_as_they_are),
        cmocka_unit_test(deep_names_do_not_exhaust_the_stack),
        cmocka_unit_test(suffixes_of_compilers_are_split_off),
        cmocka_unit_test(without_memory_the_name_itself_is_the_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
