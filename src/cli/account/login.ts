import { spawn } from 'node:child_process';
import { trimSlashes } from '../../core/text/trim-slashes.ts';
import { UsageError } from '../../core/usage-error.ts';
import { findRecord } from '../records/find-record.ts';
import { RECORDS } from '../records/kinds.ts';
import { ApiClient, type Target } from '../shared/api-client.ts';
import type { CliOutput, CliPieces } from '../shared/cli-pieces.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { readSecret } from '../terminal/terminal.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import { readContexts, saveContext } from './contexts.ts';

/** Saves a context, after checking that the key works. */
export async function login(pieces: CliPieces, options: { url: string; name: string }): Promise<void> {
  const { terminal } = pieces;
  const url = trimSlashes(options.url);
  if (!URL.canParse(url)) throw new UsageError(`'${options.url}' is not a URL: write it like http://127.0.0.1:8080`);
  const key = await readSecret(terminal, 'API key');
  const client = new ApiClient({ url, key }, terminal);
  const account = await client.call('get', '/v2/account');
  await saveContext(terminal, options.name, { url, key });
  pieces.note(`Signed in to ${url} as ${account.name}; saved as context '${options.name}'.`);
}

export async function listContexts(pieces: CliPieces, { json }: { json?: boolean }): Promise<void> {
  const { current, contexts } = await readContexts(pieces.terminal);
  const columns: Column<[name: string, target: Target]>[] = [
    ['', ([name]) => (name === current ? '*' : '')],
    ['NAME', ([name]) => name],
    ['URL', ([, { url }]) => url],
  ];
  const known = Object.entries(contexts);
  if (json) {
    pieces.print(jsonText(known.map(([name, { url }]) => ({ name, url, current: name === current }))));
  } else if (known.length === 0) pieces.note('There are none. Create one with `podyard login`.');
  else pieces.print(formatTable(columns, known, pieces.screen));
}

/** Prints the console's URL, and opens it in a browser when run interactively. */
export async function openConsole(
  client: ApiClient,
  id: string | undefined,
  { json }: { json?: boolean },
  pieces: CliPieces,
): Promise<void> {
  const url = `${client.target.url}/#/${id === undefined ? '' : await pageOf(client, id)}`;
  pieces.print(json ? jsonText({ url }) : url);
  if (json || !pieces.terminal.isInteractive) return;
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';
  spawn(opener, [url], { stdio: 'ignore', detached: true })
    .on('error', () => reportNoBrowser(pieces))
    .unref();
}

function reportNoBrowser(output: CliOutput): void {
  output.note('No browser could be started: open the URL yourself.');
}

async function pageOf(client: ApiClient, id: string): Promise<string> {
  const pods = await RECORDS.pods.list(client);
  const pod = pods.find((candidate) => candidate.id === id || candidate.name === id);
  return pod ? `pods/${pod.id}` : `endpoints/${(await findRecord(client, RECORDS.endpoints, id)).id}`;
}
