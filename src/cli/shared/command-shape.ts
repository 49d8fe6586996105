import { type Command, Option } from 'commander';
import type { Flags } from '../../config/settings.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { Context } from '../../domain/context.ts';
import type { Findable, Named, RecordKind } from '../records/kinds.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import type { ApiClient, Target } from './api-client.ts';
import type { CliPieces, CommandOutput } from './cli-pieces.ts';
import { wholeNumber } from './options.ts';

/** Options of every command that talks to a server. */
export interface Common {
  context?: string;
  team?: string;
  json?: boolean;
}

export function addCommon(command: Command): Command {
  return command
    .option('--team <name>', 'team to act for, by name or id (default: PODYARD_TEAM, or else your own account)')
    .option('--context <name>', 'server to use, as listed by `podyard contexts` (default: the current one)')
    .option('--json', 'print JSON, for programs');
}

/** Returns a client for the server that the options name, or else the current one. */
export async function connect(pieces: CliPieces, { context, team }: Common): Promise<ApiClient> {
  const [{ ApiClient }, { findTarget }] = await Promise.all([
    import('./api-client.ts'),
    import('../account/contexts.ts'),
  ]);
  const target = await findTarget(pieces.terminal, context);
  return new ApiClient(forTeam(target, team ?? pieces.terminal.env.PODYARD_TEAM), pieces.terminal);
}

/** Throws a `UsageError` for a name that a header cannot carry. */
function forTeam(target: Target, team: string | undefined): Target {
  if (!team) return target;
  if (!/^[\x20-\x7e]+$/.test(team))
    throw new UsageError(`'${team}': name the team by its id, as \`podyard teams\` lists`);
  return { ...target, team };
}

/** Runs `work` with the database of the installation that the flags name, or else of the one on this machine, migrated. */
export async function onDatabase<T>(
  pieces: CliPieces,
  flags: Flags,
  work: (context: Context, more: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  const { findInstallation } = await import('../storage/installation.ts');
  const { more } = await findInstallation(pieces, flags);
  return pieces.withDatabase(flags, (context) => work(context, more), more);
}

/** Loaded when a command runs, so that `--help` stays fast. */
export const records = async () => ({
  ...(await import('../records/kinds.ts')),
  ...(await import('../records/find-record.ts')),
  ...(await import('./show-records.ts')),
});

type Kinds = typeof import('../records/kinds.ts')['RECORDS'];
type RecordOf<K extends keyof Kinds> = Kinds[K] extends Findable<infer T> ? T : never;

/**
 * Adds an argument with the id or name of a record, and runs `work` with the record, what the user calls it, and what the next
 * argument is, if the command adds one.
 */
export function onRecord<Options, K extends keyof Kinds>(
  command: Command,
  pieces: CliPieces,
  kind: K,
  work: (
    client: ApiClient,
    record: RecordOf<K>,
    options: Options & Common,
    given: string,
    next: string | undefined,
  ) => Promise<unknown>,
  argument = '<id>',
): Command {
  return addCommon(command)
    .argument(argument, 'id or name')
    .action(async (given: string, ...rest: unknown[]) => {
      const options = rest.at(-2) as Options & Common; // the last is the command
      const next = rest.length > 2 ? (rest[0] as string | undefined) : undefined;
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const record = await findRecord<Named>(client, RECORDS[kind], given);
      await work(client, record as RecordOf<K>, options, given, next);
    });
}

/** Adds an endpoint argument, by id or name, and runs `work` with the endpoint's id and with what the user calls it. */
export function onEndpoint<Options>(
  command: Command,
  pieces: CliPieces,
  work: (
    client: ApiClient,
    endpointId: string,
    options: Options & Common,
    given: string,
    next: string | undefined,
  ) => Promise<unknown>,
): Command {
  return onRecord<Options, 'endpoints'>(
    command,
    pieces,
    'endpoints',
    (client, { id }, options, ...rest) => work(client, id, options, ...rest),
    '<endpoint>',
  );
}

/** Adds `list`, `get` and `delete` for one kind of record. */
export function addRecordCommands(parent: Command, pieces: CliPieces, name: keyof Kinds): void {
  const kindOf = async () => (await records()).RECORDS[name] as unknown as RecordKind<Named>;
  addCommon(parent.command('list', { isDefault: true }).alias('ls'))
    .description(`list ${parent.name()}`)
    .action(async (options: Common) => {
      const [{ showRecords }, kind] = await Promise.all([records(), kindOf()]);
      showRecords(await kind.rows(await connect(pieces, options)), kind, options.json, pieces);
    });
  onRecord(parent.command('get'), pieces, name, async (client, found, options) => {
    const [{ showRecord }, kind] = await Promise.all([records(), kindOf()]);
    showRecord({ ...found, ...(await kind.detail?.(client, found.id)) }, options.json, pieces);
  }).description('show one by id or name');
  addConfirm(addCommon(parent.command('delete')))
    .description('delete one by id or name')
    .argument('<id>', 'id or name')
    .action(async (given: string, options: Common & ConfirmOptions) => {
      requireConfirmable(pieces, options);
      const [{ findRecord }, kind] = await Promise.all([records(), kindOf()]);
      const client = await connect(pieces, options);
      const { id, name } = await findRecord(client, kind, given);
      await confirmDeletion(pieces, { what: `${kind.one} ${name} (${id}) for good`, name, id }, options);
      await kind.delete(client, id);
      if (options.json) pieces.print(jsonText({ id, name, deleted: true }));
      else pieces.note(`${name} (${id}) is deleted.`);
    });
}

/** Prints a record that was created or changed: its id and name, or with `--json` all of it. */
export function printNamed(pieces: CliPieces, { json }: Common, record: Named): void {
  pieces.print(json ? jsonText(record) : `${record.id}  ${record.name}`);
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

/** The option of every command that deletes something. */
export interface ConfirmOptions {
  yes?: boolean;
}

export function addConfirm(command: Command): Command {
  return command.option('--yes', 'delete without asking; needed where there is no terminal');
}

/** Throws a `UsageError` if there is no terminal to confirm on. Call it before any request, so that a script fails at once. */
export function requireConfirmable({ terminal }: CommandOutput, { yes }: ConfirmOptions): void {
  if (yes || terminal.isInteractive) return;
  throw new UsageError('this deletes something, and there is no terminal to ask on: add --yes');
}

/** Asks for the name of what is about to be deleted, unless `--yes` was given. Throws if the answer is another one. */
export async function confirmDeletion(
  output: CommandOutput,
  { what, name, id }: { what: string; name: string; id?: string },
  options: ConfirmOptions,
): Promise<void> {
  requireConfirmable(output, options);
  if (options.yes) return;
  const answer = (await output.terminal.ask(`This deletes ${what}. Type ${name} to confirm: `)).trim();
  if (answer !== name && answer !== id) throw new Error(`'${answer}' is not ${name}: nothing is deleted`);
}
