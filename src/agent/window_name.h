/* SPDX-License-Identifier: MIT */
/* Window name: the name of a window's file, and back. */
#ifndef CAIRN_AGENT_WINDOW_NAME_H
#define CAIRN_AGENT_WINDOW_NAME_H

#include <stdbool.h>

#include <cairn/agent.h>

enum { CAIRN_WINDOW_NAME_BYTES = 96 };

void cairn_window_name(const struct cairn_window *window, char name[CAIRN_WINDOW_NAME_BYTES]);

/* All but `bytes`; false: it is no window's name. */
bool cairn_window_name_read(const char *name, struct cairn_window *ret_window);

#endif /* CAIRN_AGENT_WINDOW_NAME_H */
