{{- define "engine.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "engine.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains (include "engine.name" .) .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "engine.name" .) | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "engine.selector" -}}
app.kubernetes.io/name: {{ include "engine.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "engine.labels" -}}
{{ include "engine.selector" . }}
app.kubernetes.io/version: {{ default .Chart.AppVersion .Values.image.tag | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "engine.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "engine.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "engine.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* Values that contradict each other end the installation with an error. */}}
{{- define "engine.check" -}}
{{- if not .Values.secrets.existingSecret }}
{{- fail "secrets.existingSecret is required: a secret with the files key and admin-token (docs/howto/operating.md)" }}
{{- end }}
{{- if and .Values.database.existingSecret .Values.database.sqlite.enabled }}
{{- fail "database.existingSecret and database.sqlite.enabled exclude each other" }}
{{- end }}
{{- if not (or .Values.database.existingSecret .Values.database.sqlite.enabled) }}
{{- fail "set database.existingSecret (PostgreSQL), or database.sqlite.enabled with replicas: 1" }}
{{- end }}
{{- if and .Values.database.sqlite.enabled (ne (int .Values.replicas) 1) }}
{{- fail "a SQLite database belongs to one daemon: set replicas to 1, or use PostgreSQL" }}
{{- end }}
{{- if and (not .Values.tls.existingSecret) (not .Values.behindProxy) }}
{{- fail "set tls.existingSecret, or behindProxy: true if an ingress or a service mesh terminates TLS" }}
{{- end }}
{{- end }}
