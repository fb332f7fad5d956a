# fish completion for sqlpack: asks the program, knows no option itself.

function __sqlpack_options
    set -l command (commandline -opc)[2]
    sqlpack $command --list-options 2>/dev/null | while read -d \t -l name value help
        printf '%s\t%s\n' $name $help
    end
end

# The values of the option before the cursor; nothing, and failure, where it has no list of them.
function __sqlpack_values
    set -l words (commandline -opc)
    set -q words[3]; or return 1
    sqlpack $words[2] --list-options 2>/dev/null | while read -d \t -l name value help
        if test "$name" = "$words[-1]"; and string match -q '*|*' -- $value
            string split '|' -- $value
            return 0
        end
    end
    return 1
end

function __sqlpack_wants_command
    test (count (commandline -opc)) -eq 1
end

function __sqlpack_wants_option
    test (count (commandline -opc)) -gt 1; and string match -q -- '-*' (commandline -ct)
end

complete -c sqlpack -n __sqlpack_wants_command -f -a '(sqlpack help --names 2>/dev/null)'
complete -c sqlpack -n '__fish_seen_subcommand_from help' -f -a '(sqlpack help --names 2>/dev/null)'
complete -c sqlpack -n __sqlpack_wants_option -a '(__sqlpack_options)'
complete -c sqlpack -n '__sqlpack_values >/dev/null' -f -a '(__sqlpack_values)'
