# Completion of {{.Program}} in fish. To load it in each new shell:
#   mkdir -p ~/.config/fish/completions
#   {{.Program}} completion fish > ~/.config/fish/completions/{{.Program}}.fish
function __{{.ID}}_command
  set -l command
  for word in (commandline -opc)[2..-1]
    switch (string join ' ' -- $command $word)
      case{{range .All}}{{if .Path}} {{quote .Path}}{{end}}{{end}}
        set -a command $word
    end
  end
  set -l path (string join ' ' -- $command)
  test "$path" = "$argv[1]"
end
# offers each value behind the ones that the word has, with a comma between two
function __{{.ID}}_list
  set -l word (string replace -r '^--[^=]*=' '' -- (commandline -ct))
  set -l before (string match -r '^.*,' -- $word)
  for value in $argv
    echo "$before$value"
  end
end
complete -c {{.Program}} -f
{{- range $c := .All}}
{{- range .Commands}}
complete -c {{$.Program}} -n {{printf "__%s_command %q" $.ID $c.Path | quote}} -a {{.Name}} -d {{sentence .Help | quote}}
{{- end}}
{{- if .Values}}
complete -c {{$.Program}} -n {{printf "__%s_command %q" $.ID .Path | quote}} -a {{join .Values | quote}}
{{- end}}
{{- range .Flags}}
complete -c {{$.Program}}{{if $c.Path}} -n {{printf "__%s_command %q" $.ID $c.Path | quote}}{{end}} -l {{slice .Name 2}}
{{- if .Value}} -{{if .File}}rF{{else}}x{{end}}{{if .List}}a {{printf "(__%s_list %s)" $.ID (join .Values) | quote}}{{else if .Values}}a {{join .Values | quote}}{{end}}{{end}} -d {{sentence .Help | quote}}
{{- end}}
{{- if .Files}}
complete -c {{$.Program}} -n {{printf "__%s_command %q" $.ID .Path | quote}} -F
{{- end}}
{{- end}}
