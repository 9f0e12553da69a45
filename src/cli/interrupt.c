/* Ctrl-C: remembered, so that a command can stop in an orderly way and leave no half-written file. */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli.h"

#include <signal.h>
#include <string.h>
#include <time.h>

/* One Ctrl-C may arrive twice, from the terminal and from a program that passes it on. */
#define SAME_NANOSECONDS 500000000

static volatile sig_atomic_t interrupted;
static struct timespec first; /* the handler's own */

static bool is_the_same(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!interrupted) first = now;
    return (int64_t)(now.tv_sec - first.tv_sec) * 1000000000 + (now.tv_nsec - first.tv_nsec) < SAME_NANOSECONDS;
}

static void on_interrupt(int signal_number)
{
    if (!is_the_same()) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
    interrupted = 1;
}

bool cli_interrupted(void)
{
    return interrupted != 0;
}

void cli_interrupts_forget(void)
{
    interrupted = 0;
}

void cli_catch_interrupts(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}
