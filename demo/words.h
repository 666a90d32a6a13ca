// SPDX-License-Identifier: MIT
// libwords: counts words and how alike they are.
#ifndef DEMO_WORDS_H
#define DEMO_WORDS_H

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace demo
{

class Index
{
  public:
    void add_text(const std::string &text);
    std::vector<std::pair<std::string, unsigned>> most_frequent(std::size_t n) const;
    unsigned similar_pairs(unsigned max_distance) const;

  private:
    std::unordered_map<std::string, unsigned> counts;
};

std::string make_text(unsigned seed, std::size_t n_words);

} // namespace demo

#endif
