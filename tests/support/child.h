/* A child process for what a test must not do to itself: forks, limits. */
#ifndef TESTS_CHILD_H
#define TESTS_CHILD_H

#include <stdio.h>
#include <stdlib.h>
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

/* Runs body in a child, which ends with 0 unless an expectation fails; one that hangs is ended after so many seconds. Returns the
 * status of waitpid. */
static inline int child_run(unsigned seconds, void (*body)(void *argument), void *argument)
{
    int status = -1;
    (void)fflush(NULL);
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
