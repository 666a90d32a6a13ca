/* SPDX-License-Identifier: MIT */
// A library whose blocks are tracked: it asks for them in every way, and never by a tail call.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <new>
#include <string>
#include <unistd.h>
#include <vector>

// Before any hook is there, as a container keeps what frees its items.
static void (*volatile kept_free)(void *) = free;
static void (*in_data)(void *) = free;

template <class T> static T *seen(T *block)
{
    __asm__ volatile("" : "+r"(block));
    return block;
}

extern "C" {
void *sample_malloc(size_t n) { return seen(malloc(n)); }
void *sample_calloc(size_t n) { return seen(calloc(n, 2)); }
void *sample_realloc(void *block, size_t n) { return seen(realloc(block, n)); }
void *sample_reallocarray(void *block, size_t n) { return seen(reallocarray(block, n, 2)); }
void *sample_memalign(size_t n)
{
    void *block = nullptr;
    return posix_memalign(&block, 64, n) == 0 ? seen(block) : nullptr;
}
void *sample_aligned(size_t n) { return seen(aligned_alloc(64, n)); }
void *sample_new(size_t n) { return seen(::operator new(n)); }
void *sample_new_array(size_t n) { return seen(::operator new[](n, std::nothrow)); }
void *sample_new_aligned(size_t n) { return seen(::operator new(n, std::align_val_t(128))); }
void sample_free(void *block) { free(block); }
void sample_kept_free(void *block) { kept_free(block); }
void sample_data_free(void *block) { in_data(block); }
void sample_delete(void *block) { ::operator delete(block); }
char *sample_strdup() { return seen(strdup("hello")); }
char *sample_strndup() { return seen(strndup("hello", 3)); }
wchar_t *sample_wcsdup() { return seen(wcsdup(L"hello")); }
char *sample_realpath() { return seen(realpath("/usr/../usr", nullptr)); }
char *sample_getcwd() { return seen(getcwd(nullptr, 0)); }
char *sample_asprintf()
{
    char *text = nullptr;
    return asprintf(&text, "%0*d", 40, 1) == 40 ? text : nullptr;
}
char *sample_getline()
{
    char *line = nullptr;
    size_t n = 0;
    char text[2000];
    memset(text, 'x', sizeof text);
    memcpy(text + 10, "\n", 1);
    FILE *file = fmemopen(text, sizeof text, "r");
    while (getline(&line, &n, file) > 0)
        ;
    fclose(file);
    return line;
}
char *sample_stream()
{
    char *text = nullptr;
    size_t n = 0;
    FILE *stream = open_memstream(&text, &n);
    for (int i = 0; i < 500; i++)
        fputs("0123456789", stream);
    fclose(stream);
    return text;
}
void *sample_vector()
{
    auto *all = new std::vector<std::string>;
    for (int i = 0; i < 100; i++)
        all->push_back(std::string(100, 'a'));
    return all;
}
int sample_throws()
{
    volatile size_t too_much = (size_t)1 << 62;
    try {
        return seen(::operator new(too_much)) != nullptr;
    } catch (const std::bad_alloc &) {
        return 42;
    }
}
}
