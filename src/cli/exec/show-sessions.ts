import type { ApiClient } from '../shared/api-client.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';

interface Session {
  id: string;
  userName: string;
  keyName: string;
  podId: string | null;
  workerId: string | null;
  program: string;
  status: string;
  clientAddress: string | null;
  openedAt: string;
  endedAt: string | null;
  exitCode: number | null;
  endReason: string | null;
}

const COLUMNS: readonly Column<Session>[] = [
  ['ID', ({ id }) => id],
  ['USER', ({ userName }) => userName],
  ['KEY', ({ keyName }) => keyName],
  ['IN', ({ podId, workerId }) => (podId === null ? `worker ${workerId}` : `pod ${podId}`)],
  ['PROGRAM', ({ program }) => program],
  ['FROM', ({ clientAddress }) => clientAddress],
  ['OPENED', ({ openedAt }) => openedAt],
  ['SECONDS', ({ openedAt, endedAt }) => endedAt && Math.round((Date.parse(endedAt) - Date.parse(openedAt)) / 1000)],
  ['STATUS', ({ status }) => status.toLowerCase()],
  ['END', ({ exitCode, endReason }) => endReason ?? (exitCode === null ? null : `exit code ${exitCode}`)],
];

/** Lists who ran a program in a pod or worker. */
export async function showSessions(
  client: ApiClient,
  { isOfAll, isJson }: { isOfAll: boolean; isJson: boolean },
  pieces: CliPieces,
): Promise<void> {
  const { terminals } = await client.call<{ terminals: Session[] }>(
    'GET',
    `/v2/account/terminals${isOfAll ? '?user=all' : ''}`,
  );
  if (isJson) pieces.print(jsonText(terminals));
  else if (terminals.length === 0) pieces.note('There are no sessions. Open one: `podyard exec <pod>`.');
  else pieces.print(formatTable(COLUMNS, terminals, pieces.screen));
}
