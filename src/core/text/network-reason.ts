import { messageOf } from '../errors.ts';

/** Returns why a server could not be reached, in words. `error`: of a connection to `host`, or an error with that as its cause. */
export function networkReason(error: unknown, host: string): string {
  const { code, cause } = error as NodeJS.ErrnoException;
  if (code === undefined && cause !== undefined) return networkReason(cause, host);
  if (code === 'ENOTFOUND') return `there is no host named ${host}`;
  if (code === 'EAI_AGAIN') return `no name server answered for ${host}`;
  if (code === 'ECONNREFUSED') return 'nothing listens there';
  if (code === 'ETIMEDOUT' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH') return 'it does not answer';
  return messageOf(error);
}
