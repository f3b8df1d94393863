{{- define "lakewarden.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" (.Release.Name | trunc 39 | trimSuffix "-") .Chart.Name -}}
{{- end -}}
{{- end }}

{{- define "lakewarden.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "lakewarden.labels" -}}
{{ include "lakewarden.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* What a server and the migration have in common: user, settings, secrets, places to write. */}}
{{- define "lakewarden.pod" -}}
automountServiceAccountToken: false
# The service's own variables (LAKEWARDEN_PORT=tcp://…) would be read as settings.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - {name: home, emptyDir: {}}
  - {name: tmp, emptyDir: {}}
{{- end }}

{{- define "lakewarden.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
env:
{{- range .Values.secret.keys }}
  - name: {{ . }}
    valueFrom: {secretKeyRef: {name: {{ $.Values.secret.name }}, key: {{ . }}}}
{{- end }}
{{- range $name, $value := .Values.settings }}
  - {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
resources: {{- toYaml .Values.resources | nindent 2 }}
volumeMounts:
  - {name: home, mountPath: /var/lib/lakewarden}
  - {name: tmp, mountPath: /tmp}
{{- end }}
