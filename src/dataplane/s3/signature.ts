import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { BoundedMap } from '../../core/bounded-map.ts';
import { S3Error } from './s3-error.ts';
import { decode, headerOf, S3_PREFIX, type S3Request } from './s3-request.ts';

/**
 * Signature Version 4 of AWS, from the side that checks it. Libraries make signatures only: what a client signed has to be put together
 * again from what arrived, headers and query alike (docs/decisions/0113-files-of-volumes.md).
 */
const ALGORITHM = 'AWS4-HMAC-SHA256';
const MAX_SKEW_MS = 15 * 60_000;
const MAX_EXPIRY_SECONDS = 7 * 86_400;
const MAX_KEYS = 1_000;

/** A request's statement of its signature. */
export interface Claim {
  readonly accessKeyId: string;
  /** `20261126/EU-RO-1/s3/aws4_request`. */
  readonly scope: string;
  /** `20261126T100000Z`. */
  readonly date: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
  readonly isPresigned: boolean;
  /** The value of x-amz-content-sha256, which says how the body is signed. */
  readonly payload: string;
}

/** Signs the pieces of a body after its head. */
export interface Signing {
  readonly claim: Claim;
  readonly key: Buffer;
}

/** Reads the signature of a request; null if it has none. Throws for one that is malformed, expired or off in time. */
export function readClaim(request: S3Request, nowMs: number): Claim | null {
  const authorization = headerOf(request, 'authorization');
  if (authorization?.startsWith(ALGORITHM)) return fromHeader(request, authorization, nowMs);
  if (request.query.has('X-Amz-Signature')) return fromQuery(request, nowMs);
  return null;
}

/** Throws `SignatureDoesNotMatch` unless the request was signed with the secret. */
export function checkSignature(request: S3Request, claim: Claim, secret: string): Signing {
  const key = signingKey(secret, claim.scope);
  for (const place of placesOf(request)) {
    const text = [ALGORITHM, claim.date, claim.scope, sha256(canonicalRequest(request, claim, place))].join('\n');
    if (isSame(sign(key, text), claim.signature)) return { claim, key };
  }
  throw new S3Error(
    'SignatureDoesNotMatch',
    'The signature is not the one of this request: check the secret, and that nothing between client and server changes the path or the Host header.',
  );
}

/** Signs text with a key of `checkSignature`; in hex. */
export function sign(key: Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}

export function isSame(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function fromHeader(request: S3Request, authorization: string, nowMs: number): Claim {
  const fields = new Map<string, string>();
  for (const part of authorization.slice(ALGORITHM.length).split(',')) {
    const equals = part.indexOf('=');
    if (equals > 0) fields.set(part.slice(0, equals).trim(), part.slice(equals + 1).trim());
  }
  const [credential, signedHeaders, signature] = ['Credential', 'SignedHeaders', 'Signature'].map((n) => fields.get(n));
  const date = headerOf(request, 'x-amz-date') ?? amzDate(headerOf(request, 'date'));
  const payload = headerOf(request, 'x-amz-content-sha256');
  if (!credential || !signedHeaders || !signature || !date)
    throw malformed('it needs Credential, SignedHeaders and Signature, and the request x-amz-date');
  if (!payload) throw new S3Error('InvalidRequest', 'The header x-amz-content-sha256 is missing.');
  const claim = { ...parseCredential(credential, date, malformed), signature, isPresigned: false, payload, date };
  checkSkew(date, nowMs);
  return { ...claim, signedHeaders: parseSignedHeaders(request, signedHeaders, malformed) };
}

function fromQuery(request: S3Request, nowMs: number): Claim {
  const get = (name: string) => request.query.get(`X-Amz-${name}`) ?? '';
  const date = get('Date');
  const seconds = Number(get('Expires'));
  if (get('Algorithm') !== ALGORITHM) throw malformedQuery(`X-Amz-Algorithm must be ${ALGORITHM}`);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > MAX_EXPIRY_SECONDS)
    throw malformedQuery(`X-Amz-Expires must be from 1 to ${MAX_EXPIRY_SECONDS} seconds`);
  const sinceMs = nowMs - parseDate(date);
  if (sinceMs > seconds * 1_000) throw new S3Error('AccessDenied', 'The presigned URL has expired.');
  if (sinceMs < -MAX_SKEW_MS) throw new S3Error('AccessDenied', 'The presigned URL is not valid yet.');
  const payload =
    request.query.get('X-Amz-Content-Sha256') ?? headerOf(request, 'x-amz-content-sha256') ?? 'UNSIGNED-PAYLOAD';
  return {
    ...parseCredential(get('Credential'), date, malformedQuery),
    ...{ date, payload, isPresigned: true, signature: get('Signature') },
    signedHeaders: parseSignedHeaders(request, get('SignedHeaders'), malformedQuery),
  };
}

type Malformed = (why: string) => S3Error;
const malformed: Malformed = (why) =>
  new S3Error('AuthorizationHeaderMalformed', `The Authorization header is malformed: ${why}.`);
const malformedQuery: Malformed = (why) =>
  new S3Error('AuthorizationQueryParametersError', `The signature in the URL is malformed: ${why}.`);

/** Any region is taken: the signature is bound to the one that the client chose. */
function parseCredential(text: string, date: string, error: Malformed): Pick<Claim, 'accessKeyId' | 'scope'> {
  const parts = text.split('/');
  const [accessKeyId, day, , service, end] = parts;
  if (parts.length !== 5 || !accessKeyId || service !== 's3' || end !== 'aws4_request')
    throw error('Credential must be <access key id>/<date>/<region>/s3/aws4_request');
  if (day !== date.slice(0, 8)) throw error('the date of Credential is not that of the request');
  return { accessKeyId, scope: parts.slice(1).join('/') };
}

function parseSignedHeaders(request: S3Request, text: string, error: Malformed): string[] {
  const names = text.split(';');
  if (!names.includes('host')) throw error('SignedHeaders must include host');
  const isUnsigned = (name: string) => name.startsWith('x-amz-') && !names.includes(name);
  const unsigned = Object.keys(request.req.headers).find(isUnsigned);
  if (unsigned !== undefined)
    throw new S3Error('AccessDenied', `The request has a header that is not signed: ${unsigned}.`);
  return names;
}

function checkSkew(date: string, nowMs: number): void {
  if (Math.abs(nowMs - parseDate(date)) <= MAX_SKEW_MS) return;
  throw new S3Error(
    'RequestTimeTooSkewed',
    `The clock of the client says ${date}, that of the server ${amzDate(new Date(nowMs).toISOString())}: they may differ by 15 minutes.`,
  );
}

const DATE = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;

function parseDate(text: string): number {
  const ms = Date.parse(text.replace(DATE, '$1-$2-$3T$4:$5:$6Z'));
  if (!DATE.test(text) || Number.isNaN(ms))
    throw new S3Error('AccessDenied', 'The date of the signature must be like 20261126T100000Z.');
  return ms;
}

function amzDate(text: string | undefined): string | undefined {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString().replace(/[-:]|\.\d+/g, '');
}

/** Where a client may take the request to go. */
interface Place {
  path: string;
  host: string;
}

/**
 * The path as S3 encodes it, and as the client sent it. Both also without the prefix, which a proxy in front may have added; s3cmd then
 * takes the prefix for a part of the host's name.
 */
function placesOf({ rawPath, req }: S3Request): Place[] {
  const { host = '' } = req.headers;
  const strict = rawPath.split('/').map((part) => encodeStrictly(decode(part)));
  const paths = [...new Set([strict.join('/'), rawPath])];
  const inner = paths.map((path) => path.slice(S3_PREFIX.length) || '/');
  return [
    ...paths.map((path) => ({ path, host })),
    ...inner.map((path) => ({ path, host })),
    ...inner.map((path) => ({ path, host: host + S3_PREFIX })),
  ];
}

function canonicalRequest({ req, method, query }: S3Request, claim: Claim, { path, host }: Place): string {
  const pairs = [...query]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encodeStrictly(name)}=${encodeStrictly(value)}`)
    .sort();
  const headers = claim.signedHeaders.map((name) => {
    const value = name === 'host' ? host : req.headers[name];
    const text = Array.isArray(value) ? value.join(',') : (value ?? '');
    return `${name}:${text.trim().replace(/ {2,}/g, ' ')}\n`;
  });
  const [lines, names] = [headers.join(''), claim.signedHeaders.join(';')];
  return [method, path, pairs.join('&'), lines, names, claim.payload].join('\n');
}

/** Percent-encodes everything but unreserved characters (RFC 3986). */
export function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

const keys = new BoundedMap<string, Buffer>(MAX_KEYS);

/** Derives a key of one day and region, and remembers it. */
function signingKey(secret: string, scope: string): Buffer {
  const name = `${scope}/${sha256(secret)}`;
  const known = keys.get(name);
  if (known) return known;
  const parts = scope.split('/');
  const key = parts.reduce<Buffer>(
    (key, part) => createHmac('sha256', key).update(part).digest(),
    Buffer.from(`AWS4${secret}`),
  );
  keys.set(name, key);
  return key;
}
