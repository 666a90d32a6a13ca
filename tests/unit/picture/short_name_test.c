/* SPDX-License-Identifier: MIT */
#include "picture/short_name.h"

#include "support/test.h"

static void assert_short(const char *name, const char *wanted)
{
    struct cairn_buffer b = {0};
    cairn_buffer_str(&b, "<");
    cairn_short_name(&b, name);
    assert_string_equal(cairn_buffer_text(&b) + 1, wanted);
    cairn_buffer_done(&b);
}

static void names_without_brackets_stay(void **state)
{
    (void)state;
    const char *const names[] = {"main", "", "ns::f", "[unknown]", "libc.so.6+0x12", "two words"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_short(names[i], names[i]);
}

static void parameters_and_return_types_are_left_out(void **state)
{
    (void)state;
    assert_short("parse(char const*)", "parse");
    assert_short("ns::Table::find(unsigned long) const", "ns::Table::find");
    assert_short("void run<int>(int)", "run<…>");
    assert_short("std::vector<int, A<int> >::push_back(int const&)", "std::vector<…>::push_back");
    assert_short("std::map<int, int> ns::make<int>(int)", "ns::make<…>");
    assert_short("f(int) [clone .part.0]", "f");
    assert_short("f<int> [clone .cold]", "f<…>");
    assert_short("call(void (*)(int), int)", "call");
    assert_short("decltype(a.b()) g<int>(int)", "g<…>");
    assert_short("auto f<int>(int)::{lambda(int)#1}::operator()(int) const",
                 "f<…>::{lambda#1}::operator()");
    assert_short("(anonymous namespace)::helper(int)", "(anonymous namespace)::helper");
    assert_short("void (anonymous namespace)::helper<int>()", "(anonymous namespace)::helper<…>");
}

static void operators_are_no_brackets(void **state)
{
    (void)state;
    assert_short("A::operator()(int)", "A::operator()");
    assert_short("operator<<(std::ostream&, A)", "operator<<");
    assert_short("bool operator< <int>(A<int>, A<int>)", "operator<<…>");
    assert_short("A::operator->() const", "A::operator->");
    assert_short("operator new(unsigned long)", "operator new");
    assert_short("operator new[](unsigned long)", "operator new[]");
    assert_short("A<int>::operator unsigned long() const", "A<…>::operator unsigned long");
    assert_short("myoperator<int>(int)", "myoperator<…>");
}

static void comparisons_and_arrows_in_arguments_close_nothing(void **state)
{
    (void)state;
    assert_short("Fixed<(4>3)>::get()", "Fixed<…>::get");
    assert_short("Call<auto ()->int>::get()", "Call<…>::get");
}

static void rust_says_what_it_implements(void **state)
{
    (void)state;
    assert_short("<alloc::vec::Vec<T> as core::ops::Drop>::drop",
                 "<alloc::vec::Vec<…> as core::ops::Drop>::drop");
    assert_short("core::ptr::drop_in_place<alloc::string::String>", "core::ptr::drop_in_place<…>");
    assert_short("<<T as A>::B as C>::d", "<<T as A>::B as C>::d");
}

static void what_does_not_close_stays(void **state)
{
    (void)state;
    const char *const names[] = {"a(",    "a<", "a{(",       "<",  "(",
                                 "a<b(c", "()", "operator<", "<>", "(a)"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_short(names[i], names[i]);
}

/* Hostile names are long, too. */
static void a_deep_name_takes_no_stack(void **state)
{
    (void)state;
    enum { DEEP = 20000 };
    char *name = malloc(2 * DEEP + 8);
    assert_non_null(name);
    memset(name, '<', DEEP);
    memset(name + DEEP, '>', DEEP);
    strcpy(name + 2 * DEEP, "::f()");
    struct cairn_buffer b = {0};
    cairn_short_name(&b, name);
    assert_true(b.size <= strlen(name));
    cairn_buffer_done(&b);
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_without_brackets_stay),
        cmocka_unit_test(parameters_and_return_types_are_left_out),
        cmocka_unit_test(operators_are_no_brackets),
        cmocka_unit_test(comparisons_and_arrows_in_arguments_close_nothing),
        cmocka_unit_test(rust_says_what_it_implements),
        cmocka_unit_test(what_does_not_close_stays),
        cmocka_unit_test(a_deep_name_takes_no_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
