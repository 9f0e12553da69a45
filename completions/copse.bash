# bash completion of copse. Written by scripts/completions: edit that one.
_copse() {
    local commands='demo devices query shell import build append upsert erase get first last range count sum min max avg dump info verify bench help'
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} options='' words=''
    # bash cuts --option=word in three.
    if [ "$current" = = ]; then
        current=
    elif [ "$previous" = = ] && [ "$COMP_CWORD" -gt 2 ]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="$commands --help --version"
    else
        case ${COMP_WORDS[1]} in
        help)
            words=$commands
            ;;
        demo)
            [ "$previous" = --placement ] && words='cpu gpu emulated'
            options='--n --quick --placement --device --threads --json --seconds --steps --batch --window --no-timing --quiet --help'
            ;;
        devices)
            options='--json --threads --help'
            ;;
        query)
            [ "$previous" = --placement ] && words='cpu gpu auto emulated'
            [ "$previous" = --on-bad ] && words='fail skip'
            options='--where --select --count --sum --min --max --avg --count-distinct --group-by --order-by --limit --offset --join --asof --explain --format --json --index --placement --device --types --delimiter --decimal --date-format --null --on-bad --no-header --threads --quiet --help'
            ;;
        shell)
            [ "$previous" = --placement ] && words='cpu gpu auto emulated'
            [ "$previous" = --on-bad ] && words='fail skip'
            options='--index --format --placement --device --types --delimiter --decimal --date-format --null --on-bad --no-header --threads --quiet --help'
            ;;
        import)
            [ "$previous" = --on-bad ] && words='fail skip'
            options='--output --primary --index --sums --json --types --delimiter --decimal --date-format --null --on-bad --no-header --threads --quiet --help'
            ;;
        build)
            [ "$previous" = --key-type ] && words='u32 i32 f32 u64 i64 f64 date timestamp text'
            [ "$previous" = --value-type ] && words='u32 i32 f32 u64 i64 f64 none'
            [ "$previous" = --on-bad ] && words='fail skip'
            [ "$previous" = --duplicates ] && words='keep last first fail'
            [ "$previous" = --format ] && words='csv raw'
            [ "$previous" = --placement ] && words='cpu gpu auto emulated'
            options='--output --key --value --key-type --value-type --delimiter --decimal --date-format --null --on-bad --no-header --duplicates --structure --format --values --pairs --threads --placement --device --json --no-timing --quiet --help'
            ;;
        append)
            [ "$previous" = --on-conflict ] && words='fail skip replace keep'
            [ "$previous" = --on-bad ] && words='fail skip'
            options='--output --on-conflict --key --value --delimiter --decimal --date-format --null --on-bad --no-header --dry-run --threads --json --quiet --help'
            ;;
        upsert)
            [ "$previous" = --on-bad ] && words='fail skip'
            options='--output --key --value --delimiter --decimal --date-format --null --on-bad --no-header --dry-run --threads --json --quiet --help'
            ;;
        erase)
            options='--output --dry-run --range --file --open-low --open-high --strict --json --threads --quiet --help'
            ;;
        get)
            [ "$previous" = --placement ] && words='cpu gpu auto emulated'
            options='--file --strict --bare --json --threads --quiet --placement --device --help'
            ;;
        first)
            [ "$previous" = --placement ] && words='cpu gpu auto emulated'
            options='--reverse --bare --json --threads --quiet --placement --device --help'
            ;;
        last)
            [ "$previous" = --placement ] && words='cpu gpu auto emulated'
            options='--reverse --bare --json --threads --quiet --placement --device --help'
            ;;
        range)
            [ "$previous" = --placement ] && words='cpu gpu auto emulated'
            options='--file --open-low --open-high --limit --reverse --bare --json --threads --quiet --placement --device --help'
            ;;
        count)
            [ "$previous" = --placement ] && words='cpu gpu auto emulated'
            options='--file --open-low --open-high --bare --json --threads --quiet --placement --device --help'
            ;;
        sum)
            [ "$previous" = --placement ] && words='cpu gpu auto emulated'
            options='--file --open-low --open-high --bare --json --threads --quiet --placement --device --help'
            ;;
        min)
            [ "$previous" = --placement ] && words='cpu gpu auto emulated'
            options='--file --open-low --open-high --bare --json --threads --quiet --placement --device --help'
            ;;
        max)
            [ "$previous" = --placement ] && words='cpu gpu auto emulated'
            options='--file --open-low --open-high --bare --json --threads --quiet --placement --device --help'
            ;;
        avg)
            [ "$previous" = --placement ] && words='cpu gpu auto emulated'
            options='--file --open-low --open-high --bare --json --threads --quiet --placement --device --help'
            ;;
        dump)
            [ "$previous" = --placement ] && words='cpu gpu auto emulated'
            options='--output --no-header --file --open-low --open-high --limit --reverse --json --threads --quiet --placement --device --help'
            ;;
        info)
            [ "$previous" = --placement ] && words='cpu gpu auto emulated'
            options='--json --threads --quiet --placement --device --help'
            ;;
        verify)
            [ "$previous" = --placement ] && words='cpu gpu auto emulated'
            options='--json --threads --quiet --placement --device --help'
            ;;
        bench)
            [ "$previous" = --placement ] && words='cpu gpu auto emulated'
            options='--structure --placement --key --value --n --op --queries --batch --calls --grown --after --duplicates --threads --dist --query-dist --memory --transfer --schedule --bucket --leaf-memory --slower --page-order --refresh --isa --huge-pages --pipeline --seed --repeat --peers --peer-queries --json --progress --help'
            ;;
        esac
    fi
    COMPREPLY=()
    [ -z "$words" ] && [ "${current#-}" != "$current" ] && words=$options
    # Without words, bash completes names of files.
    # shellcheck disable=SC2207
    [ -n "$words" ] && COMPREPLY=($(compgen -W "$words" -- "$current"))
    return 0
}
complete -o default -F _copse copse
