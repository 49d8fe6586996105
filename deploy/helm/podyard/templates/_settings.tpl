{{- /* The environment of all processes; `config` comes last and wins. */ -}}
{{- define "podyard.settings" -}}
{{- $settings := dict
  "PODYARD_RUNTIME" "kubernetes"
  "PODYARD_HOST" "0.0.0.0"
  "PODYARD_PORT" "8080"
  "PODYARD_DATA_DIR" "/var/lib/podyard"
  "PODYARD_WORKER_API_PORT" (toString (int .Values.workerApi.port))
-}}
{{- with include "podyard.publicUrl" . }}{{ $_ := set $settings "PODYARD_PUBLIC_URL" . }}{{ end -}}
{{- with .Values.podsHost }}{{ $_ := set $settings "PODYARD_PROXY_HOST" . }}{{ end -}}
{{- with .Values.lbHost }}{{ $_ := set $settings "PODYARD_LB_HOST" . }}{{ end -}}
{{- with .Values.trustedProxies }}{{ $_ := set $settings "PODYARD_TRUSTED_PROXIES" (join "," .) }}{{ end -}}
{{- with .Values.workloads.simulateGpus }}{{ $_ := set $settings "PODYARD_SIMULATE_GPUS" . }}{{ end -}}
{{- if .Values.catalog }}{{ $_ := set $settings "PODYARD_CATALOG" "/etc/podyard/catalog/catalog.json" }}{{ end -}}
{{- if .Values.tlsSecret -}}
{{- $_ := set $settings "PODYARD_TLS_CERT" "/etc/podyard/tls/tls.crt" -}}
{{- $_ := set $settings "PODYARD_TLS_KEY" "/etc/podyard/tls/tls.key" -}}
{{- end -}}
{{- range $name, $value := .Values.config -}}
{{- /* Numbers come as floats, and large ones would be written with an exponent. */ -}}
{{- if and (kindIs "float64" $value) (eq $value (floor $value)) }}{{ $value = int64 $value }}{{ end -}}
{{- $_ := set $settings $name (toString $value) -}}
{{- end -}}
{{- range $name, $value := $settings }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end -}}
