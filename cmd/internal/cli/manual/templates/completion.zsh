#compdef {{.Program}}
# Completion of {{.Program}} in zsh. To load it in each new shell, write it to a directory of $fpath:
#   mkdir -p ~/.zsh/completions
#   {{.Program}} completion zsh > ~/.zsh/completions/_{{.Program}}
# and call compinit after `fpath=(~/.zsh/completions $fpath)` in ~/.zshrc.
_{{.ID}}() {
  local command= word
  local -a commands flags switches
  for word in ${words[2,CURRENT-1]}; do
    case "$command $word" in
{{- range .All}}{{if .Path}}
      {{printf " %s" .Path | quote}}) command={{printf " %s" .Path | quote}} ;;
{{- end}}{{end}}
    esac
  done
  # the value of a flag
  local flag=${words[CURRENT-1]}
  if [[ $PREFIX == --*=* ]]; then
    flag=${PREFIX%%=*}
    compset -P '*='
  fi
  case "$command $flag" in
{{- range $c := .All}}{{range $f := $c.Flags}}{{if $f.Value}}
    {{if $c.Path}}{{printf " %s %s" $c.Path $f.Name | quote}}{{else}}*{{printf " %s" $f.Name | quote}}{{end}})
{{- if $f.List}}
      compset -P '*,'
{{- end}}
{{- if $f.Values}}
      compadd -- {{range $f.Values}}{{quote .}} {{end}}
{{- end}}
{{- if $f.File}}
      _files
{{- else if not $f.Values}}
      _message {{quote $f.Value}}
{{- end}}
      return ;;
{{- end}}{{end}}{{end}}
  esac
  case "$command" in
{{- range .All}}
    {{if .Path}}{{printf " %s" .Path | quote}}{{else}}''{{end}})
      commands=({{range .Commands}}
        {{printf "%s:%s" (escape .Name) (sentence .Help) | quote}}{{end}}{{range .Values}}
        {{escape . | quote}}{{end}})
      flags=({{range .Flags}}{{if .Value}}
        {{printf "%s:%s" (escape .Name) (sentence .Help) | quote}}{{end}}{{end}})
      switches=({{range .Flags}}{{if not .Value}}
        {{printf "%s:%s" (escape .Name) (sentence .Help) | quote}}{{end}}{{end}})
      {{- if .Files}}
      [[ $PREFIX == -* ]] || _files
      {{- end}} ;;
{{- end}}
  esac
  if [ -n "$command" ]; then # the flags of all commands
    flags+=({{range .Root.Flags}}{{if .Value}}
      {{printf "%s:%s" (escape .Name) (sentence .Help) | quote}}{{end}}{{end}})
    switches+=({{range .Root.Flags}}{{if not .Value}}
      {{printf "%s:%s" (escape .Name) (sentence .Help) | quote}}{{end}}{{end}})
  fi
  if [[ $PREFIX == -* ]]; then
    _describe -o 'flag with a value' flags -S =
    _describe -o flag switches
  elif (( $#commands )); then
    _describe command commands
  fi
}
if [ "$funcstack[1]" = "_{{.Program}}" ]; then
  _{{.ID}} "$@"
else
  compdef _{{.ID}} {{.Program}}
fi
