// SPDX-License-Identifier: MIT
// A program on which symbolizers go wrong. It needs no library, so that it can be built for any CPU, and
// is never run. Labels set by asm statements say where an answer is asked for; the line numbers that the
// answers hold stand in comments behind the lines.
#include "header.h"
volatile int sink;
struct Text {
    const char *bytes;
    unsigned long size;
};
static inline __attribute__((always_inline)) int leaf(int x)
{
    __asm__ volatile(".globl mark_leaf\nmark_leaf: nop");                   // 13
    return x * 3;
}
static inline __attribute__((always_inline)) int mid(int x)
{
    return leaf(x + 1) + 1;                                                  // 18
}
__attribute__((noinline)) int outer(int x)
{
    sink = mid(x);                                                           // 22
    return in_header(sink);                                                  // 23
}
static inline __attribute__((always_inline)) int in_closure(int x)
{
    __asm__ volatile(".globl mark_closure\nmark_closure: nop");             // 27
    return x + sink;
}
__attribute__((noinline)) int makes_closure(int a)
{
    int r = 0;
    for (int i = 0; i < sink; i++) {
        auto body = [&](int b) __attribute__((noinline)) { r += in_closure(a + b); sink = sink + 1; }; // 34
        body(i);
        body(r);
    }
    return r;
}
namespace app {
namespace {
__attribute__((noinline)) int hidden(const Text &s)
{
    __asm__ volatile(".globl mark_hidden\nmark_hidden: nop");               // 44
    sink = sink + 5;
    return (int)s.size;
}
inline __attribute__((always_inline)) int hidden_inline(int x)
{
    __asm__ volatile(".globl mark_hidden_inline\nmark_hidden_inline: nop"); // 50
    return x ^ 3;
}
struct Local {
    int x;
    __attribute__((always_inline)) int get() const
    {
        __asm__ volatile(".globl mark_get\nmark_get: nop");                 // 57
        return x;
    }
};
} // namespace
__attribute__((noinline)) int uses_hidden(int x)
{
    Local local = {x};
    return hidden({"abc", 3}) + hidden_inline(x) + local.get();              // 65
}
} // namespace app
[[noreturn]] __attribute__((noinline, cold)) void die(int c)
{
    for (;;)
        sink = c;
}
__attribute__((noinline)) int work(int c)
{
    if (c > 100)
        die(c);                                                              // 76
    return c + sink;
}
[[noreturn]] __attribute__((noinline)) void ends_with_call(int c)
{
    sink = c + 3;
    die(c + 1);                                                              // 82
}
static __attribute__((noinline)) int always_seven(int x, int seven)
{
    sink = sink + x;
    return seven * sink;
}
struct Shape {
    int a;
    explicit Shape(int x);
    virtual ~Shape();
};
__attribute__((noinline)) Shape::Shape(int x) : a(x) { sink = x; }           // 94
__attribute__((noinline)) Shape::~Shape() { sink = 0; }
__attribute__((noinline)) int foo(int x) { sink = sink + 7; return x + 1; }
__attribute__((noinline)) int bar(int x) { sink = sink + 7; return x + 1; }
extern "C" int rust_v0(int) __asm__("_RNvNtCs1234_7mycrate3foo3bar");
extern "C" int rust_legacy(int) __asm__("_ZN7mycrate3foo3baz17h0123456789abcdefE");
__attribute__((noinline)) int rust_v0(int x) { return x + sink; }            // 100
__attribute__((noinline)) int rust_legacy(int x) { return x - sink; }        // 101
namespace {
struct Hidden : Shape {
    int *p;
    Hidden() : Shape(1), p(new int) {}
    __attribute__((noinline)) ~Hidden() { delete p; sink = 7; }
};
} // namespace
Shape *make() { return new Hidden; }
int start(int c) __asm__("_start");
int start(int c)
{
    Shape shape(c);
    if (sink > 1000)
        ends_with_call(c);
    delete make();
    return outer(c) + makes_closure(c) + app::uses_hidden(c) + work(c) + always_seven(c, 7) +
           always_seven(c + 1, 7) + foo(c) + bar(c) + rust_v0(c) + rust_legacy(c) + shape.a;
}
void *operator new(__SIZE_TYPE__) { return (void *)&sink; }
void operator delete(void *) noexcept { sink = 1; }
void operator delete(void *, __SIZE_TYPE__) noexcept { sink = 2; }
