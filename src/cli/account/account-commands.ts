/** The commands about this user: signing in, SSH keys and limits. */
import type { Command } from 'commander';
import { UsageError } from '../../core/usage-error.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import {
  addCommon,
  addConfirm,
  type Common,
  type ConfirmOptions,
  confirmDeletion,
  connect,
  requireConfirmable,
} from '../shared/command-shape.ts';
import { readInputFile } from '../shared/read-input-file.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import type { LoginOptions } from './login.ts';

export function addSignIn(program: Command, pieces: CliPieces): void {
  program
    .command('login')
    .description('sign in to a server in a browser; a key is read from stdin where nobody is at a terminal')
    .argument('[url]', 'URL of the server', 'http://127.0.0.1:8080')
    .option('--name <context>', 'name of the context', 'default')
    .option('--device', 'show a short code for a browser of another machine')
    .option('--with-key', 'save an API key, which is prompted for or read from stdin')
    .action(async (url: string, options: Omit<LoginOptions, 'url'>) => {
      const { login } = await import('./login.ts');
      await login(pieces, { ...options, url });
    });
  program
    .command('logout')
    .description('sign out of a server, and revoke the key that `podyard login` made')
    .option('--name <context>', 'name of the context (default: the current one)')
    .action(async ({ name }: { name?: string }) => {
      const { logout } = await import('./login.ts');
      await logout(pieces, name);
    });
  const contexts = program.command('contexts').description('manage saved servers');
  contexts
    .command('list', { isDefault: true })
    .alias('ls')
    .description('list contexts; * marks the current one')
    .option('--json', 'print JSON, for programs; without keys')
    .action(async (options: { json?: boolean }) => {
      const { listContexts } = await import('./login.ts');
      await listContexts(pieces, options);
    });
  contexts
    .command('use')
    .description('make a context the current one')
    .argument('<name>')
    .action(async (name: string) => (await import('./contexts.ts')).useContext(pieces.terminal, name));
  addConfirm(contexts.command('remove'))
    .description('remove a context and its key from this machine')
    .argument('<name>')
    .action(async (name: string, options: ConfirmOptions) => {
      requireConfirmable(pieces, options);
      const { removeContext, requireContext } = await import('./contexts.ts');
      await requireContext(pieces.terminal, name);
      await confirmDeletion(pieces, { what: `the context ${name} and its key`, name }, options);
      await removeContext(pieces.terminal, name);
    });
  addCommon(program.command('open'))
    .description('open the console, optionally at an endpoint or pod')
    .argument('[id]', 'an endpoint or a pod, by id or name')
    .action(async (id: string | undefined, options: Common) => {
      const { openConsole } = await import('./login.ts');
      await openConsole(await connect(pieces, options), id, options, pieces);
    });
}

export function addLimits(program: Command, pieces: CliPieces): void {
  addCommon(program.command('limits'))
    .description('show your limits and quotas, and what you use of them')
    .action(async (options: Common) => {
      const limits = await (await connect(pieces, options)).call('get', '/v2/account/limits');
      const { formatUserLimits } = await import('../access/limits.ts');
      pieces.print(options.json ? jsonText(limits) : formatUserLimits(limits, pieces.screen));
    });
}

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
  return (await client.call('get', '/v2/account/ssh-keys')).sshKeys;
}

async function replaceKeys(client: ApiClient, sshKeys: string[]): Promise<string[]> {
  return (await client.call('put', '/v2/account/ssh-keys', { body: { sshKeys } })).sshKeys;
}

/** A private key is never sent. */
async function readPublicKeys(file: string): Promise<string[]> {
  const text = await readInputFile(file);
  if (text.includes('PRIVATE KEY')) throw new UsageError(`${file} is a private key: give its .pub file`);
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}
