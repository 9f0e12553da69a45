"""DuckDB and pandas on the data of bench/query/query.c: a JSON line for each case and peer. bench/query/run calls it in a virtual
environment that has both.

    peers.py ROWS THREADS REPEAT
"""
import sys

import duckdb
import numpy as np
import pandas as pd

from contest import race

ROWS, THREADS, REPEAT = (int(x) for x in sys.argv[1:4])
SPREAD = 1000000


def mix(x):
    """A number from a seed, the same as in query.c."""
    with np.errstate(over="ignore"):
        x = x.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def ticks(seed):
    rows = np.arange(ROWS, dtype=np.uint64)
    return pd.DataFrame({"time": np.cumsum(mix(rows + np.uint64(seed)) % np.uint64(20)).astype(np.int64),
                         "symbol": (mix(rows + np.uint64(seed + ROWS)) % np.uint64(1000)).astype(np.int32)})


rows = np.arange(ROWS, dtype=np.uint64)
numbers = pd.DataFrame({"id": ((rows * np.uint64(2654435761)) % np.uint64(ROWS)).astype(np.int64),
                        "a": (mix(rows) % np.uint64(SPREAD)).astype(np.int32),
                        "b": (mix(rows + np.uint64(ROWS)) % np.uint64(SPREAD)).astype(np.int32),
                        "amount": (mix(rows + np.uint64(2 * ROWS)) % np.uint64(10000)).astype(np.int64)})
n = ROWS // 10
few_rows = np.arange(n, dtype=np.uint64)
few = pd.DataFrame({"id": ((few_rows * np.uint64(2654435761)) % np.uint64(n)).astype(np.int32),
                    "rank": few_rows.astype(np.int64)})
duck = duckdb.connect()
duck.execute(f"set threads to {THREADS}")
duck.execute("create table t as select * from numbers")
duck.execute("create table few as select * from few")

duck.execute("create table t_apart as select a * 977 as a, amount from t")
duck.execute("create table few_apart as select id * 977 as id, rank from few")

CONJUNCTION = "select count(*) + sum(amount) from t where a between 500000 and 509999 and b between 200000 and 209999"
JOIN = "select sum(few.rank) + sum(t.amount) from t join few on few.id = t.a"
PAIRS = "select t.rowid as l, few.rowid as r from t join few on few.id = t.a"
APART = "select sum(few_apart.rank) + sum(t_apart.amount) from t_apart join few_apart on few_apart.id = t_apart.a"


def in_duckdb(text):
    return lambda: duck.execute(text).fetchone()[0]


def duckdb_pairs():
    """An array of the row numbers of each side, as copse_join gives."""
    pairs = duck.execute(PAIRS).fetchnumpy()
    return pairs["r"].sum() + numbers.amount.to_numpy()[pairs["l"]].sum()


def pandas_conjunction():
    found = numbers[numbers.a.between(500000, 509999) & numbers.b.between(200000, 209999)]
    return len(found) + found.amount.sum()


def pandas_join():
    joined = numbers[["a", "amount"]].merge(few, left_on="a", right_on="id")
    return joined["rank"].sum() + joined.amount.sum()


race("conjunction", [("duckdb", THREADS, in_duckdb(CONJUNCTION)), ("pandas", 1, pandas_conjunction)], ROWS, REPEAT)
race("join", [("duckdb", THREADS, in_duckdb(JOIN)), ("duckdb pairs", THREADS, duckdb_pairs), ("pandas", 1, pandas_join)], ROWS, REPEAT)
race("join apart", [("duckdb", THREADS, in_duckdb(APART))], ROWS, REPEAT)
duck.close()
del numbers, few


def asof(left, right, order=False):
    """merge_asof wants rows in order; who has not sorts them first."""
    if order:
        left, right = left.sort_values("time", kind="stable"), right.sort_values("time", kind="stable")
    return pd.merge_asof(left, right, on="time", by="symbol").row.sum()


for form in ("asof", "asof shuffled", "asof floats", "asof strings"):
    trades, quotes = ticks(1), ticks(2000000000)
    if form == "asof shuffled":
        moved = ((rows * np.uint64(2654435761)) % np.uint64(ROWS)).astype(np.int64)
        trades, quotes = (side.iloc[moved].reset_index(drop=True) for side in (trades, quotes))
    quotes["row"] = np.arange(ROWS, dtype=np.int64)
    for side in (trades, quotes):
        if form == "asof floats":
            side["time"] = side.time.astype(np.float64)
        if form == "asof strings":
            side["symbol"] = pd.Series(np.array([f"S{s:04d}" for s in range(1000)])[side.symbol], dtype="str")
    race(form, [("pandas", 1, lambda: asof(trades, quotes, form == "asof shuffled"))], ROWS, REPEAT)
