{{- /* What `egress` closes; src/runtimes/docker/network/egress-rules.ts closes the same on a machine. As JSON: {v4: [], v6: []}. */ -}}
{{- define "podyard.closedCidrs" -}}
{{- $v4 := list "169.254.0.0/16" "100.100.100.200/32" "168.63.129.16/32" "192.0.0.192/32" -}}
{{- $v6 := list "fe80::/10" "fd00:ec2::254/128" "fd20:ce::254/128" "fd00:c1::a9fe:a9fe/128" -}}
{{- if eq .Values.egress "internet" -}}
{{- $v4 = concat $v4 (list "0.0.0.0/8" "10.0.0.0/8" "100.64.0.0/10" "127.0.0.0/8" "172.16.0.0/12" "192.0.0.0/24" "192.168.0.0/16" "198.18.0.0/15" "224.0.0.0/3") -}}
{{- $v6 = concat $v6 (list "fc00::/7" "fec0::/10" "ff00::/8" "64:ff9b:1::/48") -}}
{{- end -}}
{{- range .Values.networkPolicy.blockedCidrs -}}
{{- if contains ":" . }}{{ $v6 = append $v6 . }}{{ else }}{{ $v4 = append $v4 . }}{{ end -}}
{{- end -}}
{{- dict "v4" $v4 "v6" $v6 | toJson -}}
{{- end -}}

{{- /* An entry of `egressAllow` as an egress rule: `10.0.5.0/24`, `192.168.1.10:5432`, `fd00::/8` or `[fd00::1]:443`. */ -}}
{{- define "podyard.allowedEgress" -}}
{{- $network := . -}}
{{- $port := "" -}}
{{- if regexMatch "^(\\[.+\\]|[0-9./]+):[0-9]+$" . -}}
{{- $port = regexFind "[0-9]+$" . -}}
{{- $network = regexReplaceAll ":[0-9]+$" . "" | trimPrefix "[" | trimSuffix "]" -}}
{{- end -}}
{{- if not (contains "/" $network) }}{{ $network = printf "%s/%s" $network (ternary "128" "32" (contains ":" $network)) }}{{ end -}}
- to:
    - ipBlock: {cidr: {{ $network | quote }}}
{{- if $port }}
  ports:
    - {port: {{ $port }}, protocol: TCP}
{{- end }}
{{- end -}}
