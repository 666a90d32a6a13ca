/* SPDX-License-Identifier: MIT */
/* stack_load FILE PARAMETERS: loads a kernel module, with /dev for its device. stack_load NAME:
 * removes it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char parameters[512] = "";
    if (argc == 2) {
        long removed = syscall(SYS_delete_module, argv[1], O_NONBLOCK);
        if (removed < 0)
            perror(argv[1]);
        return removed < 0;
    }
    for (int i = 2; i < argc; i++) {
        strncat(parameters, argv[i], sizeof parameters - strlen(parameters) - 2);
        strcat(parameters, " ");
    }
    mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
    int file = open(argc > 1 ? argv[1] : "", O_RDONLY | O_CLOEXEC);
    long loaded = file < 0 ? -1 : syscall(SYS_finit_module, file, parameters, 0);
    if (loaded < 0)
        perror(argc > 1 ? argv[1] : "stack_load");
    return loaded < 0;
}
