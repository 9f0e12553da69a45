/* Ctrl-C: remembered, so that a command can stop in an orderly way and leave no half-written file. */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* One Ctrl-C may arrive twice, from the terminal and from a program that passes it on. */
#define SAME_NANOSECONDS 500000000

static volatile sig_atomic_t interrupted;
static volatile sig_atomic_t impatient;
static volatile sig_atomic_t on_terminal; /* where a progress bar may stand */
static const char *volatile left_behind;  /* a file to remove */
static struct timespec first;             /* the handler's own */

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
    if (impatient) alarm(1);
}

/* Only what a signal handler may call. */
static void on_alarm(int signal_number)
{
    static const char note[] = "\ncopse bench: interrupted; what was measured until then is above\n";
    (void)signal_number;
    if (left_behind) (void)unlink(left_behind);
    (void)!write(STDERR_FILENO, note + !on_terminal, sizeof note - 1 - !on_terminal);
    _exit(CLI_INTERRUPTED);
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

void cli_interrupts_end(bool on)
{
    on_terminal = isatty(STDERR_FILENO);
    signal(SIGALRM, on ? on_alarm : SIG_DFL);
    impatient = on;
    if (!on) alarm(0);
}

void cli_interrupts_remove(const char *file)
{
    left_behind = file;
}
