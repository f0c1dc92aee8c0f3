# bash completion for tapestry: source this file, or put it into /etc/bash_completion.d.
#
# Commands and options are what the program itself says in --help, so nothing here can be out of date. A launcher that
# has nothing built yet is not asked: completing must not start a build.

_tapestry_help() { # _tapestry_help PROGRAM [COMMAND]
  TAPESTRY_NO_BUILD=1 "$@" --help 2>/dev/null
}

_tapestry_commands() { # from --help on standard input
  sed -n '/^Subcommands:/,$s/^  \([a-z][a-z-]*\) .*/\1/p'
}

_tapestry_options() {
  sed -n '/^Options:/,$s/^  \(-[^ ]*\).*/\1/p' | tr , '\n'
}

# The words that a positional or an option takes: "--settle TEXT:{always,seams,random}".
_tapestry_values() { # _tapestry_values NAME
  sed -n "s/^  \(-[a-z],\)\{0,1\}$1 [^{]*{\([^}]*\)}.*/\2/p" | tr , '\n'
}

_tapestry() {
  local program=$1 word=$2 before=$3 command= help i
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} != -* ]] && command=${COMP_WORDS[i]} && break
  done
  if [[ -z $command ]]; then
    help=$(_tapestry_help "$program")
    mapfile -t COMPREPLY < <(compgen -W "$(_tapestry_commands <<<"$help"; _tapestry_options <<<"$help")" -- "$word")
    return
  fi
  help=$(_tapestry_help "$program" "$command")
  local values=
  [[ $before == --* ]] && values=$(_tapestry_values "$before" <<<"$help")
  if [[ $word == -* ]]; then
    values=$(_tapestry_options <<<"$help")
  elif [[ -z $values ]]; then
    values=$(_tapestry_values '[A-Z]*' <<<"$help")
  fi
  mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
  # Scenarios and the files of options.
  [[ $word == -* || -n $values ]] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
}

complete -o filenames -F _tapestry tapestry ./tapestry
