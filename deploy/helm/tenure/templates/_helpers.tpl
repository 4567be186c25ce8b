{{- define "tenure.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "tenure.selector" -}}
app.kubernetes.io/name: tenure
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "tenure.labels" -}}
{{ include "tenure.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "tenure.check" -}}
{{- $stores := list -}}
{{- if .Values.store.url }}{{ $stores = append $stores "store.url" }}{{ end -}}
{{- if .Values.store.existingSecret }}{{ $stores = append $stores "store.existingSecret" }}{{ end -}}
{{- if .Values.embedded.enabled }}{{ $stores = append $stores "embedded.enabled" }}{{ end -}}
{{- if ne (len $stores) 1 -}}
{{- fail "set exactly one of store.url, store.existingSecret and embedded.enabled" -}}
{{- end -}}
{{- if and .Values.embedded.enabled (ne (int .Values.replicas) 1) -}}
{{- fail "the embedded store has one owner: set replicas=1" -}}
{{- end -}}
{{- $authenticates := or .Values.auth.adminTokenSecret .Values.auth.jwt.jwks .Values.tls.clientCa -}}
{{- if and (not .Values.insecure) (not (and $authenticates .Values.tls.secretName)) -}}
{{- fail "set tls.secretName and one of auth.adminTokenSecret, auth.jwt.jwks and tls.clientCa; or, for a trial, insecure=true" -}}
{{- end -}}
{{- end -}}

{{- define "tenure.probe" -}}
httpGet:
  path: {{ .path }}
  port: http
  scheme: {{ ternary "HTTPS" "HTTP" (ne .root.Values.tls.secretName "") }}
timeoutSeconds: 3
{{- end -}}
