/* SPDX-License-Identifier: MIT */
/*
 * As much of a kernel as contrib/kernel/cairn_stack_dump.h asks for, in a test's process: one
 * thread with its registers, stack and mappings, one CPU, and a log. It has the names of the
 * version that the test is compiled for, LINUX_VERSION_CODE, and no others.
 */
#ifndef CAIRN_TESTS_KERNEL_MOCK_H
#define CAIRN_TESTS_KERNEL_MOCK_H

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef struct {
    int counter;
} atomic_t;
typedef int raw_spinlock_t;

#define __weak         __attribute__((weak))
#define __maybe_unused __attribute__((unused))
#define noinline       __attribute__((noinline))
#define __user
#define typeof __typeof__
#define barrier()                      __asm__ volatile("" ::: "memory")
#define READ_ONCE(x)                   (*(volatile __typeof__(x) *)&(x))
#define smp_store_release(p, v)        __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define smp_load_acquire(p)            __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define cmpxchg(p, old, new)           __sync_val_compare_and_swap(p, old, new)
#define ARRAY_SIZE(a)                  (sizeof(a) / sizeof *(a))
#define min_t(type, a, b)              ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define container_of(p, type, member)  ((type *)(void *)((char *)(p)-offsetof(type, member)))
#define IS_ERR(p)                      ((unsigned long)(p) >= (unsigned long)-4095)
#define __RAW_SPIN_LOCK_UNLOCKED(name) 0
#define HZ                             100
#define time_after_eq(a, b)            ((long)((a) - (b)) >= 0)
#define time_before(a, b)              ((long)((a) - (b)) < 0)
#define KERN_INFO                      ""
#define TASK_COMM_LEN                  16
#define PF_KTHREAD                     0x200000
#define VM_EXEC                        4
#define PAGE_SHIFT                     12
#define NMI_OFFSET                     (1 << 20)
#define NMI_MASK                       (0xf << 20)
#define HARDIRQ_OFFSET                 (1 << 16)
#define _RET_IP_                       mock.caller

struct pt_regs {
#ifdef CONFIG_ARM64
    unsigned long regs[31], sp, pc;
#else
    unsigned long ip, bp, sp, cs;
#endif
    bool is_user, is_32_bit;
};
#define user_mode(r)        ((r)->is_user)
#define compat_user_mode(r) ((r)->is_32_bit)
#define __USER32_CS         0x23
#define TASK_SIZE_64        (1UL << 48)
#ifdef CONFIG_ARM64
#define instruction_pointer(r) ((r)->pc)
#else
#define instruction_pointer(r) ((r)->ip)
#endif

struct path {
    const char *text;
};
struct file {
    struct path f_path;
};
struct vm_area_struct;
struct vm_operations_struct {
    const char *(*name)(struct vm_area_struct *vma);
};
struct vm_area_struct {
    unsigned long vm_start, vm_end, vm_flags, vm_pgoff;
    struct file *vm_file;
    const struct vm_operations_struct *vm_ops;
};
struct rw_semaphore {
    int n_readers, dep_map;
    bool is_written;
};
struct mm_struct {
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 8, 0)
    struct rw_semaphore mmap_lock;
#else
    struct rw_semaphore mmap_sem;
#endif
    struct vm_area_struct vmas[8];
    int n_vmas;
};
struct task_struct {
    int pid, tgid;
    unsigned flags;
    char comm[TASK_COMM_LEN];
    struct mm_struct *mm;
    void *fs;
};
struct irq_work {
    void (*func)(struct irq_work *work);
    bool is_pending;
};

enum { MOCK_STACK = 0x7ffd1000, MOCK_STACK_WORDS = 256 };

/* The machine, as a test sets it. */
static struct mock {
    struct task_struct task;
    struct pt_regs regs;
    struct mm_struct mm;
    unsigned long words[MOCK_STACK_WORDS]; /* user memory from MOCK_STACK on; the rest faults */
    unsigned long kernel[96], caller;
    unsigned n_kernel;
    int preempt_count, cpu, n_no_faults;
    bool irqs_off, in_softirq, lock_is_taken;
    unsigned long now;
    struct irq_work *pending;
    int n_unlocked; /* times the mmap lock was given back */
    void (*on_printk)(void);
    char log[1 << 16];
    size_t log_size;
} mock;

#define current                  (&mock.task)
#define jiffies                  (mock.now)
#define task_pt_regs(task)       ((void)(task), &mock.regs)
#define preempt_count()          (mock.preempt_count)
#define hardirq_count()          (mock.preempt_count & (0xf << 16))
#define in_nmi()                 (mock.preempt_count & NMI_MASK)
#define in_serving_softirq()     (mock.in_softirq)
#define preemptible()            (!mock.preempt_count && !mock.irqs_off)
#define raw_smp_processor_id()   (mock.cpu)
#define irqs_disabled()          (mock.irqs_off)
#define local_irq_save(flags)    ((flags) = mock.irqs_off, mock.irqs_off = true)
#define local_irq_restore(flags) (mock.irqs_off = (flags))
#define raw_spin_trylock(lock)   (mock.lock_is_taken ? 0 : ++*(lock) == 1)
#define raw_spin_unlock(lock)    ((void)--*(lock))
#define cpu_relax()              barrier()
#define atomic_inc(a)            ((void)(a)->counter++)
#define atomic_xchg(a, v)        __atomic_exchange_n(&(a)->counter, v, __ATOMIC_RELAXED)

/* ---- text ---- */

/* The kernel's conversions, as far as the header uses them. */
static inline int mock_format(char *to, size_t size, const char *format, va_list args)
{
    size_t n = 0;
    for (; *format; format++) {
        char spec[16] = "%", piece[512];
        size_t i = 1;
        if (*format != '%') {
            n += (size_t)snprintf(to + n, n < size ? size - n : 0, "%c", *format);
            continue;
        }
        while (!strchr("sduxp", *++format))
            spec[i++] = *format;
        spec[i++] = *format;
        spec[i] = 0;
        bool is_long = strchr(spec, 'l') != NULL;
        if (*format == 's')
            snprintf(piece, sizeof piece, "%s", va_arg(args, const char *));
        else if (*format == 'p' && *++format == 'D')
            snprintf(piece, sizeof piece, "%s%.0d", va_arg(args, struct file *)->f_path.text + 1,
                     *++format != '4');
        else if (*format == 'B' || *format == 'S')
            snprintf(piece, sizeof piece, "f%lx+0x1/0x2%s", va_arg(args, unsigned long),
                     *format == 'S' ? " [exact]" : "");
        else if (is_long)
            snprintf(piece, sizeof piece, strchr(spec, 'x') ? "%0*lx" : "%*lu",
                     spec[1] == '0' ? 16 : 0, va_arg(args, unsigned long));
        else
            snprintf(piece, sizeof piece, *format == 'd' ? "%0*d" : "%0*u", spec[1] == '0' ? 2 : 0,
                     va_arg(args, int));
        n += (size_t)snprintf(to + n, n < size ? size - n : 0, "%s", piece);
    }
    return (int)n;
}

static inline int mock_printk(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t room = sizeof mock.log - mock.log_size;
    int n = mock_format(mock.log + mock.log_size, room, format, args);
    va_end(args);
    mock.log_size += (size_t)n < room ? (size_t)n : room - 1;
    if (mock.on_printk)
        mock.on_printk();
    return n;
}
#define printk mock_printk

static inline int scnprintf(char *to, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = mock_format(to, size, format, args);
    va_end(args);
    return n < (int)size ? n : (int)size - 1;
}

/* From the end of the buffer, as the kernel does. */
static inline char *d_path(const struct path *path, char *to, int size)
{
    size_t n = strlen(path->text) + 1;
    if (n > (size_t)size)
        return (char *)-36L;
    return memcpy(to + size - n, path->text, n);
}

/* ---- memory ---- */

static inline bool mock_read_user(void *to, const void *from, size_t size)
{
    unsigned long at = (unsigned long)from - MOCK_STACK;
    if (at > sizeof mock.words || size > sizeof mock.words - at)
        return false;
    memcpy(to, (char *)mock.words + at, size);
    return true;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 8, 0)
static inline long copy_from_user_nofault(void *to, const void *from, size_t size)
{
    return mock_read_user(to, from, size) ? 0 : -14;
}
#else
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 0, 0)
#define access_ok(p, n) ((void)(p), (void)(n), true)
#else
#define VERIFY_READ           0
#define access_ok(kind, p, n) ((void)(p), (void)(n), (kind) == 0)
#endif
#define pagefault_disable() (mock.n_no_faults++)
#define pagefault_enable()  (mock.n_no_faults--)
static inline unsigned long __copy_from_user_inatomic(void *to, const void *from, size_t size)
{
    return mock.n_no_faults == 1 && mock_read_user(to, from, size) ? 0 : size;
}
#endif

static inline struct vm_area_struct *find_vma(struct mm_struct *mm, unsigned long va)
{
    for (int i = 0; i < mm->n_vmas; i++)
        if (va < mm->vmas[i].vm_end)
            return &mm->vmas[i];
    return NULL;
}

static inline int mock_try_read(struct rw_semaphore *lock)
{
    lock->n_readers += !lock->is_written;
    return !lock->is_written;
}

static inline void mock_end_read(struct rw_semaphore *lock)
{
    lock->n_readers--;
    mock.n_unlocked++;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 8, 0)
#define mmap_read_trylock(mm)          mock_try_read(&(mm)->mmap_lock)
#define mmap_read_unlock(mm)           mock_end_read(&(mm)->mmap_lock)
#define mmap_read_unlock_non_owner(mm) mock_end_read(&(mm)->mmap_lock)
#define rwsem_release(map, ip)         ((void)(map), (void)(ip))
#else
#define down_read_trylock(lock) mock_try_read(lock)
#define up_read(lock)           mock_end_read(lock)
#endif

/* ---- stacks ---- */

static inline unsigned mock_save(unsigned long *entries, unsigned max)
{
    unsigned n = mock.n_kernel < max ? mock.n_kernel : max;
    memcpy(entries, mock.kernel, n * sizeof *entries);
    return n;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 2, 0)
static inline unsigned stack_trace_save(unsigned long *entries, unsigned max, unsigned skip)
{
    (void)skip;
    return mock_save(entries, max);
}
static inline unsigned stack_trace_save_user(unsigned long *entries, unsigned max)
{
    entries[0] = max ? instruction_pointer(&mock.regs) : 0;
    return 1;
}
#else
struct stack_trace {
    unsigned nr_entries, max_entries;
    unsigned long *entries;
};
static inline void save_stack_trace(struct stack_trace *trace)
{
    trace->nr_entries = mock_save(trace->entries, trace->max_entries);
    if (trace->nr_entries < trace->max_entries)
        trace->entries[trace->nr_entries++] = ULONG_MAX;
}
static inline void save_stack_trace_user(struct stack_trace *trace)
{
    trace->entries[trace->nr_entries++] = instruction_pointer(&mock.regs);
    trace->entries[trace->nr_entries++] = ULONG_MAX;
}
#endif

/* ---- work in an interrupt ---- */

static inline void init_irq_work(struct irq_work *work, void (*func)(struct irq_work *work))
{
    *work = (struct irq_work){.func = func};
}

static inline bool irq_work_queue(struct irq_work *work)
{
    mock.pending = work;
    return true;
}

static inline void mock_enable_irqs(void)
{
    struct irq_work *work = mock.pending;
    mock.irqs_off = false;
    mock.pending = NULL;
    if (work)
        work->func(work);
}

static inline void irq_work_sync(struct irq_work *work)
{
    if (mock.pending == work)
        mock_enable_irqs();
}

#endif /* CAIRN_TESTS_KERNEL_MOCK_H */
