import { Failure, messageOf, notFound } from '../../core/errors.ts';
import { newId, newSecret, type UserId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { checkOperator } from '../access/check-operator.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { OperatorAction } from '../access/roles.ts';
import { change, type Operation, type Tx } from '../change.ts';
import type { Context } from '../context.ts';
import type { WebhookPolicy } from '../jobs/webhook-policy.ts';
import { sealSecret } from '../secrets/seal-secret.ts';
import {
  deleteDestinationRow,
  findDestination,
  findSealed,
  type ListedDestination,
  listAccountEmails,
  listDestinations,
  lockDestination,
  storeDestination,
} from './destination-store.ts';
import {
  type Destination,
  type DestinationId,
  type DestinationKind,
  type DestinationSecret,
  INSTALLATION_EVENTS,
  NOTICE_EVENTS,
  type NoticeEvent,
  type NoticeItem,
  type NoticeSender,
} from './notice.ts';
import { countTests, insertTest, listDeliveries } from './outbox.ts';

/** Limit for an account, or for the installation. */
export const MAX_DESTINATIONS = 20;
export const DEFAULT_WAIT_MINUTES = 10;
const MAX_TESTS_PER_HOUR = 10;

interface DestinationTx extends Tx {
  secretBox: SecretBox;
  webhooks: WebhookPolicy;
  notices: NoticeSender;
}

export interface NewDestination {
  kind: DestinationKind;
  name: string;
  /** Only for email. */
  email?: string | undefined;
  /** For all others. */
  url?: string | undefined;
  /** Absent: all events that its scope can have. */
  events?: readonly NoticeEvent[] | undefined;
  waitMinutes?: number | undefined;
  isOfInstallation: boolean;
}

export type DestinationChange = Partial<Omit<NewDestination, 'kind' | 'isOfInstallation'>> & {
  isEnabled?: boolean | undefined;
};

/** Returns the caller's destinations, or those of the installation. Throws `forbidden`. */
export async function listVisibleDestinations(
  db: Db,
  actor: Actor,
  isOfInstallation: boolean,
): Promise<ListedDestination[]> {
  if (isOfInstallation) await checkOperator(db, actor.userId, 'readInstallation');
  return listDestinations(db, isOfInstallation ? null : actor.userId);
}

/** Throws `notFound` also for another account's. */
export async function getDestination(db: Db, actor: Actor, id: DestinationId): Promise<ListedDestination> {
  return checkOwner(db, actor, await findDestination(db, id), 'readInstallation');
}

/** Returns the newest messages to a destination. Throws `notFound`. */
export async function listVisibleDeliveries(db: Db, actor: Actor, id: DestinationId) {
  await getDestination(db, actor, id);
  return listDeliveries(db, id);
}

/**
 * Adds a destination. Returns the secret that signs a plain webhook; it cannot be read again. Throws `forbidden` for the installation's and
 * over the limit, and `badRequest` for an address that may not be.
 */
export const createDestination: Operation<
  DestinationTx,
  NewDestination,
  { id: DestinationId; signing: string | null }
> = {
  name: 'destination.create',
  permission: PERMISSIONS.writeAccount,
  async run(tx, { isOfInstallation, ...input }) {
    const { db, actor, secretBox } = tx;
    if (isOfInstallation) await checkOperator(db, actor.userId, 'writeInstallation');
    const userId = isOfInstallation ? null : actor.userId;
    if ((await listDestinations(db, userId)).length >= MAX_DESTINATIONS) {
      throw new Failure('forbidden', `there may be ${MAX_DESTINATIONS} destinations: remove one first`);
    }
    const { kind, name, waitMinutes = DEFAULT_WAIT_MINUTES } = input;
    const id = newId<DestinationId>();
    const address = await checkAddress(tx, { kind, userId }, input);
    if (address === null) throw new Failure('badRequest', `${kind === 'EMAIL' ? 'email' : 'url'}: is missing`);
    const signing = kind === 'WEBHOOK' ? newSecret('pyn') : null;
    const secret: DestinationSecret | null = kind === 'EMAIL' ? null : { url: input.url!, signing };
    const events = checkEvents(userId, input.events);
    await storeDestination(
      db,
      { id, userId, kind, name, address, events, waitMinutes, isEnabled: true },
      secret && (await sealSecret(db, secretBox, JSON.stringify(secret), id)),
    );
    return { id, signing };
  },
  subject: (_, { id }) => id,
  target: () => undefined,
};

/** Changes a destination; its kind stays, and what signs. Throws `notFound`, `badRequest`. */
export const updateDestination: Operation<DestinationTx, { id: DestinationId; change: DestinationChange }, void> = {
  name: 'destination.update',
  permission: PERMISSIONS.writeAccount,
  async run(tx, { id, change }) {
    const { db, actor, secretBox } = tx;
    const before = await checkOwner(db, actor, await lockDestination(db, id), 'writeInstallation');
    const address = await checkAddress(tx, before, change);
    const sealed = change.url === undefined ? undefined : await resealUrl(db, secretBox, id, change.url);
    await storeDestination(
      db,
      {
        ...before,
        address: address ?? before.address,
        name: change.name ?? before.name,
        events: change.events === undefined ? before.events : checkEvents(before.userId, change.events),
        waitMinutes: change.waitMinutes ?? before.waitMinutes,
        isEnabled: change.isEnabled ?? before.isEnabled,
      },
      sealed,
    );
  },
  subject: ({ id }) => id,
};

/** Removes a destination with what waits to be sent there. Throws `notFound`. */
export const deleteDestination: Operation<Tx, { id: DestinationId }, void> = {
  name: 'destination.delete',
  permission: PERMISSIONS.writeAccount,
  async run({ db, actor }, { id }) {
    await checkOwner(db, actor, await lockDestination(db, id), 'writeInstallation');
    await deleteDestinationRow(db, id);
  },
  subject: ({ id }) => id,
};

const recordTest: Operation<Tx, { id: DestinationId; error: string | null }, void> = {
  name: 'destination.test',
  permission: PERMISSIONS.writeAccount,
  async run({ db, actor }, { id, error }) {
    await checkOwner(db, actor, await lockDestination(db, id), 'writeInstallation');
    await insertTest(db, id, TEST, error);
  },
  subject: ({ id }) => id,
};

const TEST: NoticeItem = {
  event: 'TEST',
  phase: 'BEGAN',
  name: null,
  owner: null,
  detail: 'somebody asked whether notices arrive here',
  page: '/notices',
};

/**
 * Sends a notice that says that it is a test, and waits for the answer: half a minute at most. Resolves with why it was not accepted; null:
 * it was. Throws `notFound`, and `tooManyRequests` after ten in an hour.
 */
export async function testDestination(
  context: Context & { secretBox: SecretBox; notices: NoticeSender },
  actor: Actor,
  id: DestinationId,
  signal: AbortSignal,
): Promise<string | null> {
  const { pool, secretBox, notices } = context;
  const { kind, address, userId } = await checkOwner(pool, actor, await findDestination(pool, id), 'writeInstallation');
  if ((await countTests(pool, id)) >= MAX_TESTS_PER_HOUR) {
    throw new Failure('tooManyRequests', `this destination was tested ${MAX_TESTS_PER_HOUR} times within an hour`, {
      retryAfterSeconds: 600,
    });
  }
  const sealed = await findSealed(pool, id);
  const message = { id: `test-${newId()}`, items: [TEST], more: 0 };
  const error = await checkRecipient(pool, { kind, address, userId }, notices.mail)
    .then(() =>
      notices.send({ kind, address, secret: openDestination(secretBox, id, sealed ?? null) }, message, signal),
    )
    .then(() => null, messageOf);
  await change(context, actor, recordTest, { id, error });
  return error;
}

/** Opens what a destination has sealed; null: nothing is. */
export function openDestination(
  secretBox: SecretBox,
  id: DestinationId,
  sealed: Buffer | null,
): DestinationSecret | null {
  return sealed === null ? null : (JSON.parse(secretBox.open(sealed, id)) as DestinationSecret);
}

/** Admins find the installation's destinations, and persons acting for an account its own. For others they do not exist. */
async function checkOwner<D extends Destination>(
  db: Db,
  actor: Actor,
  destination: D | undefined,
  action: OperatorAction,
): Promise<D> {
  if (destination === undefined) throw notFound('Destination');
  if (destination.userId === actor.userId) return destination;
  if (destination.userId !== null) throw notFound('Destination');
  await checkOperator(db, actor.userId, action).catch((error) => {
    throw error instanceof Failure ? notFound('Destination') : error;
  });
  return destination;
}

function checkEvents(userId: UserId | null, given: readonly NoticeEvent[] | undefined): NoticeEvent[] {
  const possible = NOTICE_EVENTS.filter((event) => userId === null || !INSTALLATION_EVENTS.includes(event));
  if (given === undefined) return possible;
  const wrong = given.find((event) => !possible.includes(event));
  if (wrong !== undefined) {
    throw new Failure('badRequest', `events: ${wrong} is told to destinations of the installation only`);
  }
  return possible.filter((event) => given.includes(event));
}

/** Returns the address that is shown; null: none was given. Throws `badRequest`. */
async function checkAddress(
  { db, webhooks, notices }: DestinationTx,
  { kind, userId }: Pick<Destination, 'kind' | 'userId'>,
  { email, url }: Pick<DestinationChange, 'email' | 'url'>,
): Promise<string | null> {
  if (kind !== 'EMAIL') {
    if (email !== undefined) throw new Failure('badRequest', `email: a ${kind} destination has a url`);
    if (url === undefined) return null;
    const fault = webhooks.findFault(url);
    if (fault !== null) throw new Failure('badRequest', `url: ${fault}`);
    return new URL(url).host;
  }
  if (url !== undefined) throw new Failure('badRequest', 'url: an EMAIL destination has an email');
  if (email === undefined) return null;
  if (notices.mail === null) {
    throw new Failure('badRequest', 'email: this server sends no mail: its operator has to set --mail');
  }
  if (await mayReceive(db, { userId, address: email }, notices.mail)) return email;
  throw new Failure(
    'badRequest',
    'email: mail goes to your own address, or for a team to its members’; the operator can allow whole domains (anyRecipientIn)',
  );
}

async function mayReceive(
  db: Db,
  { userId, address }: Pick<Destination, 'userId' | 'address'>,
  mail: NonNullable<NoticeSender['mail']>,
): Promise<boolean> {
  const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase();
  if (userId === null || mail.anyRecipientIn.includes(domain)) return true;
  return (await listAccountEmails(db, userId)).includes(address.toLowerCase());
}

/** Throws for an email address that no person of the account has any more, such as that of a former member. */
export async function checkRecipient(
  db: Db,
  { kind, ...destination }: Pick<Destination, 'kind' | 'userId' | 'address'>,
  mail: NoticeSender['mail'],
): Promise<void> {
  if (kind !== 'EMAIL' || mail === null || (await mayReceive(db, destination, mail))) return;
  throw new Error('nobody of this account has this address any more: change it, or remove the destination');
}

async function resealUrl(db: Db, secretBox: SecretBox, id: DestinationId, url: string): Promise<Buffer> {
  const secret = openDestination(secretBox, id, (await findSealed(db, id)) ?? null);
  return sealSecret(db, secretBox, JSON.stringify({ url, signing: secret?.signing ?? null }), id);
}
