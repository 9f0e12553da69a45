#!/usr/bin/env python3
"""Prints examples/orders.csv, the sample table of the README: 1,000 orders of a small shop in one year.

Usage: examples/make_orders.py > examples/orders.csv
The seed is fixed, so the same table comes out each time. Order numbers rise with gaps (cancelled orders), a few customers
order often, most amounts are small and some are large. Amounts are whole cents, so that sums are exact.
"""
import datetime
import random

ORDERS = 1000
CUSTOMERS = 180
FIRST_DAY = datetime.date(2025, 1, 2)


def main():
    # Python promises the sequence of random() for a seed, but not those of its other functions.
    draw = random.Random(20250102).random
    order, day = 1000, 0.0
    print("id,date,customer,amount")
    for _ in range(ORDERS):
        order += 1 + int(draw() * draw() * 6)
        day += draw() * 700 / ORDERS
        date = FIRST_DAY + datetime.timedelta(days=int(day))
        customer = 100 + int(CUSTOMERS * draw() * draw())
        amount = 900 + int(60000 * draw() * draw() * draw())
        print(f"{order},{date},{customer},{amount}")


if __name__ == "__main__":
    main()
