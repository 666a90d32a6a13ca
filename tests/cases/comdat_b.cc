// SPDX-License-Identifier: MIT
#include "twice.h"
int a(int);
volatile Shared shared;
extern "C" int _start(int c)
{
    return a(c) + twice<5>(c) + const_cast<const Shared &>(shared).sum(c + 1);
}
