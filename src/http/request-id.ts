import { randomBytes } from 'node:crypto';

const prefix = randomBytes(6).toString('hex');
let count = 0;

/** Returns an id that is unique across processes and restarts: a random prefix per process and a counter. */
export function newRequestId(): string {
  count += 1;
  return `${prefix}-${count.toString(36)}`;
}
