# What people have in columns: names with commas and quotes, e-mail addresses, URLs, UUIDs, other scripts. All of it comes back.
cat >people.csv <<'END'
id,name,email,page,visits
3f2504e0-4f89-11d3-9a0c-0305e82c3301,"O'Brien, Conan",conan@example.com,https://example.com/a?b=1&c=%20d#top,12
9b2d6f3e-0c1a-4d5e-8f70-1a2b3c4d5e6f,"Smith, ""Bob""",bob.smith+news@example.org,http://user:pw@host:8080/x,7
00000000-0000-0000-0000-000000000000,Zoë Müller,zoe@münchen.example,https://example.com/,3
ffffffff-ffff-ffff-ffff-ffffffffffff,Ærøskøbing,port@example.dk,ftp://example.dk/~havn/,5
6ba7b810-9dad-11d1-80b4-00c04fd430c8, padded ,pad@example.com,https://example.com,9
6ba7b811-9dad-11d1-80b4-00c04fd430c8,"two
lines",lb@example.com,https://example.com/%E6%9D%B1,1
6ba7b812-9dad-11d1-80b4-00c04fd430c8,東京,tokyo@example.jp,https://example.jp/東京,4
6ba7b813-9dad-11d1-80b4-00c04fd430c8,C:\tmp\new,backslash@example.com,file:///C:/tmp,2
END
for column in id name email page; do
    copse build people.csv -k $column -v visits -o a.copse >/dev/null || continue
    copse range a.copse
    copse dump a.copse >a.csv
    copse build a.csv --key-type text -o b.copse -q >/dev/null && cmp a.copse b.copse && echo same
done
# What range prints can be asked again, where no control character is in it.
copse build people.csv -k page -v visits -o a.copse -q >/dev/null
copse range a.copse | cut -f1 | copse get a.copse - --strict | cmp - <(copse range a.copse) && echo same
copse build people.csv -k name -v visits -o a.copse -q >/dev/null
try get a.copse "O'Brien, Conan" 'Smith, "Bob"' ' padded ' padded 東京 $'two\nlines' 'C:\tmp\new'
try dump a.copse --json
printf 'Smith, "Bob"\tZoë Müller\n' | copse count a.copse -
# Numbers among text: a few texts among numbers are bad, a few numbers among texts are text; whoever knows says so.
(echo code,n; seq 5 | sed 's/$/,1/'; echo X7,2) >few.csv
try build few.csv -o c.copse
try build few.csv -o c.copse --on-bad skip -q --json --no-timing | mask
try build few.csv -o c.copse --key-type text -q --json --no-timing | mask
copse range c.copse
(echo code,n; printf 'X%d,1\n' 1 2 3; echo 7,2) | copse build - -o c.copse >/dev/null && copse range c.copse
printf 'zip,n\n02134,1\n10001,2\n' | copse build - --key-type bytes -o c.copse -q >/dev/null && copse range c.copse
# The 1,000 rows that a guess takes are numbers, and then comes text.
(echo k,v; seq 1500 | sed 's/$/,1/'; echo late,2) | copse build - -o d.copse
# Empty cells and the words of --null are no keys, in quotes or not.
printf 'country,n\nNO,1\n"",2\nNA,3\n  ,4\n"NULL",5\n' >countries.csv
try build countries.csv -o e.copse
try build countries.csv -o e.copse --on-bad skip -q --json --no-timing | mask
copse dump e.copse
try build countries.csv -o e.copse --null '' --on-bad skip -q --json --no-timing | mask
copse dump e.copse
printf 'country,n\nNO,1\nNA,3\n' | copse build - -o e.copse -q
# A first line that may be data.
printf 'alice,5\nbob,7\n' | copse build - -o f.copse --json --no-timing | mask
# Cells that were not cut are no text that somebody meant.
printf 'k;v\nx;2\n' | copse build - -d , -o f.copse
printf 'k;v\nx;2\n' | copse build - -d , -o f.copse --key-type text -q --json --no-timing | mask
# The longest key, and a longer one.
long=$(head -c 65536 /dev/zero | tr '\0' a)
printf 'k,v\nb,1\n%s,2\n' "$long" >long.csv
copse build long.csv -o g.copse -q >/dev/null && copse get g.copse "$long" --bare && copse first g.copse | wc -c
copse info g.copse | grep key
copse get g.copse --json - <<<"$long" | wc -c
printf '%s\n' b "${long}a" | copse get g.copse -
copse get g.copse "${long}a"
printf 'k,v\nb,1\n%sa,2\nc,3\n' "$long" >longer.csv
try build longer.csv -o h.copse
copse build longer.csv -o h.copse --on-bad skip >/dev/null && copse range h.copse
