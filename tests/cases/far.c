/* SPDX-License-Identifier: MIT */
/* Two executable segments, and memory behind the data that the file does not hold. */
int zeroes[4096];
int values[4] = {1, 2, 3, 4};
__attribute__((section("far_code"), noinline)) int far_away(int x)
{
    return x + values[x & 3];
}
int _start(int x)
{
    return far_away(x) + zeroes[x];
}
