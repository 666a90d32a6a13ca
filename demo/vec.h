// SPDX-License-Identifier: MIT
// Small vectors of any number type: all of it is inlined into what uses it.
#ifndef DEMO_VEC_H
#define DEMO_VEC_H

#include <array>
#include <cmath>
#include <cstddef>

namespace demo
{

template <typename T, std::size_t N> struct Vec {
    std::array<T, N> at{};

    template <typename F> Vec map(const Vec &other, F f) const
    {
        Vec out;
        for (std::size_t i = 0; i < N; i++)
            out.at[i] = f(at[i], other.at[i]);
        return out;
    }
    Vec operator+(const Vec &o) const
    {
        return map(o, [](T a, T b) { return a + b; });
    }
    Vec operator-(const Vec &o) const
    {
        return map(o, [](T a, T b) { return a - b; });
    }
    Vec operator*(T factor) const
    {
        return map(*this, [factor](T a, T) { return a * factor; });
    }
};

template <typename T, std::size_t N> T dot(const Vec<T, N> &a, const Vec<T, N> &b)
{
    T sum{};
    for (std::size_t i = 0; i < N; i++)
        sum += a.at[i] * b.at[i];
    return sum;
}

template <typename T, std::size_t N> Vec<T, N> unit(const Vec<T, N> &v)
{
    return v * (T(1) / std::sqrt(dot(v, v)));
}

using Vec3 = Vec<double, 3>;

} // namespace demo

#endif
