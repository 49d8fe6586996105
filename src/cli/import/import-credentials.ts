import { stat } from 'node:fs/promises';
import type { CommandOutput } from '../shared/cli-pieces.ts';
import { readInputFile } from '../shared/read-input-file.ts';
import type { ImportItem } from './import-plan.ts';

/** Values that cannot be read from the other side, by the name of their record. */
export interface Credentials {
  secrets: Map<string, string>;
  registries: Map<string, { username: string; password: string }>;
}

/** Reads `{"secrets": {name: value}, "registries": {name: {username, password}}}`. Never quotes a value. */
export async function readCredentialsFile(file: string, output: CommandOutput): Promise<Credentials> {
  const text = await readInputFile(file);
  if (((await stat(file)).mode & 0o077) !== 0) output.note(`${file} can be read by others: chmod 600 ${file}`);
  let value: { secrets?: unknown; registries?: unknown };
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`${file} is not valid JSON`);
  }
  const secrets = entriesOf(value?.secrets).map(([name, secret]) => [name, secret] as const);
  const registries = entriesOf(value?.registries).map(([name, one]) => [name, one as Record<string, unknown>] as const);
  const wrongSecret = secrets.find(([, secret]) => typeof secret !== 'string' || secret === '');
  if (wrongSecret) throw new Error(`${file}: secrets.${wrongSecret[0]} must be text that is not empty`);
  const wrong = registries.find(([, one]) => !isText(one?.username) || !isText(one?.password));
  if (wrong) throw new Error(`${file}: registries.${wrong[0]} must have a username and a password`);
  return {
    secrets: new Map(secrets as [string, string][]),
    registries: new Map(registries as unknown as [string, { username: string; password: string }][]),
  };
}

const isText = (value: unknown) => typeof value === 'string' && value !== '';

function entriesOf(value: unknown): [string, unknown][] {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : [];
}

/** Prompts for what is still missing, on a terminal. An empty answer skips the record. */
export async function askForMissing(
  items: readonly ImportItem[],
  known: Credentials,
  { terminal }: CommandOutput,
): Promise<Credentials> {
  const all = { secrets: new Map(known.secrets), registries: new Map(known.registries) };
  if (!terminal.isInteractive) return all;
  for (const { kind, name, action } of items) {
    if (action !== 'CREATE') continue;
    if (kind === 'secret' && !all.secrets.has(name)) {
      const value = await terminal.askSecret(`Value of secret ${name} (empty: skip): `);
      if (value !== '') all.secrets.set(name, value);
    }
    if (kind === 'registry' && !all.registries.has(name)) {
      const username = await terminal.ask(`User name at registry ${name} (empty: skip): `);
      const password = username === '' ? '' : await terminal.askSecret(`Password at registry ${name}: `);
      if (password !== '') all.registries.set(name, { username, password });
    }
  }
  return all;
}
