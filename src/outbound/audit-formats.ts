/** Entries of the audit log as syslog (RFC 5424) and as OTLP logs. */
import type { AuditEntry } from '../domain/audit/list-entries.ts';
import type { AuditPortion } from '../domain/audit/stream-store.ts';

/** "Log audit" of RFC 5424. */
const FACILITY = 13;
/** By outcome: of syslog, and of OTLP with its name. */
const SEVERITIES: Record<AuditEntry['outcome'], { syslog: number; otlp: number; text: string }> = {
  done: { syslog: 6, otlp: 9, text: 'INFO' },
  refused: { syslog: 4, otlp: 13, text: 'WARN' },
  failed: { syslog: 3, otlp: 17, text: 'ERROR' },
};
/** The id of structured data, under the number reserved for examples: Podyard has none of its own. */
const SD_ID = 'podyard@32473';
const BOM = '\ufeff';
const MAX_MSGID = 32;
const MAX_HOST = 255;

/** Members that are worth a field of their own; the message has all. */
const FIELDS = [
  'seq',
  'outcome',
  'actorKind',
  'actorId',
  'actorName',
  'keyId',
  'recordId',
  'ownerId',
  'address',
  'requestId',
] as const;

/** Returns an entry as one message of syslog, without a frame: the whole entry as JSON after its fields. */
export function syslogMessage(entry: AuditEntry, hostname: string): string {
  const priority = FACILITY * 8 + SEVERITIES[entry.outcome].syslog;
  const data = FIELDS.flatMap((name) => {
    const value = entry[name];
    return value === null ? [] : [`${name}="${String(value).replace(/["\\\]]/g, '\\$&')}"`];
  });
  const head = [
    `<${priority}>1`,
    entry.at,
    printable(hostname, MAX_HOST),
    'podyard',
    '-',
    printable(entry.operation, MAX_MSGID),
  ];
  return `${head.join(' ')} [${SD_ID} ${data.join(' ')}] ${BOM}${JSON.stringify(entry)}`;
}

function printable(text: string, most: number): string {
  return text.replace(/[^\u0021-\u007e]/g, '').slice(0, most) || '-';
}

/** Returns a portion as OTLP's `ExportLogsServiceRequest` in JSON. */
export function otlpBody({ entries, head }: AuditPortion): string {
  const logRecords = entries.map((entry) => {
    const { otlp, text } = SEVERITIES[entry.outcome];
    return {
      timeUnixNano: nanosOf(entry.at),
      severityNumber: otlp,
      severityText: text,
      eventName: entry.operation,
      body: { stringValue: JSON.stringify(entry) },
      attributes: FIELDS.flatMap((name) => attributeOf(`podyard.audit.${name}`, entry[name])),
    };
  });
  const resource = { attributes: attributeOf('service.name', 'podyard') };
  const scope = { name: 'podyard.audit', attributes: attributeOf('podyard.audit.head', head) };
  return JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords }] }] });
}

function attributeOf(key: string, value: string | number | null) {
  if (value === null) return [];
  return [{ key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value } }];
}

/** To the microsecond, which is what an entry knows. */
function nanosOf(at: string): string {
  const micros = /\.(\d{6})Z$/.exec(at)?.[1] ?? '000000';
  return `${BigInt(Math.floor(Date.parse(at) / 1_000)) * 1_000_000_000n + BigInt(micros) * 1_000n}`;
}
