make_orders
for command in get range count sum info verify; do
    key=
    [ $command = get ] && key=1
    try $command nowhere.copse $key
done
try info .
: >empty
try info empty
try info orders.csv
head -c 40 orders.copse >short
try info short
cp orders.copse long
echo more >>long
try info long
# One flipped byte in the keys.
cp orders.copse flipped
printf '\377' | dd of=flipped bs=1 seek=$(($(stat -c %s flipped) / 2)) conv=notrunc status=none
copse get flipped 1001 2>message
echo "exit $?"
grep -c damaged message
