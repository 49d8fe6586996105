import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify(argon2);

/** The cost of a hash: memory in KiB, and passes over it. */
export interface HashCost {
  memory: number;
  passes: number;
}

/** As OWASP recommends for argon2id: 19 MiB, two passes, one lane. */
export const HASH_COST: HashCost = { memory: 19_456, passes: 2 };
const TAG_BYTES = 32;
const SALT_BYTES = 16;
const STORED = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([\w+/]{1,100})\$([\w+/]{1,100})$/;

/** Returns what is stored of a password: argon2id in the PHC string format. Runs beside the event loop, for some 30 ms. */
export async function hashPassword(password: string, cost = HASH_COST): Promise<string> {
  const nonce = randomBytes(SALT_BYTES);
  const message = bytesOf(password);
  const tag = await derive('argon2id', { ...cost, parallelism: 1, message, nonce, tagLength: TAG_BYTES });
  return `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=1$${text(nonce)}$${text(tag)}`;
}

/**
 * True if `stored` is of the password. Takes as long without a stored one, so that timing does not reveal which users have a password.
 * Passwords may be typed on keyboards that compose letters in another way: both are compared in Unicode's form NFKC.
 */
export async function verifyPassword(password: string, stored: string | null, cost = HASH_COST): Promise<boolean> {
  if (stored === null) {
    await hashPassword(password, cost);
    return false;
  }
  const [, memory, passes, parallelism, salt, tag] = STORED.exec(stored) ?? [];
  if (tag === undefined) throw new Error('a stored password has a form that this version does not know');
  const expected = Buffer.from(tag, 'base64');
  const got = await derive('argon2id', {
    message: bytesOf(password),
    nonce: Buffer.from(salt!, 'base64'),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
  });
  return timingSafeEqual(got, expected);
}

function bytesOf(password: string): Buffer {
  return Buffer.from(password.normalize('NFKC'));
}

function text(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}
