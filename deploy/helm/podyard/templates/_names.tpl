{{- define "podyard.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- /* At most 40 characters: object names append to it. */ -}}
{{- define "podyard.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "podyard.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "podyard.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "podyard.selector" -}}
app.kubernetes.io/name: {{ include "podyard.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{- define "podyard.labels" -}}
{{ include "podyard.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "podyard.image" -}}
{{- with .Values.image -}}
{{- with default .registry $.Values.global.imageRegistry }}{{ trimSuffix "/" . }}/{{ end -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The names of the Secrets that pull the image, as a JSON list. */ -}}
{{- define "podyard.pullSecrets" -}}
{{- $names := list -}}
{{- range concat .Values.global.imagePullSecrets .Values.imagePullSecrets .Values.image.pullSecrets -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- $names | uniq | toJson -}}
{{- end -}}

{{- define "podyard.account" -}}
{{- $given := index .root.Values.serviceAccounts .component -}}
{{- if $given }}{{ $given }}{{ else if .root.Values.serviceAccounts.create }}{{ include "podyard.fullname" .root }}-{{ .component }}{{ else }}default{{ end -}}
{{- end -}}

{{- define "podyard.workloadNamespace" -}}
{{- default .Release.Namespace .Values.workloads.namespace -}}
{{- end -}}

{{- define "podyard.databaseSecret" -}}
{{- default (printf "%s-database" (include "podyard.fullname" .)) .Values.database.existingSecret -}}
{{- end -}}

{{- define "podyard.keysSecret" -}}
{{- default (printf "%s-keys" (include "podyard.fullname" .)) .Values.keys.existingSecret -}}
{{- end -}}

{{- define "podyard.priorityClass" -}}
{{- $given := index .root.Values.workloads.priorityClasses .class -}}
{{- if $given }}{{ $given }}{{ else if .root.Values.workloads.priorityClasses.create }}{{ include "podyard.fullname" .root }}-{{ .class }}{{ end -}}
{{- end -}}

{{- define "podyard.publicUrl" -}}
{{- if .Values.publicUrl -}}
{{- .Values.publicUrl -}}
{{- else if and .Values.ingress.enabled .Values.ingress.host -}}
{{- ternary "https" "http" .Values.ingress.tls.enabled }}://{{ .Values.ingress.host -}}
{{- end -}}
{{- end -}}

{{- define "podyard.workloadSelector" -}}
app.kubernetes.io/managed-by: podyard
{{- end -}}

{{- /* Selects a namespace by its name label, which 1.20 lacks; not needed within one namespace. */ -}}
{{- define "podyard.peerNamespace" -}}
{{- if ne (include "podyard.workloadNamespace" .root) .root.Release.Namespace }}
namespaceSelector:
  matchLabels:
    kubernetes.io/metadata.name: {{ .namespace }}
{{- end }}
{{- end -}}
