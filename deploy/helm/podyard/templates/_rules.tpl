{{- define "podyard.serverRules" -}}
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
- apiGroups: [metrics.k8s.io]
  resources: [pods]
  verbs: [get]
{{- end -}}

{{- define "podyard.controlRules" -}}
- apiGroups: [""]
  resources: [pods, secrets, services, persistentvolumeclaims]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
- apiGroups: [""]
  resources: [pods/resize]
  verbs: [patch]
- apiGroups: [""]
  resources: [events]
  verbs: [list, watch]
- apiGroups: [metrics.k8s.io]
  resources: [pods]
  verbs: [get]
{{- end -}}
