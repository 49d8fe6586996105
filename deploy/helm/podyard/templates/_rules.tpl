{{- /* What src/runtimes/kubernetes asks of the API server, and nothing more. In the namespace of the workloads: */ -}}
{{- define "podyard.serverRules" -}}
# Where traffic goes.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
- apiGroups: [metrics.k8s.io]
  resources: [pods]
  verbs: [get]
{{- end -}}

{{- define "podyard.controlRules" -}}
- apiGroups: [""]
  resources: [pods]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
# Parks a worker, and brings it back.
- apiGroups: [""]
  resources: [pods/resize]
  verbs: [patch]
# The environment of workloads, and credentials of registries.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create, delete, get, list, patch]
# TCP ports of pods.
- apiGroups: [""]
  resources: [services]
  verbs: [create, delete, list, watch]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [create, delete, get, patch]
# Why a pod does not start.
- apiGroups: [""]
  resources: [events]
  verbs: [list, watch]
- apiGroups: [metrics.k8s.io]
  resources: [pods]
  verbs: [get]
{{- end -}}

{{- define "podyard.clusterRules" -}}
# What there is to place on.
- apiGroups: [""]
  resources: [nodes]
  verbs: [list, watch]
{{- if .Values.rbac.otherPods }}
# GPUs that others hold.
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
{{- end }}
{{- end -}}
