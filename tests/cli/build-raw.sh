# u64 keys 3, 1, 2 and u32 values 30, 10, 20.
printf '\003\0\0\0\0\0\0\0\001\0\0\0\0\0\0\0\002\0\0\0\0\0\0\0' >keys.bin
printf '\036\0\0\0\012\0\0\0\024\0\0\0' >values.bin
copse build keys.bin --values values.bin --key-type u64 --value-type u32 -o a.copse --no-timing | mask
try range a.copse
copse build keys.bin --format raw --key-type u64 -o a.copse --no-timing | mask
try range a.copse
printf '\003\0\0\0\036\0\0\0\001\0\0\0\012\0\0\0' >pairs.bin
copse build - --pairs --key-type i32 --value-type i32 -o a.copse -q <pairs.bin >/dev/null
try range a.copse
try build keys.bin --format raw -o b.copse
try build keys.bin --pairs --key-type u64 -o b.copse
try build keys.bin --pairs --values values.bin --key-type u64 --value-type u32 -o b.copse
try build keys.bin --format raw --key-type u64 --key id -o b.copse
try build values.bin --format raw --key-type u64 -o b.copse
try build keys.bin --values keys.bin --key-type u32 --value-type u64 -o b.copse
try build keys.bin --values pairs.bin --key-type u64 --value-type u32 -o b.copse
try build keys.bin --pairs --key-type u64 --value-type u64 -o b.copse
try build - --values - --key-type u64 --value-type u64 -o b.copse
try build keys.bin --values nowhere.bin --key-type u64 --value-type u64 -o b.copse
# 1.0 and NaN
printf '\0\0\0\0\0\0\360\077\0\0\0\0\0\0\370\177' >nan.bin
try build nan.bin --format raw --key-type f64 -o b.copse
: >empty.bin
copse build empty.bin --format raw --key-type f64 -o b.copse --no-timing | mask
try range b.copse
ls
