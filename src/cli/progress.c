/* The progress bar. It is drawn at most ten times a second, on standard error, and only where that is a terminal; where it was
 * asked for elsewhere, it is a line a second. */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli.h"

#include <string.h>
#include <unistd.h>

#define BAR_WIDTH    30
#define DRAW_SECONDS 0.1
#define LINE_SECONDS 1.0
#define QUIET_START  0.3 /* work that is over sooner shows nothing */

void cli_progress_start(cli_progress *progress, bool quiet)
{
    memset(progress, 0, sizeof *progress);
    progress->visible = !quiet && isatty(STDERR_FILENO) == 1;
    progress->begun = cli_clock();
}

void cli_progress_force(cli_progress *progress)
{
    progress->plain = !progress->visible;
    progress->visible = true;
}

/* Where lines cannot be overwritten. */
static void print_line(cli_progress *progress, double now, uint64_t done, uint64_t total)
{
    char amount[CLI_NUMBER_SIZE], all[CLI_NUMBER_SIZE];
    if (now - progress->shown < LINE_SECONDS) return;
    progress->shown = now;
    fprintf(stderr, "%s %s", progress->what, cli_group(done, amount));
    if (total > 0) fprintf(stderr, " of %s", cli_group(total, all));
    fputc('\n', stderr);
    fflush(stderr);
}

static void draw_bar(const cli_progress *progress, double now, uint64_t done, uint64_t total)
{
    char bar[BAR_WIDTH + 1], left[CLI_NUMBER_SIZE] = "";
    double share = done >= total ? 1 : (double)done / (double)total;
    int filled = (int)(share * BAR_WIDTH);
    memset(bar, '.', BAR_WIDTH);
    memset(bar, '#', (size_t)filled);
    bar[BAR_WIDTH] = '\0';
    double seconds = share > 0.02 ? (now - progress->begun) * (1 - share) / share : 0;
    if (seconds >= 120)
        snprintf(left, sizeof left, "%.0f min", seconds / 60);
    else if (seconds >= 1)
        snprintf(left, sizeof left, "%.0f s", seconds);
    fprintf(stderr, "\r\033[K%-20s [%s] %3d%%%s%s%s", progress->what, bar, (int)(share * 100), *left ? "  " : "", left,
            *left ? " left" : "");
}

void cli_progress_show(cli_progress *progress, const char *what, uint64_t done, uint64_t total)
{
    if (!progress->visible) return;
    double now = cli_clock();
    if (strncmp(progress->what, what, sizeof progress->what - 1) != 0) {
        snprintf(progress->what, sizeof progress->what, "%s", what);
        progress->begun = now;
    }
    if (progress->plain) {
        print_line(progress, now, done, total);
        return;
    }
    if (now - progress->shown < DRAW_SECONDS || (!progress->drawn && now - progress->begun < QUIET_START)) return;
    progress->shown = now;
    progress->drawn = true;
    if (total > 0) {
        draw_bar(progress, now, done, total);
    } else {
        char amount[CLI_NUMBER_SIZE];
        fprintf(stderr, "\r\033[K%-20s %s", progress->what, cli_group(done, amount));
    }
    fflush(stderr);
}

void cli_progress_clear(cli_progress *progress)
{
    if (!progress->drawn) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress->drawn = false;
    progress->what[0] = '\0';
}

int cli_progress_callback(void *user, const char *what, uint64_t done, uint64_t total)
{
    cli_progress_show(user, what, done, total);
    return cli_interrupted() ? 1 : 0;
}
