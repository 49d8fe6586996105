import { messageOf } from '../../core/errors.ts';
import { trimSlashes } from '../../core/text/trim-slashes.ts';
import { UsageError } from '../../core/usage-error.ts';
import { findRecord } from '../records/find-record.ts';
import { RECORDS } from '../records/kinds.ts';
import { ApiClient, ApiRefusal, type Target } from '../shared/api-client.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { readSecret } from '../terminal/terminal.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import { readContexts, removeContext, requireContext, saveContext } from './contexts.ts';
import { openInBrowser } from './open-in-browser.ts';

/** How to sign in. By default in a browser of this machine, or with a key where there is no terminal. */
export interface LoginOptions {
  url: string;
  /** Name of the context. */
  name: string;
  /** A browser on any machine approves it, by a short code. */
  device?: boolean;
  /** The key is typed, or read from stdin. */
  withKey?: boolean;
}

/** Signs in to a server, and saves its key as a context. A key of this command line's own that was there before is revoked. */
export async function login(pieces: CliPieces, options: LoginOptions): Promise<void> {
  const { terminal } = pieces;
  const url = trimSlashes(options.url);
  if (!URL.canParse(url)) throw new UsageError(`'${options.url}' is not a URL: write it like http://127.0.0.1:8080`);
  if (options.device && options.withKey) throw new UsageError('give either --device or --with-key');
  const former = (await readContexts(terminal)).contexts[options.name];
  if (options.withKey || (!options.device && !terminal.isInteractive)) await loginWithKey(pieces, url, options.name);
  else {
    const { loginInBrowser, loginByDevice, isRemoteShell } = await import('./browser-login.ts');
    const { userName, name, expiresAt, key, keyId } =
      options.device || isRemoteShell(terminal.env)
        ? await loginByDevice(pieces, url)
        : await loginInBrowser(pieces, url);
    await saveContext(terminal, options.name, { url, key, keyId });
    pieces.note(
      `Signed in to ${url} as ${userName} until ${expiresAt.slice(0, 10)}; saved as context '${options.name}', with the API key '${name}'.`,
    );
  }
  if (former?.keyId) await revokeOwnKey(pieces, former);
}

/** The key is checked before it is saved. */
async function loginWithKey(pieces: CliPieces, url: string, name: string): Promise<void> {
  const { terminal } = pieces;
  const key = await readSecret(terminal, 'API key');
  const client = new ApiClient({ url, key }, terminal);
  const account = await client.call('get', '/v2/account');
  await saveContext(terminal, name, { url, key });
  pieces.note(`Signed in to ${url} as ${account.name}; saved as context '${name}'.`);
}

/**
 * Revokes the key of a context, if `podyard login` made it, and removes the context. A server that is away keeps the key, which is
 * said.
 */
export async function logout(pieces: CliPieces, wanted: string | undefined): Promise<void> {
  const { terminal } = pieces;
  const name = wanted ?? (await readContexts(terminal)).current;
  if (name === null) throw new UsageError('you are not signed in to a server: `podyard contexts` lists where you are');
  const target = (await requireContext(terminal, name)).contexts[name]!;
  const isRevoked = target.keyId !== undefined && (await revokeOwnKey(pieces, target));
  await removeContext(terminal, name);
  const key = isRevoked ? 'its key is revoked' : 'its key is removed from this machine, and goes on elsewhere';
  pieces.note(`Signed out of ${target.url} (context '${name}'): ${key}.`);
}

/** False if it could not be revoked, which is said. A key that has ended needs no end. */
async function revokeOwnKey({ terminal, note }: CliPieces, target: Target): Promise<boolean> {
  try {
    await new ApiClient({ url: target.url, key: target.key }, terminal).json('POST', '/sign-in/cli/out');
    return true;
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 401) return true;
    note(`The key ${target.keyId} could not be revoked (${messageOf(error)}): revoke it in the console.`);
    return false;
  }
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
  openInBrowser(pieces, url);
}

async function pageOf(client: ApiClient, id: string): Promise<string> {
  const pods = await RECORDS.pods.list(client);
  const pod = pods.find((candidate) => candidate.id === id || candidate.name === id);
  return pod ? `pods/${pod.id}` : `endpoints/${(await findRecord(client, RECORDS.endpoints, id)).id}`;
}
