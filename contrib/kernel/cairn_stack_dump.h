/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * cairn_dump_stacks("tag"): writes the kernel's and the user's stack of the calling thread to the
 * kernel log. One header for Linux 4.14 and newer, in built-in code and in modules:
 *
 *	#include "cairn_stack_dump.h"
 *	...
 *	cairn_dump_stacks("binder_ioctl");
 *
 * `cairn resolve LOG` names what it prints:
 *
 *	binder_ioctl: pid=110 comm=u_cxx tgid=108 cpu=1 #17
 *	binder_ioctl: kernel backtrace: #17
 *	binder_ioctl:   [k00] binder_ioctl+0x3c/0x9a0 #17
 *	binder_ioctl: user backtrace (raw user PCs): #17
 *	binder_ioctl:   [u00] 0x00007f592a8da5b9 /usr/lib/libwork.so+0x5b9 #17
 *
 * The number at the end tells dumps apart that two CPUs print at the same time. The file and the
 * offset in it follow a user address if the mmap lock is free. A stack that was printed before is
 * one line: "same as #12".
 *
 * It may be called wherever printk() may, in interrupts and NMIs too; printk() is wrong under the
 * scheduler's own locks (a run queue's), where it may wake a thread. It does not sleep, waits for
 * no lock of its own, and allocates nothing; user memory is read without faults. A dump of 30 lines
 * takes 0.15 s on a serial console of 115,200 baud. At most CAIRN_STACK_LIMIT dumps a second are
 * printed; the log says how many were not.
 *
 * The user's stack is walked by frame pointers, on x86 and arm64. Code without frame pointers ends
 * the stack early, or hides a caller. Other CPUs need CONFIG_USER_STACKTRACE_SUPPORT and built-in
 * code: modules cannot call the kernel's own walk. Without CONFIG_STACKTRACE the call does nothing.
 *
 * To change these, define them before the header is included, the same everywhere in a module.
 */
#ifndef CAIRN_STACK_DUMP_H
#define CAIRN_STACK_DUMP_H

#ifndef CAIRN_STACK_ENTRIES
#define CAIRN_STACK_ENTRIES 64	/* frames of each part */
#endif
#ifndef CAIRN_STACK_LIMIT
#define CAIRN_STACK_LIMIT 10	/* dumps a second; 0: any number. May be a variable */
#endif
#ifndef CAIRN_STACK_LEVEL
#define CAIRN_STACK_LEVEL KERN_INFO
#endif
#ifndef CAIRN_STACK_SLOTS
#define CAIRN_STACK_SLOTS 4	/* dumps at the same time, of 4 KB each; more are not printed */
#endif

#include <linux/kernel.h>

#ifndef CONFIG_STACKTRACE

static inline void cairn_dump_stacks(const char *tag)
{
}

#else

#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/hardirq.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(4, 11, 0)
#include <linux/sched/task_stack.h>
#endif

#if defined(CONFIG_X86) || defined(CONFIG_ARM64)
#define CAIRN_STACK_OWN_WALK 1
#elif defined(CONFIG_USER_STACKTRACE_SUPPORT) && !defined(MODULE)
#define CAIRN_STACK_KERNEL_WALK 1
#endif

enum {
	CAIRN_STACK_OWN_FRAMES = 8,	/* of the kernel's stack, above the caller: ours */
	CAIRN_STACK_FILES = 16,		/* different files in one stack */
	CAIRN_STACK_TEXT_BYTES = 2048,	/* for their names */
	CAIRN_STACK_PATH_BYTES = 256,
	CAIRN_STACK_TAG_BYTES = 64,
	CAIRN_STACK_SEEN = 64,
	CAIRN_STACK_AGAIN = 256,	/* dumps after which a stack is printed whole again */
	CAIRN_STACK_LOCK_TRIES = 10000,
};

enum { CAIRN_STACK_NO_NAME = 0xff, CAIRN_STACK_NO_CODE = 0xfe };

/* What all files of the kernel, or of one module, share. */
struct cairn_stack_log {
	raw_spinlock_t lock;	/* only ever tried: a probe may run inside of any other lock */
	unsigned long number;	/* of the last dump */
	unsigned long second;	/* jiffies at which the current second began */
	unsigned int n_in_second;
	bool is_told;		/* that dumps are left out now */
	atomic_t n_left_out;	/* since the last dump */
	struct {
		u64 hash;
		unsigned long number;
	} seen[CAIRN_STACK_SEEN];
};

/* Weak, so that several files of a module number their dumps together. */
extern struct cairn_stack_log cairn_stack_log;
struct cairn_stack_log cairn_stack_log __weak = {
	.lock = __RAW_SPIN_LOCK_UNLOCKED(cairn_stack_log.lock),
};

/* One dump. It is collected first and printed then: no lock is held while printing. */
struct cairn_stack_slot {
	unsigned long owner;	/* cairn_stack_context(); 0: free */
	unsigned long number;
	int cpu;
	bool is_32_bit;
	unsigned int n_kernel, n_user, n_files, text_used;
	unsigned long kernel[CAIRN_STACK_ENTRIES + CAIRN_STACK_OWN_FRAMES];
	unsigned long user[CAIRN_STACK_ENTRIES];
	unsigned long off[CAIRN_STACK_ENTRIES];	/* in the file */
	u8 file[CAIRN_STACK_ENTRIES];		/* index, or NO_NAME, NO_CODE */
	const void *file_key[CAIRN_STACK_FILES];
	u16 file_text[CAIRN_STACK_FILES];	/* in `text` */
	char text[CAIRN_STACK_TEXT_BYTES];
	char tag[CAIRN_STACK_TAG_BYTES];
	char comm[TASK_COMM_LEN];
	struct mm_struct *locked;		/* read lock that `unlock` gives back; NULL: none */
#ifdef CONFIG_IRQ_WORK
	struct irq_work unlock;
#endif
};

static struct cairn_stack_slot cairn_stack_slots[CAIRN_STACK_SLOTS];

/* The thread, or the CPU and what interrupted the thread there. Never 0. */
static unsigned long cairn_stack_context(void)
{
	unsigned long level = in_nmi() ? 3 : hardirq_count() ? 2 : in_serving_softirq() ? 1 : 0;

	if (!level)
		return (unsigned long)current;
	return (unsigned long)raw_smp_processor_id() << 2 | level;
}

/* NULL: all are in use, or printk() itself was traced and led here again. */
static struct cairn_stack_slot *cairn_stack_claim(void)
{
	unsigned long context = cairn_stack_context();
	int i;

	for (i = 0; i < CAIRN_STACK_SLOTS; i++)
		if (READ_ONCE(cairn_stack_slots[i].owner) == context)
			return NULL;
	for (i = 0; i < CAIRN_STACK_SLOTS; i++)
		if (cmpxchg(&cairn_stack_slots[i].owner, 0UL, context) == 0)
			return &cairn_stack_slots[i];
	return NULL;
}

static void cairn_stack_release(struct cairn_stack_slot *slot)
{
	smp_store_release(&slot->owner, 0UL);
}

static bool cairn_stack_lock(unsigned long *flags)
{
	int i;

	local_irq_save(*flags);
	for (i = 0; i < CAIRN_STACK_LOCK_TRIES; i++) {
		if (raw_spin_trylock(&cairn_stack_log.lock))
			return true;
		cpu_relax();
	}
	local_irq_restore(*flags);
	return false;
}

static void cairn_stack_unlock(unsigned long flags)
{
	raw_spin_unlock(&cairn_stack_log.lock);
	local_irq_restore(flags);
}

/* Names come from users: nothing in them may end a line of the log. */
static void cairn_stack_copy_clean(char *to, size_t size, const char *from)
{
	size_t i;

	for (i = 0; i + 1 < size && from[i]; i++)
		to[i] = (unsigned char)from[i] < ' ' || from[i] == 0x7f ? '?' : from[i];
	to[i] = 0;
}

/* The number of a dump that may be printed; 0: it is left out, and counted. */
static unsigned long cairn_stack_admit(const char *tag)
{
	unsigned int most_in_second = CAIRN_STACK_LIMIT;
	unsigned long number = 0, flags;
	bool is_first = false;

	if (cairn_stack_lock(&flags)) {
		if (time_after_eq(jiffies, cairn_stack_log.second + HZ) ||
		    time_before(jiffies, cairn_stack_log.second)) {
			cairn_stack_log.second = jiffies;
			cairn_stack_log.n_in_second = 0;
		}
		if (!most_in_second || cairn_stack_log.n_in_second < most_in_second) {
			cairn_stack_log.n_in_second++;
			cairn_stack_log.is_told = false;
			number = ++cairn_stack_log.number;
		} else if (!cairn_stack_log.is_told) {
			cairn_stack_log.is_told = is_first = true;
		}
		cairn_stack_unlock(flags);
	}
	if (!number)
		atomic_inc(&cairn_stack_log.n_left_out);
	if (is_first)
		printk(CAIRN_STACK_LEVEL
		       "%s: more than %u dumps a second, the rest is only counted\n",
		       tag, most_in_second);
	return number;
}

/* ---- the kernel's part ---- */

/* The index at which the caller's own stack begins: `caller` is a return address into it. */
static unsigned int cairn_stack_find_start(const struct cairn_stack_slot *slot, unsigned int n,
					   unsigned long caller)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (slot->kernel[i] == caller)
			return i;
	return 0;
}

static unsigned int cairn_stack_save(unsigned long *entries, unsigned int max)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 2, 0)
	return stack_trace_save(entries, max, 0);
#else
	struct stack_trace trace = { .entries = entries, .max_entries = max };

	save_stack_trace(&trace);
	/* Some of these end their list so. */
	while (trace.nr_entries && entries[trace.nr_entries - 1] == ULONG_MAX)
		trace.nr_entries--;
	return trace.nr_entries;
#endif
}

static void cairn_stack_take_kernel(struct cairn_stack_slot *slot, unsigned long caller)
{
	unsigned int n = cairn_stack_save(slot->kernel, ARRAY_SIZE(slot->kernel));
	unsigned int start = cairn_stack_find_start(slot, n, caller);

	n -= start;
	memmove(slot->kernel, slot->kernel + start, n * sizeof(*slot->kernel));
	slot->n_kernel = min_t(unsigned int, n, CAIRN_STACK_ENTRIES);
}

/*
 * The same for a kprobe: the handler's own frames end where the probed function begins. An unwinder
 * that goes by frame pointers misses who called it, for it has made no frame yet.
 */
static void cairn_stack_take_probed(struct cairn_stack_slot *slot, unsigned long probed,
				    unsigned long caller)
{
	unsigned int n = cairn_stack_save(slot->kernel, ARRAY_SIZE(slot->kernel));
	unsigned int i;

	/* x86 has the address behind the breakpoint there, or behind the call of ftrace. */
	for (i = 0; i < n; i++)
		if (slot->kernel[i] - probed <= 5 || (caller && slot->kernel[i] == caller))
			break;
	if (i < n && i >= 2) {
		unsigned int from = slot->kernel[i] - probed <= 5 ? i + 1 : i;
		unsigned int to = 0;

		slot->kernel[to++] = probed;
		if (caller && (from == n || slot->kernel[from] != caller))
			slot->kernel[to++] = caller;
		n -= from;
		memmove(slot->kernel + to, slot->kernel + from, n * sizeof(*slot->kernel));
		n += to;
	}
	slot->n_kernel = min_t(unsigned int, n, CAIRN_STACK_ENTRIES);
}

/* ---- the user's part ---- */

#ifdef CAIRN_STACK_OWN_WALK

#ifdef CONFIG_ARM64
static unsigned long cairn_stack_user_ip(const struct pt_regs *regs) { return regs->pc; }
static unsigned long cairn_stack_user_fp(const struct pt_regs *regs) { return regs->regs[29]; }
static unsigned long cairn_stack_user_sp(const struct pt_regs *regs) { return regs->sp; }
static bool cairn_stack_is_32_bit(const struct pt_regs *regs) { return compat_user_mode(regs); }
/* Without the signature (PAC) of a return address and the tag (TBI, MTE) of a pointer. */
#define cairn_stack_bare(value) ((value) & (TASK_SIZE_64 - 1))
/* Compilers agree on no frame: the kernel's own walk knows one that none of them makes today. */
#define CAIRN_STACK_WALKS_32_BIT false
#else
static unsigned long cairn_stack_user_ip(const struct pt_regs *regs) { return regs->ip; }
static unsigned long cairn_stack_user_fp(const struct pt_regs *regs) { return regs->bp; }
static unsigned long cairn_stack_user_sp(const struct pt_regs *regs) { return regs->sp; }
#define cairn_stack_bare(value) (value)
#define CAIRN_STACK_WALKS_32_BIT true
#ifdef CONFIG_X86_64
static bool cairn_stack_is_32_bit(const struct pt_regs *regs) { return regs->cs == __USER32_CS; }
#else
static bool cairn_stack_is_32_bit(const struct pt_regs *regs) { return false; }
#endif
#endif

static bool cairn_stack_read(void *to, unsigned long from, size_t size)
{
	const void __user *user = (const void __user *)from;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 8, 0)
	return copy_from_user_nofault(to, user, size) == 0;
#else
	bool is_read;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 0, 0)
	if (!access_ok(user, size))
#else
	if (!access_ok(VERIFY_READ, user, size))
#endif
		return false;
	pagefault_disable();
	is_read = __copy_from_user_inatomic(to, user, size) == 0;
	pagefault_enable();
	return is_read;
#endif
}

/* A frame: the caller's frame pointer, and the return address. */
static bool cairn_stack_read_frame(const struct cairn_stack_slot *slot, unsigned long fp,
				   unsigned long *next, unsigned long *ret)
{
	if (slot->is_32_bit) {
		u32 words[2];

		if (fp % sizeof(words[0]) || !cairn_stack_read(words, fp, sizeof(words)))
			return false;
		*next = words[0];
		*ret = words[1];
	} else {
		unsigned long words[2];

		if (fp % sizeof(words[0]) || !cairn_stack_read(words, fp, sizeof(words)))
			return false;
		*next = cairn_stack_bare(words[0]);
		*ret = cairn_stack_bare(words[1]);
	}
	return *ret != 0;
}

static void cairn_stack_walk(struct cairn_stack_slot *slot, const struct pt_regs *regs,
			     bool pc_only)
{
	unsigned long fp = cairn_stack_bare(cairn_stack_user_fp(regs));
	unsigned long low = cairn_stack_bare(cairn_stack_user_sp(regs));
	unsigned long next, ret;

	slot->user[slot->n_user++] = cairn_stack_user_ip(regs);
	if (pc_only || (slot->is_32_bit && !CAIRN_STACK_WALKS_32_BIT))
		return;
	/* Frames lead up the stack: what goes down or round is none. */
	while (slot->n_user < CAIRN_STACK_ENTRIES && fp >= low &&
	       cairn_stack_read_frame(slot, fp, &next, &ret)) {
		slot->user[slot->n_user++] = ret;
		low = fp + 1;
		fp = next;
	}
}
#endif /* CAIRN_STACK_OWN_WALK */

/* Why there is no user part, as the log says it; NULL: there is one. */
static const char *cairn_stack_take_user(struct cairn_stack_slot *slot, bool pc_only)
{
	struct pt_regs *regs = task_pt_regs(current);

	if (current->flags & PF_KTHREAD)
		return "no user backtrace: a kernel thread";
	if (!current->mm)
		return "no user backtrace: the program has no memory yet, or no more";
	if (!user_mode(regs) || !instruction_pointer(regs))
		return "no user backtrace: the thread was never in user mode";
#if defined(CAIRN_STACK_OWN_WALK)
	slot->is_32_bit = cairn_stack_is_32_bit(regs);
	cairn_stack_walk(slot, regs, pc_only);
	return NULL;
#elif defined(CAIRN_STACK_KERNEL_WALK)
	if (pc_only) {
		slot->user[slot->n_user++] = instruction_pointer(regs);
	} else {
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 2, 0)
		slot->n_user = stack_trace_save_user(slot->user, CAIRN_STACK_ENTRIES);
#else
		struct stack_trace trace = { .entries = slot->user,
					     .max_entries = CAIRN_STACK_ENTRIES };

		save_stack_trace_user(&trace);
		while (trace.nr_entries && slot->user[trace.nr_entries - 1] == ULONG_MAX)
			trace.nr_entries--;
		slot->n_user = trace.nr_entries;
#endif
	}
	return NULL;
#elif defined(CONFIG_USER_STACKTRACE_SUPPORT)
	return "no user backtrace: modules cannot call stack_trace_save_user()";
#else
	return "user stack trace not supported (CONFIG_USER_STACKTRACE_SUPPORT is disabled)";
#endif
}

/* ---- files of the user's part ---- */

/* The path without a lock: its last four parts. */
static void cairn_stack_short_path(struct file *file, char *to, size_t size)
{
	scnprintf(to, size, "%pD4", file);
}

/*
 * d_path() may wait for a lock of path names, which the caller can hold: it is asked only where no
 * spinlock is held. Without CONFIG_PREEMPT_COUNT the kernel does not know.
 */
static void cairn_stack_path(struct file *file, char *to, size_t size)
{
#ifndef CONFIG_PREEMPT_RT
	char *path;

	if (preemptible() && current->fs) {
		path = d_path(&file->f_path, to, size);
		if (!IS_ERR(path)) {
			memmove(to, path, strlen(path) + 1);
			return;
		}
	}
#endif
	cairn_stack_short_path(file, to, size);
}

/* The number of the mapping's name. */
static u8 cairn_stack_file(struct cairn_stack_slot *slot, struct vm_area_struct *vma)
{
	const void *key = vma->vm_file ? (const void *)vma->vm_file : (const void *)vma;
	size_t left = CAIRN_STACK_TEXT_BYTES - slot->text_used;
	char *to = slot->text + slot->text_used;
	const char *name = NULL;
	unsigned int i;

	for (i = 0; i < slot->n_files; i++)
		if (slot->file_key[i] == key)
			return i;
	if (i == CAIRN_STACK_FILES || left < CAIRN_STACK_PATH_BYTES)
		return CAIRN_STACK_NO_NAME;
	if (vma->vm_file) {
		cairn_stack_path(vma->vm_file, to, CAIRN_STACK_PATH_BYTES);
	} else {
		if (vma->vm_ops && vma->vm_ops->name)
			name = vma->vm_ops->name(vma);	/* [vdso] */
		scnprintf(to, CAIRN_STACK_PATH_BYTES, "%s", name ? name : "[anon]");
	}
	cairn_stack_copy_clean(to, CAIRN_STACK_PATH_BYTES, to);
	slot->file_key[i] = key;
	slot->file_text[i] = slot->text_used;
	slot->text_used += strlen(to) + 1;
	slot->n_files++;
	return i;
}

/* With the mmap lock. An address outside of code ends the stack. */
static void cairn_stack_find_files(struct cairn_stack_slot *slot, struct mm_struct *mm)
{
	unsigned int i;

	for (i = 0; i < slot->n_user; i++) {
		unsigned long va = slot->user[i], inside = va - (i > 0);
		struct vm_area_struct *vma = find_vma(mm, inside);

		if (!vma || inside < vma->vm_start || !(vma->vm_flags & VM_EXEC)) {
			slot->file[i] = CAIRN_STACK_NO_CODE;
			slot->n_user = i + 1;
			return;
		}
		slot->file[i] = cairn_stack_file(slot, vma);
		slot->off[i] = va - vma->vm_start + (vma->vm_pgoff << PAGE_SHIFT);
		if (!vma->vm_file)
			slot->off[i] = va - vma->vm_start;
	}
}

static bool cairn_stack_try_mmap_lock(struct mm_struct *mm)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 8, 0)
	return mmap_read_trylock(mm);
#else
	return down_read_trylock(&mm->mmap_sem);
#endif
}

static void cairn_stack_mmap_unlock(struct mm_struct *mm)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 8, 0)
	mmap_read_unlock(mm);
#else
	up_read(&mm->mmap_sem);
#endif
}

#if defined(CONFIG_IRQ_WORK) && (defined(CONFIG_X86) || defined(CONFIG_ARM64)) && \
	!defined(CONFIG_PREEMPT_RT) && LINUX_VERSION_CODE >= KERNEL_VERSION(5, 8, 0)
#define CAIRN_STACK_UNLOCKS_LATER 1

static void cairn_stack_unlock_later(struct irq_work *work)
{
	struct cairn_stack_slot *slot = container_of(work, struct cairn_stack_slot, unlock);
	struct mm_struct *mm = slot->locked;

	smp_store_release(&slot->locked, (struct mm_struct *)NULL);
	mmap_read_unlock_non_owner(mm);
}
#endif

/*
 * The end of a read lock may wake a writer, for which the kernel takes locks of its scheduler. Code
 * that holds one has disabled interrupts. There the lock ends in an interrupt of this CPU, right
 * after interrupts are enabled again.
 */
static void cairn_stack_name_files(struct cairn_stack_slot *slot)
{
	struct mm_struct *mm = current->mm;
	bool is_later = irqs_disabled();

#ifdef CAIRN_STACK_UNLOCKS_LATER
	if (is_later && smp_load_acquire(&slot->locked))
		return;
#else
	if (is_later)
		return;
#endif
	if (!cairn_stack_try_mmap_lock(mm))
		return;
	cairn_stack_find_files(slot, mm);
	if (!is_later) {
		cairn_stack_mmap_unlock(mm);
		return;
	}
#ifdef CAIRN_STACK_UNLOCKS_LATER
	slot->locked = mm;
	/* For lockdep it ends here. */
	rwsem_release(&mm->mmap_lock.dep_map, _RET_IP_);
	if (!slot->unlock.func)
		init_irq_work(&slot->unlock, cairn_stack_unlock_later);
	irq_work_queue(&slot->unlock);
#endif
}

/* ---- stacks that were printed before ---- */

static u64 cairn_stack_hash(u64 hash, const void *bytes, size_t size)
{
	const u8 *p = bytes;

	while (size--)
		hash = (hash ^ *p++) * 0x100000001b3ULL;
	return hash;
}

/* Stacks are equal in one process alone: another one may have other files at these addresses. */
static u64 cairn_stack_content(const struct cairn_stack_slot *slot)
{
	u64 hash = 0xcbf29ce484222325ULL;
	unsigned int i;

	hash = cairn_stack_hash(hash, &current->tgid, sizeof(current->tgid));
	hash = cairn_stack_hash(hash, slot->tag, strlen(slot->tag));
	hash = cairn_stack_hash(hash, slot->kernel, slot->n_kernel * sizeof(*slot->kernel));
	for (i = 0; i < slot->n_user; i++) {
		hash = cairn_stack_hash(hash, &slot->user[i], sizeof(slot->user[i]));
		hash = cairn_stack_hash(hash, &slot->file[i], sizeof(slot->file[i]));
		hash = cairn_stack_hash(hash, &slot->off[i], sizeof(slot->off[i]));
	}
	return cairn_stack_hash(hash, slot->text, slot->text_used);
}

/* The number of the dump that printed this stack a short while ago; 0: print it. */
static unsigned long cairn_stack_seen_before(const struct cairn_stack_slot *slot)
{
	u64 hash = cairn_stack_content(slot);
	unsigned long before = 0, flags;

	if (!cairn_stack_lock(&flags))
		return 0;
	{
		typeof(&cairn_stack_log.seen[0]) seen =
			&cairn_stack_log.seen[(u32)(hash >> 32) % CAIRN_STACK_SEEN];

		if (seen->number && seen->hash == hash &&
		    slot->number - seen->number <= CAIRN_STACK_AGAIN) {
			before = seen->number;
		} else {
			seen->hash = hash;
			seen->number = slot->number;
		}
	}
	cairn_stack_unlock(flags);
	return before;
}

/* ---- printing ---- */

#define cairn_stack_say(slot, format, ...) \
	printk(CAIRN_STACK_LEVEL "%s: " format " #%lu\n", (slot)->tag, ##__VA_ARGS__, \
	       (slot)->number)

static void cairn_stack_say_head(const struct cairn_stack_slot *slot)
{
	int n_left_out = atomic_xchg(&cairn_stack_log.n_left_out, 0);

	if (n_left_out)
		printk(CAIRN_STACK_LEVEL "%s: %d dumps before #%lu were not printed\n", slot->tag,
		       n_left_out, slot->number);
	cairn_stack_say(slot, "pid=%d comm=%s tgid=%d cpu=%d%s", current->pid, slot->comm,
			current->tgid, slot->cpu, slot->is_32_bit ? " bits=32" : "");
}

static void cairn_stack_say_kernel(const struct cairn_stack_slot *slot, bool is_first_exact)
{
	unsigned int i;

	cairn_stack_say(slot, "kernel backtrace:");
	for (i = 0; i < slot->n_kernel; i++) {
		if (i == 0 && is_first_exact)
			cairn_stack_say(slot, "  [k%02u] %pS (probe)", i,
					(void *)slot->kernel[i]);
		else
			cairn_stack_say(slot, "  [k%02u] %pB", i, (void *)slot->kernel[i]);
	}
}

static void cairn_stack_say_user_frame(const struct cairn_stack_slot *slot, unsigned int i)
{
	if (slot->file[i] == CAIRN_STACK_NO_CODE)
		cairn_stack_say(slot, "  [u%02u] 0x%016lx no code", i, slot->user[i]);
	else if (slot->file[i] == CAIRN_STACK_NO_NAME)
		cairn_stack_say(slot, "  [u%02u] 0x%016lx", i, slot->user[i]);
	else
		cairn_stack_say(slot, "  [u%02u] 0x%016lx %s+0x%lx", i, slot->user[i],
				slot->text + slot->file_text[slot->file[i]], slot->off[i]);
}

static void cairn_stack_say_user(const struct cairn_stack_slot *slot, const char *missing)
{
	unsigned int i;

	if (missing) {
		cairn_stack_say(slot, "%s", missing);
		return;
	}
	cairn_stack_say(slot, "user backtrace (raw user PCs):");
	for (i = 0; i < slot->n_user; i++)
		cairn_stack_say_user_frame(slot, i);
}

/* ---- one dump ---- */

enum { CAIRN_STACK_IN_THREAD, CAIRN_STACK_IN_IRQ, CAIRN_STACK_IN_NMI };

/* `by_trap`: the trap of a probe led here, which counts as an NMI on x86. */
static int cairn_stack_where(bool by_trap)
{
	unsigned int n_nmi = (preempt_count() & NMI_MASK) / NMI_OFFSET;
	unsigned int n_irq = hardirq_count() / HARDIRQ_OFFSET;

	if (by_trap && n_nmi && n_irq) {
		n_nmi--;
		n_irq--;
	}
	if (n_nmi)
		return CAIRN_STACK_IN_NMI;
	return n_irq || in_serving_softirq() ? CAIRN_STACK_IN_IRQ : CAIRN_STACK_IN_THREAD;
}

/* `probed` is 0, or the address of a probe; then `caller` is who called that function, or 0. */
static void cairn_stack_dump(const char *tag, unsigned long probed, unsigned long caller,
			     bool by_trap)
{
	struct cairn_stack_slot *slot = cairn_stack_claim();
	int where = cairn_stack_where(by_trap);
	unsigned long before;
	const char *missing;

	if (!slot) {
		atomic_inc(&cairn_stack_log.n_left_out);
		return;
	}
	cairn_stack_copy_clean(slot->tag, sizeof(slot->tag), tag && *tag ? tag : "cairn");
	slot->number = cairn_stack_admit(slot->tag);
	if (!slot->number)
		goto out;
	slot->cpu = raw_smp_processor_id();
	slot->is_32_bit = false;
	slot->n_user = slot->n_files = slot->text_used = 0;
	memset(slot->file, CAIRN_STACK_NO_NAME, sizeof(slot->file));
	memset(slot->off, 0, sizeof(slot->off));
	cairn_stack_copy_clean(slot->comm, sizeof(slot->comm), current->comm);
	if (probed)
		cairn_stack_take_probed(slot, probed, caller);
	else
		cairn_stack_take_kernel(slot, caller);
	missing = cairn_stack_take_user(slot, where == CAIRN_STACK_IN_NMI);
	if (!missing && where == CAIRN_STACK_IN_THREAD)
		cairn_stack_name_files(slot);
	before = cairn_stack_seen_before(slot);
	cairn_stack_say_head(slot);
	if (before) {
		cairn_stack_say(slot, "same as #%lu", before);
	} else {
		cairn_stack_say_kernel(slot, probed);
		cairn_stack_say_user(slot, missing);
	}
out:
	cairn_stack_release(slot);
}

static noinline __maybe_unused void cairn_stack_dump_here(const char *tag)
{
	cairn_stack_dump(tag, 0, _RET_IP_, false);
}

/* The barrier keeps the call from being a jump, which would hide the caller. */
#define cairn_dump_stacks(tag) \
	do { \
		cairn_stack_dump_here(tag); \
		barrier(); \
	} while (0)

/* From a kprobe's handler; `caller` as in cairn_stack_dump(). */
static __maybe_unused void cairn_dump_stacks_at(const char *tag, unsigned long probed,
						unsigned long caller, bool by_trap)
{
	cairn_stack_dump(tag, probed, caller, by_trap);
}

/* Before a module goes: nothing of it runs later. */
static __maybe_unused void cairn_dump_stacks_exit(void)
{
	int n_left_out = atomic_xchg(&cairn_stack_log.n_left_out, 0);
	unsigned int i;

	for (i = 0; i < CAIRN_STACK_SLOTS; i++) {
#ifdef CAIRN_STACK_UNLOCKS_LATER
		irq_work_sync(&cairn_stack_slots[i].unlock);
#endif
	}
	if (n_left_out)
		printk(CAIRN_STACK_LEVEL "cairn: %d dumps before the end were not printed\n",
		       n_left_out);
}

#endif /* CONFIG_STACKTRACE */
#endif /* CAIRN_STACK_DUMP_H */
