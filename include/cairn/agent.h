/* SPDX-License-Identifier: MIT */
/*
 * Agent: what a continuous sampling of a machine keeps and adds: a folder of profiles, one for each
 * window of time, within bounds; and labels that say which service or container a sample is of.
 *
 *     0000000042-20261201T043000.123Z-10000.new.pb.gz
 *     number     start, UTC           ms    state
 *
 * A window appears whole or not at all, and its state changes by one rename(2): whatever ends the
 * writer, no window is lost that was there, and none is sent twice.
 *
 * Threads: one object, one thread at a time. Several processes may have one folder open.
 */
#ifndef CAIRN_AGENT_H
#define CAIRN_AGENT_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>
#include <cairn/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Later versions add values at the end. */
enum cairn_window_state {
    CAIRN_WINDOW_KEPT,    /* NAME.pb.gz: was sent, or is to be sent nowhere */
    CAIRN_WINDOW_NEW,     /* NAME.new.pb.gz: waits for a store */
    CAIRN_WINDOW_SENDING, /* NAME.sending.pb.gz */
    CAIRN_WINDOW_DOUBT,   /* NAME.doubt.pb.gz: the store may have it; it is not sent again */
    CAIRN_WINDOW_REFUSED, /* NAME.refused.pb.gz: the store does not take it */
    CAIRN_WINDOW_DAMAGED, /* NAME.damaged.pb.gz: cannot be read */
    CAIRN_WINDOW_STATES
};

struct cairn_window {
    uint64_t number;  /* rises by one with each window of a folder */
    int64_t start_ns; /* since 1970 */
    uint64_t length_ns;
    uint64_t bytes;
    enum cairn_window_state state;
};

struct cairn_spool;

/*
 * Opens a folder; its owner alone may read it where it is made here. `writes`: as the only writer
 * (CAIRN_E_ACCESS: another process writes there), which takes up what a writer before it left: half
 * files are removed, and what was being sent is in doubt.
 */
CAIRN_API int cairn_spool_open(const char *folder, int writes, struct cairn_spool **ret_spool,
                               struct cairn_err *err);
/* Accepts NULL. A writer says by it that nothing is missing behind its last window. */
CAIRN_API void cairn_spool_close(struct cairn_spool *spool);

/* The same in a child after fork(2): the parent is the writer yet. */
CAIRN_API void cairn_spool_leave(struct cairn_spool *spool);

/* Nonzero: the writer before this one did not close the folder, so that its last window is missing.
 */
CAIRN_API int cairn_spool_was_cut(const struct cairn_spool *spool);

/* The process that writes to the folder now; 0: none does. */
CAIRN_API int cairn_spool_writer(const struct cairn_spool *spool);

/* Writes one window: the bytes of a file. Its number is set here. CAIRN_E_IO: the disk is full, for
 * example; nothing was changed, and the same may be tried again. */
CAIRN_API int cairn_spool_add(struct cairn_spool *spool, struct cairn_window *window,
                              const void *bytes, struct cairn_err *err);

/* All windows by number. Borrowed until the next call. */
CAIRN_API int cairn_spool_list(struct cairn_spool *spool, const struct cairn_window **ret_windows,
                               size_t *ret_n, struct cairn_err *err);

/* The path of a window's file, in `buf`; returns its length, as snprintf does. */
CAIRN_API int cairn_spool_path(const struct cairn_spool *spool, const struct cairn_window *window,
                               char *buf, size_t size);

/* Another state. CAIRN_E_MISSING: another process has changed or removed it meanwhile. */
CAIRN_API int cairn_spool_mark(struct cairn_spool *spool, struct cairn_window *window,
                               enum cairn_window_state state, struct cairn_err *err);

/* What was removed to keep the bounds. */
struct cairn_spool_trimmed {
    uint64_t n;           /* windows */
    uint64_t n_unsent;    /* of them: that a store was to have, and does not have */
    uint64_t left_bytes;  /* of the windows that stay */
    size_t n_left_unsent; /* of them, those that wait for a store */
};
/* Removes the oldest windows: those that ended more than `keep_ns` before `now_ns`, and as many as
 * `max_bytes` asks for; 0: no bound. The newest one stays. */
CAIRN_API int cairn_spool_trim(struct cairn_spool *spool, int64_t now_ns, uint64_t keep_ns,
                               uint64_t max_bytes, struct cairn_spool_trimmed *ret_trimmed,
                               struct cairn_err *err);

/* Where a process runs, by its cgroup; each is "" where the path does not say it. */
struct cairn_workload {
    char unit[256];            /* of systemd: nginx.service, session-3.scope */
    char container[65];        /* its ID, 64 hexadecimal digits */
    char pod_uid[37];          /* of Kubernetes */
    char name[256];            /* of the container */
    char image[256];           /* as its runtime's files say */
    char pod[256], space[256]; /* name and namespace of the pod, by the kubelet's folders */
};
/* By the path alone, such as "/kubepods.slice/.../cri-containerd-ID.scope". */
CAIRN_API void cairn_workload_of(const char *cgroup, struct cairn_workload *ret_workload);
/* And by the files of Docker and the kubelet, below `root` ("" is this machine). */
CAIRN_API void cairn_workload_find(const char *cgroup, const char *root,
                                   struct cairn_workload *ret_workload);

/* Set .size to sizeof; zero means the default. */
struct cairn_agent_labels {
    size_t size;
    const char *const *environment; /* variables of processes that become labels */
    size_t n_environment;
    size_t max_sets;  /* of labels in one profile; 0: 1000 */
    const char *root; /* where runtimes' files are; NULL: this machine's */
};
/*
 * Gives each sample the labels unit, container, container_name, image, pod, namespace and pod_uid
 * by its label cgroup, and those of the environment of its process. The labels tid and thread go.
 * Where there are more sets than `max_sets`, the label pid goes, then all but process, then that,
 * and `ret_n_lost` is how many sets there were more. CAIRN_E_NOMEM.
 */
CAIRN_API int cairn_agent_label(struct cairn_profile *profile,
                                const struct cairn_agent_labels *labels, uint64_t *ret_n_lost,
                                struct cairn_err *err);

/* Takes one label from all samples, and sums those that are equal then. CAIRN_E_NOMEM. */
CAIRN_API int cairn_agent_unlabel(struct cairn_profile *profile, const char *key,
                                  struct cairn_err *err);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_AGENT_H */
