/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_CLI_FLAME_OPEN_H
#define CAIRN_CLI_FLAME_OPEN_H

/* Shows a page in the desktop's browser, where a person sits before one: stdin, stdout and stderr
 * are a terminal, a display is there, and the terminal is not at the far end of an ssh. Does not
 * wait for the browser. */
void cli_flame_open(const char *path);

#endif /* CAIRN_CLI_FLAME_OPEN_H */
