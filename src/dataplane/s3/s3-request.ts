import type { CallRequest } from '../../http/call-messages.ts';
import { S3Error } from './s3-error.ts';

/** The path under which S3 is served: part of the endpoint URL that clients are given. */
export const S3_PREFIX = '/s3';

/** True for requests of S3. */
export function isS3Path(url: string): boolean {
  return url.startsWith(S3_PREFIX) && (url.length === S3_PREFIX.length || /[/?]/.test(url[S3_PREFIX.length]!));
}

export interface S3Request {
  readonly req: CallRequest;
  readonly method: string;
  /** As it was sent, with the prefix. */
  readonly rawPath: string;
  /** Names and values, decoded. */
  readonly query: ReadonlyMap<string, string>;
  /** Empty: of all volumes. */
  readonly bucket: string;
  /** Empty: of the whole volume. */
  readonly key: string;
}

/** Throws `InvalidURI`. */
export function parseS3Request(req: CallRequest): S3Request {
  const url = req.url!;
  const queryAt = url.indexOf('?');
  const rawPath = queryAt < 0 ? url : url.slice(0, queryAt);
  const path = rawPath.slice(S3_PREFIX.length + 1);
  const slash = path.indexOf('/');
  const bucket = decode(slash < 0 ? path : path.slice(0, slash));
  const key = slash < 0 ? '' : decode(path.slice(slash + 1));
  return {
    req,
    method: req.method!,
    rawPath,
    query: parseQuery(queryAt < 0 ? '' : url.slice(queryAt + 1)),
    bucket,
    key,
  };
}

function parseQuery(text: string): Map<string, string> {
  const query = new Map<string, string>();
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const [name, value] = equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)];
    query.set(decode(name.replaceAll('+', ' ')), decode(value.replaceAll('+', ' ')));
  }
  return query;
}

/** Throws `InvalidURI` unless it is UTF-8 in percent-encoding. */
export function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new S3Error('InvalidURI', 'The URL is not valid percent-encoded UTF-8.', { cause });
  }
}

/** Returns a header that a client sends at most once. */
export function headerOf({ req }: Pick<S3Request, 'req'>, name: string): string | undefined {
  const value = req.headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}

/** Returns a number of the query. Throws `InvalidArgument`. */
export function numberOf({ query }: S3Request, name: string): number | undefined {
  const text = query.get(name);
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  throw new S3Error('InvalidArgument', `${name} must be a number from 0 on.`);
}
