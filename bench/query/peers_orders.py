"""DuckDB, pandas and polars on the tables that bench_orders writes: a JSON line for each question and peer. bench/query/run calls it in a
virtual environment that has them.

    peers_orders.py FOLDER ROWS THREADS REPEAT
"""
import os
import sys

FOLDER, ROWS, THREADS, REPEAT = sys.argv[1], *(int(x) for x in sys.argv[2:5])
os.environ["POLARS_MAX_THREADS"] = str(THREADS)

import duckdb  # noqa: E402: polars reads the number of threads when it is imported
import pandas as pd  # noqa: E402
import polars as pl  # noqa: E402

from contest import race  # noqa: E402


def weigh(rows):
    """The answer of bench_orders: all numbers, each row as often as its number says."""
    return sum((i + 1) * float(x) for i, row in enumerate(rows) for x in row if not isinstance(x, str))


SQL = {
    "summary": "select count(*), sum(quantity), sum(price), avg(discount) from lines where shipdate <= '1998-09-02' "
               "group by flag, status order by flag, status",
    "forecast": "select count(*), sum(price) from lines where shipdate between '1994-01-01' and '1994-12-31' "
                "and discount between 0.05 and 0.07 and quantity < 24",
    "largest": "select orderkey, totalprice from orders where orderdate between '1995-01-01' and '1995-03-31' "
               "order by totalprice desc limit 10",
    "late": "select count(*) from orders where orderdate between '1993-07-01' and '1993-09-30' and exists "
            "(select 1 from lines where lines.orderkey = orders.orderkey and late = 1) group by priority order by priority",
    "segments": "select count(*), sum(totalprice) from orders join customers using (custkey) "
                "where orderdate between '1996-01-01' and '1996-12-31' group by segment order by segment",
    "all pairs": "select count(*), sum(price), sum(totalprice) from lines join orders using (orderkey)",
}


def in_duckdb():
    """Questions by case."""
    duck = duckdb.connect()
    duck.execute(f"set threads to {THREADS}")
    for name in ("customers", "orders", "lines"):
        duck.execute(f"create table {name} as from read_csv('{FOLDER}/{name}.csv')")
    return {case: lambda text=text: duck.execute(text).fetchall() for case, text in SQL.items()}


def in_pandas():
    customers = pd.read_csv(f"{FOLDER}/customers.csv")
    orders = pd.read_csv(f"{FOLDER}/orders.csv", parse_dates=["orderdate"])
    lines = pd.read_csv(f"{FOLDER}/lines.csv", parse_dates=["shipdate"])

    def summary():
        some = lines[lines.shipdate <= "1998-09-02"]
        return some.groupby(["flag", "status"]).agg(n=("price", "size"), q=("quantity", "sum"), p=("price", "sum"),
                                                    d=("discount", "mean")).itertuples(index=False)

    def forecast():
        some = lines[lines.shipdate.between("1994-01-01", "1994-12-31") & lines.discount.between(0.05, 0.07) &
                     (lines.quantity < 24)]
        return [(len(some), some.price.sum())]

    def largest():
        some = orders[orders.orderdate.between("1995-01-01", "1995-03-31")]
        return some.nlargest(10, "totalprice")[["orderkey", "totalprice"]].itertuples(index=False)

    def late():
        some = orders[orders.orderdate.between("1993-07-01", "1993-09-30")]
        some = some[some.orderkey.isin(lines.orderkey[lines.late == 1])]
        return some.groupby("priority").size().to_frame().itertuples(index=False)

    def segments():
        some = orders[orders.orderdate.between("1996-01-01", "1996-12-31")].merge(customers, on="custkey")
        return some.groupby("segment").agg(n=("totalprice", "size"), p=("totalprice", "sum")).itertuples(index=False)

    def pairs():
        both = lines[["orderkey", "price"]].merge(orders[["orderkey", "totalprice"]], on="orderkey")
        return [(len(both), both.price.sum(), both.totalprice.sum())]

    return dict(zip(SQL, (summary, forecast, largest, late, segments, pairs)))


def in_polars():
    customers, orders, lines = (pl.read_csv(f"{FOLDER}/{name}.csv", try_parse_dates=True)
                                for name in ("customers", "orders", "lines"))
    day, c = (lambda y, m, d: pl.date(y, m, d)), pl.col
    questions = (
        lambda: lines.lazy().filter(c("shipdate") <= day(1998, 9, 2)).group_by("flag", "status")
        .agg(pl.len(), c("quantity").sum(), c("price").sum(), c("discount").mean()).sort("flag", "status"),
        lambda: lines.lazy().filter(c("shipdate").is_between(day(1994, 1, 1), day(1994, 12, 31)),
                                    c("discount").is_between(0.05, 0.07), c("quantity") < 24)
        .select(pl.len(), c("price").sum()),
        lambda: orders.lazy().filter(c("orderdate").is_between(day(1995, 1, 1), day(1995, 3, 31)))
        .sort("totalprice", descending=True).select("orderkey", "totalprice").limit(10),
        lambda: orders.lazy().filter(c("orderdate").is_between(day(1993, 7, 1), day(1993, 9, 30)))
        .join(lines.lazy().filter(c("late") == 1), on="orderkey", how="semi").group_by("priority").agg(pl.len())
        .sort("priority"),
        lambda: orders.lazy().filter(c("orderdate").is_between(day(1996, 1, 1), day(1996, 12, 31)))
        .join(customers.lazy(), on="custkey").group_by("segment").agg(pl.len(), c("totalprice").sum()).sort("segment"),
        lambda: lines.lazy().join(orders.lazy(), on="orderkey").select(pl.len(), c("price").sum(), c("totalprice").sum()),
    )
    return {case: lambda question=question: question().collect().rows() for case, question in zip(SQL, questions)}


def main():
    everybody = [("duckdb", THREADS, in_duckdb()), ("pandas", 1, in_pandas()), ("polars", THREADS, in_polars())]
    for case in SQL:
        race(case, [(who, threads, lambda run=questions[case]: weigh(run())) for who, threads, questions in everybody], ROWS, REPEAT)


main()
