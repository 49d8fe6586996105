import type { IncomingMessage } from 'node:http';
import { Failure, messageOf } from '../../core/errors.ts';
import { httpGet, type Reach } from '../fetch/http-get.ts';
import type { FilePlace } from './file-place.ts';

/** For all requests about one model. */
const TIMEOUT_MS = 10_000;

export interface Question extends FilePlace {
  method: 'GET' | 'HEAD';
  headers?: Record<string, string>;
  /** The model, as its user named it. */
  name: string;
  hasSecret: boolean;
}

/**
 * Asks an origin about a model, and has the successful answer read. The server goes only where `reach` permits it. Throws as `ModelOrigins.read`.
 */
export async function askOrigin<T>(
  reach: Reach,
  { url, access, method, headers = {}, name, hasSecret }: Question,
  read: (response: IncomingMessage) => T | Promise<T>,
): Promise<T> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const { response } = await httpGet(url, { method, headers, access, reach, signal });
    try {
      const { statusCode: status = 0 } = response;
      if (status === 401 || status === 403) throw new Failure('badRequest', refusal(url, name, hasSecret, status));
      if (status === 404 || status === 410) throw new Failure('badRequest', `${name} is not there, says ${url.host}`);
      if (status !== 200) throw new Failure('unavailable', `${url.host} answers with status ${status} for ${name}`);
      return await read(response);
    } finally {
      response.destroy();
    }
  } catch (cause) {
    if (cause instanceof Failure) {
      const kind =
        cause.kind === 'unprocessable' ? 'badRequest' : cause.kind === 'badGateway' ? 'unavailable' : cause.kind;
      throw new Failure(kind, cause.message, { cause });
    }
    const why = signal.aborted ? `does not answer within ${TIMEOUT_MS / 1_000} seconds` : 'cannot be reached';
    throw new Failure('unavailable', `${url.host} ${why}: try again later`, { cause: new Error(messageOf(cause)) });
  }
}

function refusal({ host }: URL, name: string, hasSecret: boolean, status: number): string {
  const advice = hasSecret
    ? 'what the secret in tokenSecret holds is wrong, or may not read it'
    : 'name a secret in tokenSecret that may read it';
  return `${host} refuses ${name} (status ${status}): ${advice}`;
}
