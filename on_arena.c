#include <stdlib.h>
#include <sys/mman.h>
int main(void)
{
    static void *volatile kept;
    kept = malloc(1001);
    return mmap(NULL, 12288, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}
