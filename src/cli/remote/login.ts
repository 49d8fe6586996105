import { spawn } from 'node:child_process';
import type { CliOutput, CliPieces } from '../cli-pieces.ts';
import { formatTable } from '../table.ts';
import { ApiClient } from './api-client.ts';
import { readContexts, saveContext, trimSlash } from './contexts.ts';
import { findRecord, RECORDS } from './records.ts';
import { readSecret } from './terminal.ts';

/** The key is tried before it is kept. */
export async function login(pieces: CliPieces, options: { url: string; name: string }): Promise<void> {
  const { terminal } = pieces;
  const url = trimSlash(options.url);
  if (!URL.canParse(url)) throw new Error(`'${options.url}' is no URL: write it like http://127.0.0.1:8080`);
  const key = await readSecret(terminal, 'API key');
  const client = new ApiClient({ url, key }, terminal.interrupted);
  const account = await client.call<{ name: string }>('GET', '/v2/account');
  await saveContext(terminal, options.name, { url, key });
  pieces.note(`Signed in to ${url} as ${account.name}; the context is called '${options.name}'.`);
}

export async function listContexts(pieces: CliPieces): Promise<void> {
  const { current, contexts } = await readContexts(pieces.terminal);
  const rows = Object.entries(contexts).map(([name, { url }]) => [name === current ? '*' : '', name, url]);
  if (rows.length === 0) pieces.note('There are none: `podyard login` makes the first.');
  else pieces.print(formatTable(['', 'NAME', 'URL'], rows));
}

/** Prints the address, and opens it where there is somebody to see it. */
export async function openConsole(client: ApiClient, id: string | undefined, pieces: CliPieces): Promise<void> {
  const url = `${client.target.url}/#/${id === undefined ? '' : await pageOf(client, id)}`;
  pieces.print(url);
  if (!pieces.terminal.isInteractive) return;
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';
  spawn(opener, [url], { stdio: 'ignore', detached: true })
    .on('error', () => tellByHand(pieces))
    .unref();
}

function tellByHand(output: CliOutput): void {
  output.note('No browser could be started: open the address by hand.');
}

async function pageOf(client: ApiClient, id: string): Promise<string> {
  const pods = await client.call<{ pods: { id: string; name: string }[] }>('GET', '/v2/pods');
  const pod = pods.pods.find((candidate) => candidate.id === id || candidate.name === id);
  return pod ? `pods/${pod.id}` : `endpoints/${(await findRecord(client, RECORDS.endpoints, id)).id}`;
}
