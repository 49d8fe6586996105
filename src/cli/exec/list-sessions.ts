import type { ApiClient } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { showRecords } from '../shared/show-records.ts';
import type { Column } from '../terminal/table.ts';

const COLUMNS: readonly Column<Schemas['TerminalSession']>[] = [
  ['ID', ({ id }) => id],
  ['USER', ({ userName }) => userName],
  ['KEY', ({ keyName }) => keyName],
  ['IN', ({ podId, workerId }) => (podId === null ? `worker ${workerId}` : `pod ${podId}`)],
  ['PROGRAM', ({ program }) => program],
  ['FROM', ({ clientAddress }) => clientAddress],
  ['OPENED', ({ openedAt }) => openedAt],
  ['SECONDS', ({ openedAt, endedAt }) => openedAt && endedAt && secondsBetween(openedAt, endedAt)],
  ['STATUS', ({ status }) => status.toLowerCase()],
  ['END', ({ exitCode, endReason }) => endReason ?? (exitCode === null ? null : `exit code ${exitCode}`)],
];

function secondsBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / 1000);
}

/** Lists who ran a program in a pod or worker. */
export async function showSessions(
  client: ApiClient,
  { isOfAll, isJson }: { isOfAll: boolean; isJson: boolean },
  pieces: CliPieces,
): Promise<void> {
  const query = isOfAll ? ({ user: 'all' } as const) : {};
  const { terminals } = await client.call('get', '/v2/account/terminals', { query });
  const none = 'There are no sessions. Open one: `podyard exec <pod>`.';
  showRecords(terminals, { columns: COLUMNS, none }, isJson, pieces);
}
