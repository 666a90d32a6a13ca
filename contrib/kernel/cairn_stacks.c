// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * cairn_stacks: dumps stacks to the kernel log where a probe is hit, or on request.
 *
 *	insmod cairn_stacks.ko probe=do_sys_openat2,vfs_read+0x10 comm=myapp limit=5
 *	insmod cairn_stacks.ko tracepoint=sched_process_exit
 *	echo my_tag > /dev/cairn_stacks
 *
 * A write to the device dumps the stacks of the thread that writes, under the written tag.
 * "irq TAG" dumps them from an interrupt of that thread, "worker TAG" those of a kernel thread.
 */
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

static unsigned int limit = 10;
#define CAIRN_STACK_LIMIT READ_ONCE(limit)
#include "cairn_stack_dump.h"

enum { PROBES_MAX = 16, NAME_BYTES = 128 };

static char *probe, *tracepoint, *comm;
static int pid;
module_param(probe, charp, 0444);
MODULE_PARM_DESC(probe, "functions to probe: FUNC or FUNC+OFFSET, separated by commas");
module_param(tracepoint, charp, 0444);
MODULE_PARM_DESC(tracepoint, "a tracepoint of the kernel itself, such as sched_process_exit");
module_param(comm, charp, 0444);
MODULE_PARM_DESC(comm, "only threads of this name");
module_param(pid, int, 0644);
MODULE_PARM_DESC(pid, "only this thread or process");
module_param(limit, uint, 0644);
MODULE_PARM_DESC(limit, "dumps a second that are printed, 0 for any number (10)");

static bool is_wanted(void)
{
	int only = READ_ONCE(pid);

	if (only && current->pid != only && current->tgid != only)
		return false;
	return !comm || strncmp(current->comm, comm, TASK_COMM_LEN) == 0;
}

/* ---- kprobes ---- */

static struct kprobe probes[PROBES_MAX];
static char names[PROBES_MAX][NAME_BYTES];
static int n_probes;

/* Who called a function that has run no instruction yet; 0: unknown. */
static unsigned long caller_of(const struct kprobe *p, const struct pt_regs *regs)
{
	unsigned long caller = 0;

	if (p->offset)
		return 0;
#if defined(CONFIG_ARM64)
	caller = regs->regs[30];
#elif defined(CONFIG_X86_64)
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 8, 0)
	if (get_kernel_nofault(caller, (unsigned long *)regs->sp))
		return 0;
#else
	if (probe_kernel_read(&caller, (void *)regs->sp, sizeof(caller)))
		return 0;
#endif
#endif
	return caller;
}

static bool is_trap(const struct kprobe *p)
{
#ifdef CONFIG_KPROBES_ON_FTRACE
	return !(p->flags & KPROBE_FLAG_FTRACE);
#else
	return true;
#endif
}

static int on_probe(struct kprobe *p, struct pt_regs *regs)
{
	if (is_wanted())
		cairn_dump_stacks_at(p->symbol_name, (unsigned long)p->addr, caller_of(p, regs),
				     is_trap(p));
	return 0;
}

/*
 * With a handler behind it a probe stays a trap. As a jump, which the kernel makes of probes inside
 * of functions, it hides the functions that the stack's unwinder is to find.
 */
static void after_probe(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static void remove_probes(void)
{
	while (n_probes > 0)
		unregister_kprobe(&probes[--n_probes]);
}

/* "FUNC" or "FUNC+OFFSET", which is cut apart. */
static int add_probe(char *name)
{
	struct kprobe *p = &probes[n_probes];
	char *plus = strchr(name, '+');
	unsigned int offset = 0;
	int code;

	if (plus) {
		*plus = 0;
		code = kstrtouint(plus + 1, 0, &offset);
		if (code) {
			pr_err("cairn_stacks: probe=%s+%s: no number behind the +\n", name,
			       plus + 1);
			return code;
		}
	}
	p->symbol_name = name;
	p->offset = offset;
	p->pre_handler = on_probe;
	p->post_handler = offset ? after_probe : NULL;
	code = register_kprobe(p);
	if (code) {
		pr_err("cairn_stacks: probe=%s: the kernel refuses it (%d)%s\n", name, code,
		       code == -ENOENT ? "; it has no such function" :
		       code == -EILSEQ ? "; no instruction begins there" : "");
		return code;
	}
	n_probes++;
	return 0;
}

static int add_probes(const char *list)
{
	int code = 0;

	while (!code && list && *list) {
		size_t size = strcspn(list, ",");

		if (n_probes == PROBES_MAX || size >= NAME_BYTES) {
			pr_err("cairn_stacks: probe: at most %d functions, of %d bytes each\n",
			       PROBES_MAX, NAME_BYTES - 1);
			return -E2BIG;
		}
		memcpy(names[n_probes], list, size);
		names[n_probes][size] = 0;
		code = size ? add_probe(names[n_probes]) : 0;
		list += size + (list[size] == ',');
	}
	return code;
}

/* ---- the tracepoint ---- */

#if defined(CONFIG_TRACEPOINTS) && !defined(CONFIG_CFI_CLANG) && !defined(CONFIG_CFI)
static struct tracepoint *found;

/* A tracepoint passes its own arguments behind the first; all ABIs let a callee ignore them. */
static void on_tracepoint(void *data)
{
	if (is_wanted())
		cairn_dump_stacks(tracepoint);
}

static void look_at(struct tracepoint *tp, void *name)
{
	if (strcmp(tp->name, name) == 0)
		found = tp;
}

static int add_tracepoint(void)
{
	int code;

	if (!tracepoint || !*tracepoint)
		return 0;
	for_each_kernel_tracepoint(look_at, tracepoint);
	if (!found) {
		pr_err("cairn_stacks: tracepoint=%s: the kernel itself has none of that name\n",
		       tracepoint);
		return -ENOENT;
	}
	code = tracepoint_probe_register(found, (void *)on_tracepoint, NULL);
	if (code) {
		pr_err("cairn_stacks: tracepoint=%s: the kernel refuses it (%d)\n", tracepoint,
		       code);
		found = NULL;
	}
	return code;
}

static void remove_tracepoint(void)
{
	if (!found)
		return;
	tracepoint_probe_unregister(found, (void *)on_tracepoint, NULL);
	tracepoint_synchronize_unregister();
}
#else
static int add_tracepoint(void)
{
	if (!tracepoint || !*tracepoint)
		return 0;
	pr_err("cairn_stacks: tracepoint: this kernel has none, or checks what they call (CFI)\n");
	return -EOPNOTSUPP;
}

static void remove_tracepoint(void)
{
}
#endif

/* ---- /dev/cairn_stacks ---- */

/* A dump that another context makes while its writer waits. */
struct request {
	struct irq_work irq;
	struct work_struct worker;
	char tag[CAIRN_STACK_TAG_BYTES];
};

static void in_interrupt_of_writer(struct irq_work *irq)
{
	cairn_dump_stacks(container_of(irq, struct request, irq)->tag);
}

static void in_kernel_thread(struct work_struct *worker)
{
	cairn_dump_stacks(container_of(worker, struct request, worker)->tag);
}

static ssize_t cairn_stacks_write(struct file *file, const char __user *from, size_t size,
				  loff_t *pos)
{
	struct request request;
	char text[CAIRN_STACK_TAG_BYTES + 8];
	size_t n = min(size, sizeof(text) - 1);

	if (copy_from_user(text, from, n))
		return -EFAULT;
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	if (strncmp(text, "irq ", 4) == 0) {
		strscpy(request.tag, text + 4, sizeof(request.tag));
		init_irq_work(&request.irq, in_interrupt_of_writer);
		irq_work_queue(&request.irq);
		irq_work_sync(&request.irq);
	} else if (strncmp(text, "worker ", 7) == 0) {
		strscpy(request.tag, text + 7, sizeof(request.tag));
		INIT_WORK_ONSTACK(&request.worker, in_kernel_thread);
		schedule_work(&request.worker);
		flush_work(&request.worker);
		destroy_work_on_stack(&request.worker);
	} else {
		cairn_dump_stacks(text);
	}
	return size;
}

static const struct file_operations cairn_stacks_operations = {
	.owner = THIS_MODULE,
	.write = cairn_stacks_write,
};

static struct miscdevice cairn_stacks_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "cairn_stacks",
	.mode = 0600,
	.fops = &cairn_stacks_operations,
};

static int __init cairn_stacks_init(void)
{
	int code = misc_register(&cairn_stacks_device);

	if (code)
		return code;
	code = add_tracepoint();
	if (!code)
		code = add_probes(probe);
	if (code) {
		remove_probes();
		remove_tracepoint();
		misc_deregister(&cairn_stacks_device);
		cairn_dump_stacks_exit();
	}
	return code;
}

static void __exit cairn_stacks_exit(void)
{
	remove_probes();
	remove_tracepoint();
	misc_deregister(&cairn_stacks_device);
	cairn_dump_stacks_exit();
}

module_init(cairn_stacks_init);
module_exit(cairn_stacks_exit);
MODULE_DESCRIPTION("Kernel and user stacks in the kernel log, for cairn resolve");
MODULE_LICENSE("Dual MIT/GPL");
