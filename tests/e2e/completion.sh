#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn completion: the scripts are sound to their shells, and complete commands, parts, options of
# each, files, processes.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
for shell in bash zsh fish; do
    "$CAIRN" completion "$shell" >"script.$shell" 2>err || fail "$shell" err
done
"$CAIRN" completion csh >out 2>err
same "another shell: status" $? 2
has err '"csh" is no shell that is known' "another shell"
"$CAIRN" completion >out 2>err
same "no shell: status" $? 2

# Each option of each --help is in each script.
for command in stack record trace flame report "heap leaks" "symbols pack"; do
    # shellcheck disable=SC2086 # two words
    "$CAIRN" ${command%% *} --help >help
    grep -oE '^  +(-., )?--[a-z-]+' help | grep -oE -- '--[a-z-]+' | sort -u >options
    at_least 3 "$(wc -l <options)" "options of $command"
    while read -r option; do
        for shell in bash zsh; do
            grep -q -- "$option" "script.$shell" || fail "$shell: $command: no $option"
        done
        grep -q -- "-l ${option#--} " script.fish || fail "fish: $command: no $option"
    done <options
done

# complete_bash WORD...: the last one is being written.
complete_bash() {
    bash -c '. ./script.bash
        compopt() { :; }
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _cairn
        printf "%s\n" "${COMPREPLY[@]}"' - cairn "$@" | sort
}
bash -n script.bash || fail "bash: not sound"
same "bash: a command" "$(complete_bash sta)" stack
same "bash: a part" "$(complete_bash heap le)" leaks
same "bash: an option" "$(complete_bash stack --no-st)" --no-stop
same "bash: an option of a part" "$(complete_bash heap run --lo)" --lost
same "bash: one of other machines" "$(complete_bash stack --symbols-t)" --symbols-there
touch "profile one.pb.gz"
same "bash: a file" "$(complete_bash report prof)" "profile one.pb.gz"
same "bash: the file of an option" "$(complete_bash flame -o prof)" "profile one.pb.gz"
same "bash: behind =" "$(complete_bash flame --output = prof)" "profile one.pb.gz"
same "bash: nothing to guess" "$(complete_bash record --frequency prof)" ""
complete_bash record --pid "" | grep -qx "$$" || fail "bash: processes"

if command -v fish >/dev/null; then
    complete_fish() {
        HOME=$PWD fish -c '. ./script.fish; complete -C "'"$1"'"' 2>&1 | cut -f1
    }
    same "fish: a command" "$(complete_fish 'cairn sta')" stack
    same "fish: a part" "$(complete_fish 'cairn heap le')" leaks
    same "fish: an option" "$(complete_fish 'cairn stack --no-st')" --no-stop
    same "fish: an option of a part" "$(complete_fish 'cairn heap run --lo')" --lost
    same "fish: none of another command" "$(complete_fish 'cairn version --no-st')" ""
    complete_fish 'cairn record --pid ' | grep -qx "$$" || fail "fish: processes"
else
    skip fish "it is not installed"
fi

if command -v zsh >/dev/null; then
    mkdir -p functions
    cp script.zsh functions/_cairn
    # A shell on a terminal of its own: what it lists for a word.
    cat >ask.zsh <<'ZSH'
zmodload zsh/zpty
zpty shell zsh -f -i
wait_for() { local all= part; for i in {1..200}; do zpty -r -t shell part && all+=$part; [[ $all == *$1* ]] && break; sleep 0.05; done; print -r -- "$all"; }
zpty -w shell "PS1=; fpath=($PWD/functions \$fpath); autoload -U compinit; compinit -u -D; bindkey '^I' list-choices; LISTMAX=10000; stty columns 200; echo re''ady"
wait_for ready >/dev/null
zpty -w -n shell "$1"$'\t'
sleep 0.7
zpty -w -n shell $'\C-u'
zpty -w shell "echo do''ne"
wait_for done
ZSH
    complete_zsh() {
        zsh -f ask.zsh "$1" | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g' | tr -d '\r'
    }
    zsh -n script.zsh || fail "zsh: not sound"
    complete_zsh 'cairn s' >out
    has out "-- show what every thread" "zsh: commands"
    has out "symbolize" "zsh: commands"
    complete_zsh 'cairn heap ' >out
    has out "-- live blocks" "zsh: parts"
    complete_zsh 'cairn stack --no' >out
    has out "-- never stop a thread" "zsh: options"
    hasnt out "not found" "zsh: options"
else
    skip zsh "it is not installed"
fi

finish "scripts of three shells ($n_checks checks)"
