{{- /* A Deployment of Podyard processes. Parameters: `root`, `component` (server or control), `roles`. */ -}}
{{- define "podyard.deployment" -}}
{{- $root := .root -}}
{{- $values := index .root.Values .component -}}
{{- $name := printf "%s-%s" (include "podyard.fullname" $root) .component -}}
{{- $scheme := ternary "HTTPS" "HTTP" (not (empty $root.Values.tlsSecret)) -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "podyard.labels" . | nindent 4 }}
spec:
  {{- if not (dig "autoscaling" "enabled" false $values) }}
  replicas: {{ $values.replicas }}
  {{- end }}
  revisionHistoryLimit: 5
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  selector:
    matchLabels: {{- include "podyard.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "podyard.selector" . | nindent 8 }}
        {{- with $root.Values.commonLabels }}{{ toYaml . | nindent 8 }}{{ end }}
        {{- with $values.podLabels }}{{ toYaml . | nindent 8 }}{{ end }}
      annotations:
        # Changed settings restart the processes.
        podyard/settings: {{ printf "%s%s%s" (include "podyard.settings" $root) (toJson $root.Values.catalog) (toJson $root.Values.recipes) | sha256sum }}
        {{- with $values.podAnnotations }}{{ toYaml . | nindent 8 }}{{ end }}
    spec:
      serviceAccountName: {{ include "podyard.account" . }}
      automountServiceAccountToken: true
      enableServiceLinks: false
      terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
      securityContext: {{- toYaml $root.Values.podSecurityContext | nindent 8 }}
      {{- with concat $root.Values.global.imagePullSecrets $root.Values.imagePullSecrets $root.Values.image.pullSecrets | uniq }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with $values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        {{- if $values.topologySpreadConstraints }}
        {{- toYaml $values.topologySpreadConstraints | nindent 8 }}
        {{- else }}
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "podyard.selector" . | nindent 14 }}
          {{- if semverCompare ">=1.27-0" $root.Capabilities.KubeVersion.Version }}
          matchLabelKeys: [pod-template-hash]
          {{- end }}
        {{- end }}
      containers:
        - name: podyard
          image: {{ include "podyard.image" $root }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: [serve]
          securityContext: {{- toYaml $root.Values.securityContext | nindent 12 }}
          envFrom:
            - configMapRef:
                name: {{ include "podyard.fullname" $root }}-settings
            {{- with $values.extraEnvFrom }}{{ toYaml . | nindent 12 }}{{ end }}
          env:
            - name: PODYARD_ROLES
              value: {{ .roles }}
            - name: PODYARD_STOP_DELAY_SECONDS
              value: {{ $values.stopDelaySeconds | quote }}
            {{- /* 15 s are left to end the rest */}}
            - name: PODYARD_STOP_GRACE_SECONDS
              value: {{ max 0 (sub (int $values.terminationGracePeriodSeconds) (add (int $values.stopDelaySeconds) 15)) | quote }}
            - name: DATABASE_URL
              valueFrom:
                secretKeyRef:
                  name: {{ include "podyard.databaseSecret" $root }}
                  key: {{ $root.Values.database.existingSecretKey }}
            - name: PODYARD_MASTER_KEY
              valueFrom:
                secretKeyRef:
                  name: {{ include "podyard.keysSecret" $root }}
                  key: master-key
            - name: PODYARD_ADMIN_KEY
              valueFrom:
                secretKeyRef:
                  name: {{ include "podyard.keysSecret" $root }}
                  key: admin-key
                  optional: true
            - name: PODYARD_METRICS_TOKEN
              valueFrom:
                secretKeyRef:
                  name: {{ include "podyard.keysSecret" $root }}
                  key: metrics-token
                  optional: true
            {{- with $values.extraEnv }}{{ toYaml . | nindent 12 }}{{ end }}
          ports:
            - name: http
              containerPort: 8080
              protocol: TCP
            # Of `server` the worker API; nodes get models from `control`.
            - name: workers
              containerPort: {{ $root.Values.workerApi.port }}
              protocol: TCP
          # The first start migrates the database, which may take time.
          startupProbe:
            httpGet: {path: /healthz, port: http, scheme: {{ $scheme }}}
            periodSeconds: 2
            failureThreshold: 90
          livenessProbe:
            httpGet: {path: /healthz, port: http, scheme: {{ $scheme }}}
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: {path: /readyz, port: http, scheme: {{ $scheme }}}
            periodSeconds: 5
            timeoutSeconds: 3
            failureThreshold: 2
          {{- with $values.resources }}
          resources: {{- toYaml . | nindent 12 }}
          {{- end }}
          volumeMounts:
            - name: data
              mountPath: /var/lib/podyard
            - name: tmp
              mountPath: /tmp
            {{- if $root.Values.catalog }}
            - name: catalog
              mountPath: /etc/podyard/catalog
              readOnly: true
            {{- end }}
            {{- if $root.Values.recipes }}
            - name: recipes
              mountPath: /etc/podyard/recipes
              readOnly: true
            {{- end }}
            {{- if $root.Values.signInSecret }}
            - name: sign-in
              mountPath: /etc/podyard/sign-in
              readOnly: true
            {{- end }}
            {{- if $root.Values.mailSecret }}
            - name: mail
              mountPath: /etc/podyard/mail
              readOnly: true
            {{- end }}
            {{- if $root.Values.builds.engineSecret }}
            - name: build-engine
              mountPath: /etc/podyard/build-engine
              readOnly: true
            {{- end }}
            {{- if $root.Values.builds.registrySecret }}
            - name: build-registry
              mountPath: /etc/podyard/build-registry
              readOnly: true
            {{- end }}
            {{- if $root.Values.tlsSecret }}
            - name: tls
              mountPath: /etc/podyard/tls
              readOnly: true
            {{- end }}
            {{- with $values.extraVolumeMounts }}{{ toYaml . | nindent 12 }}{{ end }}
      volumes:
        # Holds no state: all state is in the database.
        - name: data
          emptyDir: {}
        - name: tmp
          emptyDir: {}
        {{- if $root.Values.catalog }}
        - name: catalog
          configMap:
            name: {{ include "podyard.fullname" $root }}-catalog
        {{- end }}
        {{- if $root.Values.recipes }}
        - name: recipes
          configMap:
            name: {{ include "podyard.fullname" $root }}-recipes
        {{- end }}
        {{- with $root.Values.signInSecret }}
        - name: sign-in
          secret:
            secretName: {{ . }}
        {{- end }}
        {{- with $root.Values.mailSecret }}
        - name: mail
          secret:
            secretName: {{ . }}
        {{- end }}
        {{- with $root.Values.builds.engineSecret }}
        - name: build-engine
          secret:
            secretName: {{ . }}
        {{- end }}
        {{- with $root.Values.builds.registrySecret }}
        - name: build-registry
          secret:
            secretName: {{ . }}
            items: [{ key: .dockerconfigjson, path: config.json }]
        {{- end }}
        {{- with $root.Values.tlsSecret }}
        - name: tls
          secret:
            secretName: {{ . }}
        {{- end }}
        {{- with $values.extraVolumes }}{{ toYaml . | nindent 8 }}{{ end }}
{{- end -}}
