import { UsageError } from '../../core/usage-error.ts';
import { userIdOf } from '../access/server-side.ts';
import { present } from '../fields/field.ts';
import { type ApiClient, queryText } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';
import type { Common } from '../shared/command-shape.ts';
import { showRecords } from '../shared/show-records.ts';
import type { Column } from '../terminal/table.ts';

export interface AuditOptions {
  user?: string;
  by?: string;
  operation?: string;
  record?: string;
  outcome?: 'done' | 'refused' | 'failed';
  since?: string;
  until?: string;
}

type Entry = Schemas['AuditEntry'];

const DEFAULT_LIMIT = 50;
const MAX_PAGE = 500;
const NONE = 'No entry matches. `--user all` shows those of everybody, for admins.';

/** Prints entries as a table or JSON. */
export async function listAudit(
  client: ApiClient,
  options: AuditOptions & Common & { limit?: number },
  output: CommandOutput,
): Promise<void> {
  const filters = await readFilters(client, options);
  const wanted = options.limit ?? DEFAULT_LIMIT;
  const entries: Entry[] = [];
  for (let cursor: string | null | undefined; cursor !== null && entries.length < wanted; ) {
    const limit = Math.min(wanted - entries.length, MAX_PAGE);
    const page: Schemas['AuditList'] = await client.call('get', '/v2/audit', {
      query: { ...filters, limit, ...(cursor && { cursor }) },
    });
    entries.push(...page.entries);
    cursor = page.nextCursor;
  }
  showRecords(entries, { columns: COLUMNS, none: NONE }, options.json, output);
}

/** Prints JSON lines as they come. */
export async function exportAudit(
  client: ApiClient,
  options: AuditOptions & Common,
  { terminal }: CommandOutput,
): Promise<void> {
  const response = await client.send('GET', `/v2/audit/export${queryText(await readFilters(client, options))}`);
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) terminal.write(chunk);
}

async function readFilters(client: ApiClient, { user, by, operation, record, outcome, since, until }: AuditOptions) {
  return present({
    userId: user === undefined || user === 'all' ? user : await userIdOf(client, user),
    actorId: by === undefined ? undefined : await userIdOf(client, by),
    operation,
    recordId: record,
    outcome,
    since: since === undefined ? undefined : readTime('--since', since),
    until: until === undefined ? undefined : readTime('--until', until),
  });
}

function readTime(option: string, text: string): string {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new UsageError(`${option} is '${text}', but must be a time such as 2026-11-01T08:00Z`);
  return new Date(ms).toISOString();
}

const COLUMNS: readonly Column<Entry>[] = [
  ['TIME', ({ at }) => at.replace(/\.\d+Z$/, 'Z')],
  ['WHO', whoOf],
  ['FROM', ({ interface: by, address }) => (address === null ? by : `${by} ${address}`)],
  ['OPERATION', ({ operation }) => operation],
  ['RECORD', ({ recordName, recordId }) => recordName ?? recordId],
  ['OUTCOME', ({ outcome, repeats }) => (repeats > 1 ? `${outcome} ×${repeats}` : outcome)],
  ['WHAT', ({ reason, changes }) => reason ?? Object.keys(changes ?? {}).join(', ')],
];

function whoOf({ actorKind, actorName, actorId, keyName }: Entry): string {
  if (actorKind === 'system') return 'Podyard';
  if (actorKind === 'operator') return 'the operator';
  if (actorKind === 'unknown') return 'unknown key';
  const who = actorName ?? actorId ?? '';
  return keyName === null ? who : `${who} (${keyName})`;
}
