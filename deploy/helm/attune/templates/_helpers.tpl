{{- define "attune.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{- define "attune.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "attune.labels" -}}
{{ include "attune.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* A probe; kubelet's gRPC probes speak no TLS, so with it the operator's port is asked. */}}
{{- define "attune.probe" -}}
{{- if .root.Values.tls.secret -}}
httpGet: {path: {{ .path }}, port: ops}
{{- else -}}
grpc:
  port: 50051
  {{- with .service }}
  service: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* The variables of the server, by name: what the chart decides, then settings. */}}
{{- define "attune.environment" -}}
{{- $values := .root.Values }}
{{- $environment := dict
      "ATTUNE_MODEL" (printf "/models/%s" $values.model.path)
      "ATTUNE_GRPC_ADDRESS" "0.0.0.0:50051"
      "ATTUNE_HTTP_ADDRESS" "0.0.0.0:8080"
      "ATTUNE_OPS_ADDRESS" "0.0.0.0:9464"
      "ATTUNE_QUALITY_CACHE" "/tmp/quality"
      "ATTUNE_INSECURE" (empty $values.tls.secret | toString)
      "ATTUNE_DRAIN_DELAY" (printf "%vs" $values.drain.delaySeconds)
      "ATTUNE_DRAIN_TIMEOUT" (printf "%vs" $values.drain.timeoutSeconds) }}
{{- if $values.tls.secret }}
{{- $_ := set $environment "ATTUNE_TLS_CERT" "/etc/attune/tls/tls.crt" }}
{{- $_ := set $environment "ATTUNE_TLS_KEY" "/etc/attune/tls/tls.key" }}
{{- if $values.tls.clientCa }}
{{- $_ := set $environment "ATTUNE_TLS_CLIENT_CA" "/etc/attune/tls/ca.crt" }}
{{- end }}
{{- end }}
{{- if $values.tokens.secret }}
{{- $_ := set $environment "ATTUNE_TOKEN_FILE" "/etc/attune/tokens/tokens" }}
{{- end }}
{{- range $name, $value := merge (dict) .settings $values.settings $environment }}
- {name: {{ $name }}, value: {{ $value | toString | quote }}}
{{- end }}
{{- end }}

{{- /* A Deployment of track `stable` or `canary`. */}}
{{- define "attune.deployment" -}}
{{- $values := .root.Values }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "attune.name" .root }}{{ if eq .track "canary" }}-canary{{ end }}
  labels:
    {{- include "attune.labels" .root | nindent 4 }}
    attune/track: {{ .track }}
  annotations:
    # A tag is not moved, so what a node has of it is right; topologySpreadConstraints spread the pods.
    kube-score/ignore: container-image-pull-policy,deployment-has-host-podantiaffinity
spec:
  {{- if or (eq .track "canary") (not $values.autoscaling.enabled) }}
  replicas: {{ .replicas }}
  {{- end }}
  revisionHistoryLimit: 3
  # Never fewer than there were: a new pod is ready before an old one goes.
  strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  selector:
    matchLabels:
      {{- include "attune.selector" .root | nindent 6 }}
      attune/track: {{ .track }}
  template:
    metadata:
      labels:
        {{- include "attune.labels" .root | nindent 8 }}
        attune/track: {{ .track }}
        {{- with $values.podLabels }}{{ toYaml . | nindent 8 }}{{ end }}
      {{- with $values.podAnnotations }}
      annotations: {{ toYaml . | nindent 8 }}
      {{- end }}
    spec:
      automountServiceAccountToken: false
      # A Service named attune would set ATTUNE_PORT and the like, which are no settings.
      enableServiceLinks: false
      terminationGracePeriodSeconds: {{ add $values.drain.delaySeconds $values.drain.timeoutSeconds 5 }}
      {{- with $values.imagePullSecrets }}
      imagePullSecrets: {{ toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile: {type: RuntimeDefault}
      {{- if eq $values.model.source "download" }}
      initContainers:
        - name: model
          image: {{ $values.model.download.image }}
          command: [sh, /download/download.sh]
          args: [{{ $values.model.download.endpoint | quote }}, /models/{{ $values.model.path }}]
          resources:
            requests: {cpu: 100m, memory: 64Mi, ephemeral-storage: {{ $values.resources.ephemeralStorage }}}
            limits: {cpu: "1", memory: 64Mi, ephemeral-storage: {{ $values.resources.ephemeralStorage }}}
          securityContext: {{ include "attune.confined" . | nindent 12 }}
          volumeMounts:
            - {name: models, mountPath: /models}
            - {name: download, mountPath: /download, readOnly: true}
      {{- end }}
      containers:
        - name: attune
          image: "{{ $values.image.repository }}{{ if and $values.image.digest (not .tag) }}@{{ $values.image.digest }}{{ else }}:{{ .tag | default $values.image.tag | default .root.Chart.AppVersion }}{{ end }}"
          imagePullPolicy: {{ $values.image.pullPolicy }}
          env: {{ include "attune.environment" . | nindent 12 }}
          ports:
            - {name: grpc, containerPort: 50051}
            - {name: http, containerPort: 8080}
            - {name: ops, containerPort: 9464}
          resources:
            requests: &resources
              cpu: {{ $values.resources.cpu }}
              memory: {{ $values.resources.memory }}
              ephemeral-storage: {{ $values.resources.ephemeralStorage }}
            limits: *resources
          # Loading the model, and measuring a reduced precision, take seconds.
          startupProbe:
            {{- include "attune.probe" (dict "root" .root "path" "/readyz") | nindent 12 }}
            periodSeconds: 1
            failureThreshold: 300
          readinessProbe:
            {{- include "attune.probe" (dict "root" .root "path" "/readyz") | nindent 12 }}
            periodSeconds: 2
            timeoutSeconds: 2
          # It says only that the process answers; how long the queue is does not matter to it.
          livenessProbe:
            {{- include "attune.probe" (dict "root" .root "path" "/livez" "service" "liveness") | nindent 12 }}
            periodSeconds: 10
            timeoutSeconds: 5
          securityContext: {{ include "attune.confined" . | nindent 12 }}
          volumeMounts:
            - {name: models, mountPath: /models, readOnly: true}
            - {name: tmp, mountPath: /tmp}
            {{- if $values.tls.secret }}
            - {name: tls, mountPath: /etc/attune/tls, readOnly: true}
            {{- end }}
            {{- if $values.tokens.secret }}
            - {name: tokens, mountPath: /etc/attune/tokens, readOnly: true}
            {{- end }}
      volumes:
        - name: models
          {{- if eq $values.model.source "claim" }}
          persistentVolumeClaim: {claimName: {{ $values.model.claim }}, readOnly: true}
          {{- else if eq $values.model.source "image" }}
          image: {reference: {{ $values.model.image }}, pullPolicy: IfNotPresent}
          {{- else }}
          emptyDir: {}
        - name: download
          configMap: {name: {{ include "attune.name" .root }}-download}
          {{- end }}
        - {name: tmp, emptyDir: {sizeLimit: 64Mi}}
        {{- if $values.tls.secret }}
        - {name: tls, secret: {secretName: {{ $values.tls.secret }}, defaultMode: 0440}}
        {{- end }}
        {{- if $values.tokens.secret }}
        - {name: tokens, secret: {secretName: {{ $values.tokens.secret }}, defaultMode: 0440}}
        {{- end }}
      topologySpreadConstraints:
        {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
        - maxSkew: 1
          topologyKey: {{ . }}
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "attune.selector" $.root | nindent 14 }}
        {{- end }}
      {{- with $values.nodeSelector }}
      nodeSelector: {{ toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations: {{ toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.affinity }}
      affinity: {{ toYaml . | nindent 8 }}
      {{- end }}
{{- end }}

{{- define "attune.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
