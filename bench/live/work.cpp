// SPDX-License-Identifier: MIT
// work SECONDS: containers, virtual calls, exceptions, callbacks of libc and streams of the C++
// library.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <time.h>
#include <vector>

namespace work
{

static volatile unsigned long sink;

struct shape {
    virtual ~shape() = default;
    virtual double area(int depth) const = 0;
};

struct square : shape {
    [[gnu::noinline]] double area(int depth) const override
    {
        double own = 0;
        for (int i = 0; i < 50; i++)
            own = own * 1.0000001 + depth;
        return depth ? own + area(depth - 1) / 2 : own;
    }
};

static int by_value(const void *a, const void *b)
{
    return *(const int *)a < *(const int *)b ? -1 : 1;
}

[[gnu::noinline]] static void sort_all(std::vector<int> numbers)
{
    std::vector<int> copy = numbers;
    qsort(numbers.data(), numbers.size(), sizeof(int), by_value);
    std::sort(copy.begin(), copy.end(), [](int a, int b) { return a > b; });
    sink = sink + numbers[0] + copy[0];
}

[[gnu::noinline]] static int thrower(int depth)
{
    if (depth == 0)
        throw std::runtime_error("caught above");
    return thrower(depth - 1) + 1;
}

[[gnu::noinline]] static void text(std::map<std::string, int> &seen)
{
    static const std::regex form("key-([0-9]+)");
    for (int i = 0; i < 200; i++) {
        std::ostringstream out;
        out << "key-" << i * 7919 % 1000;
        std::smatch found;
        std::string word = out.str();
        if (std::regex_match(word, found, form))
            seen[found[1]]++;
    }
}

static void round(const std::vector<std::unique_ptr<shape>> &shapes)
{
    std::vector<int> numbers(1000);
    std::map<std::string, int> seen;
    for (int &number : numbers)
        number = rand();
    for (const auto &one : shapes)
        sink = sink + (unsigned long)one->area(30);
    sort_all(numbers);
    text(seen);
    try {
        thrower(12);
    } catch (const std::runtime_error &) {
        sink = sink + 1;
    }
}

} // namespace work

int main(int argc, char **argv)
{
    time_t end = time(nullptr) + (argc > 1 ? atoi(argv[1]) : 5);
    std::vector<std::unique_ptr<work::shape>> shapes;
    for (int i = 0; i < 8; i++)
        shapes.emplace_back(new work::square);
    std::function<void()> step = [&] { work::round(shapes); };
    while (time(nullptr) < end)
        step();
}
