/* SPDX-License-Identifier: MIT */
/* Definition: the name that a line of Lua gives to the function that begins there. */
#ifndef CAIRN_GUEST_DEFINITION_H
#define CAIRN_GUEST_DEFINITION_H

#include <stdbool.h>
#include <stddef.h>

/*
 * `function a.b:c(...)` is "a.b:c", `local function f`, `f = function`, `M.f = function`,
 * `["f"] = function` in a table are "f", "M.f", "f". Comments and strings are read over. False
 * where no function begins in the line, more than one, or one without a name. `line` is any bytes.
 */
bool cairn_guest_definition(const char *line, size_t size, char *to, size_t room);

#endif /* CAIRN_GUEST_DEFINITION_H */
