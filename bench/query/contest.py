"""What peers.py and peers_orders.py share: contestants that take turns with each other and with the program of copse."""
import json
import resource
import statistics
import sys
import time


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def race(case, contestants, rows, repeat):
    """Contestants: name, threads, and what runs and returns an answer. A turn begins when a line comes, as in race.h."""
    times = {who: ([], []) for who, _, _ in contestants}
    answers = {}
    for _ in range(repeat):
        print(json.dumps({"next": case}), flush=True)
        if not sys.stdin.readline():
            sys.exit(1)
        for who, _, run in contestants:
            begun, used = time.perf_counter(), cpu()
            answers[who] = float(run())
            for spent, took in zip(times[who], (time.perf_counter() - begun, cpu() - used)):
                spent.append(took)
    for who, threads, _ in contestants:
        wall, processor = (statistics.median(spent) for spent in times[who])
        print(json.dumps({"case": case, "who": who, "rows": rows, "threads": threads, "seconds": wall, "cpu_seconds": processor,
                          "answer": answers[who]}), flush=True)
