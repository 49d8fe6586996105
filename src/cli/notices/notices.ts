import type { DestinationKind, NoticeEvent } from '../../domain/notices/notice.ts';
import { present } from '../fields/field.ts';
import { findRecord } from '../records/find-record.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput, CliPieces, CommandOutput } from '../shared/cli-pieces.ts';
import { type Common, type ConfirmOptions, confirmDeletion } from '../shared/command-shape.ts';
import { showRecords } from '../shared/show-records.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { readSecret } from '../terminal/terminal.ts';
import { jsonText } from '../terminal/terminal-text.ts';

export interface WhichNotices {
  installation?: boolean;
}

export interface NoticeOptions extends WhichNotices {
  name?: string;
  kind?: string;
  email?: string;
  /** To be read. */
  url?: boolean;
  event?: string[];
  waitMinutes?: number;
  disable?: boolean;
  enable?: boolean;
}

type Destination = Schemas['NoticeDestination'];
type Delivery = Schemas['NoticeDeliveryList']['deliveries'][number];

const words = (name: string) => name.toLowerCase().replaceAll('_', '-');
const COLUMNS: readonly Column<Destination>[] = [
  ['ID', ({ id }) => id],
  ['NAME', ({ name }) => name],
  ['KIND', ({ kind }) => words(kind)],
  ['TO', ({ address }) => address],
  ['STATE', ({ enabled, lastError }) => (enabled ? (lastError === null ? 'ok' : 'failing') : 'disabled')],
  ['LAST SENT', ({ lastSentAt }) => lastSentAt],
  ['WAITING', ({ waiting }) => waiting],
  ['EVENTS', ({ events }) => events.map(words).join(' ')],
  ['WHY', ({ lastError }) => lastError],
];
const NONE = 'There are no destinations. Add one: `podyard notices add <name> --email <address>`.';

async function readAll(client: ApiClient, { installation }: WhichNotices): Promise<Destination[]> {
  const query = installation ? ({ scope: 'INSTALLATION' } as const) : {};
  return (await client.call('get', '/v2/account/notices', { query })).destinations;
}

export async function listNotices(client: ApiClient, options: Common & WhichNotices, output: CliOutput): Promise<void> {
  showRecords(await readAll(client, options), { columns: COLUMNS, none: NONE }, options.json, output);
}

/** Prints what signs a webhook, which is shown only once, or else the destination's id. */
export async function addNotice(
  client: ApiClient,
  name: string,
  options: Common & NoticeOptions,
  pieces: CliPieces,
): Promise<void> {
  const kind = kindOf(options);
  const body = {
    ...{ name, kind, scope: options.installation ? ('INSTALLATION' as const) : ('ACCOUNT' as const) },
    ...(await settingsOf(options, kind !== 'EMAIL', pieces)),
  };
  const made = await client.call('post', '/v2/account/notices', { body });
  if (options.json) return pieces.print(jsonText(made));
  pieces.print(made.signingSecret ?? made.id);
  if (made.signingSecret !== null) pieces.note('This signs what is sent, and is shown only once.');
  pieces.note(`Send a test: podyard notices test ${made.id}${options.installation ? ' --installation' : ''}`);
}

export async function updateNotice(
  client: ApiClient,
  which: string,
  options: Common & NoticeOptions,
  pieces: CliPieces,
): Promise<void> {
  const { id } = await find(client, options, which);
  const enabled = options.disable ? false : options.enable ? true : undefined;
  const settings = await settingsOf(options, options.url === true, pieces);
  const body = { ...settings, ...present({ name: options.name, enabled }) };
  const changed = await client.call('patch', '/v2/account/notices/{id}', { path: { id }, body });
  pieces.print(options.json ? jsonText(changed) : formatTable(COLUMNS, [changed], pieces.screen));
}

/** Throws if the test did not arrive. */
export async function testNotice(
  client: ApiClient,
  which: string,
  options: Common & WhichNotices,
  output: CliOutput,
): Promise<void> {
  const { id, name } = await find(client, options, which);
  const answer = await client.call('post', '/v2/account/notices/{id}/test', { path: { id } });
  if (options.json) output.print(jsonText(answer));
  if (!answer.delivered) throw new Error(`the test did not arrive: ${answer.error}`);
  if (!options.json) output.note(`${name} accepted the test.`);
}

const DELIVERY_COLUMNS: readonly Column<Delivery>[] = [
  ['ID', ({ id }) => id],
  ['CREATED', ({ createdAt }) => createdAt],
  ['STATUS', ({ status }) => words(status)],
  ['ATTEMPTS', ({ attempts }) => attempts],
  ['WHAT', ({ items, more }) => [...items.map(textOf), ...(more > 0 ? [`${more} more`] : [])].join(', ')],
  ['WHY', ({ error }) => error],
];

export async function listNoticeDeliveries(
  client: ApiClient,
  which: string,
  options: Common & WhichNotices,
  output: CliOutput,
): Promise<void> {
  const { id } = await find(client, options, which);
  const { deliveries } = await client.call('get', '/v2/account/notices/{id}/deliveries', { path: { id } });
  const none = 'Nothing was sent there within the last 30 days.';
  showRecords(deliveries, { columns: DELIVERY_COLUMNS, none }, options.json, output);
}

export async function removeNotice(
  client: ApiClient,
  which: string,
  options: Common & WhichNotices & ConfirmOptions,
  output: CommandOutput,
): Promise<void> {
  const { id, name } = await find(client, options, which);
  await confirmDeletion(output, { what: `the destination ${name} (${id})`, name, id }, options);
  await client.call('delete', '/v2/account/notices/{id}', { path: { id } });
  if (options.json) output.print(jsonText({ id, name, deleted: true }));
  else output.note(`Destination ${id} is removed.`);
}

function find(client: ApiClient, options: WhichNotices, which: string): Promise<Destination> {
  const where = options.installation ? '' : ', or use --installation';
  return findRecord(
    client,
    {
      ...{ one: 'the destination', all: 'destinations' },
      list: () => readAll(client, options),
      get: async () => {
        throw new Error(`Destination not found: '${which}': \`podyard notices\` lists them${where}`);
      },
    },
    which,
  );
}

function kindOf({ kind, email }: NoticeOptions): DestinationKind {
  return (kind ?? (email === undefined ? 'webhook' : 'email')).toUpperCase() as DestinationKind;
}

async function settingsOf({ email, event, waitMinutes }: NoticeOptions, hasUrl: boolean, { terminal }: CliPieces) {
  const events = event?.map((name) => name.toUpperCase().replaceAll('-', '_') as NoticeEvent);
  const url = hasUrl ? (await readSecret(terminal, 'URL')).trim() : undefined;
  return present({ email, url, events, waitMinutes });
}

function textOf({ event, phase, name }: Delivery['items'][number]): string {
  return [words(event), ...(name === null ? [] : [name]), ...(phase === 'ENDED' ? ['(over)'] : [])].join(' ');
}
