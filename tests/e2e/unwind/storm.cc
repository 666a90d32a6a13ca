// SPDX-License-Identifier: MIT
// unwind_storm SECONDS: threads that throw and catch exceptions all the time, through frames with
// and without clean-up, rethrown, nested, of threads that end by one.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::atomic<unsigned long> n_caught;

struct Guard {
    std::string text;
    explicit Guard(int n) : text(n, 'x') {}
    ~Guard() { n_caught += text.size() & 1; }
};

__attribute__((noinline)) static int sink(int depth, int x)
{
    Guard guard(depth);
    if (depth == 0) {
        if (x % 3 == 0)
            throw std::runtime_error("a long enough message that it lies on the heap");
        if (x % 3 == 1)
            throw x;
        return x;
    }
    return sink(depth - 1, x) + static_cast<int>(guard.text.size());
}

__attribute__((noinline)) static int again(int depth, int x)
{
    try {
        return sink(depth, x);
    } catch (int value) {
        n_caught++;
        if (value % 2)
            throw std::out_of_range(std::to_string(value));
        return value;
    }
}

static void storm(double seconds)
{
    const std::time_t end = std::time(nullptr) + static_cast<std::time_t>(seconds);
    std::map<std::string, int> seen;
    for (int i = 0; std::time(nullptr) < end; i++) {
        try {
            again(i % 20, i);
        } catch (const std::exception &error) {
            seen[error.what()]++;
            if (seen.size() > 100)
                seen.clear();
            n_caught++;
        }
    }
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
    std::vector<std::thread> threads;
    threads.emplace_back(storm, seconds);
    storm(seconds);
    for (auto &thread : threads)
        thread.join();
    std::printf("%lu caught\n", n_caught.load());
    return n_caught == 0;
}
