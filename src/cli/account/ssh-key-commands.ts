import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { UsageError } from '../../core/usage-error.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addCommon, type Common, connect } from '../shared/command-shape.ts';
import { addConfirm, type ConfirmOptions, confirmDeletion, requireConfirmable } from '../shared/confirm.ts';
import { jsonText } from '../terminal/terminal-text.ts';

const PATH = '/v2/account/ssh-keys';

export function addSshKeys(program: Command, pieces: CliPieces): void {
  const keys = program.command('ssh-keys').description('manage the SSH public keys that your pods get');
  const print = (list: string[], { json }: Common) => {
    if (!json && list.length === 0)
      pieces.note('You have no SSH keys. Add one: `podyard ssh-keys add ~/.ssh/id_ed25519.pub`.');
    else pieces.print(json ? jsonText(list) : list.join('\n'));
  };
  addCommon(keys.command('list', { isDefault: true }).alias('ls'))
    .description('list the keys')
    .action(async (options: Common) => print(await readKeys(await connect(pieces, options)), options));
  addCommon(keys.command('add'))
    .description('add the keys in a file such as ~/.ssh/id_ed25519.pub; pods get them when they start')
    .argument('<file>')
    .action(async (file: string, options: Common) => {
      const [client, added] = await Promise.all([connect(pieces, options), readPublicKeys(file)]);
      print(await replaceKeys(client, [...new Set([...(await readKeys(client)), ...added])]), options);
    });
  addConfirm(addCommon(keys.command('remove')))
    .description('remove the keys whose text contains these words, such as their comment')
    .argument('<text>')
    .action(async (text: string, options: Common & ConfirmOptions) => {
      requireConfirmable(pieces, options);
      const client = await connect(pieces, options);
      const before = await readKeys(client);
      const left = before.filter((key) => !key.includes(text));
      if (left.length === before.length) throw new Error(`no key contains '${text}'`);
      const removed = before.filter((key) => key.includes(text));
      const what = `${removed.length === 1 ? 'the key' : `${removed.length} keys`} ${removed.join(', ')}`;
      await confirmDeletion(pieces, { what, name: text }, options);
      print(await replaceKeys(client, left), options);
    });
}

async function readKeys(client: ApiClient): Promise<string[]> {
  return (await client.call<{ sshKeys: string[] }>('GET', PATH)).sshKeys;
}

async function replaceKeys(client: ApiClient, sshKeys: string[]): Promise<string[]> {
  return (await client.call<{ sshKeys: string[] }>('PUT', PATH, { sshKeys })).sshKeys;
}

/** A private key is never sent. */
async function readPublicKeys(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8');
  if (text.includes('PRIVATE KEY')) throw new UsageError(`${file} is a private key: give its .pub file`);
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}
