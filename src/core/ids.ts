import { randomBytes } from 'node:crypto';

declare const brand: unique symbol;
/** A branded string: the compiler keeps kinds of ids apart. */
export type Id<Name extends string> = string & { readonly [brand]: Name };

export type UserId = Id<'user'>;
export type KeyId = Id<'key'>;
export type S3KeyId = Id<'s3Key'>;
export type SessionId = Id<'session'>;
export type PasskeyId = Id<'passkey'>;
export type EndpointId = Id<'endpoint'>;
export type ReleaseId = Id<'release'>;
export type WorkerId = Id<'worker'>;
export type JobId = Id<'job'>;
export type PodId = Id<'pod'>;
export type ClusterId = Id<'cluster'>;
export type TemplateId = Id<'template'>;
export type VolumeId = Id<'volume'>;
export type RegistryId = Id<'registry'>;
export type DelegationId = Id<'delegation'>;
export type TerminalId = Id<'terminal'>;
export type SecretId = Id<'secret'>;
export type BudgetId = Id<'budget'>;
export type BuildId = Id<'build'>;
export type GitSourceId = Id<'gitSource'>;

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** Returns a random id of `length` lowercase letters and digits (5.17 bits each; 14 give 72 bits), starting with a letter. */
export function newId<T extends string>(length = 14): T {
  let id = '';
  while (id.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte >= 252 || id.length === length) continue; // 252 = 7 × 36: all characters are equally likely
      const character = ALPHABET[byte % 36]!;
      if (id.length === 0 && character >= '0' && character <= '9') continue; // host labels and container names start with a letter
      id += character;
    }
  }
  return id as T;
}

let sequence = 0;
let lastMs = 0;

const POOL_BYTES = 4096;
let pool = Buffer.alloc(0);
let poolAt = 0;

/** Returns where the next `count` random bytes are in the pool, which saves a call of the system for each id. */
function drawFromPool(count: number): number {
  if (poolAt + count > pool.length) {
    pool = randomBytes(POOL_BYTES);
    poolAt = 0;
  }
  poolAt += count;
  return poolAt - count;
}

/** Returns eight random bytes as hex, with the UUID's variant in the first two bits. */
function nextRandom8(): string {
  const at = drawFromPool(8);
  pool[at] = (pool[at]! & 0x3f) | 0x80;
  return pool.toString('hex', at, at + 8);
}

/**
 * Returns a job id: a version-7 UUID with a region suffix, as clients expect it. The time comes first, so that the index
 * of a long queue grows at its end. Ids of one process ascend. `now`: ms since 1970.
 */
export function newJobId(prefix: '' | 'sync-', now: number): JobId {
  if (now > lastMs) {
    lastMs = now;
    const at = drawFromPool(2); // first: it may replace the pool
    sequence = pool.readUInt16BE(at) & 0x3ff;
  } else {
    sequence += 1;
    if (sequence > 0xfff) {
      lastMs += 1;
      sequence = 0;
    }
  }
  const time = lastMs.toString(16).padStart(12, '0');
  const tail = nextRandom8();
  const counter = (0x7000 | sequence).toString(16);
  return `${prefix}${time.slice(0, 8)}-${time.slice(8)}-${counter}-${tail.slice(0, 4)}-${tail.slice(4)}-u1` as JobId;
}

/** Returns a secret of 192 bits, with a prefix that identifies it to people and secret scanners. */
export function newSecret(prefix: string): string {
  return `${prefix}_${randomBytes(24).toString('base64url')}`;
}
