/* SPDX-License-Identifier: MIT */
/* Runs code that it wrote into memory of the kind that it is told: zero (shared and anonymous),
 * sysv, memfd, shm (a file of /dev/shm that is gone), or devzero (a mapping of /dev/zero). Says
 * "ready". */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

enum { SIZE = 65536, PROT = PROT_READ | PROT_WRITE | PROT_EXEC };

#if defined(__x86_64__)
/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#elif defined(__aarch64__)
/* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret */
static const unsigned int code[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#endif

static void wait_here(void)
{
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}

static void *map_file(int fd, int flags)
{
    return fd < 0 ? MAP_FAILED : mmap(NULL, SIZE, PROT, flags, fd, 0);
}

static void *map_shm(void)
{
    char path[64];
    snprintf(path, sizeof path, "/dev/shm/cairn-test.%d", (int)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0700);
    void *at = fd >= 0 && ftruncate(fd, SIZE) == 0 ? map_file(fd, MAP_SHARED) : MAP_FAILED;
    unlink(path);
    return at;
}

static void *map_segment(void)
{
    int id = shmget(IPC_PRIVATE, SIZE, IPC_CREAT | 0700);
    void *at = id < 0 ? MAP_FAILED : shmat(id, NULL, SHM_EXEC);
    shmctl(id, IPC_RMID, NULL);
    return at;
}

static void *map_kind(const char *kind)
{
    if (strcmp(kind, "zero") == 0)
        return mmap(NULL, SIZE, PROT, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (strcmp(kind, "devzero") == 0)
        return map_file(open("/dev/zero", O_RDWR), MAP_PRIVATE);
    if (strcmp(kind, "sysv") == 0)
        return map_segment();
    if (strcmp(kind, "shm") == 0)
        return map_shm();
    int fd = memfd_create("jit-cache", 0);
    return fd >= 0 && ftruncate(fd, SIZE) == 0 ? map_file(fd, MAP_SHARED) : MAP_FAILED;
}

int main(int argc, char **argv)
{
    void *at = argc > 1 ? map_kind(argv[1]) : MAP_FAILED;
    if (at == MAP_FAILED || at == (void *)-1) {
        perror("no such memory");
        return 77;
    }
    memcpy(at, code, sizeof code);
    __builtin___clear_cache(at, (char *)at + sizeof code);
    void (*call)(void (*)(void));
    memcpy(&call, &at, sizeof call);
    call(wait_here);
    return 0;
}
