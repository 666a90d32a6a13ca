// SPDX-License-Identifier: MIT
#include "words.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace demo
{

std::string make_text(unsigned seed, std::size_t n_words)
{
    static const char *const syllables[] = {"ka", "ri", "to", "men", "sol", "va", "li", "pe"};
    std::minstd_rand random(seed);
    std::geometric_distribution<int> length(0.35);
    std::string text;
    for (std::size_t i = 0; i < n_words; i++) {
        for (int n = length(random) % 6 + 1; n > 0; n--)
            text += syllables[random() % 8];
        text += ' ';
    }
    return text;
}

template <typename F> static void each_word(const std::string &text, F f)
{
    for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
        end = std::min(text.find(' ', at), text.size());
        if (end > at)
            f(text.substr(at, end - at));
    }
}

void Index::add_text(const std::string &text)
{
    each_word(text, [this](std::string word) { counts[std::move(word)]++; });
}

std::vector<std::pair<std::string, unsigned>> Index::most_frequent(std::size_t n) const
{
    std::vector<std::pair<std::string, unsigned>> all(counts.begin(), counts.end());
    std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    all.resize(std::min(n, all.size()));
    return all;
}

// Levenshtein's distance, one row at a time.
static unsigned edit_distance(const std::string &a, const std::string &b)
{
    std::vector<unsigned> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0u);
    for (std::size_t i = 0; i < a.size(); i++) {
        unsigned diagonal = row[0];
        row[0] = static_cast<unsigned>(i) + 1;
        for (std::size_t j = 0; j < b.size(); j++) {
            const unsigned change = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

unsigned Index::similar_pairs(unsigned max_distance) const
{
    const auto words = most_frequent(150);
    unsigned n = 0;
    for (std::size_t i = 0; i < words.size(); i++)
        for (std::size_t j = i + 1; j < words.size(); j++)
            n += edit_distance(words[i].first, words[j].first) <= max_distance;
    return n;
}

} // namespace demo
