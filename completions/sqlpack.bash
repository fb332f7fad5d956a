# bash completion for sqlpack: asks the program, knows no option itself.

# The option names of a command or, with a second argument, the values of that option: its list, a
# star where it takes anything, nothing where it takes none. Lines are "name TAB values TAB help".
_sqlpack_options() {
    sqlpack "$1" --list-options 2>/dev/null | awk -F '\t' -v option="${2-}" '
        option == "" { print $1; next }
        $1 != option || $2 == "" { next }
        gsub(/\|/, "\n", $2) { print $2; next }
        { print "*" }'
}

_sqlpack() {
    local cur prev words='' cmd=${COMP_WORDS[1]}
    cur=${COMP_WORDS[COMP_CWORD]}
    prev=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        words=$(sqlpack help --names 2>/dev/null | cut -f 1)
    elif [[ $cmd == help && $cur != -* ]]; then
        words=$(sqlpack help --names 2>/dev/null | cut -f 1)
    elif [[ $prev == = ]]; then
        words=$(_sqlpack_options "$cmd" "${COMP_WORDS[COMP_CWORD - 2]}")
    elif [[ $cur == = ]]; then
        words=$(_sqlpack_options "$cmd" "$prev")
        cur=''
    elif [[ $prev == -* ]] && words=$(_sqlpack_options "$cmd" "$prev") && [[ -n $words ]]; then
        :
    elif [[ $cur == -* ]]; then
        words=$(_sqlpack_options "$cmd")
    fi
    [[ -n $words && $words != '*' ]] || return 0
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o default -F _sqlpack sqlpack
