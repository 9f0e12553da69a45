/* A child process for what a test must not do to itself: forks, limits. */
#ifndef TESTS_CHILD_H
#define TESTS_CHILD_H

#include "simt/sanitizers.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child, where cmocka's assertions would go on as a second copy of the program. */
#define CHILD_EXPECT(condition)                                                                                        \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            (void)fprintf(stderr, "%s:%d: in the child: %s\n", __FILE__, __LINE__, #condition);                        \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

/* How many threads of this process are not asleep, the calling one among them. */
static inline int child_threads_awake(void)
{
    int awake = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[300], line[512] = "";
        (void)snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
        FILE *file = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (!file) continue;
        const char *state = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
        awake += state && strncmp(state, ") S", 3) != 0;
        (void)fclose(file);
    }
    if (tasks) (void)closedir(tasks);
    return awake;
}

/* Runs body in a child, which ends with 0 unless an expectation fails; one that hangs is ended after so many seconds. Returns the
 * status of waitpid. */
static inline int child_run(unsigned seconds, void (*body)(void *argument), void *argument)
{
    int status = -1;
    (void)fflush(NULL);
    /* AddressSanitizer's allocator, unlike the C library's, leaves the locks of other threads locked in the child, and a thread
     * that is just starting takes some. */
    while (COPSE_ASAN && child_threads_awake() > 1) (void)usleep(1000);
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(seconds);
        body(argument);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return status;
}

#endif
