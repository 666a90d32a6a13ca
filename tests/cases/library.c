/* SPDX-License-Identifier: MIT */
int from_library(int x)
{
    return x + 1;
}
int also_from_library(int x)
{
    return x + 2;
}
