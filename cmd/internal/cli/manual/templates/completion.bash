# Completion of {{.Program}} in bash. To load it in each new shell (needs the package bash-completion):
#   mkdir -p ~/.local/share/bash-completion/completions
#   {{.Program}} completion bash > ~/.local/share/bash-completion/completions/{{.Program}}
# Without bash-completion, source this file in ~/.bashrc.
_{{.ID}}() {
  local current previous command= flags words i
  # bash splits --flag=value into three words.
  current=${COMP_WORDS[COMP_CWORD]}
  previous=${COMP_WORDS[COMP_CWORD-1]}
  if [ "$current" = = ]; then
    current=
  elif [ "$previous" = = ]; then
    previous=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${COMP_WORDS[i]}" in
{{- range .All}}{{if .Path}}
      {{printf " %s" .Path | quote}}) command={{printf " %s" .Path | quote}} ;;
{{- end}}{{end}}
    esac
  done
  case "$command $previous" in
{{- range $c := .All}}{{range $f := $c.Flags}}{{if $f.Value}}
    {{if $c.Path}}{{printf " %s %s" $c.Path $f.Name | quote}}{{else}}*{{printf " %s" $f.Name | quote}}{{end}})
{{- if or $f.Values $f.File}}
      COMPREPLY=($(compgen{{if $f.Values}} -W {{join $f.Values | quote}}{{end}}{{if $f.File}} -f{{end}} -- "{{if $f.List}}${current##*,}{{else}}$current{{end}}"))
{{- end}}
{{- if $f.List}}
      [[ $current != *,* ]] || COMPREPLY=("${COMPREPLY[@]/#/${current%,*},}")
{{- end}}
      return ;;
{{- end}}{{end}}{{end}}
  esac
  case "$command" in
{{- range .All}}
    {{if .Path}}{{printf " %s" .Path | quote}}{{else}}''{{end}})
      words={{join (words .) | quote}}
      flags={{join (flags .Flags) | quote}}
      {{- if .Files}}
      [[ $current == -* ]] || COMPREPLY=($(compgen -f -- "$current"))
      {{- end}} ;;
{{- end}}
  esac
  flags="$flags {{join (flags .Root.Flags)}}"
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
    [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace
  elif [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}
complete -F _{{.ID}} {{.Program}}
