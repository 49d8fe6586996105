{{- /* The environment of all processes; `config` comes last and overrides the rest. */ -}}
{{- define "podyard.settings" -}}
{{- $settings := dict
  "PODYARD_RUNTIME" "kubernetes"
  "PODYARD_HOST" "0.0.0.0"
  "PODYARD_PORT" "8080"
  "PODYARD_DATA_DIR" "/var/lib/podyard"
  "PODYARD_WORKER_API_PORT" (toString (int .Values.workerApi.port))
  "PODYARD_WORKER_API_HOST" (include "podyard.workerApiHost" .)
  "PODYARD_EGRESS" (ternary .Values.egress "all" .Values.networkPolicy.enabled)
  "PODYARD_KUBERNETES_NAMESPACE" (include "podyard.workloadNamespace" .)
  "PODYARD_KUBERNETES_TOLERATIONS" (include "podyard.tolerations" .Values.workloads.tolerations)
-}}
{{- with .Values.workloads -}}
{{- range $name, $value := dict
  "GPU_LABEL" .gpuLabel
  "GPU_RESOURCE" .gpuResource
  "GPU_RUNTIME_CLASS" .gpuRuntimeClass
  "DATA_CENTER_LABEL" .dataCenterLabel
  "NODE_SELECTOR" (include "podyard.pairs" .nodeSelector)
  "STORAGE_CLASSES" (include "podyard.pairs" .storageClasses)
  "ACCESS_MODE" .accessMode
  "PULL_POLICY" .pullPolicy
  "POD_SECURITY" .podSecurity
  "USER_NAMESPACES" (ternary "true" "" .userNamespaces)
  "POD_LABELS" (include "podyard.pairs" .podLabels)
  "POD_ANNOTATIONS" (include "podyard.pairs" .podAnnotations)
  "ENDPOINT_METADATA" (join "," .endpointMetadata)
  "PENDING_SECONDS" (toString (int .pendingSeconds))
  "SERVICE_TYPE" .serviceType
  "PUBLIC_IP" .publicIp
  "PRIORITY_CLASSES" (include "podyard.priorityClasses" $)
-}}
{{- if $value }}{{ $_ := set $settings (printf "PODYARD_KUBERNETES_%s" $name) $value }}{{ end -}}
{{- end -}}
{{- end -}}
{{- with include "podyard.publicUrl" . }}{{ $_ := set $settings "PODYARD_PUBLIC_URL" . }}{{ end -}}
{{- with .Values.podsHost }}{{ $_ := set $settings "PODYARD_PROXY_HOST" . }}{{ end -}}
{{- with .Values.lbHost }}{{ $_ := set $settings "PODYARD_LB_HOST" . }}{{ end -}}
{{- if and .Values.egressAllow .Values.networkPolicy.enabled (ne .Values.egress "all") }}{{ $_ := set $settings "PODYARD_EGRESS_ALLOW" (join "," .Values.egressAllow) }}{{ end -}}
{{- with .Values.trustedProxies }}{{ $_ := set $settings "PODYARD_TRUSTED_PROXIES" (join "," .) }}{{ end -}}
{{- with .Values.logs.retentionDays }}{{ $_ := set $settings "PODYARD_LOG_RETENTION_SECONDS" (toString (mul (int .) 86400)) }}{{ end -}}
{{- with .Values.logs.size }}{{ $_ := set $settings "PODYARD_LOG_SIZE" . }}{{ end -}}
{{- with .Values.workloads.memoryPerGpu }}{{ $_ := set $settings "PODYARD_MEMORY_PER_GPU" . }}{{ end -}}
{{- with .Values.workloads.cpusPerGpu }}{{ $_ := set $settings "PODYARD_CPUS_PER_GPU" (toString .) }}{{ end -}}
{{- with .Values.workloads.maxMemoryPerGpu }}{{ $_ := set $settings "PODYARD_MAX_MEMORY_PER_GPU" . }}{{ end -}}
{{- with .Values.workloads.maxCpusPerGpu }}{{ $_ := set $settings "PODYARD_MAX_CPUS_PER_GPU" (toString .) }}{{ end -}}
{{- with .Values.workloads.simulateGpus }}{{ $_ := set $settings "PODYARD_SIMULATE_GPUS" . }}{{ end -}}
{{- if .Values.catalog }}{{ $_ := set $settings "PODYARD_CATALOG" "/etc/podyard/catalog/catalog.json" }}{{ end -}}
{{- if .Values.tlsSecret -}}
{{- $_ := set $settings "PODYARD_TLS_CERT" "/etc/podyard/tls/tls.crt" -}}
{{- $_ := set $settings "PODYARD_TLS_KEY" "/etc/podyard/tls/tls.key" -}}
{{- end -}}
{{- range $name, $value := .Values.config -}}
{{- /* Helm passes numbers as floats, and would print large ones with an exponent. */ -}}
{{- if and (kindIs "float64" $value) (eq $value (floor $value)) }}{{ $value = int64 $value }}{{ end -}}
{{- $_ := set $settings $name (toString $value) -}}
{{- end -}}
{{- range $name, $value := $settings }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end -}}

{{- define "podyard.workerApiHost" -}}
{{- $service := printf "%s-workers.%s.svc" (include "podyard.fullname" .) .Release.Namespace -}}
{{- .Values.workerApi.host | default .Values.workerApi.clusterIP | default $service -}}
{{- end -}}

{{- define "podyard.pairs" -}}
{{- $items := list -}}
{{- range $name, $value := . }}{{ $items = append $items (printf "%s=%s" $name $value) }}{{ end -}}
{{- join "," $items -}}
{{- end -}}

{{- define "podyard.tolerations" -}}
{{- $items := list -}}
{{- range . -}}
{{- $value := "" -}}
{{- if ne (default "Equal" .operator) "Exists" }}{{ $value = printf "=%s" (default "" .value) }}{{ end -}}
{{- $effect := "" -}}
{{- with .effect }}{{ $effect = printf ":%s" . }}{{ end -}}
{{- $items = append $items (printf "%s%s%s" .key $value $effect) -}}
{{- end -}}
{{- join "," $items -}}
{{- end -}}

{{- define "podyard.priorityClasses" -}}
{{- $classes := dict -}}
{{- with include "podyard.priorityClass" (dict "root" . "class" "standard") }}{{ $_ := set $classes "DEFAULT" . }}{{ end -}}
{{- with include "podyard.priorityClass" (dict "root" . "class" "priority") }}{{ $_ := set $classes "PRIORITY_FLASHBOOT" . }}{{ end -}}
{{- include "podyard.pairs" $classes -}}
{{- end -}}
