import { type Command, Option } from 'commander';
import { wholeNumber } from '../records/fields.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import type { ApiClient } from './api-client.ts';
import type { CliPieces } from './cli-pieces.ts';
import { addConfirm, type ConfirmOptions, confirmDeletion, requireConfirmable } from './confirm.ts';
import type { RecordKind } from './records.ts';

/** Options of every command that talks to a server. */
export interface Common {
  context?: string;
  json?: boolean;
}

export function addCommon(command: Command): Command {
  return command
    .option('--context <name>', 'server to use, as listed by `podyard contexts` (default: the current one)')
    .option('--json', 'print JSON, for programs');
}

/** Returns a client for the server that the options name, or else the current one. */
export async function connect(pieces: CliPieces, { context }: Common): Promise<ApiClient> {
  const [{ ApiClient }, { findTarget }] = await Promise.all([
    import('./api-client.ts'),
    import('../account/contexts.ts'),
  ]);
  return new ApiClient(await findTarget(pieces.terminal, context), pieces.terminal);
}

/** Loaded when a command runs, so that `--help` stays fast. */
export const records = async () => ({ ...(await import('./records.ts')), ...(await import('./find-record.ts')) });

/** Adds `list`, `get` and `delete` for one kind of record. */
export function addRecordCommands(parent: Command, pieces: CliPieces, kindOf: () => Promise<RecordKind>): void {
  addCommon(parent.command('list', { isDefault: true }).alias('ls'))
    .description(`list ${parent.name()}`)
    .action(async (options: Common) => {
      const [{ listForTable, showRecords }, kind] = await Promise.all([records(), kindOf()]);
      const found = await listForTable(await connect(pieces, options), kind);
      showRecords(found, kind, options.json === true, pieces);
    });
  addCommon(parent.command('get'))
    .description('show one by id or name')
    .argument('<id>', 'id or name')
    .action(async (id: string, options: Common) => {
      const [{ findRecord, showRecord }, kind] = await Promise.all([records(), kindOf()]);
      const client = await connect(pieces, options);
      const found = await findRecord(client, kind, id);
      showRecord({ ...found, ...(await kind.detail?.(client, found.id)) }, options.json === true, pieces);
    });
  addConfirm(addCommon(parent.command('delete')))
    .description('delete one by id or name')
    .argument('<id>', 'id or name')
    .action(async (id: string, options: Common & ConfirmOptions) => {
      requireConfirmable(pieces, options);
      const [{ findRecord }, kind] = await Promise.all([records(), kindOf()]);
      const client = await connect(pieces, options);
      const { id: found, name } = await findRecord(client, kind, id);
      await confirmDeletion(pieces, { what: `${kind.one} ${name} (${found}) for good`, name, id: found }, options);
      await client.call('DELETE', `${kind.path}/${encodeURIComponent(found)}`);
      if (options.json) pieces.print(jsonText({ id: found, name, deleted: true }));
      else pieces.note(`${name} (${found}) is deleted.`);
    });
}

/** Makes a call, prints the record it returns (id and name, or everything with `--json`), and resolves with it. */
export async function send(
  pieces: CliPieces,
  options: Common,
  call: (client: ApiClient) => Promise<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const record = await call(await connect(pieces, options));
  pieces.print(options.json ? jsonText(record) : `${record.id}  ${record.name}`);
  return record;
}

/** Adds an endpoint argument, by id or name, and runs `work` with the endpoint's id and with what the user calls it. */
export function onEndpoint<Options>(
  command: Command,
  pieces: CliPieces,
  work: (client: ApiClient, endpointId: string, options: Options & Common, name: string) => Promise<void>,
): Command {
  return addCommon(command)
    .argument('<endpoint>', 'id or name')
    .action(async (id: string, options: Options & Common) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      await work(client, (await findRecord(client, RECORDS.endpoints, id)).id, options, id);
    });
}

export function addLogOptions(command: Command): Command {
  return command
    .option('-f, --follow', 'keep printing new lines')
    .option('--tail <lines>', 'start with this many of the last lines that match', wholeNumber, 100)
    .option('--search <text>', 'only lines that contain this text, in any case')
    .addOption(
      new Option('--level <level>', 'only lines of this level or a more severe one').choices([
        'debug',
        'info',
        'warn',
        'error',
      ]),
    )
    .option('--since <time>', 'written at or after: a time, or an age such as 90s, 15m, 2h or 1d')
    .option('--until <time>', 'written before: a time or an age')
    .addOption(new Option('--source <which>', 'lines of this source only').choices(['container', 'system']));
}
