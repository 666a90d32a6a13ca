/* SPDX-License-Identifier: MIT */
/*
 * Allocations from stacks that nobody chose: random CAPTURES [THREADS]. Each thread goes through
 * functions at random, forth and back, of all kinds that compilers make frames for, and allocates
 * and frees on its way.
 */
#include <algorithm>
#include <alloca.h>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace
{

enum { KEPT = 2000, WAYS = 700, DEPTH = 24 };

std::atomic<long> left;

struct walker {
    uint64_t state;             /* of all random numbers */
    uint64_t way;               /* of those that choose functions: one of WAYS */
    unsigned depth;             /* still to go */
    void *kept[KEPT];           /* by malloc and its kin */
    std::string *strings[KEPT]; /* by new */

    uint64_t random()
    {
        state += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t z = (state ^ (state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
    }
};

thread_local walker *current;

void step(walker &w);

size_t some_bytes(walker &w)
{
    uint64_t r = w.random();
    return r % 4999 == 0 ? 5000000 : r % 13 == 0 ? r % 9000 : r % 300;
}

NOINLINE void allocate(walker &w)
{
    unsigned at = static_cast<unsigned>(w.random() % KEPT);
    left--;
    switch (w.random() % 8) {
    case 0:
        w.kept[at] = realloc(w.kept[at], some_bytes(w) + 1);
        return;
    case 1:
        free(w.kept[at]);
        w.kept[at] = calloc(some_bytes(w), 3);
        return;
    case 2: {
        free(w.kept[at]);
        if (posix_memalign(&w.kept[at], 64, some_bytes(w)) != 0)
            w.kept[at] = nullptr;
        return;
    }
    case 3:
        delete w.strings[at];
        w.strings[at] = new std::string(w.random() % 100, 'x');
        return;
    default:
        free(w.kept[at]);
        w.kept[at] = malloc(some_bytes(w));
    }
}

/* Some of the way here, some of it further on. */
NOINLINE void go_on(walker &w)
{
    for (unsigned n = w.random() % 3; n > 0; n--)
        allocate(w);
    step(w);
    if (w.random() % 2)
        allocate(w);
}

NOINLINE void plain(walker &w)
{
    go_on(w);
    allocate(w);
}

NOINLINE void with_room(walker &w)
{
    volatile char room[3000];
    room[w.way % 3000] = 1;
    go_on(w);
    room[1] = room[0];
}

NOINLINE void with_alloca(walker &w)
{
    volatile char *room = static_cast<volatile char *>(alloca(w.way % 500 + 16));
    room[0] = 1;
    go_on(w);
    room[1] = room[0];
}

NOINLINE void realigned(walker &w)
{
    alignas(64) volatile char room[192];
    room[w.way % 192] = 1;
    go_on(w);
    room[1] = room[0];
}

NOINLINE int many_registers(walker &w, int a, int b, int c, int d, int e, int f, int g, int h)
{
    const int x = a * b + c, y = d * e - f, z = g ^ h;
    go_on(w);
    return x + y * z + a + h;
}

NOINLINE void throwing(walker &w)
{
    try {
        go_on(w);
        allocate(w);
        throw std::runtime_error(std::string(w.way % 50 + 20, 'e'));
    } catch (const std::exception &) {
        allocate(w);
    }
}

struct at_end {
    walker &w;
    ~at_end()
    {
        allocate(w);
    }
};

NOINLINE void unwinding(walker &w)
{
    try {
        at_end one{w};
        go_on(w);
        throw 1;
    } catch (int) {
    }
}

int by_way(const void *a, const void *b)
{
    if (current->random() % 3 == 0)
        allocate(*current);
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

NOINLINE void sorting(walker &w)
{
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof *numbers, by_way);
    std::vector<int> more{5, 4, 9, 1};
    std::sort(more.begin(), more.end(), [&](int a, int b) {
        if (w.random() % 5 == 0)
            allocate(w);
        return a < b;
    });
    go_on(w);
}

void on_signal(int)
{
    allocate(*current);
    step(*current);
}

/* It is no moment that anybody would mind: raise(3) is called from here. */
NOINLINE void signalled(walker &w)
{
    raise(SIGUSR1);
    go_on(w);
}

struct virtual_base {
    virtual ~virtual_base() = default;
    virtual void call(walker &w) = 0;
};
struct one final : virtual_base {
    NOINLINE void call(walker &w) override
    {
        go_on(w);
    }
};
struct other final : virtual_base {
    std::vector<char> bytes{1, 2, 3};
    NOINLINE void call(walker &w) override
    {
        bytes.resize(w.random() % 100);
        go_on(w);
    }
};

NOINLINE void through_object(walker &w)
{
    std::unique_ptr<virtual_base> object;
    if (w.way & 64)
        object = std::make_unique<one>();
    else
        object = std::make_unique<other>();
    object->call(w);
}

/* The way says which function is next; so there are not more stacks than somebody can count. */
NOINLINE void step(walker &w)
{
    if (w.depth == 0 || left <= 0)
        return;
    const uint64_t way = w.way;
    w.depth--;
    w.way = (w.way * 1103515245 + 12345) & 0x7fffffff;
    switch (w.way >> 8 & 15) {
    case 0:
        with_room(w);
        break;
    case 1:
        with_alloca(w);
        break;
    case 2:
        realigned(w);
        break;
    case 3:
        left -= many_registers(w, 1, 2, 3, 4, 5, 6, 7, 8) == -1;
        break;
    case 4:
        if (w.depth < DEPTH / 3) {
            throwing(w);
            break;
        }
        plain(w);
        break;
    case 5:
        if (w.depth < DEPTH / 3) {
            unwinding(w);
            break;
        }
        plain(w);
        break;
    case 6:
        sorting(w);
        break;
    case 7:
        if (w.depth > DEPTH - 4)
            signalled(w);
        else
            plain(w);
        break;
    case 8:
    case 9:
        through_object(w);
        break;
    default:
        plain(w);
    }
    w.way = way;
}

void *walk(void *seed)
{
    current = new walker{};
    current->state = reinterpret_cast<uintptr_t>(seed);
    while (left > 0) {
        current->way = current->random() % WAYS;
        current->depth = static_cast<unsigned>(current->way % DEPTH) + 1;
        step(*current);
    }
    return nullptr; /* what it kept lives on */
}

} // namespace

int main(int argc, char **argv)
{
    left = argc > 1 ? atol(argv[1]) : 100000;
    const long n = argc > 2 ? atol(argv[2]) : 2;
    signal(SIGUSR1, on_signal);
    std::vector<pthread_t> threads(static_cast<size_t>(n));
    for (long i = 0; i < n; i++)
        pthread_create(&threads[static_cast<size_t>(i)], nullptr, walk,
                       reinterpret_cast<void *>(i + 1));
    for (pthread_t thread : threads)
        pthread_join(thread, nullptr);
    return 0;
}
