/* SPDX-License-Identifier: MIT */
/*
 * Workload: what a cgroup's path says, as systemd, Docker, Podman, containerd, CRI-O and the
 * kubelet write it; and what their files add. Others chose all of it: it is bounded and cleaned.
 *
 *     /system.slice/nginx.service
 *     /system.slice/docker-ID.scope                      /docker/ID
 *     /machine.slice/libpod-ID.scope/container
 *     /kubepods.slice/.../kubepods-burstable-podUID.slice/cri-containerd-ID.scope
 *     /kubepods/burstable/podUID/ID
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include <cairn/agent.h>

#include "base/file.h"

enum { ID_DIGITS = 64, UID_SIZE = 36, CONFIG_BYTES_MAX = 1 << 20, PATH_BYTES = 1024 };

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* 64 hexadecimal digits with nothing of that kind on either side. */
static bool find_id(const char *part, size_t size, char *ret_id)
{
    size_t run = 0;
    for (size_t i = 0; i <= size; i++) {
        if (i < size && is_hex(part[i])) {
            run++;
            continue;
        }
        if (run == ID_DIGITS) {
            memcpy(ret_id, part + i - ID_DIGITS, ID_DIGITS);
            ret_id[ID_DIGITS] = 0;
            return true;
        }
        run = 0;
    }
    return false;
}

/* "pod" and a UID, whose dashes systemd's names have as underscores. */
static bool find_pod(const char *part, size_t size, char *ret_uid)
{
    for (size_t i = 0; i + 3 + UID_SIZE <= size; i++) {
        size_t n = 0;
        if (strncmp(part + i, "pod", 3) != 0)
            continue;
        for (; n < UID_SIZE; n++) {
            char c = part[i + 3 + n] == '_' ? '-' : part[i + 3 + n];
            bool is_dash = n == 8 || n == 13 || n == 18 || n == 23;
            if (is_dash ? c != '-' : !is_hex(c))
                break;
            ret_uid[n] = c;
        }
        ret_uid[n] = 0;
        if (n == UID_SIZE)
            return true;
    }
    *ret_uid = 0;
    return false;
}

static bool ends(const char *part, size_t size, const char *ending)
{
    size_t n = strlen(ending);
    return size > n && memcmp(part + size - n, ending, n) == 0;
}

/* Control characters, and bytes that are no ASCII, become "_". */
static void copy_text(char *to, size_t to_size, const char *from, size_t size)
{
    size_t n = size < to_size - 1 ? size : to_size - 1;
    for (size_t i = 0; i < n; i++)
        to[i] = from[i] > ' ' && from[i] < 0x7f ? from[i] : '_';
    to[n] = 0;
}

void cairn_workload_of(const char *cgroup, struct cairn_workload *ret_workload)
{
    struct cairn_workload *w = ret_workload;
    *w = (struct cairn_workload){0};
    for (const char *part = cgroup; *part;) {
        part += strspn(part, "/");
        size_t size = strcspn(part, "/");
        bool has_id = find_id(part, size, w->container);
        if (!*w->pod_uid)
            (void)find_pod(part, size, w->pod_uid);
        if (!has_id && (ends(part, size, ".service") || ends(part, size, ".scope")))
            copy_text(w->unit, sizeof w->unit, part, size);
        part += size;
    }
}

/* The text of the first "key":"value" in a piece of JSON; what has an escape in it counts as
 * unknown. */
static void find_value(const char *json, const char *key, char *ret_value, size_t size)
{
    char mark[64];
    snprintf(mark, sizeof mark, "\"%s\":\"", key);
    const char *at = strstr(json, mark);
    if (!at)
        return;
    at += strlen(mark);
    size_t n = strcspn(at, "\"\\");
    if (at[n] == '"')
        copy_text(ret_value, size, at, n);
}

/* Docker's own file of a container. Its configuration holds "Image" once more, as the one to
 * start from. */
static void read_docker(const char *root, struct cairn_workload *w)
{
    char path[PATH_BYTES];
    struct cairn_buffer text = {0};
    snprintf(path, sizeof path, "%s/var/lib/docker/containers/%s/config.v2.json", root,
             w->container);
    if (cairn_file_slurp_regular(path, CONFIG_BYTES_MAX, &text, NULL) == CAIRN_OK) {
        const char *config = strstr(cairn_buffer_text(&text), "\"Config\":{");
        find_value(cairn_buffer_text(&text), "Name", w->name, sizeof w->name);
        find_value(config ? config : "", "Image", w->image, sizeof w->image);
        if (w->name[0] == '/')
            memmove(w->name, w->name + 1, strlen(w->name));
    }
    cairn_buffer_done(&text);
}

/* What the interface of the kubelet to runtimes hands over: containerd keeps it beside the task. */
static void read_containerd(const char *root, struct cairn_workload *w)
{
    char path[PATH_BYTES];
    struct cairn_buffer text = {0};
    snprintf(path, sizeof path,
             "%s/run/containerd/io.containerd.runtime.v2.task/k8s.io/%s/config.json", root,
             w->container);
    if (cairn_file_slurp_regular(path, CONFIG_BYTES_MAX, &text, NULL) == CAIRN_OK) {
        const char *json = cairn_buffer_text(&text);
        find_value(json, "io.kubernetes.cri.container-name", w->name, sizeof w->name);
        find_value(json, "io.kubernetes.cri.image-name", w->image, sizeof w->image);
        find_value(json, "io.kubernetes.cri.sandbox-name", w->pod, sizeof w->pod);
        find_value(json, "io.kubernetes.cri.sandbox-namespace", w->space, sizeof w->space);
    }
    cairn_buffer_done(&text);
}

/* The kubelet's folders of logs are called NAMESPACE_POD_UID; neither name holds a "_". */
static void read_kubelet(const char *root, struct cairn_workload *w)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/var/log/pods", root);
    DIR *list = opendir(path);
    const struct dirent *entry;
    while (list && (entry = readdir(list))) {
        const char *pod = strchr(entry->d_name, '_');
        const char *uid = pod ? strchr(pod + 1, '_') : NULL;
        if (!uid || strcmp(uid + 1, w->pod_uid) != 0)
            continue;
        copy_text(w->space, sizeof w->space, entry->d_name, (size_t)(pod - entry->d_name));
        copy_text(w->pod, sizeof w->pod, pod + 1, (size_t)(uid - pod - 1));
        break;
    }
    if (list)
        closedir(list);
}

void cairn_workload_find(const char *cgroup, const char *root, struct cairn_workload *ret_workload)
{
    cairn_workload_of(cgroup, ret_workload);
    if (*ret_workload->container)
        read_docker(root, ret_workload);
    if (*ret_workload->container && *ret_workload->pod_uid)
        read_containerd(root, ret_workload);
    if (*ret_workload->pod_uid && !*ret_workload->pod)
        read_kubelet(root, ret_workload);
}
