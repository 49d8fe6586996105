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
  "PODYARD_KUBERNETES_MODELS_IMAGE" (include "podyard.image" .)
  "PODYARD_KUBERNETES_PULL_SECRETS" (include "podyard.pullSecrets" . | fromJsonArray | join ",")
  "PODYARD_KUBERNETES_NAMESPACE" (include "podyard.workloadNamespace" .)
  "PODYARD_KUBERNETES_TOLERATIONS" (include "podyard.tolerations" .Values.workloads.tolerations)
-}}
{{- /* Values that are settings: made by scripts/write-tables.ts. */ -}}
{{- range $name, $value := dict
  "PODYARD_PROXY_HOST" (toString (default "" .Values.podsHost))
  "PODYARD_LB_HOST" (toString (default "" .Values.lbHost))
  "PODYARD_TRUSTED_PROXIES" (join "," .Values.trustedProxies)
  "PODYARD_SIMULATE_GPUS" (toString (default "" .Values.workloads.simulateGpus))
  "PODYARD_MEMORY_PER_GPU" (toString (default "" .Values.workloads.memoryPerGpu))
  "PODYARD_CPUS_PER_GPU" (toString (default "" .Values.workloads.cpusPerGpu))
  "PODYARD_KUBERNETES_ENDPOINT_METADATA" (join "," .Values.workloads.endpointMetadata)
  "PODYARD_MAX_CPUS_PER_GPU" (toString (default "" .Values.workloads.maxCpusPerGpu))
  "PODYARD_MAX_MEMORY_PER_GPU" (toString (default "" .Values.workloads.maxMemoryPerGpu))
  "PODYARD_LOG_SIZE" (toString (default "" .Values.logs.size))
  "PODYARD_BUILD_ENGINE" (toString (default "" .Values.builds.engine))
  "PODYARD_BUILD_REGISTRY" (toString (default "" .Values.builds.registry))
  "PODYARD_MODELS_GB" (toString (default "" .Values.models.storeGb))
  "PODYARD_HUB_CACHE_GB" (toString (default "" .Values.models.hubCacheGb))
  "PODYARD_KUBERNETES_GPU_LABEL" (toString (default "" .Values.workloads.gpuLabel))
  "PODYARD_KUBERNETES_GPU_RESOURCE" (toString (default "" .Values.workloads.gpuResource))
  "PODYARD_KUBERNETES_GPU_RUNTIME_CLASS" (toString (default "" .Values.workloads.gpuRuntimeClass))
  "PODYARD_KUBERNETES_DATA_CENTER_LABEL" (toString (default "" .Values.workloads.dataCenterLabel))
  "PODYARD_KUBERNETES_NODE_SELECTOR" (include "podyard.pairs" .Values.workloads.nodeSelector)
  "PODYARD_KUBERNETES_PENDING_SECONDS" (toString (int .Values.workloads.pendingSeconds))
  "PODYARD_KUBERNETES_PULL_POLICY" (toString (default "" .Values.workloads.pullPolicy))
  "PODYARD_KUBERNETES_POD_SECURITY" (toString (default "" .Values.workloads.podSecurity))
  "PODYARD_KUBERNETES_USER_NAMESPACES" (ternary "true" "" .Values.workloads.userNamespaces)
  "PODYARD_KUBERNETES_POD_LABELS" (include "podyard.pairs" .Values.workloads.podLabels)
  "PODYARD_KUBERNETES_POD_ANNOTATIONS" (include "podyard.pairs" .Values.workloads.podAnnotations)
  "PODYARD_KUBERNETES_STORAGE_CLASSES" (include "podyard.pairs" .Values.workloads.storageClasses)
  "PODYARD_KUBERNETES_ACCESS_MODE" (toString (default "" .Values.workloads.accessMode))
  "PODYARD_KUBERNETES_MODELS_PATH" (toString (default "" .Values.models.nodePath))
  "PODYARD_KUBERNETES_MODELS_GB" (toString (default "" .Values.models.nodeGb))
  "PODYARD_KUBERNETES_SERVICE_TYPE" (toString (default "" .Values.workloads.serviceType))
  "PODYARD_KUBERNETES_PUBLIC_IP" (toString (default "" .Values.workloads.publicIp))
-}}
{{- if $value }}{{ $_ := set $settings $name $value }}{{ end -}}
{{- end -}}
{{- /* End of these. */ -}}
{{- if not .Values.workloads.pullAhead }}{{ $_ := set $settings "PODYARD_PULL_AHEAD" "false" }}{{ end -}}
{{- with include "podyard.priorityClasses" . }}{{ $_ := set $settings "PODYARD_KUBERNETES_PRIORITY_CLASSES" . }}{{ end -}}
{{- with include "podyard.publicUrl" . }}{{ $_ := set $settings "PODYARD_PUBLIC_URL" . }}{{ end -}}
{{- if and .Values.egressAllow .Values.networkPolicy.enabled (ne .Values.egress "all") }}{{ $_ := set $settings "PODYARD_EGRESS_ALLOW" (join "," .Values.egressAllow) }}{{ end -}}
{{- with .Values.logs.retentionDays }}{{ $_ := set $settings "PODYARD_LOG_RETENTION_SECONDS" (toString (mul (int .) 86400)) }}{{ end -}}
{{- if .Values.catalog }}{{ $_ := set $settings "PODYARD_CATALOG" "/etc/podyard/catalog/catalog.json" }}{{ end -}}
{{- if .Values.recipes }}{{ $_ := set $settings "PODYARD_RECIPES" "/etc/podyard/recipes/recipes.json" }}{{ end -}}
{{- if .Values.signInSecret }}{{ $_ := set $settings "PODYARD_SIGN_IN" "/etc/podyard/sign-in/sign-in.json" }}{{ end -}}
{{- if .Values.mailSecret }}{{ $_ := set $settings "PODYARD_MAIL" "/etc/podyard/mail/mail.json" }}{{ end -}}
{{- if .Values.builds.engineSecret }}{{ $_ := set $settings "PODYARD_BUILD_ENGINE_CERTIFICATES" "/etc/podyard/build-engine" }}{{ end -}}
{{- if .Values.builds.registrySecret }}{{ $_ := set $settings "PODYARD_BUILD_REGISTRY_AUTH" "/etc/podyard/build-registry/config.json" }}{{ end -}}
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
