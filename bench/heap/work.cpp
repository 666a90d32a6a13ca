// SPDX-License-Identifier: MIT
// What clang compiles: much of the standard library, and templates within templates.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

template <int N> struct nest {
    std::map<std::string, std::vector<std::variant<int, double, std::string>>> kept;
    int value()
    {
        std::unordered_map<int, std::function<int(int)>> by_number;
        by_number[N] = [this](int x) { return x + (int)kept.size() + N; };
        return by_number[N](N) + nest<N - 1>().value();
    }
};

template <> struct nest<0> {
    int value()
    {
        return 0;
    }
};

int main()
{
    std::regex form("a(b|c)*d");
    std::cout << std::regex_match(std::string("abcd"), form) << nest<12>().value();
    std::vector<std::unique_ptr<int>> none;
    std::sort(none.begin(), none.end());
}
