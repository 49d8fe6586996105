/** Finds the conditions in the installation's facts that a destination should report. Pure: time is an argument. */
import type { UserId } from '../../core/ids.ts';
import { toCents } from '../billing/money.ts';
import { endpointState } from '../endpoints/endpoint-state.ts';
import { withoutOutput } from '../logs/quote-output.ts';
import type { Condition, Destination, NoticeEvent } from './notice.ts';
import type { EndpointNoticeFacts, ExpiringKey, NoticeFacts, SpentBudget } from './notice-facts.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const WEEK_DAYS = 7;
/** How long a change of the leader stays reportable. */
const LEADER_NEWS_MS = 10 * MINUTE_MS;
/** Looks are a minute apart; a longer gap is a time without a leader. */
const LOOK_GAP_MS = 3 * MINUTE_MS;
/** Failures of an audit stream in a row, which take more than half a minute. */
const STREAM_FAILURES = 3;

/** Returns what holds, each event and subject once. An event of `unknownEvents` is not among them, whether it holds or not. */
export function findConditions(
  facts: NoticeFacts,
  destination: Pick<Destination, 'userId' | 'events' | 'waitMinutes' | 'createdAt'>,
  nowMs: number,
): Condition[] {
  const all = [
    ...facts.endpoints.flatMap((endpoint) => ofEndpoint(endpoint, destination.waitMinutes, nowMs)),
    ...facts.budgets.flatMap(ofBudget),
    ...facts.keys.flatMap((key) => ofKey(key, nowMs)),
    ...ofDisk(facts),
    ...ofLeader(facts, destination.createdAt, nowMs),
    ...facts.auditStreams.flatMap(ofStream),
    ...ofUpdate(facts),
  ];
  const { userId, events } = destination;
  return all.filter(({ event, accounts }) => events.includes(event) && (userId === null || accounts.includes(userId)));
}

/** Events whose state is unknown now: notices of them neither end nor go on. */
export function unknownEvents({ disk, update }: Pick<NoticeFacts, 'disk' | 'update'>): NoticeEvent[] {
  return [
    ...(disk === undefined ? ['DISK' as const] : []),
    ...(update === undefined ? ['UPDATE_AVAILABLE' as const] : []),
  ];
}

function ofEndpoint(endpoint: EndpointNoticeFacts, waitMinutes: number, nowMs: number): Condition[] {
  const { id, name, userId, owner, oldestQueuedAt, facts } = endpoint;
  const { state, since, reason } = endpointState(facts, nowMs);
  const base = { phase: 'BEGAN', name, owner, subject: id, accounts: [userId], page: `/endpoints/${id}` } as const;
  const waitMs = waitMinutes * MINUTE_MS;
  const found: Condition[] = [];
  if (state === 'FAILING') {
    found.push({ ...base, event: 'ENDPOINT_FAILING', detail: withoutOutput(reason ?? 'its workers fail') });
  } else if (facts.trialFailure !== null) {
    const detail = `version ${facts.newestVersion} failed its trial: ${withoutOutput(facts.trialFailure)}`;
    found.push({ ...base, event: 'ENDPOINT_FAILING', subject: `${id}:${facts.newestVersion}`, detail });
  }
  if (state === 'WAITING_FOR_CAPACITY' && since !== null && nowMs - since.getTime() >= waitMs) {
    const detail = `it has waited for capacity for more than ${waitMinutes} min${reason === null ? '' : `: ${withoutOutput(reason)}`}`;
    found.push({ ...base, event: 'WAITING_FOR_CAPACITY', detail });
  }
  if (oldestQueuedAt !== null && nowMs - oldestQueuedAt.getTime() >= waitMs) {
    const detail = `its oldest job has waited for more than ${waitMinutes} min`;
    found.push({ ...base, event: 'QUEUE_SLOW', detail });
  }
  return found;
}

/** Takes the highest of the thresholds that were passed. */
function ofBudget({ id, userId, owner, name, month, amount, spent, passed, isStopped }: SpentBudget): Condition[] {
  const percent = Math.max(...passed);
  if (passed.length === 0) return [];
  const stopped = isStopped ? ', and no more workers and pods are started' : '';
  const detail = `${toCents(spent)} of ${toCents(amount)} USD (${percent} %) are spent in ${month}${stopped}`;
  const subject = `${id}:${month}:${amount}:${percent}`;
  return [{ event: 'BUDGET', phase: 'BEGAN', name, owner, subject, accounts: [userId], page: '/billing', detail }];
}

/** A week and a day before. A key with a shorter life is reported later, or not at all. */
function ofKey(
  { id, kind, userId, owner, name, createdAt, expiresAt, teamOwners }: ExpiringKey,
  nowMs: number,
): Condition[] {
  const leftMs = expiresAt.getTime() - nowMs;
  const lifeMs = expiresAt.getTime() - createdAt.getTime();
  const days = [1, WEEK_DAYS].find((days) => leftMs <= days * DAY_MS);
  if (days === undefined || leftMs <= 0 || lifeMs <= 2 * days * DAY_MS) return [];
  const when = `${expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const detail = `the ${kind === 'API' ? 'API key' : 'S3 key'} expires on ${when}`;
  const subject = `${id}:${days}`;
  const accounts: UserId[] = [userId, ...teamOwners];
  return [{ event: 'KEY_EXPIRES', phase: 'BEGAN', name, owner, subject, accounts, page: '/keys', detail }];
}

const OF_INSTALLATION = { phase: 'BEGAN', name: null, owner: null, accounts: [], page: '/' } as const;

function ofDisk({ disk }: NoticeFacts): Condition[] {
  if (disk === undefined || disk === null) return [];
  return [{ ...OF_INSTALLATION, event: 'DISK', subject: 'data', detail: disk }];
}

/** Not to destinations that came later. */
function ofLeader({ leader }: NoticeFacts, createdAt: Date, nowMs: number): Condition[] {
  const { epoch, sinceMs, before } = leader;
  if (before === null || before.epoch === epoch) return [];
  if (createdAt.getTime() > sinceMs || nowMs - sinceMs > LEADER_NEWS_MS) return [];
  const gapMs = sinceMs - before.lookedAtMs;
  const gap = gapMs > LOOK_GAP_MS ? `, after up to ${Math.ceil(gapMs / MINUTE_MS)} min without one` : '';
  const detail = `the leader ended without being told to, and there is another one${gap}`;
  return [{ ...OF_INSTALLATION, event: 'LEADER_CHANGED', subject: String(epoch), detail }];
}

function ofStream({ kind, failures, lastError }: NoticeFacts['auditStreams'][number]): Condition[] {
  if (failures < STREAM_FAILURES) return [];
  const detail = `the audit log’s entries wait: ${kind} failed ${failures} times in a row: ${lastError ?? 'unknown'}`;
  return [{ ...OF_INSTALLATION, event: 'AUDIT_STREAM', subject: kind, detail, page: '/audit' }];
}

function ofUpdate({ update }: NoticeFacts): Condition[] {
  if (update === undefined || update === null) return [];
  const { version, current, place } = update;
  const detail = `${version} is in ${place}, and ${current} runs`;
  return [{ ...OF_INSTALLATION, event: 'UPDATE_AVAILABLE', subject: version, detail }];
}
