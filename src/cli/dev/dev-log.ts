import { readLogRecord } from '../../core/text/log-record.ts';
import { saidText } from '../logs/record-text.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';

/** Prints what the handler prints, and why no worker runs. Ends with the stream, or the client's signal. */
export async function printLog(client: ApiClient, id: string, { print }: CliOutput, tail = 100): Promise<void> {
  for await (const data of client.events(`/v2/serverless/${id}/logs?tail=${tail}`)) {
    const { line, ts, source } = JSON.parse(data) as { line?: string; ts: string; source: string };
    if (line === undefined || (source === 'system' && !/fail|error|exited|cannot/i.test(line))) continue;
    print(`${new Date(ts).toLocaleTimeString('en-GB')}  ${wordsOf(line)}`);
  }
}

/** The kits log lines of JSON. */
function wordsOf(line: string): string {
  const record = readLogRecord(line);
  if (record === null) return line;
  const level = record.level === null || record.level === 'INFO' ? '' : `${record.level} `;
  return `${level}${saidText(record, false)}`;
}
