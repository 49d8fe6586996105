/**
 * Why workers come and go: a closed vocabulary. Every start, order and end of a worker has one of these causes, and nothing
 * else in the program puts a cause into words. A new cause is a row here, and in the enum of the API by itself.
 */
import type { UserId } from '../core/ids.ts';

/** A workload that needs what other workloads hold. */
export interface Claimant {
  kind: 'endpoint' | 'pod';
  name: string;
  userId: UserId;
}

/** A claimant as one user may see it: without the name if it belongs to another user. */
export type SeenClaimant = Pick<Claimant, 'kind'> & { name: string | null };

/** Hides the name of another user's workload. */
export function seenBy({ kind, name, userId }: Claimant, viewer: UserId): SeenClaimant {
  return { kind, name: userId === viewer ? name : null };
}

/** Resources of a worker that others may need. */
export type Held = 'GPUs' | 'vCPUs';

/** A budget that is used up. `amount`: USD, exact; `until`: the day of its next month (UTC), as `2026-12-01`. */
export interface BudgetStop {
  amount: string;
  isOfEndpoint: boolean;
  isByAdmin: boolean;
  until: string;
}

/** `held`: how many of them the claimant holds. */
interface Preemption {
  by: SeenClaimant;
  held: number;
  waitedSeconds: number;
  what?: Held;
}

const WORDS = {
  // It comes
  DEMAND: (why: string) => why,
  MINIMUM: (min: number) => `workers.min keeps ${min}`,
  SCHEDULE: ({ min, until }: { min: number; until: string | null }) =>
    `scheduled floor of ${min}${until === null ? '' : ` until ${until}`}`,
  TRIAL: (version: number) => `version ${version} is tried`,
  WORK_ARRIVED: () => 'it was given work',

  // It is no longer needed
  IDLE: ({ seconds, timeoutSeconds }: { seconds: number; timeoutSeconds: number }) =>
    `idle for ${seconds} s, the idle timeout is ${timeoutSeconds} s`,
  WORK_GONE: () => 'the work it was wanted for is gone',
  OVER_MAXIMUM: (max: number) => `workers.max allows ${max}`,
  OVER_USER_LIMIT: (of: { name: string; limit: number; elsewhere: number; max: number }) =>
    `the user's limit '${of.name}' of ${of.limit} allows ${of.max}${of.elsewhere > 0 ? `, with ${of.elsewhere} in use elsewhere` : ''}`,
  OVER_BUDGET: ({ amount, isOfEndpoint, isByAdmin, until }: BudgetStop) =>
    `the ${isOfEndpoint ? 'endpoint’s ' : ''}monthly budget of ${amount} USD${isByAdmin ? ' that an admin set' : ''} is used up; it is renewed on ${until} (UTC)`,
  OUTDATED: ({ version, newest }: { version: number; newest: number }) =>
    `version ${newest} replaces version ${version}`,
  FLASHBOOT_OFF: () => 'FlashBoot is off',
  ENDPOINT_DELETED: () => 'the endpoint was deleted',
  RUNTIME_CHANGED: ({ before, now }: { before: string; now: string }) =>
    `it ran with the ${before} runtime, and the server uses ${now} now`,

  // Others need what it holds
  PREEMPTED: ({ by, held, waitedSeconds, what = 'GPUs' }: Preemption) =>
    by.name === null
      ? `its ${what} are needed for ${wordsOf(by)}`
      : `its ${what} are needed for ${wordsOf(by)}, which holds ${held} and has waited for ${waitedSeconds} s`,
  EVICTED: (by: SeenClaimant) => `its GPUs are needed for ${wordsOf(by)}`,
  PUT_TO_SLEEP: (by: SeenClaimant) => `its GPUs are needed for ${wordsOf(by)}; it sleeps until it has work`,
  FROZEN_MEMORY: (budget: string) => `the memory for frozen workers, ${budget}, is needed for others`,
  MACHINE_MEMORY: () => 'the machine runs out of memory',

  // Something is wrong with it
  NOT_FROZEN: ({ why, hindrance }: { why: string; hindrance: string }) =>
    `${why}; it could not be frozen: ${hindrance}`,
  NOT_THAWED: (failure: string) => `it could not be thawed: ${failure}`,
  NOT_WOKEN: (failure: string) => `it could not be woken: ${failure}`,
  UNHEALTHY: (report: string) => `unhealthy: ${report}`,
  SILENT: (seconds: number | string) => `it was silent for ${seconds} s`,
  IGNORED_STOP: (seconds: number) => `it went on for ${seconds} s with a job that it was told to stop`,
  ASKED: () => 'it asked to be replaced',
  OVER_DISK: ({ usedGb, diskGb }: { usedGb: number; diskGb: number }) =>
    `it wrote ${usedGb.toFixed(1)} GB, more than its disk of ${diskGb} GB and a tenth`,

  // It ended, or never began
  EXITED: ({ code, why }: { code: number | null; why: string | null }) => why ?? `it exited with code ${code}`,
  GONE: () => 'its container is gone',
  GPU_LOST: (what: string) => `its GPU is lost: ${what}`,
  START_FAILED: (why: string) => why,
  START_INTERRUPTED: () => 'its start was interrupted',
  NOT_READY: ({ seconds, why }: { seconds: number; why: string | null }) =>
    `it was not ready within ${seconds} s of its start (RUNPOD_INIT_TIMEOUT)${why === null ? '' : `: ${why}`}`,
} as const;

type Words = typeof WORDS;

/** Why a worker came or left, as the API spells it. */
export type Cause = keyof Words;

export const CAUSES = Object.keys(WORDS) as Cause[];

/** A cause and its words: one sentence, without a capital or a full stop. */
export interface Because {
  cause: Cause;
  reason: string;
}

/** Puts a cause into words. */
export function because<C extends Cause>(cause: C, ...facts: Parameters<Words[C]>): Because {
  const words = WORDS[cause] as (...given: Parameters<Words[C]>) => string;
  return { cause, reason: words(...facts) };
}

/** Adds a remark to the words. */
export function withNote({ cause, reason }: Because, note: string): Because {
  return { cause, reason: `${reason}; ${note}` };
}

function wordsOf({ kind, name }: SeenClaimant): string {
  return name === null ? `another user's ${kind}` : `${kind} ${name}`;
}
