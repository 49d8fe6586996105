{{- /* The permissions src/runtimes/kubernetes needs, and nothing more. In the workloads' namespace: */ -}}
{{- define "podyard.serverRules" -}}
# To route traffic.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
- apiGroups: [metrics.k8s.io]
  resources: [pods]
  verbs: [get]
{{- if .Values.rbac.terminal }}
# Terminals.
- apiGroups: [""]
  resources: [pods/exec]
  verbs: [create, get]
{{- end }}
{{- end -}}

{{- define "podyard.controlRules" -}}
- apiGroups: [""]
  resources: [pods]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
# To park and resume workers.
- apiGroups: [""]
  resources: [pods/resize]
  verbs: [patch]
# Environments of workloads and registry credentials.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create, delete, get, list, patch]
# To publish TCP ports of pods.
- apiGroups: [""]
  resources: [services]
  verbs: [create, delete, list, watch]
# Networks of clusters.
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [create, delete]
# To keep some workers of an endpoint when nodes are drained.
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [create, delete, list, patch]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [create, delete, get, patch]
# To report why a pod does not start.
- apiGroups: [""]
  resources: [events]
  verbs: [list, watch]
- apiGroups: [metrics.k8s.io]
  resources: [pods]
  verbs: [get]
{{- end -}}

{{- define "podyard.clusterRules" -}}
# Capacity of the nodes.
- apiGroups: [""]
  resources: [nodes]
  verbs: [list, watch]
# GPUs that a DRA driver offers instead of a device plugin.
- apiGroups: [resource.k8s.io]
  resources: [deviceclasses, resourceslices]
  verbs: [list, watch]
{{- if .Values.rbac.nodeStats }}
# Usage of pods, and of their volumes, from the kubelets.
- apiGroups: [""]
  resources: [nodes/stats]
  verbs: [get]
{{- end }}
{{- if .Values.rbac.otherPods }}
# GPUs held by foreign pods.
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
{{- end }}
{{- end -}}
