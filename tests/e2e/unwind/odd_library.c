/* SPDX-License-Identifier: MIT */
/* What the program of odd frames opens, calls and closes. */
typedef void odd_fn(void);

__attribute__((visibility("default"))) void odd_library_call(odd_fn *inner);

static volatile int sink;

void odd_library_call(odd_fn *inner)
{
    char bytes[300];
    bytes[sink] = (char)sink;
    inner();
    sink = bytes[0];
}
